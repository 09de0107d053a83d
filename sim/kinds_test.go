package sim

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every kind of lock, in both protocols, is exclusive under contention, comes
// to all, and is free at the end.
func TestKindsContend(t *testing.T) {
	lua := NewLua()
	for _, name := range kindNames() {
		for _, with := range []string{"", "compat316=2", "sync=on replicas=1", "reenter=1"} {
			k := findKind(name)
			switch {
			case name == "latch", name == OwnKind, k.masters.isIndependent() && with == "sync=on replicas=1",
				with == "reenter=1" && k.books.by == nil: // it cannot be taken twice
				continue
			}
			t.Run(name+" "+with, func(t *testing.T) {
				s, err := ParseScenario("kinds.scenario", "world clients=4 "+with+" lock="+name+
					" hold=10ms..50ms think=0s..20ms rounds=5 bound=20s\n"+
					"expect exclusion=holds progress=holds leak=holds kept=holds\nat 0s start all\nat 40s audit\nrun for=41s\n")
				require.NoError(t, err)
				r, err := s.Run(context.Background(), Options{Seed: 1, Lua: lua})
				require.NoError(t, err)
				require.True(t, r.AsExpected(), "%+v", r.Results)
				require.GreaterOrEqual(t, r.Grants, 20)
			})
		}
	}
}

// What the rows of the kinds name is there: a word that nothing knows would mean nothing.
func TestKindsNameWhatThereIs(t *testing.T) {
	for _, k := range kinds {
		for _, option := range k.options {
			known := func(g optionGroup) bool {
				return slices.ContainsFunc(g.options, func(o worldOption) bool { return o.name == option })
			}
			require.True(t, slices.ContainsFunc(worldOptions(), known), "%s: %s", k.name, option)
		}
		require.Contains(t, Checks, k.Promise, k.name)
	}
	for _, name := range modelled() {
		require.Contains(t, kindNames(), name)
	}
}
