package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// Bound limits an exhaustive search.
type Bound struct {
	Faults    int             // how many faults may strike in a schedule; 0 to 9
	Schedules int             // the search is refused with more; 0: 2 million, or sooner if it seems to need far more
	First     bool            // one violation is enough: some random schedules run first, which finds one sooner
	Progress  func(Exhausted) // called after each schedule; may be nil
}

// Exhausted is what an exhaustive search has done.
type Exhausted struct {
	Complete  bool           // every schedule within the bound was run, or an equivalent one
	Drew      bool           // clients drew, and got the least each time: those are not all schedules
	Schedules int            // run by the search itself
	Walks     int            // random schedules, run before it
	Actions   int            // of all schedules together
	States    int            // different ones that were reached
	Deepest   int            // actions of the longest schedule
	Estimate  uint64         // how many schedules there seem to be; far too high where states come again
	Hit       *sim.Scenario  // the first schedule that violates, as a scenario with its order; nil: none does
	Result    check.Result   // what it violates
	Violated  int            // how many schedules violate
	Unjudged  []check.Result // checks that count, and on which no schedule had a verdict
	Struck    []string       // kinds of fault that struck in some schedule
}

// enough is how many schedules a search may have unless it is told.
const enough = 2_000_000

// longest is how many actions a schedule may have. More has one that does not
// end: in a world without time somebody can ask again and again while another
// never gets to do anything.
const longest = 2000

// TooManyError says that a bound has too many schedules to search.
type TooManyError struct {
	Estimate uint64 // how many schedules there seem to be
	Limit    int    // how many were allowed: see Bound.Schedules
	Actions  int    // of a schedule that seems to have no end; 0: all come to an end
}

// Error implements error.
func (e *TooManyError) Error() string {
	if e.Actions > 0 {
		return fmt.Sprintf("explore: a schedule has more than %d actions, as if somebody asked again and again: "+
			"expected clients that give up, or that are told", e.Actions)
	}
	return fmt.Sprintf("explore: about %d schedules within the bound, more than %d: "+
		"expected fewer faults, clients or servers", e.Estimate, e.Limit)
}

// Exhaust runs every schedule of the problem's scenario within the bound. It leaves out a
// schedule that differs from another one only in the order of actions that do not affect
// each other. Times do not count: see sim.Untimed. Nothing is drawn: a problem with ranges
// whose values would matter is refused. An error may be a *TooManyError; when
// ctx ends it is ctx's, with what was done so far.
func Exhaust(ctx context.Context, p Problem, b Bound) (Exhausted, error) {
	e, err := newExhaustive(p, b)
	if err != nil {
		return Exhausted{}, err
	}
	if b.First {
		if err := e.walks(ctx); err != nil || e.done.Hit != nil {
			return e.done, err
		}
	}
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return e.done, err
		}
		if more, err = e.schedule(); err != nil {
			return e.done, err
		}
		if b.Progress != nil {
			b.Progress(e.done)
		}
		if b.First && e.done.Hit != nil {
			return e.done, nil
		}
	}
	e.done.Complete = !e.done.Drew
	return e.done, nil
}

// exhaustive is a depth-first search that starts again from the beginning for
// each schedule. Sleep sets leave out orders of independent actions; states that
// were seen are gone on from only for what slept then; and where what one actor can
// do will do, nothing else is tried (persistent sets).
// Source: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems".
type exhaustive struct {
	untimed
	b       Bound
	guesses bool // the bound may be given up early
	path    []choice
	seen    map[uint64]int32 // by state: the set of what slept in each of the visits to it
	sets    actionSets
	done    Exhausted
	covered uint64             // parts of whole that the schedules so far cover
	naive   bool               // no sleep sets and no states: for the test that compares
	plain   bool               // no sleep sets, and states that tell every order: likewise
	look    func(*sim.Untimed) // is called after each action: likewise
	final   func(*sim.Untimed)
}

// whole is what the tree of schedules weighs; each branch an equal part of it.
const whole = 1 << 62

// choice is one level of the tree: what could happen there, what was tried.
type choice struct {
	left   []sim.Action // still to be tried; the first is on its way
	others []sim.Action // to be tried as well if one of the actor's own reaches further
	who    trace.Actor  // that actor; 0: there is none
	tried  []slept      // and what has slept since above
	print  sim.Footprint
	weight uint64 // of the level
}

// weightBelow is the weight of each of the branches.
func (c *choice) weightBelow() uint64 {
	return c.weight / uint64(len(c.left)+len(c.others)+len(c.tried))
}

// widen adds what others could do, if an action has reached further than its actor.
func (c *choice) widen(a sim.Action, print sim.Footprint) {
	own := a.Verb == sim.Begin || a.Verb == sim.Cut || a.Verb == sim.Mend
	if len(c.others) > 0 && !own && print.Beyond(c.who) {
		c.left, c.others = append(c.left, c.others...), nil
	}
}

// slept is an action that needs no trying: an order with it was run.
type slept struct {
	action sim.Action
	print  sim.Footprint
}

func newExhaustive(p Problem, b Bound) (*exhaustive, error) {
	world, err := newUntimed(p, b.Faults, sim.NewLua())
	if err != nil {
		return nil, err
	}
	guesses := b.Schedules == 0
	if guesses {
		b.Schedules = enough
	}
	return &exhaustive{untimed: world, b: b, guesses: guesses, seen: map[uint64]int32{},
		sets: actionSets{number: map[string]int32{}}}, nil
}

// schedule runs one schedule and prepares the next; more is false after the last.
func (e *exhaustive) schedule() (more bool, err error) {
	u, err := e.world(e.plain)
	if err != nil {
		return false, err
	}
	defer u.Close()
	for i := range e.path {
		e.do(u, &e.path[i])
	}
	for e.deeper(u) {
		if len(e.path) > longest {
			return false, &TooManyError{Actions: longest}
		}
		e.do(u, &e.path[len(e.path)-1])
	}
	if err := u.Err(); err != nil {
		return false, err
	}
	e.done.Schedules++
	e.done.Drew, e.done.Struck = e.done.Drew || u.Drew(), with(e.done.Struck, u.Struck())
	e.done.Deepest = max(e.done.Deepest, len(e.path))
	if first := e.done.Schedules+e.done.Walks == 1; first || len(e.done.Unjudged) > 0 {
		e.done.Unjudged = unjudged(e.done.Unjudged, first, u.Results(), e.untimed.checks)
	}
	e.judge(u)
	if more = e.next(); more {
		err = e.estimate()
	}
	return more, err
}

// do has the action of a level happen.
func (e *exhaustive) do(u *sim.Untimed, c *choice) {
	a := c.left[0]
	c.print = u.Do(a)
	c.widen(a, c.print)
	e.done.Actions++
	if e.look != nil {
		e.look(u)
	}
}

// deeper adds the level of the state that the world is in, if there is
// something to try there.
func (e *exhaustive) deeper(u *sim.Untimed) bool {
	actions := u.Actions()
	var sleeping []slept
	weight := uint64(whole)
	if n := len(e.path); n > 0 {
		up := &e.path[n-1]
		weight = up.weightBelow()
		if !e.naive && !e.plain {
			for _, s := range up.tried {
				if !s.print.Conflicts(up.print) {
					sleeping = append(sleeping, s)
				}
			}
		}
	}
	isAsleep := func(a sim.Action) bool {
		return slices.ContainsFunc(sleeping, func(s slept) bool { return s.action == a })
	}
	actions = slices.DeleteFunc(actions, isAsleep)
	if len(actions) == 0 || e.violation(u) != nil || u.Err() != nil {
		return false
	}
	c := choice{left: actions, tried: sleeping, weight: weight}
	if !e.naive {
		e.visit(u, &c)
	}
	if len(c.left) > 0 {
		e.path = append(e.path, c)
	}
	return len(c.left) > 0
}

// visit leaves what is still to be tried in a state, and what sleeps there: at the
// first visit what one actor can do, if that will do (see sim.Untimed.Focus), and
// later what slept in each earlier visit but is awake now.
// Source: Godefroid, Holzmann and Pirottin, "State-Space Caching Revisited".
func (e *exhaustive) visit(u *sim.Untimed, c *choice) {
	asleep := make([]sim.Action, len(c.tried))
	for i, s := range c.tried {
		asleep[i] = s.action
	}
	state := u.State(asleep)
	set, known := e.seen[state.Hash]
	if known {
		before := e.sets.lists[set]
		isAwake := func(a sim.Action) bool { return !slices.Contains(before, state.Named(a)) }
		c.left = slices.DeleteFunc(c.left, isAwake)
		c.tried = slices.DeleteFunc(c.tried, func(s slept) bool { return isAwake(s.action) })
		if len(c.left) == 0 {
			return
		}
	} else {
		e.done.States++
		if !e.plain {
			e.focus(u, c)
		}
	}
	asleep = asleep[:0]
	for _, s := range c.tried {
		asleep = append(asleep, state.Named(s.action))
	}
	e.seen[state.Hash] = e.sets.of(asleep)
}

// focus leaves the actions of one actor, if they will do. Where a client may
// begin, it does so first: else it sleeps until time goes on, as nothing but that
// makes a difference to it.
func (e *exhaustive) focus(u *sim.Untimed, c *choice) {
	slices.SortStableFunc(c.left, func(a, b sim.Action) int { return cmp.Compare(rank(a), rank(b)) })
	few, who := u.Focus(u.Actions())
	if who == 0 {
		return
	}
	c.who = who
	var own []sim.Action
	for _, a := range c.left {
		if a.Verb == sim.Begin || slices.Contains(few, a) {
			own = append(own, a)
		} else {
			c.others = append(c.others, a)
		}
	}
	c.left = own
	for _, s := range c.tried {
		if slices.Contains(few, s.action) {
			c.widen(s.action, s.print)
		}
	}
}

// rank is 0 for what is tried first.
func rank(a sim.Action) int {
	if a.Verb == sim.Begin {
		return 0
	}
	return 1
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// judge looks at what the schedule has shown.
func (e *exhaustive) judge(u *sim.Untimed) {
	r := e.violation(u)
	if r != nil {
		e.done.Violated++
		if e.done.Hit == nil {
			var order []sim.Action
			for _, c := range e.path {
				order = append(order, c.left[0])
			}
			e.done.Hit, e.done.Result = e.story(u, r, order), *r
		}
	}
	if e.final != nil && (r != nil || len(u.Actions()) == 0) {
		e.final(u)
	}
}

// next goes back to the deepest level with something left to try.
func (e *exhaustive) next() bool {
	if n := len(e.path); n > 0 {
		up := e.path[n-1]
		e.covered += up.weightBelow()
	} else {
		e.covered = whole
	}
	for len(e.path) > 0 {
		c := &e.path[len(e.path)-1]
		c.tried = append(c.tried, slept{c.left[0], c.print})
		c.left = c.left[1:]
		if len(c.left) > 0 {
			return true
		}
		e.path = e.path[:len(e.path)-1]
	}
	return false
}

// A bound that does not say how many schedules it may have is given up after so many
// if there seem to be more than hopeless. The estimate is that of the tree without its
// states, so far too high; where states come again often, the end comes sooner.
const (
	probe    = 100_000
	hopeless = 1_000_000_000_000_000
)

// estimate refuses a bound that has too many schedules.
func (e *exhaustive) estimate() error {
	share := max(1, e.covered/uint64(e.done.Schedules)) // of the whole, by schedule
	e.done.Estimate = whole / share
	tooMany := e.guesses && e.done.Schedules == probe && e.done.Estimate > hopeless
	if tooMany || e.done.Schedules >= e.b.Schedules {
		return &TooManyError{Estimate: e.done.Estimate, Limit: e.b.Schedules}
	}
	return nil
}
