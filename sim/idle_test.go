package sim

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that came to nothing is told of, however a run went on; of what struck nothing is said.
func TestIdleLines(t *testing.T) {
	idle := func(text string) (lines []string) {
		s, err := ParseScenario("x.scenario", text)
		require.NoError(t, err)
		r, err := s.Run(context.Background(), Options{Seed: s.Seed})
		require.NoError(t, err)
		for _, i := range r.Idle {
			lines = append(lines, i.Text())
		}
		return lines
	}
	const world = "world clients=1 replicas=1 rounds=1 delay=1ms\nat 0s start c1\n"
	for story, expected := range map[string][]string{
		"at 0s start c1\n":                 {`"at 0s start c1" did nothing`},
		"at 0s drop c1 m1 next=1\n":        nil,
		"at 0s drop m1 c1 next=99\n":       {`"at 0s drop m1 c1 next=99" struck 3 of 99 messages`},
		"at 0s duplicate c1 m1 next=99\n":  {`"at 0s duplicate c1 m1 next=99" struck 5 of 99 messages`},
		"at 4s delay c1 m1 next=1 by=1s\n": {`"at 4s delay c1 m1 next=1 by=1s" struck 0 of 1 message`},
		"at 4s drop m1 c1 next=1 what=message\nat 5s calm\n": {
			`"at 4s drop m1 c1 next=1 what=message" struck 0 of 1 message`},
		"at 0s stall c1 for=1s\n":                            nil,
		"at 2s stall c1 for=1s\n":                            {`"at 2s stall c1 for=1s" did nothing`},
		"at 2s evict r1 key=1\n":                             {`"at 2s evict r1 key=1" did nothing`},
		"at 2s crash m1\nat 3s run m1 DEL a\n":               {`"at 3s run m1 DEL a" did nothing`},
		"at 2s pause m1 for=1s\nat 2500ms run m1 SET a 1\n":  nil, // it waits
		"at 2s pause m1 for=1s\nat 2500ms evict m1 key=1\n":  {`"at 2.5s evict m1 key=1" did nothing`},
		"at 2s release r1\nat 3s audit\nat 3s heal\n":        {`"at 2s release r1" did nothing`},
		"at 2s crash c1\nat 3s crash c1\nat 4s promote r1\n": {`"at 3s crash c1" did nothing`},
	} {
		require.Equal(t, expected, idle(world+story+"run for=9s seed=1\n"), story)
	}
	require.Empty(t, idle("world clients=1 rounds=1\nfaults drop evict stall most=9\nrun for=9s seed=1\n"))
}

// Of the kinds of fault that a run draws those struck that have done something.
func TestKindsThatStrike(t *testing.T) {
	struck := func(world, kinds string) []string {
		s, err := ParseScenario("x.scenario", "world clients=2 ttl=1s "+world+"\nfaults "+kinds+" most=20\nrun for=20s\n")
		require.NoError(t, err)
		all := map[string]bool{}
		for seed := range uint64(40) {
			r, err := s.Run(context.Background(), Options{Seed: seed})
			require.NoError(t, err)
			for _, kind := range r.Struck {
				all[kind] = true
			}
		}
		return slices.Sorted(maps.Keys(all))
	}
	require.Equal(t, []string{"drop", "pause"}, struck("lock=simple", "pause lost-message late-message drop"))
	require.Equal(t, []string{"evict", "late-message", "lost-message"},
		struck("lock=mutex", "evict lost-message late-message"))
	require.Empty(t, struck("lock=simple rounds=1 hold=0s", "evict-spare"), "its master alone is no majority to spare")
	require.Equal(t, []string{"evict-spare"}, struck("masters=5 lock=redlock renew=off", "evict-spare"))
	require.Equal(t, []string{"duplicate", "stall"}, struck("lock=mutex", "stall duplicate"))
}
