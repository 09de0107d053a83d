package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// refused are the errors of both searches of orders, which are the same.
func refused(t *testing.T, text string, faults int) string {
	t.Helper()
	_, exhaust := Exhaust(t.Context(), problem(t, text), Bound{Faults: faults})
	_, sample := Sample(t.Context(), problem(t, text), Sampling{Faults: faults, Schedules: 1})
	require.Error(t, exhaust)
	require.Equal(t, exhaust, sample)
	return exhaust.Error()
}

// A search of orders draws nothing, so it takes no range of which it would run only the
// least: a plain run draws more, and may violate.
func TestOrdersOfRangesAreRefused(t *testing.T) {
	const end = "\nexpect exclusion=holds\nrun for=30s seed=1\n"
	const drawn = "world clients=2 profile=redisson ttl=1s renew=off rounds=1 think=0s hold=0s..3s"
	r, err := problem(t, drawn+end).Scenario.Run(t.Context(), sim.Options{Seed: 1})
	require.NoError(t, err)
	require.False(t, r.AsExpected())
	for world, want := range map[string]string{
		drawn:                        "hold=0s..3s: a search of orders draws nothing: expected one value, such as hold=3s",
		"world renew=off ttl=1s..3s": "ttl=1s..3s: a search of orders draws nothing: expected one value, such as ttl=3s",
		"world think=0s..90s rounds=2": "think=0s..1m30s: a search of orders draws nothing: expected one value, " +
			"such as think=1m30s",
		"world hold=3s scales=on": "scales=on: a search of orders draws nothing: expected scales=off, and one value of " +
			"hold, such as hold=3s",
		"world clients=3 guards=1": "guards=1: a search of orders draws nothing, and guards ask at random times: " +
			"expected no guards",
	} {
		require.Equal(t, "explore: "+want, refused(t, world+end, 0))
	}
	for _, world := range []string{
		"world rounds=1 ttl=1s hold=0s delay=1ms..9s replicas=1 lag=0s..2s", // all orders are all delays
		"world rounds=1 ttl=1s hold=0s think=0s..5s",                        // nobody thinks
	} {
		done, err := Exhaust(t.Context(), problem(t, world+end), Bound{})
		require.NoError(t, err, world)
		require.True(t, done.Complete, world)
		require.False(t, done.Drew, world)
	}
}

// What a test's clients draw is not known before: the result says that they did, and does
// not claim that these are all schedules.
func TestOrdersOfClientsThatDraw(t *testing.T) {
	for bound, draws := range map[int]bool{1: false, 4: true} {
		p := problem(t, "world clients=2 lock=own rounds=1 ttl=1s\nexpect exclusion=holds\nrun for=9s\n")
		p.Own = &sim.Own{Run: func(ctx context.Context, c *sim.Client) {
			_ = c.Sleep(ctx, time.Duration(c.Draw(bound))*time.Second)
			c.Ends(c.Believes(0), false)
		}}
		for _, first := range []bool{false, true} {
			done, err := Exhaust(t.Context(), p, Bound{First: first})
			require.NoError(t, err)
			require.Equal(t, draws, done.Drew)
			require.Equal(t, !draws, done.Complete)
		}
		sampled, err := Sample(t.Context(), p, Sampling{Schedules: 9})
		require.NoError(t, err)
		require.Equal(t, draws, sampled.Drew)
	}
}
