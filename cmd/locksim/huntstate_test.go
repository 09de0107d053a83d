package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
	"minikv/sim/explore"
)

// A story that has lost what its run needs says so.
func TestHuntTellsOfAnotherWay(t *testing.T) {
	folder, file := writeScenario(t, "world replicas=2 clients=3 lag=1ms..20ms sync=on lock=mutex ttl=4s renew=off "+
		"hold=1s..4s rounds=3 pool=on bound=15s delay=1ms..8ms\nexpect exclusion=holds\nrun for=60s seed=1\n")
	_, out, errs := locksim("hunt", file, "--root", "73", "--seeds", "3", "--hits", "1", "--out", folder)
	require.Empty(t, errs)
	require.Contains(t, out, "seed 73000000002: exclusion violated, needs split\n"+
		"the shortest story violates exclusion in another way than seed 73000000002: by pause, without split\n")
	_, out, _ = locksim("hunt", file, "--root", "73", "--seeds", "3", "--hits", "1", "--need", "split", "--out", folder)
	require.NotContains(t, out, "in another way", "it must need it")
}

// Of a kind of fault that has done nothing with any seed, or in any order, a hunt says so,
// where it found nothing; also one that was resumed.
func TestHuntsSayWhatNeverStruck(t *testing.T) {
	folder, file := writeScenario(t, "# Nobody publishes.\n"+
		"world clients=2 lock=simple renew=off rounds=1 ttl=2s hold=1s\nexpect exclusion=holds\n"+
		"faults lost-message drop lost-reply\nrun for=8s seed=1\n")
	for what, how := range map[string][]string{
		"schedule": {"--strategy", "exhaustive"}, "seed": {"--seeds", "50", "--root", "1"},
	} {
		code, out, errs := locksim(append([]string{"hunt", file, "--out", folder}, how...)...)
		require.Equal(t, exitExpected, code, errs)
		require.Contains(t, out, "\nlost-message never struck: with no "+what+" did such a fault do anything\n")
	}
	_, out, _ := locksim("hunt", file, "--strategy", "pct", "--seeds", "90", "--root", "1", "--out", folder)
	require.Contains(t, out, "\nlost-message never struck: with no schedule did such a fault do anything\n")
	for _, how := range [][]string{
		{"--strategy", "exhaustive", "--bound", "0"}, {"--strategy", "exhaustive", "--faults", "drop,lost-reply"},
		{"--seeds", "50", "--root", "1", "--faults", "drop,lost-reply"},
	} {
		code, out, errs := locksim(append([]string{"hunt", file, "--out", folder}, how...)...)
		require.Equal(t, exitExpected, code, errs)
		require.NotContains(t, out, "never struck", how)
	}
	begun := huntState{}.after(explore.Result{Tried: 5, Struck: []string{"drop"}})
	require.Equal(t, []string{"drop", "pause"}, begun.after(explore.Result{Struck: []string{"pause", "drop"}}).Struck)
}

// That no violation was found says nothing of a check that had no verdict in any run: it is
// not as expected then.
func TestHuntsSayWhatWasNeverJudged(t *testing.T) {
	folder, file := writeScenario(t, "# Nobody audits.\nworld clients=1 rounds=1 ttl=2s hold=1s\n"+
		"expect exclusion=holds leak=holds\nrun for=8s seed=1\n")
	for _, how := range [][]string{
		{"--strategy", "exhaustive"}, {"--strategy", "pct", "--seeds", "9"}, {"--seeds", "9", "--faults", "drop"},
	} {
		code, out, errs := locksim(append([]string{"hunt", file, "--out", folder}, how...)...)
		require.Equal(t, exitDiffers, code, errs)
		require.Contains(t, out, "leak was never judged: ")
		require.NotContains(t, out, "exclusion was never judged")
		require.True(t, strings.HasSuffix(out, "\nexpected: leak=holds\n"), out)
		code, _, errs = locksim(append([]string{"hunt", file, "--out", folder, "--check", "exclusion"}, how...)...)
		require.Equal(t, exitExpected, code, errs)
	}
	leak := func(runs int) []explore.Unjudged {
		return []explore.Unjudged{{Result: check.Result{Check: "leak"}, Runs: runs}}
	}
	begun := huntState{}.after(explore.Result{Tried: 5, Unjudged: leak(5)})
	require.Equal(t, map[string]int{"leak": 5}, begun.Unjudged)
	require.Equal(t, begun.Unjudged, begun.after(explore.Result{}).Unjudged, "what goes on has not tried any yet")
	require.Equal(t, map[string]int{"leak": 7}, begun.after(explore.Result{Tried: 3, Unjudged: leak(2)}).Unjudged)
	require.Equal(t, map[string]int{"leak": 5}, begun.Unjudged, "its state is its own")
	require.Contains(t, unjudged("leak", 5, 5), "leak was never judged")
	for state, list := range map[*huntState][]check.Result{
		{Seeds: 5, Tried: 5, Unjudged: begun.Unjudged}: {{Check: "leak"}}, // also if it was resumed
		{Seeds: 6, Tried: 5, Unjudged: begun.Unjudged}: nil,               // it has ended with what it found
		{Seeds: 6, Tried: 6, Unjudged: begun.Unjudged}: nil,               // one had a verdict
	} {
		require.Equal(t, list, state.neverJudged())
	}
	require.Contains(t, unjudged("leak", 5, 6), "leak was judged with 1 of 6 seeds")
}
