package explore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// Shrunk is a short story of a violation.
type Shrunk struct {
	Story  *sim.Scenario // it expects its violation
	Result check.Result  // the violation
	Seed   uint64        // of the hit whose story it is; Story may have a plainer seed
	Hash   trace.Hash    // of the run of Story
	Faults int           // steps of the nemesis that are faults
	Asked  int           // operations of clients until the violation
	Runs   int           // how many runs shrinking took
	Kinds  []string      // of fault that are left: none of them can be left out
}

// shrinkLimit is how many runs the shrinking of one hit may take.
const shrinkLimit = 4000

// Shrink makes each of the hits as short as it can, for the check that is the first of
// its violations, and returns the shortest. It takes several hits because failing seeds
// end in stories of different length.
func Shrink(ctx context.Context, hits []Hit) (*Shrunk, error) { return Shortening{}.Shrink(ctx, hits) }

// Shortening says how stories are made shorter.
type Shortening struct {
	Operations bool     // prefer fewer operations to fewer faults
	Need       string   // the story must go on needing this kind of fault; "": any
	Engines    *Engines // nil: each shortening makes its own
}

// Shrink makes each of the hits as short as it can and returns the shortest, as the
// function Shrink does. When ctx ends, it returns ctx's error with the shortest story so
// far; nil if there is none yet.
func (how Shortening) Shrink(ctx context.Context, hits []Hit) (*Shrunk, error) {
	if len(hits) == 0 {
		return nil, fmt.Errorf("explore: there is nothing to shrink")
	}
	var best *Shrunk
	runs := 0
	lua := how.Engines.take()
	defer how.Engines.give(lua)
	for _, h := range hits {
		s := &shrinker{lab: lab{lua: lua, own: h.own, checks: []string{h.Violated[0].Check}}, ctx: ctx, how: how,
			amounts: h.amounts}
		found, err := s.shrink(h)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		runs += s.runs
		if found != nil {
			found.Seed = h.Seed
			if best == nil || found.ShorterThan(best) {
				best = found
			}
			best.Runs = runs
		}
		if err != nil {
			return best, err
		}
	}
	return best, nil
}

// size is how long a story is: what comes first counts most.
type size []int

func cost(s *Shrunk) size {
	w := &s.Story.World
	return size{s.Faults, s.Asked, w.Clients, w.Masters + w.Plan().AllReplicas(), len(s.Story.Steps), len(s.Story.Text())}
}

// ShorterThan reports whether a story is shorter: by faults, then operations, then
// clients, servers and what else there is to read.
func (s *Shrunk) ShorterThan(other *Shrunk) bool { return cost(s).less(cost(other)) }

func (a size) less(b size) bool { return slices.Compare(a, b) < 0 }

// shrinker makes one story shorter.
type shrinker struct {
	lab
	ctx     context.Context
	how     Shortening
	amounts []sim.FaultRange // that the faults of the story may have
	rest    time.Duration    // between the last that happens and an audit of what is left, at least
	due     bool             // to its faults: without them the story that is made shorter violates nothing
	best    *outcome         // of the shortest story so far
	err     error            // of a run, or of ctx: it ends the shrinking
}

// story is the shortest so far.
func (s *shrinker) story() *sim.Scenario { return s.best.report.Scenario }

// shrink makes one story short. It returns what it has when ctx ends.
func (s *shrinker) shrink(h Hit) (*Shrunk, error) {
	start := *h.Story
	start.Seed = h.Seed
	start.Expect = []sim.Expectation{{Check: s.checks[0], Verdict: check.Violated.String()}}
	s.rest = min(resting(&start), 2*start.World.Load.TTL)
	if !s.try(&start) {
		if s.err == nil {
			s.err = fmt.Errorf("explore: the story of seed %d does not violate %s again", h.Seed, s.checks[0])
		}
		return nil, s.err
	}
	s.due = !s.violatesWithout(s.story())
	for more := true; more && s.err == nil && s.runs < shrinkLimit; {
		before := s.cost()
		for _, pass := range passes {
			pass(s)
		}
		more = s.cost().less(before)
	}
	return s.result(), s.err
}

// cost is that of the story so far, with what counts more in front.
func (s *shrinker) cost() size {
	c := cost(s.result())
	if s.how.Operations {
		c[0], c[1] = c[1], c[0]
	}
	return c
}

func (s *shrinker) result() *Shrunk {
	return &Shrunk{Story: s.story(), Result: s.best.violated[0], Hash: s.best.report.Hash, Faults: faults(s.best),
		Asked: len(s.best.asked), Runs: s.runs, Kinds: faultsOf(s.story())}
}

// try runs a candidate. If that violates as well, with no more faults and
// operations, it is the story from now on. A candidate that makes no sense is
// none.
func (s *shrinker) try(candidate *sim.Scenario) bool {
	o := s.look(candidate)
	if o == nil || len(o.violated) == 0 {
		return false
	}
	if b := s.best; b != nil && (s.longer(o, b) || o.brief && !b.brief || s.due && s.violatesWithout(o.report.Scenario)) {
		return false
	}
	if s.best != nil && s.ctx.Err() != nil { // what it violates without may be unknown
		s.err = s.ctx.Err()
		return false
	}
	s.best = o
	return true
}

// violatesWithout reports whether a story violates as well without its faults, or
// those that are needed: it is about something else then, such as a latch that
// nobody counts down.
func (s *shrinker) violatesWithout(story *sim.Scenario) bool {
	calm := *story
	calm.Steps = slices.DeleteFunc(slices.Clone(story.Steps), func(step sim.Step) bool {
		return !isHarmless(step) && (s.how.Need == "" || step.Fault == s.how.Need)
	})
	o, err := s.run(s.ctx, &calm, calm.Seed)
	return err == nil && len(o.violated) > 0
}

// look runs a candidate; nil: it makes no sense, or shrinking is over.
func (s *shrinker) look(candidate *sim.Scenario) *outcome {
	if s.err != nil || s.runs >= shrinkLimit || s.best != nil && starts(candidate) == 0 {
		return nil
	}
	again, err := candidate.Again()
	if err != nil || resting(again) < s.rest || slices.ContainsFunc(again.Steps, s.isOther) || s.lacks(again) {
		return nil
	}
	o, err := s.watch(s.ctx, again)
	if s.ctx.Err() != nil {
		s.err = s.ctx.Err()
	}
	if err != nil {
		return nil
	}
	return o
}

// lacks reports whether a candidate has less of what is to happen than the story, where
// the violation is that something has not happened, as it names no event: whom it does not
// start or bring back, or what it does not wait for, is the reason then.
func (s *shrinker) lacks(candidate *sim.Scenario) bool {
	if s.best == nil || len(s.best.violated[0].Events) > 0 {
		return false
	}
	story := s.story()
	return candidate.For < story.For || starts(candidate) < starts(story) || lasting(candidate) > lasting(story) ||
		candidate.World.Clients < story.World.Clients || candidate.World.Load.Rounds != story.World.Load.Rounds
}

// lasting is how many faults of a story have no end of their own.
func lasting(story *sim.Scenario) (n int) {
	for _, step := range story.Steps {
		if !isHarmless(step) && !has(step, "for") {
			n++
		}
	}
	return n
}

// isOther reports whether a fault is none of its kind any more: its amount is not one
// that was to be drawn.
func (s *shrinker) isOther(step sim.Step) bool {
	i := slices.IndexFunc(s.amounts, func(r sim.FaultRange) bool { return r.Kind == step.Fault })
	if i < 0 || s.amounts[i].Hi == 0 {
		return false
	}
	r := s.amounts[i]
	for _, o := range step.Opts {
		if !slices.Contains([]string{"for", "outage", "jump", "by", "late"}, o.Name) {
			continue
		}
		if d, err := time.ParseDuration(strings.TrimLeft(o.Value, "+-")); err == nil {
			return int64(d) > r.Hi || int64(d) < r.Lo && r.Lo > int64(instant)
		}
	}
	return r.Lo > int64(instant)
}

// instant is what counts as no time at all: a fault of so long may as well have none.
const instant = time.Millisecond

// resting is how long a story leaves everybody before it audits what is left; for ever
// without an audit.
func resting(story *sim.Scenario) time.Duration {
	last := time.Duration(0)
	for _, step := range story.Steps {
		if step.Verb == "audit" {
			return step.At - last
		}
		last = max(last, step.At+lasts(step, "for")+lasts(step, "outage"))
	}
	return math.MaxInt64
}

// longer compares what counts most: faults, then operations, or the other way round.
func (s *shrinker) longer(a, b *outcome) bool {
	if s.how.Operations && len(a.asked) != len(b.asked) {
		return len(a.asked) > len(b.asked)
	}
	return slices.Compare([]int{faults(a), len(a.asked)}, []int{faults(b), len(b.asked)}) > 0
}

func faults(o *outcome) (n int) {
	for _, step := range o.report.Scenario.Steps {
		if !isHarmless(step) {
			n++
		}
	}
	return n
}

// starts is how many clients a story starts; without any all start by themselves.
func starts(story *sim.Scenario) (n int) {
	for _, step := range story.Steps {
		if step.Verb == "start" {
			n++
		}
	}
	return n
}

// trySteps tries the story with other steps.
func (s *shrinker) trySteps(steps []sim.Step) bool {
	c := *s.story()
	c.Steps = steps
	return s.try(&c)
}

// tryOption tries the story with another option of its world line; "" leaves it out.
func (s *shrinker) tryOption(name, value string) bool {
	c, err := s.story().With(name, value)
	return err == nil && s.try(c)
}
