package explore

import (
	"fmt"
	"slices"

	"minikv/luaengine"
	"minikv/sim"
	"minikv/sim/check"
)

// untimed is a problem whose runs have no times, only an order (see sim.Untimed).
type untimed struct {
	p      Problem
	checks []string
	kinds  []string // of fault
	faults int      // how many may strike
	lua    *luaengine.Engine
}

func newUntimed(p Problem, faults int, lua *luaengine.Engine) (w untimed, err error) {
	w = untimed{p: p, faults: faults, lua: lua}
	if w.checks, err = p.checks(); err != nil {
		return w, err
	}
	if len(p.Scenario.Steps) > 0 {
		return w, fmt.Errorf("explore: %s has at lines, but a search of orders has no times", p.Scenario.Name)
	}
	if err := drawn(&p.Scenario.World); err != nil {
		return w, err
	}
	if faults < 0 || faults > 9 {
		return w, fmt.Errorf("explore: a bound of %d faults: expected 0 to 9", faults)
	}
	if most := p.Scenario.Faults.Most; most > 0 && most < faults {
		return w, fmt.Errorf("explore: a bound of %d faults: expected at most the %d of the faults line", faults, most)
	}
	if cuts := p.Scenario.Faults.Cuts; cuts > 0 {
		return w, fmt.Errorf("explore: cuts=%d: a search of orders takes servers= only", cuts)
	}
	for _, k := range p.Scenario.Faults.Kinds {
		switch {
		case !slices.Contains(sim.UntimedFaults(), k.Kind):
			return w, fmt.Errorf("explore: %s needs times: a search of orders takes only %v", k.Kind, sim.UntimedFaults())
		case k.Hi > 0:
			return w, fmt.Errorf("explore: %s needs times: a search of orders takes %s only, which lasts as long, "+
				"or goes as far, as matters", k.Text(), k.Kind)
		}
		w.kinds = append(w.kinds, k.Kind)
	}
	return w, nil
}

// drawn reports what the world line has drawn from: a search of orders draws nothing, so
// that its runs would all have the least, and be all that there are of one value only.
func drawn(w *sim.Spec) error {
	load := &w.Load
	const nothing = "a search of orders draws nothing"
	switch {
	case load.Scales:
		return fmt.Errorf("explore: scales=on: %s: expected scales=off, and one value of hold, such as hold=%s", nothing,
			sim.DurationText(load.Hold.Hi))
	case load.Guards > 0:
		return fmt.Errorf("explore: guards=%d: %s, and guards ask at random times: expected no guards", load.Guards, nothing)
	}
	for _, o := range []struct {
		name    string
		span    sim.Range
		matters bool
	}{
		{"ttl", load.Lease, true},
		{"hold", load.Hold, true},
		{"think", load.Think, load.Rounds != 1}, // behind the last round nobody thinks
	} {
		if lo, hi := sim.DurationText(o.span.Lo), sim.DurationText(o.span.Hi); o.matters && o.span.Lo < o.span.Hi {
			return fmt.Errorf("explore: %s=%s..%s: %s: expected one value, such as %s=%s", o.name, lo, hi, nothing,
				o.name, hi)
		}
	}
	return nil
}

// world is the problem's world, in which nothing has happened yet.
func (w *untimed) world(exact bool) (*sim.Untimed, error) {
	return sim.NewUntimed(w.p.Scenario, sim.UntimedOptions{Faults: w.kinds, Budget: w.faults,
		Servers: w.p.Scenario.Faults.Servers, Exact: exact,
		Options: sim.Options{Seed: w.p.Scenario.Seed, Lua: w.lua, Own: w.p.Own}})
}

// violation is the first violation of a check that counts, one that disappoints if
// there is one, or nil.
func (w *untimed) violation(u *sim.Untimed) *check.Result {
	if list := violations(w.p.Scenario, u.Results(), w.checks); len(list) > 0 {
		return &list[0]
	}
	return nil
}

// story is a schedule that violates as a scenario with its order.
func (w *untimed) story(u *sim.Untimed, r *check.Result, order []sim.Action) *sim.Scenario {
	s := *w.p.Scenario
	s.Expect = []sim.Expectation{{Check: r.Check, Verdict: r.Verdict.String()}}
	s.Order = nil
	for _, a := range order {
		s.Order = append(s.Order, a.Text(u.Names()))
	}
	return &s
}
