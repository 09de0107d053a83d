package explore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"minikv/luaengine"
	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// Problem is a question: can one of these checks be violated in this scenario?
type Problem struct {
	Scenario *sim.Scenario
	Checks   []string // whose violation counts; the scenario must expect something of each; nil: all that it names
	Own      *sim.Own // for lock=own; else nil
}

// Options say how to search.
type Options struct {
	Root     uint64       // seeds are those of this root: see Seed
	First    int          // index of the first seed in the root
	Seeds    int          // most seeds that are tried
	Hits     int          // how many hits end the search; 0: 1
	Need     string       // only hits count that need this kind of fault; "": all
	Workers  int          // 0: one for each core
	Engines  *Engines     // nil: each search makes its own
	Progress func(Result) // called after each seed; may be nil
}

// Result is what a search found. It is the same for any number of workers.
type Result struct {
	Tried int   // seeds, in their order: up to the last hit that was asked for, or all
	Hits  []Hit // in the order of their seeds
	Other int   // violations that did not need Options.Need

	Unjudged []Unjudged // checks that count, and on which some runs had no verdict
	Struck   []string   // kinds of fault that did something in some run
}

// Unjudged is how many runs had no verdict on a check, and why: the result is that of the first.
type Unjudged struct {
	check.Result
	Runs int
}

// count adds to unjudged what one more run could not judge.
func (r *Result) count(results []check.Result, checks []string) {
	for _, result := range results {
		if result.Verdict != check.Unknown || !slices.Contains(checks, result.Check) {
			continue
		}
		i := slices.IndexFunc(r.Unjudged, func(u Unjudged) bool { return u.Check == result.Check })
		if i < 0 {
			i = len(r.Unjudged)
			r.Unjudged = append(r.Unjudged, Unjudged{Result: result})
		}
		r.Unjudged[i].Runs++
	}
}

// Hit is a run that violates a check.
type Hit struct {
	Seed     uint64
	Violated []check.Result // those that disappoint come first: see Disappoints
	Hash     trace.Hash     // of the run
	Story    *sim.Scenario  // the run, told as a scenario: its faults are `at` lines
	Needs    []string       // kinds of fault; without any one of them the story does not violate the first check

	own     *sim.Own
	amounts []sim.FaultRange // of the kinds of fault that were drawn
}

// SeedsOfRoot is how many seeds a root has; MaxRoot is the largest root. See Seed.
const (
	SeedsOfRoot = 1_000_000_000
	MaxRoot     = math.MaxUint64/SeedsOfRoot - 1
)

// Seed returns seed i, from 0, of a root: root 3 has the seeds 3000000000, 3000000001, …
func Seed(root uint64, i int) uint64 { return root*SeedsOfRoot + uint64(i) }

// checks are the names of the checks that count.
func (p *Problem) checks() ([]string, error) {
	var known []string
	for _, e := range p.Scenario.Expect {
		known = append(known, e.Check)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("explore: %s has no expect line: nothing is checked", p.Scenario.Name)
	}
	for _, name := range p.Checks {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("explore: %s is not checked in %s: its checks are %v", name, p.Scenario.Name, known)
		}
	}
	if p.Checks != nil {
		return p.Checks, nil
	}
	return known, nil
}

// lab runs scenarios, one at a time.
type lab struct {
	lua    *luaengine.Engine
	own    *sim.Own
	checks []string // whose violation counts
	runs   int
}

func newLab(lua *luaengine.Engine, checks []string, own *sim.Own) *lab {
	return &lab{lua: lua, own: own, checks: checks}
}

// outcome is what a run showed.
type outcome struct {
	report   *sim.Report
	violated []check.Result
	at       time.Duration   // at which the first violation was decided
	brief    bool            // it is an overlap of two beliefs that ends in the moment in which it begins
	tokens   bool            // there were some, and each that another client got was larger
	holders  int             // how many clients got a lock
	asked    []asking        // the calls of lock() until then, in their order
	steps    []time.Duration // of the protocol
}

// asking is a call of lock() and its like.
type asking struct {
	client string
	at     time.Duration
}

// run runs a scenario with a seed.
func (l *lab) run(ctx context.Context, s *sim.Scenario, seed uint64) (*outcome, error) {
	l.runs++
	r, err := s.Run(ctx, sim.Options{Seed: seed, Lua: l.lua, Own: l.own})
	if err != nil {
		return nil, err
	}
	return &outcome{report: r, violated: l.violations(r)}, nil
}

// violations are those of the checks that count, what disappoints before what was
// expected.
func (l *lab) violations(r *sim.Report) []check.Result {
	return violations(r.Scenario, r.Results, l.checks)
}

func violations(s *sim.Scenario, results []check.Result, checks []string) (list []check.Result) {
	disappointing := 0
	for _, result := range results {
		switch {
		case result.Verdict != check.Violated || !slices.Contains(checks, result.Check):
		case Disappoints(s, &result):
			list = slices.Insert(list, disappointing, result)
			disappointing++
		default:
			list = append(list, result)
		}
	}
	return list
}

// unjudged are those of the checks that count of which all runs so far say that there is
// no verdict: before is what the runs before one said, nil if it is the first.
func unjudged(before []check.Result, first bool, results []check.Result, checks []string) (list []check.Result) {
	for _, r := range results {
		isIt := func(b check.Result) bool { return b.Check == r.Check }
		if r.Verdict == check.Unknown && slices.Contains(checks, r.Check) && (first || slices.ContainsFunc(before, isIt)) {
			list = append(list, r)
		}
	}
	return list
}

// Disappoints reports whether a result is the violation of a check that the scenario
// expects to hold.
func Disappoints(s *sim.Scenario, result *check.Result) bool {
	return result.Verdict == check.Violated && slices.ContainsFunc(s.Expect, func(e sim.Expectation) bool {
		return e.Check == result.Check && e.Verdict == check.Holds.String()
	})
}

// watch is run for those who want to know how it went.
func (l *lab) watch(ctx context.Context, s *sim.Scenario) (*outcome, error) {
	l.runs++
	o, w := &outcome{}, watcher{times: []time.Duration{0}, actors: []trace.Actor{0}}
	r, err := s.Run(ctx, sim.Options{Seed: s.Seed, Lua: l.lua, Own: l.own, Observe: func(e *trace.Event, names []string) {
		w.observe(e)
		if e.Kind == trace.Acquire || e.Kind == trace.CountDown {
			o.asked = append(o.asked, asking{names[e.Actor], e.At})
		}
		if e.Kind.Protocol() && (len(o.steps) == 0 || o.steps[len(o.steps)-1] < e.At) {
			o.steps = append(o.steps, e.At)
		}
	}})
	if err != nil {
		return nil, err
	}
	o.report, o.violated, o.tokens = r, l.violations(r), w.largest.A > 0 && !w.repeated
	o.holders = len(w.holders)
	if len(o.violated) > 0 {
		o.at, o.brief = w.decided(&o.violated[0], r), w.brief(&o.violated[0])
		o.asked = slices.DeleteFunc(o.asked, func(a asking) bool { return a.at > o.at })
	}
	return o, nil
}

// watcher keeps of a run's events what tells when a violation was decided. The
// slices are by the number of the event.
type watcher struct {
	times  []time.Duration
	actors []trace.Actor
	ends   []uint64      // of beliefs
	calm   time.Duration // at which all faults had ended

	holders  []trace.Actor // the clients that got a lock
	largest  trace.Event   // of the grants with a token
	repeated bool          // another client got a token that was no larger
}

func (w *watcher) observe(e *trace.Event) {
	w.times, w.actors = append(w.times, e.At), append(w.actors, e.Actor)
	switch e.Kind {
	case trace.Release, trace.Lost:
		w.ends = append(w.ends, e.N)
	case trace.Calm:
		w.calm = e.At
	case trace.Hold:
		if !slices.Contains(w.holders, e.Actor) {
			w.holders = append(w.holders, e.Actor)
		}
		w.repeated = w.repeated || e.A <= w.largest.A && e.Actor != w.largest.Actor
		if e.A > w.largest.A {
			w.largest = *e
		}
	}
}

// decided is when a violation was certain: with the last event that it names; at the end if
// it names none, as something has not happened; or where it is that somebody waits when
// that took longer than the bound.
func (w *watcher) decided(v *check.Result, r *sim.Report) (at time.Duration) {
	if len(v.Events) == 0 {
		return r.End
	}
	for _, n := range v.Events {
		at = max(at, w.times[n])
	}
	switch v.Check {
	case "liveness":
		at = max(at, w.calm) + r.Scenario.World.Bound
	case "progress":
		at += r.Scenario.World.Bound
	}
	return min(at, r.End)
}

// brief reports whether a violation is an overlap of two beliefs of which one ends
// in the moment in which the other begins: who reads of it sees none.
func (w *watcher) brief(v *check.Result) bool {
	if v.Check != "exclusion" {
		return false
	}
	first, second := v.Events[0], v.Events[1]
	for _, n := range w.ends {
		if n > second && (w.actors[n] == w.actors[first] || w.actors[n] == w.actors[second]) {
			return w.times[n] == w.times[second]
		}
	}
	return false
}
