package sim

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// planned are worlds that draw every kind of fault.
func planned(t *testing.T) (list []*Scenario) {
	t.Helper()
	var all, some []string
	for _, f := range faultKinds {
		if f.where == ofSeveral {
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
			"# Lag.\nworld cluster=2x1 sync=on lag=10ms..200ms lock=mutex" + "\nfaults drop pause",
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

// planOf is the planner of a world with some kinds of fault.
func planOf(t *testing.T, kinds string, seed uint64) *planner {
	t.Helper()
	s, err := ParseScenario("x.scenario", "world masters=5 lock=redlock\nfaults "+kinds+"\nrun for=9s\n")
	require.NoError(t, err)
	opt := Options{Seed: seed}
	r := &runner{s: s.with(opt)}
	r.build(opt)
	return newPlanner(r)
}

// A fault that repeats the one before strikes the next server, and so on round.
func TestFaultsThatRepeatStrikeOthers(t *testing.T) {
	p := planOf(t, "outage", 1)
	p.echoes = 4 // always
	c := p.next()
	first := c.target(fieldOther, 5)
	for n := uint64(1); n < 7; n++ {
		c = p.after(c)
		require.Equal(t, n, c.echo)
		require.Equal(t, (first+n)%5, c.target(fieldOther, 5))
	}
}

// Of many kinds of fault a run may have some; of one or two it has all.
func TestSwarms(t *testing.T) {
	sizes := map[int]bool{}
	for seed := range uint64(20) {
		require.Len(t, planOf(t, "outage drop", seed).kinds, 2)
		sizes[len(planOf(t, "outage drop pause", seed).kinds)] = true
	}
	require.Equal(t, map[int]bool{1: true, 2: true, 3: true}, sizes)
}

// A turn is a grant to one while another waits, who has not given up and lives.
func TestTurns(t *testing.T) {
	for kind, waits := range map[trace.Kind]bool{trace.Crash: false, trace.Refused: false, trace.Failed: false,
		trace.Release: true} {
		p := planOf(t, "outage", 1)
		for _, e := range []trace.Event{{Kind: trace.Acquire, Actor: 1}, {Kind: trace.Acquire, Actor: 2},
			{Kind: kind, Actor: 2, Peer: 2}} {
			require.False(t, p.turn(&e))
		}
		require.Equal(t, waits, p.turn(&trace.Event{Kind: trace.Hold, Actor: 1}), kind)
		require.Equal(t, false, p.turn(&trace.Event{Kind: trace.Hold, Actor: 2}))
	}
}

// A plan has no more faults than it may have, however they are timed, and each strikes once.
func TestPlansEndWithTheirMost(t *testing.T) {
	lua := NewLua()
	for _, strategy := range Strategies {
		s, err := ParseScenario("x.scenario", "world clients=2 ttl=1s hold=100ms\nfaults pause=1s most=2 strategy="+strategy+
			"\nrun for=30s\n")
		require.NoError(t, err)
		most := 0
		for seed := range uint64(10) {
			r, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua})
			require.NoError(t, err)
			faults := len(slices.DeleteFunc(r.Steps, func(s Step) bool { return s.Fault == "" }))
			require.LessOrEqual(t, faults, 2, "%s seed %d", strategy, seed)
			most = max(most, faults)
		}
		require.Equal(t, 2, most, strategy)
	}
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

// Where servers fail over by themselves, faults are such as a file may have: only those who
// have keys are slow or evict some, and no replica is promoted that Sentinels watch.
func TestFaultsWhereServersDecide(t *testing.T) {
	lua, ctx := NewLua(), context.Background()
	for servers, without := range map[string][]string{
		"replicas=1 sentinels=3": {"failover", "split", "reshard"},
		"cluster=2x1":            {"failover"},
		"cluster=1x1":            {"failover", "reshard"},
	} {
		text := "# Planned.\nworld " + servers + " delay=1ms clients=2 ttl=3s hold=1s\nexpect exclusion=holds\nfaults "
		world := parsed(t, text+"drop\nrun for=20s\n").World
		kinds := FaultKindsFor(&world)
		for _, kind := range FaultKinds() {
			require.Equal(t, !slices.Contains(without, kind), slices.Contains(kinds, kind), kind)
		}
		for _, kind := range kinds {
			s := parsed(t, text+kind+" strategy=timed\nrun for=20s\n")
			for seed := range uint64(8) {
				r, err := s.Run(ctx, Options{Seed: seed, Lua: lua})
				require.NoError(t, err)
				_, err = r.As().Again()
				require.NoError(t, err, r.As().Text())
			}
		}
	}
}

// bounds is a Random that remembers how many ways each choice can go.
type bounds struct {
	Random
	of     map[Draw]uint64
	differ string
}

func (b *bounds) Draw(stream Stream, n, bound uint64) uint64 {
	key := Draw{Stream: stream, N: n}
	if before, asked := b.of[key]; asked && before != bound {
		b.differ = fmt.Sprintf("%x, number %d: %d and %d", uint64(stream), n, before, bound)
	}
	b.of[key] = bound
	return b.Random.Draw(stream, n, bound)
}

// What is asked for twice by the same key is the same choice: else no replay could tell them apart.
func TestChoicesHaveKeysOfTheirOwn(t *testing.T) {
	lua := NewLua()
	for i, s := range append(planned(t), Library()...) {
		b := &bounds{Random: Random(i), of: map[Draw]uint64{}}
		_, err := s.Run(context.Background(), Options{Chooser: b, Lua: lua})
		require.NoError(t, err)
		assert.Empty(t, b.differ, s.Text())
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
