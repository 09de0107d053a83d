package sim

import (
	"slices"
	"strconv"
	"strings"
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

// However many faults a run draws, they strike no more servers than its faults line says:
// from those clients are cut off, and to those slots move. Which these are the seed says.
func TestRunsStrikeFewServers(t *testing.T) {
	lua := NewLua()
	const redlock, group, slots = "masters=5 lock=redlock renew=off", "replicas=3", "cluster=5x0"
	for _, c := range []struct{ world, kinds string }{
		{redlock, "partition"}, {redlock, "one-way"}, {redlock, "partition freeze"}, {redlock, "slow"}, {redlock, "drop"},
		{group, "partition"}, {group, "one-way"}, {slots, "reshard"}, {slots, "partition"},
	} {
		for few := 1; few <= 3; few += 2 {
			s := parsed(t, "world clients=2 ttl=1s "+c.world+"\nfaults "+c.kinds+" most=9 servers="+strconv.Itoa(few)+
				"\nrun for=9s\n")
			all, most := map[string]bool{}, 0
			for seed := range uint64(30) {
				r, err := s.Run(t.Context(), Options{Seed: seed, Lua: lua})
				require.NoError(t, err)
				struck := map[string]bool{}
				for _, step := range r.Steps {
					for _, name := range strikes(step) {
						struck[name], all[name] = true, true
					}
				}
				require.LessOrEqual(t, len(struck), few, "%s: %v", c, r.Steps)
				most = max(most, len(struck))
			}
			require.Equal(t, few, most, c)
			require.GreaterOrEqual(t, len(all), 4, c)
		}
	}
}

// With cuts= partitions have a number of their own.
func TestPartitionsCutAsManyAsTheyMay(t *testing.T) {
	s := parsed(t, "world clients=2 masters=5 lock=redlock renew=off ttl=1s\nfaults freeze partition most=9 servers=1 "+
		"cuts=3\nrun for=9s\n")
	require.Contains(t, s.Text(), " servers=1 cuts=3\n")
	most := map[string]int{}
	for seed := range uint64(60) {
		r, err := s.Run(t.Context(), Options{Seed: seed})
		require.NoError(t, err)
		struck := map[string]map[string]bool{"pause": {}, "partition": {}}
		for _, step := range r.Steps {
			for _, name := range strikes(step) {
				struck[step.Verb][name] = true
			}
		}
		for verb, names := range struck {
			most[verb] = max(most[verb], len(names))
		}
	}
	require.Equal(t, map[string]int{"pause": 1, "partition": 3}, most)
}

// strikes are the servers that a drawn step strikes.
func strikes(s Step) (names []string) {
	if s.Fault == "" {
		return nil
	}
	for i, arg := range s.Args {
		list := slices.DeleteFunc(strings.Split(arg, ","), func(name string) bool {
			return name[0] != 'm' && name[0] != 'r'
		})
		fromOthers := s.Verb == "partition" && s.Args[1-i][0] != 'c' // one side is one of the few
		if !fromOthers && (s.Verb != "move" || i == 1) {
			names = append(names, list...)
		}
	}
	return names
}
