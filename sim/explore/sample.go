package explore

import (
	"cmp"
	"context"
	"slices"

	"minikv/sim"
	"minikv/sim/check"
)

// Sampling says which schedules of a world without time Sample runs, where there are too
// many to run all of them.
type Sampling struct {
	Faults    int           // how many faults may strike in each; 0 to 9
	Root      uint64        // schedules have the seeds of this root: see Seed
	Schedules int           // most schedules that are run
	Workers   int           // 0: one for each core
	Engines   *Engines      // nil: each search makes its own
	Progress  func(Sampled) // called after each schedule; may be nil
}

// Sampled is what a search of random schedules found. It is the same for any number of
// workers.
type Sampled struct {
	Schedules int            // in the order of their seeds: up to the first that violates, or all
	Deepest   int            // actions of the longest schedule
	Drew      bool           // clients drew, and got the least each time
	Seed      uint64         // of the schedule that violates
	Hit       *sim.Scenario  // that schedule, as a scenario with its order; nil: none violates
	Result    check.Result   // what it violates
	Unjudged  []check.Result // checks that count, and on which no schedule had a verdict
	Struck    []string       // kinds of fault that struck in some schedule
}

// Sample runs random schedules until one violates. In one of four, everything that can
// happen next is equally likely; in the others, random priorities decide (PCT).
func Sample(ctx context.Context, p Problem, opt Sampling) (res Sampled, err error) {
	lua := opt.Engines.take()
	defer opt.Engines.give(lua)
	w, err := newUntimed(p, opt.Faults, lua)
	if err != nil {
		return res, err
	}
	length, err := w.length()
	if err != nil {
		return res, err
	}
	worker := func() (func(context.Context, int) sample, func()) {
		mine := w
		mine.lua = opt.Engines.take()
		return func(_ context.Context, i int) sample {
			return mine.sample(newChooser(Seed(opt.Root, i), i%depths, length, opt.Faults))
		}, func() { opt.Engines.give(mine.lua) }
	}
	var failed error
	err = each(ctx, &counter{most: most}, opt.Schedules, opt.Workers, worker, func(i int, one sample) bool {
		if failed = one.err; failed != nil {
			return false
		}
		res.Schedules, res.Deepest = i+1, max(res.Deepest, one.actions)
		res.Drew, res.Struck = res.Drew || one.drew, with(res.Struck, one.struck)
		res.Unjudged = unjudged(res.Unjudged, i == 0, one.results, w.checks)
		if one.story != nil {
			res.Seed, res.Hit, res.Result = Seed(opt.Root, i), one.story, one.result
		}
		if opt.Progress != nil {
			opt.Progress(res)
		}
		return one.story == nil
	})
	return res, cmp.Or(failed, err)
}

// walkCount is how many schedules are run at random where one violation is enough, and
// walkActions with how many actions in all no further one is: so long are they only in
// worlds with too many schedules for a search.
const (
	walkCount   = 5000
	walkActions = 1_000_000
)

// walks runs schedules at random until one violates. They are the same each time.
func (e *exhaustive) walks(ctx context.Context) error {
	length, err := e.length()
	if err != nil {
		return err
	}
	for i := range min(walkCount, e.b.Schedules) {
		if err := ctx.Err(); err != nil || e.done.Actions > walkActions {
			return err
		}
		one := e.sample(newChooser(uint64(i), i%depths, length, e.faults))
		e.done.Walks++
		e.done.Actions += one.actions
		e.done.Deepest = max(e.done.Deepest, one.actions)
		e.done.Drew, e.done.Struck = e.done.Drew || one.drew, with(e.done.Struck, one.struck)
		e.done.Unjudged = unjudged(e.done.Unjudged, i == 0, one.results, e.checks)
		if one.err != nil {
			return one.err
		}
		if one.story != nil {
			e.done.Violated, e.done.Hit, e.done.Result = 1, one.story, one.result
			return nil
		}
		if e.b.Progress != nil {
			e.b.Progress(e.done)
		}
	}
	return nil
}

// sample is what one schedule gave.
type sample struct {
	actions int
	drew    bool          // clients did
	struck  []string      // kinds of fault that did
	story   *sim.Scenario // nil: nothing is violated
	result  check.Result
	results []check.Result // of all checks
	err     error
}

// sample runs one schedule, as far as a schedule may go.
func (w *untimed) sample(c *chooser) (one sample) {
	u, err := w.world(false)
	if err != nil {
		return sample{err: err}
	}
	defer u.Close()
	var order []sim.Action
	violated := w.violation(u)
	for len(order) < longest && violated == nil {
		a, ok := c.choose(u.Actions(), len(order))
		if !ok {
			break
		}
		order = append(order, a)
		u.Do(a)
		violated = w.violation(u)
	}
	one.actions, one.drew, one.struck = len(order), u.Drew(), u.Struck()
	one.results, one.err = u.Results(), u.Err()
	if violated != nil {
		one.story, one.result = w.story(u, violated, order), *violated
	}
	return one
}

// length is how many actions a schedule without faults has, to draw points of one.
func (w *untimed) length() (int, error) {
	calm := *w
	calm.faults = 0
	one := calm.sample(newChooser(0, 1, 1, 0))
	return max(one.actions, 1), one.err
}

// depths is how many depths there are in turn: 0, where all is equally likely, to 3.
const depths = 4

// chooser chooses what happens next in one schedule: always that of the line, or of
// the timers, whose random priority is highest. A schedule of depth d has d-1 random
// points before which what would come next gets one of the lowest priorities instead,
// and one for each fault. What takes d things in one order, of k actions on n lines,
// and no fault, is met with a probability of at least 1/(n·k^(d-1)).
// Source: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs" (PCT).
type chooser struct {
	seed    uint64
	uniform bool  // depth 0
	changes []int // before which action what would come next gets the priority of its place in this list
	strikes []int // the actions from which on a fault is to strike, in their order
	lowered map[sim.Action]uint64
}

// newChooser draws the points of a schedule that has about so many actions.
func newChooser(seed uint64, depth, actions, faults int) *chooser {
	c := &chooser{seed: mix(seed), uniform: depth == 0, lowered: map[sim.Action]uint64{}}
	at := func(i int) int { return int(mix(c.seed+uint64(i)) % uint64(actions)) }
	for i := 1; i < depth; i++ {
		c.changes = append(c.changes, at(i))
	}
	for i := range faults {
		c.strikes = append(c.strikes, at(depths+i))
	}
	slices.Sort(c.strikes)
	return c
}

// choose chooses the n-th action; ok is false when there is none.
func (c *chooser) choose(actions []sim.Action, n int) (chosen sim.Action, ok bool) {
	var faults []sim.Action
	actions = slices.DeleteFunc(actions, func(a sim.Action) bool {
		if a.Fault() {
			faults = append(faults, a)
		}
		return a.Fault()
	})
	drawn := mix(c.seed ^ mix(uint64(n)))
	due := len(c.strikes) > 0 && (c.strikes[0] <= n || len(actions) == 0)
	switch {
	case due && len(faults) > 0:
		c.strikes = c.strikes[1:]
		return faults[drawn%uint64(len(faults))], true
	case len(actions) == 0:
		return chosen, false
	case c.uniform:
		return actions[drawn%uint64(len(actions))], true
	}
	for i, at := range c.changes {
		if at == n {
			c.lowered[source(c.first(actions))] = uint64(i)
		}
	}
	return c.first(actions), true
}

// first is the action with the highest priority.
func (c *chooser) first(actions []sim.Action) sim.Action {
	return slices.MaxFunc(actions, func(a, b sim.Action) int { return cmp.Compare(c.priority(a), c.priority(b)) })
}

// priority is that of the action's source.
func (c *chooser) priority(a sim.Action) uint64 {
	s := source(a)
	if low, ok := c.lowered[s]; ok {
		return low
	}
	return 1<<63 | mix(c.seed^uint64(s.Verb)<<48^uint64(s.From)<<32^uint64(s.To)<<16^uint64(s.Lane))
}

// source is what has one priority: a line, an actor that starts and has timers, the
// time, or the end of one fault.
func source(a sim.Action) sim.Action {
	if a.Verb == sim.Begin {
		a.Verb = sim.Fire
	}
	return a
}
