package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// Which servers faults may still strike is part of the state, where they may not strike all.
func TestStateTellsWhichServersMayBeStruck(t *testing.T) {
	after := func(servers int, master string) uint64 {
		u, err := NewUntimed(parsed(t, "world masters=2 clients=1 lock=multi\nexpect exclusion=holds\nrun for=4s\n"),
			UntimedOptions{Faults: []string{"freeze"}, Budget: 2, Servers: servers, Options: Options{Lua: NewLua()}})
		require.NoError(t, err)
		defer u.Close()
		node := u.r.actor(master)
		u.Do(Action{Verb: Pause, To: node})
		u.Do(Action{Verb: Unpause, To: node})
		struck := map[trace.Actor]bool{}
		for _, a := range u.Actions() {
			if a.Fault() {
				struck[a.To] = true
			}
		}
		if servers == 1 {
			require.Equal(t, map[trace.Actor]bool{node: true}, struck)
		} else {
			require.Len(t, struck, 2)
		}
		return u.State(nil).Hash
	}
	require.Equal(t, after(0, "m1"), after(0, "m2"))
	require.NotEqual(t, after(1, "m1"), after(1, "m2"))
}
