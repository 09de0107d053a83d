package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// Where a lock breaks a sampling finds it, whoever works at it, and the order that it
// found runs again; where it holds all schedules were run.
func TestSample(t *testing.T) {
	ctx := context.Background()
	text := "world rounds=1 ttl=2s hold=1s clients=2 lock=simple renew=off wait=1s\nfaults amnesia\n" +
		"expect exclusion=violated\nrun for=8s\n"
	opt := Sampling{Faults: 1, Root: 3, Schedules: 1000, Workers: 1}
	done, err := Sample(ctx, problem(t, text), opt)
	require.NoError(t, err)
	require.NotNil(t, done.Hit)
	require.Equal(t, Seed(3, done.Schedules-1), done.Seed)
	again, err := done.Hit.Again()
	require.NoError(t, err)
	r, err := again.Run(ctx, sim.Options{})
	require.NoError(t, err)
	require.Equal(t, done.Result, r.Results[0])

	opt.Workers, opt.Engines = 3, &Engines{}
	three, err := Sample(ctx, problem(t, text), opt)
	require.NoError(t, err)
	require.Equal(t, done.Hit.Text(), three.Hit.Text())
	three.Hit = done.Hit
	require.Equal(t, done, three)

	opt.Faults, opt.Schedules = 0, 50
	reported := 0
	opt.Progress = func(s Sampled) { reported = s.Schedules }
	calm, err := Sample(ctx, problem(t, text), opt)
	require.NoError(t, err)
	require.Nil(t, calm.Hit)
	require.Equal(t, 50, calm.Schedules)
	require.Equal(t, 50, reported)
	require.Positive(t, calm.Deepest)
}

func TestSamplesThatCannotBe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Sample(ctx, problem(t, "world\nexpect exclusion=holds\nfaults drift\nrun for=9s\n"), Sampling{Schedules: 1})
	require.ErrorContains(t, err, "explore: drift needs times: a search of orders takes only [pause freeze jump")
	p := problem(t, "world clients=2 rounds=1\nexpect exclusion=holds\nfaults pause\nrun for=9s\n")
	_, err = Sample(ctx, p, Sampling{Faults: 10, Schedules: 1})
	require.EqualError(t, err, "explore: a bound of 10 faults: expected 0 to 9")
	cancel()
	done, err := Sample(ctx, p, Sampling{Schedules: 10})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, done.Schedules)
	p = problem(t, "world clients=1 lock=own\nexpect exclusion=holds\nrun for=8s\n")
	p.Own = &sim.Own{Run: func(context.Context, *sim.Client) { panic("out of luck") }}
	_, err = Sample(context.Background(), p, Sampling{Schedules: 10})
	require.ErrorContains(t, err, "out of luck")
}

// The lines on which something can arrive in these tests.
var (
	first  = sim.Action{Verb: sim.Deliver, From: 1, To: 2}
	second = sim.Action{Verb: sim.Deliver, From: 2, To: 1}
	third  = sim.Action{Verb: sim.Deliver, From: 3, To: 1}
	fault  = sim.Action{Verb: sim.Pause, To: 1}
)

// chosen are what a chooser takes of the same lines, again and again.
func chosen(c *chooser, n int, lines ...sim.Action) (list []sim.Action) {
	for i := range n {
		a, _ := c.choose(append([]sim.Action(nil), lines...), i)
		list = append(list, a)
	}
	return list
}

// One line comes first for as long as its priority is not lowered, from then on
// another; what was lowered to the higher place comes before what was to the lower.
func TestPriorities(t *testing.T) {
	won := map[sim.Action]int{}
	for seed := range uint64(300) {
		c := newChooser(seed, 1, 10, 0)
		list := chosen(c, 9, first, second, third)
		for _, a := range list {
			require.Equal(t, list[0], a)
		}
		won[list[0]]++

		c = newChooser(seed, 3, 10, 0)
		require.Len(t, c.changes, 2)
		c.changes = []int{6, 3}
		lowered := chosen(c, 9, first, second, third)
		for i, a := range lowered {
			require.Equal(t, lowered[i/3*3], a)
		}
		require.Len(t, map[sim.Action]bool{lowered[0]: true, lowered[3]: true, lowered[6]: true}, 3)
		two, _ := c.choose([]sim.Action{lowered[0], lowered[3]}, 9)
		require.Equal(t, lowered[0], two, "the first of them was lowered to the higher place")
	}
	for _, a := range []sim.Action{first, second, third} {
		require.InDelta(t, 100, won[a], 30)
	}
	begin, fire := sim.Action{Verb: sim.Begin, To: 1}, sim.Action{Verb: sim.Fire, To: 1}
	require.Equal(t, source(fire), source(begin), "a client that starts, and its timers")
	require.NotEqual(t, source(fire), source(sim.Action{Verb: sim.Fire, To: 2}))
}

// At depth 0 all is equally likely at each action.
func TestUniform(t *testing.T) {
	won, mixed := map[sim.Action]int{}, 0
	for seed := range uint64(100) {
		one := map[sim.Action]bool{}
		for _, a := range chosen(newChooser(seed, 0, 10, 0), 9, first, second, third) {
			won[a]++
			one[a] = true
		}
		if len(one) == 3 {
			mixed++
		}
	}
	require.Greater(t, mixed, 80, "a schedule prefers none")
	for _, a := range []sim.Action{first, second, third} {
		require.InDelta(t, 300, won[a], 60)
	}
}

// A fault strikes at its point, or as soon as it can then; or when nothing else is left.
func TestStrikes(t *testing.T) {
	at := map[int]int{}
	for seed := range uint64(200) {
		c := newChooser(seed, int(seed%depths), 10, 1)
		list := chosen(c, 10, first, fault, second)
		n := 0
		for i, a := range list {
			if a == fault {
				at[i]++
				n++
			}
		}
		require.Equal(t, 1, n)
	}
	require.Len(t, at, 10, "each action may be the one")

	c := newChooser(1, 1, 10, 2)
	c.strikes = []int{2, 5}
	require.NotContains(t, chosen(c, 4, first), fault, "none can")
	a, ok := c.choose([]sim.Action{first, fault}, 4)
	require.Equal(t, fault, a)
	require.True(t, ok)
	a, _ = c.choose([]sim.Action{first, fault}, 4)
	require.Equal(t, first, a, "the other is not due")
	a, _ = c.choose([]sim.Action{fault}, 4)
	require.Equal(t, fault, a, "nothing else is left")
	_, ok = c.choose([]sim.Action{fault}, 9)
	require.False(t, ok, "there were two")
}
