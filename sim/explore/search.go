package explore

import (
	"context"
	"fmt"
	"slices"

	"minikv/sim"
	"minikv/sim/check"
)

// found is what one seed gave.
type found struct {
	hit     *Hit // nil: nothing was violated
	other   bool // something was, without the fault that is needed
	results []check.Result
	struck  []string
	err     error
}

// Search runs the problem's scenario with many seeds until it has as many hits as opt
// asks for. When ctx ends, it returns ctx's error with what it has. A run that ends with
// an error, such as a panic of client code, ends the search.
func Search(ctx context.Context, p Problem, opt Options) (Result, error) {
	checks, err := p.checks()
	if err != nil {
		return Result{}, err
	}
	var res Result
	var failed error
	worker := func() (func(context.Context, int) found, func()) {
		l := newLab(opt.Engines.take(), checks, p.Own)
		return func(ctx context.Context, i int) found {
			return l.seed(ctx, p.Scenario, Seed(opt.Root, opt.First+i), opt.Need)
		}, func() { opt.Engines.give(l.lua) }
	}
	err = each(ctx, &counter{most: most}, opt.Seeds, opt.Workers, worker, func(i int, f found) bool {
		if f.err != nil {
			failed = f.err
			return false
		}
		res.Tried = i + 1
		res.count(f.results, checks)
		res.Struck = with(res.Struck, f.struck)
		if f.hit != nil {
			res.Hits = append(res.Hits, *f.hit)
		}
		if f.other {
			res.Other++
		}
		if opt.Progress != nil {
			opt.Progress(res)
		}
		return len(res.Hits) < max(1, opt.Hits)
	})
	if failed != nil {
		err = failed
	}
	return res, err
}

// seed runs one seed, and says what a violation needed.
func (l *lab) seed(ctx context.Context, s *sim.Scenario, seed uint64, need string) found {
	o, err := l.run(ctx, s, seed)
	if err != nil {
		return found{err: fmt.Errorf("%s with seed %d: %w", s.Name, seed, err)}
	}
	f := found{results: o.report.Results, struck: o.report.Struck}
	if len(o.violated) == 0 {
		return f
	}
	h := &Hit{Seed: seed, Violated: o.violated, Hash: o.report.Hash, Story: o.report.As(), own: l.own,
		amounts: s.Faults.Kinds}
	if h.Needs, err = l.needs(ctx, h); err != nil {
		return found{err: err}
	}
	if need != "" && !slices.Contains(h.Needs, need) {
		f.other = true
		return f
	}
	f.hit = h
	return f
}

// with are the kinds of fault of both lists.
func with(struck, more []string) []string {
	for _, kind := range more {
		if !slices.Contains(struck, kind) {
			struck = append(struck, kind)
		}
	}
	return struck
}

// needs finds the kinds of fault without any one of which the hit's story does
// not violate the first of what it violates.
func (l *lab) needs(ctx context.Context, h *Hit) (kinds []string, err error) {
	first := &lab{lua: l.lua, own: l.own, checks: []string{h.Violated[0].Check}}
	for _, kind := range faultsOf(h.Story) {
		without := *h.Story
		without.Steps = slices.DeleteFunc(slices.Clone(h.Story.Steps), func(s sim.Step) bool { return s.Fault == kind })
		o, err := first.run(ctx, &without, h.Seed)
		if err != nil {
			return nil, err
		}
		if len(o.violated) == 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// faultsOf are the kinds of fault in a story, in the order in which they strike.
func faultsOf(s *sim.Scenario) (kinds []string) {
	for _, step := range s.Steps {
		if step.Fault != "" && !slices.Contains(kinds, step.Fault) {
			kinds = append(kinds, step.Fault)
		}
	}
	return kinds
}
