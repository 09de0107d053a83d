package sim

import (
	"context"
	"flag"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planned are worlds that draw every kind of fault.
func planned(t *testing.T) (list []*Scenario) {
	t.Helper()
	var all, some []string
	for _, f := range faultKinds {
		if f.where == inCluster {
			continue
		}
		all = append(all, f.name)
		if f.where == anywhere {
			some = append(some, f.name)
		}
	}
	for _, strategy := range append(Strategies, "") {
		line := " most=12"
		if strategy != "" {
			line += " strategy=" + strategy
		}
		for _, text := range []string{
			"# One.\nworld replicas=2 lock=fenced" + "\nfaults " + strings.Join(all, " "),
			"# Slots.\nworld cluster=3x0 lock=fenced" + "\nfaults reshard drop",
			"# Many.\nworld masters=3 lock=redlock renew=off" + "\nfaults " + strings.Join(some, " "),
		} {
			text = strings.Replace(text, "lock=", "clients=3 ttl=1s hold=100ms..500ms lock=", 1)
			s, err := ParseScenario("planned.scenario", text+line+"\nexpect exclusion=holds\nrun for=9s seed=1\n")
			require.NoError(t, err)
			list = append(list, s)
		}
	}
	return list
}

var pairs = flag.Int("pairs", 100, "how many pairs of world and seed the tests of hashes run")

// The hash of a run does not depend on how many threads there are, nor on
// tracing, and its recorded draws replay to it, for pairs of scenarios and seeds:
// the embedded ones, and worlds with all kinds of fault. All 1,000:
// go test ./sim -run TestHashesOfPairs -pairs 1000.
func TestHashesOfPairs(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	lua := NewLua()
	worlds := append(planned(t), Library()...)
	for i := range *pairs {
		s, seed := worlds[i%len(worlds)], uint64(1000+i/len(worlds))
		runtime.GOMAXPROCS(1)
		one, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua, Record: true})
		require.NoError(t, err)
		runtime.GOMAXPROCS(2)
		two, err := s.Run(context.Background(), Options{Seed: seed, Details: true, Lua: lua})
		require.NoError(t, err)
		require.Equal(t, one.Hash, two.Hash, "%s seed %d", s.Claim, seed)
		again, err := s.Run(context.Background(), Options{Seed: seed, Chooser: NewReplay(one.Draws)})
		require.NoError(t, err)
		require.Equal(t, one.Hash, again.Hash, "%s seed %d, replayed", s.Claim, seed)
	}
}

// What was recorded replays to the same hash, with tracing on and off; and so
// does the run's story as a file, but for what a seed draws at one instant.
func TestRecordedDrawsReplay(t *testing.T) {
	lua := NewLua()
	ctx := context.Background()
	faults := map[string]int{}
	for _, s := range planned(t) {
		for seed := uint64(1); seed <= 10; seed++ {
			r, err := s.Run(ctx, Options{Seed: seed, Record: true, Lua: lua})
			require.NoError(t, err)
			again, err := s.Run(ctx, Options{Seed: seed, Chooser: NewReplay(r.Draws), Details: true, Lua: lua})
			require.NoError(t, err)
			require.Equal(t, r.Hash, again.Hash, "%s seed %d", s.Claim, seed)
			require.Equal(t, r.Steps, again.Steps)
			for _, step := range r.Steps {
				faults[step.Fault]++
			}

			file, err := r.As().Again()
			require.NoError(t, err, r.As().Text())
			require.Equal(t, r.As().Text(), file.Text())
			told, err := file.Run(ctx, Options{Seed: seed, Lua: lua})
			require.NoError(t, err)
			require.Equal(t, r.Hash, told.Hash, "%s seed %d\n%s", s.Claim, seed, file.Text())
		}
	}
	for _, kind := range FaultKinds() {
		require.NotZero(t, faults[kind], "%s was never drawn", kind)
	}
}
