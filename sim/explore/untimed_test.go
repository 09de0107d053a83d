package explore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/trace"
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

// Without times faults have no amount: one that the file gives would not be kept. Nor may
// more of them strike than the file says.
func TestOrdersOfAmountsAreRefused(t *testing.T) {
	const world = "world clients=2 rounds=1 hold=3s ttl=1s\nexpect exclusion=holds\nfaults "
	for kinds, want := range map[string]string{
		"jump=1ms": "jump=1ms needs times: a search of orders takes jump only, which lasts as long, or goes as far, " +
			"as matters",
		"drop pause=1ms..2ms": "pause=1ms..2ms needs times: a search of orders takes pause only, which lasts as long, " +
			"or goes as far, as matters",
		"partition servers=1 cuts=2": "cuts=2: a search of orders takes servers= only",
		"drop most=1":                "a bound of 2 faults: expected at most the 1 of the faults line",
	} {
		require.Equal(t, "explore: "+want, refused(t, world+kinds+"\nrun for=9s\n", 2))
	}
	_, err := Exhaust(t.Context(), problem(t, world+"drop most=1\nrun for=9s\n"), Bound{Faults: 1})
	require.NoError(t, err)
}

// Faults strike no more servers than the file lets them, whichever these are, and each as
// often as they may.
func TestOrdersOfFewServers(t *testing.T) {
	for _, kinds := range []string{"freeze", "jump", "drop", "duplicate", "partition", "amnesia", "freeze drop"} {
		for servers, most := range map[string]int{"": 2, " servers=1": 1, " servers=2": 2} {
			p := problem(t, "world masters=3 clients=1 lock=redlock renew=off once=on rounds=1 hold=0s ttl=1s\n"+
				"expect exclusion=holds\nfaults "+kinds+servers+"\nrun for=4s\n")
			w, err := newUntimed(p, 2, sim.NewLua())
			require.NoError(t, err)
			all, twice := map[string]bool{}, 0
			for seed := range uint64(100) {
				c := newChooser(seed, int(seed%depths), 20, 2)
				c.strikes = []int{3, 5}
				struck := serversOf(t, &w, c)
				require.LessOrEqual(t, len(struck), most, kinds+servers)
				for name, times := range struck {
					all[name] = true
					twice += times - 1
				}
			}
			require.Len(t, all, 3, kinds+servers)
			if most == 1 && kinds != "duplicate" {
				require.Positive(t, twice, kinds+servers)
			}
		}
	}
}

// serversOf are the servers that the faults of a schedule strike, and how often.
func serversOf(t *testing.T, w *untimed, c *chooser) map[string]int {
	t.Helper()
	u, err := w.world(false)
	require.NoError(t, err)
	defer u.Close()
	struck := map[string]int{}
	for n := 0; ; n++ {
		a, ok := c.choose(u.Actions(), n)
		if !ok {
			return struck
		}
		if a.Fault() {
			for _, end := range []trace.Actor{a.From, a.To} {
				if name := u.Names()[end]; strings.HasPrefix(name, "m") {
					struck[name]++
				}
			}
		}
		u.Do(a)
	}
}

// The run of an order keeps to it as well.
func TestOrderOfTooManyServers(t *testing.T) {
	const text = "world masters=3 clients=1 lock=redlock\nexpect exclusion=holds\nfaults freeze servers=1\n" +
		"order start:c1 pause:m1 resume:m1 pause:m2\nrun for=4s\n"
	_, err := problem(t, text).Scenario.Run(t.Context(), sim.Options{})
	require.ErrorContains(t, err, "action 4, pause:m2, cannot happen here")
	_, err = problem(t, strings.Replace(text, "=1\norder", "=2\norder", 1)).Scenario.Run(t.Context(), sim.Options{})
	require.NoError(t, err)
}
