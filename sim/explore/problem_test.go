package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// resultOf is what a check says.
func resultOf(name string, v check.Verdict) check.Result {
	return check.Result{Check: name, Verdict: v}
}

// What disappoints comes before what was expected; what does not count is left out.
func TestViolations(t *testing.T) {
	s := problem(t, "world\nexpect fencing=violated exclusion=holds kept=holds progress=holds\nrun for=1s\n").Scenario
	fencing, exclusion := resultOf("fencing", check.Violated), resultOf("exclusion", check.Violated)
	kept := resultOf("kept", check.Violated)
	all := []check.Result{fencing, resultOf("progress", check.Violated), exclusion, kept}
	counts := []string{"kept", "fencing", "exclusion"}
	require.Equal(t, []check.Result{exclusion, kept, fencing}, violations(s, all, counts))
	others := []check.Result{resultOf("kept", check.Unknown), resultOf("exclusion", check.Holds)}
	require.Empty(t, violations(s, others, counts))
	require.True(t, Disappoints(s, &exclusion))
	require.False(t, Disappoints(s, &fencing))
	unknown := resultOf("exclusion", check.Unknown)
	require.False(t, Disappoints(s, &unknown))
}

// What every run so far could not judge was never judged; other checks do not count.
func TestUnjudged(t *testing.T) {
	a, b, c := resultOf("a", check.Unknown), resultOf("b", check.Unknown), resultOf("c", check.Unknown)
	counts := []string{"a", "b"}
	first := unjudged(nil, true, []check.Result{a, b, c}, counts)
	require.Equal(t, []check.Result{a, b}, first)
	require.Equal(t, []check.Result{b}, unjudged(first, false, []check.Result{resultOf("a", check.Holds), b, c}, counts))
	judged := []check.Result{resultOf("a", check.Violated), resultOf("b", check.Holds)}
	require.Empty(t, unjudged(first, false, judged, counts))
	require.Empty(t, unjudged(nil, false, []check.Result{a, b, c}, counts), "a run before has judged both")
}

// watched is what a watcher has seen of events that come a second apart, with these tokens.
func watched(events ...trace.Event) *watcher {
	w := &watcher{times: []time.Duration{0}, actors: []trace.Actor{0}}
	for i := range events {
		e := events[i]
		e.N = uint64(i + 1)
		if e.At == 0 {
			e.At = time.Duration(i+1) * time.Second
		}
		w.observe(&e)
	}
	return w
}

// A violation is certain with the last event that it names; that somebody waits is when the
// bound has passed, since the faults have ended if that is what counts.
func TestDecided(t *testing.T) {
	r := &sim.Report{End: time.Minute, Scenario: &sim.Scenario{World: sim.Spec{Bound: 10 * time.Second}}}
	acquire := trace.Event{Kind: trace.Acquire}
	w := watched(acquire, acquire, acquire, trace.Event{Kind: trace.Calm}, acquire)
	for _, test := range []struct {
		check  string
		events []uint64
		want   int
	}{
		{"exclusion", []uint64{3, 2}, 3}, {"exclusion", []uint64{2, 3}, 3}, {"own", nil, 60}, {"progress", []uint64{2}, 12},
		{"liveness", []uint64{2}, 14}, {"liveness", []uint64{5}, 15},
	} {
		got := w.decided(&check.Result{Check: test.check, Events: test.events}, r)
		require.Equal(t, time.Duration(test.want)*time.Second, got, test)
	}
	r.End = 11 * time.Second
	require.Equal(t, r.End, w.decided(&check.Result{Check: "progress", Events: []uint64{2}}, r), "the run had ended")
}

// An overlap is brief if one of its two beliefs ends in the moment in which the other began.
func TestBrief(t *testing.T) {
	at := func(kind trace.Kind, who trace.Actor, seconds int) trace.Event {
		return trace.Event{Kind: kind, Actor: who, At: time.Duration(seconds) * time.Second}
	}
	overlap := check.Result{Check: "exclusion", Events: []uint64{1, 3}}
	run := func(ends ...trace.Event) *watcher {
		return watched(append([]trace.Event{at(trace.Hold, c1, 1), at(trace.Lost, c1, 4), at(trace.Hold, c2, 4)}, ends...)...)
	}
	require.True(t, run(at(trace.Release, c1, 4)).brief(&overlap))
	require.True(t, run(at(trace.Lost, c2, 4), at(trace.Release, c1, 9)).brief(&overlap))
	require.False(t, run(at(trace.Release, c1, 5)).brief(&overlap))
	require.False(t, run(at(trace.Release, c3, 4), at(trace.Release, c2, 5)).brief(&overlap), "a third does not matter")
	require.False(t, run().brief(&overlap), "it does not end")
	overlap.Check = "capacity"
	require.False(t, run(at(trace.Release, c1, 4)).brief(&overlap))
}

// Tokens that another client got are larger each time, or they are no use.
func TestTokensThatGrow(t *testing.T) {
	hold := func(who trace.Actor, token int64) trace.Event {
		return trace.Event{Kind: trace.Hold, Actor: who, A: token}
	}
	for _, test := range []struct {
		run      []trace.Event
		repeated bool
	}{
		{[]trace.Event{hold(c1, 1), hold(c2, 2), hold(c1, 3)}, false},
		{[]trace.Event{hold(c1, 1), hold(c1, 1), hold(c2, 2)}, false},
		{[]trace.Event{hold(c1, 1), hold(c2, 1)}, true},
		{[]trace.Event{hold(c1, 2), hold(c2, 1)}, true},
		{[]trace.Event{hold(c1, 1), hold(c2, 3), hold(c3, 2), hold(c1, 4)}, true},
		{[]trace.Event{hold(c1, 3), hold(c1, 1), hold(c2, 2)}, true},
	} {
		require.Equal(t, test.repeated, watched(test.run...).repeated, test.run)
	}
}

// Of two stories that is shorter which has fewer faults, or operations where those count
// most; what they have in common decides nothing.
func TestLonger(t *testing.T) {
	of := func(faults, asked int) *outcome {
		steps := []sim.Step{{Verb: "start"}, {Verb: "audit"}, {Verb: "calm"}}
		for range faults {
			steps = append(steps, sim.Step{Verb: "pause"})
		}
		return &outcome{report: &sim.Report{Scenario: &sim.Scenario{Steps: steps}}, asked: make([]asking, asked)}
	}
	for _, test := range []struct {
		a, b           *outcome
		byFaults, byOp bool // a is longer
	}{
		{of(1, 1), of(1, 1), false, false}, {of(2, 1), of(1, 1), true, true}, {of(1, 1), of(2, 1), false, false},
		{of(1, 2), of(1, 1), true, true}, {of(1, 1), of(1, 2), false, false}, {of(2, 1), of(1, 2), true, false},
		{of(1, 2), of(2, 1), false, true},
	} {
		require.Equal(t, test.byFaults, (&shrinker{}).longer(test.a, test.b))
		require.Equal(t, test.byOp, (&shrinker{how: Shortening{Operations: true}}).longer(test.a, test.b))
	}
}
