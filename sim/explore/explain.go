package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/internal/trace"
	"minikv/sim"
	"minikv/sim/check"
)

// Explanation says why a run violates a check.
type Explanation struct {
	Result   check.Result
	Story    []string // sentences: what led to it, in the order of time
	Broken   []string // the assumptions that did not come true
	Remedies []Remedy // what was tried
}

// Remedy is a change of the world, and what the same story gives with it.
type Remedy struct {
	Name  string
	Saves bool          // the story violates no longer what it violated
	Note  string        // what it saves instead, or ""
	Story *sim.Scenario // with the change
}

// Explain runs a scenario with its seed and says why the first check that is
// violated is; nil if none is.
func Explain(ctx context.Context, p Problem) (*Explanation, error) {
	checks, err := p.checks()
	if err != nil {
		return nil, err
	}
	x := &explainer{lab: newLab(sim.NewLua(), checks, p.Own), ctx: ctx}
	if err := x.look(p.Scenario); err != nil || len(x.violated) == 0 {
		return nil, err
	}
	x.checks = []string{x.violated[0].Check}
	needed, err := x.needed()
	if err != nil {
		return nil, err
	}
	e := &Explanation{Result: x.violated[0]}
	e.Story = x.tell(needed)
	for _, step := range needed {
		if a := assumption(step); !slices.Contains(e.Broken, a) {
			e.Broken = append(e.Broken, a)
		}
	}
	e.Remedies, err = x.remedies(needed)
	return e, err
}

// explainer has a run with all its events.
type explainer struct {
	*lab
	ctx      context.Context
	story    *sim.Scenario // with everything that happened as lines
	events   []trace.Event
	names    []string
	violated []check.Result
}

// look runs the scenario.
func (x *explainer) look(s *sim.Scenario) error {
	r, err := s.Run(x.ctx, sim.Options{Seed: s.Seed, Lua: x.lua, Own: x.own, Details: true,
		Observe: func(e *trace.Event, _ []string) { x.events = append(x.events, *e) }})
	if err != nil {
		return err
	}
	x.names, x.violated, x.story = r.Names, x.violations(r), s
	if len(s.Order) == 0 {
		x.story = r.As()
	}
	return nil
}

// needed are the faults without which, one at a time, the story violates nothing.
func (x *explainer) needed() (steps []sim.Step, err error) {
	for i, step := range x.story.Steps {
		if step.Verb == "start" {
			continue
		}
		without := *x.story
		without.Steps = slices.Delete(slices.Clone(x.story.Steps), i, i+1)
		o, err := x.run(x.ctx, &without, x.story.Seed)
		if err != nil {
			return nil, err
		}
		if len(o.violated) == 0 {
			steps = append(steps, step)
		}
	}
	return steps, nil
}

// mostSentences is how long a story may be.
const mostSentences = 6

// tell is the causal slice of the violation: what decided it with what that
// followed from, and the faults that it needed, in the order of time.
func (x *explainer) tell(needed []sim.Step) []string {
	picked := map[uint64]int{} // by event, how dispensable it is
	for i, n := range x.violated[0].Events {
		picked[n] = 0
		grant := x.grant(n)
		if grant == 0 {
			continue
		}
		picked[grant] = 2 - min(i, 1)
		if why := x.opening(grant, x.events[n-1].Key); why > 0 {
			picked[why] = 2 - min(i, 1)
		}
	}
	for i := range x.events {
		e := &x.events[i]
		if e.Kind.Fault() && x.isOf(e, needed) {
			picked[e.N] = 0
			if e.Kind == trace.Resume || e.Kind == trace.Heal {
				picked[e.N] = 3
			}
		}
	}
	if end := x.ending(); end > 0 {
		picked[end] = 3
	}
	for matter := 3; matter > 0; matter-- {
		for n := uint64(len(x.events)); n > 0 && len(picked) > mostSentences; n-- {
			if m, ok := picked[n]; ok && m == matter {
				delete(picked, n)
			}
		}
	}
	var list []string
	for i := range x.events {
		if _, ok := picked[x.events[i].N]; ok && len(list) < mostSentences {
			list = append(list, x.sentence(&x.events[i]))
		}
	}
	return append(list, fmt.Sprintf("So %s is violated: %s.", x.violated[0].Check, x.violated[0].Reason))
}

// grant is the last command that a server executed before event n and from
// which n followed; 0: none.
func (x *explainer) grant(n uint64) uint64 {
	for ; n != 0; n = x.events[n-1].Cause {
		if x.events[n-1].Kind == trace.Execute {
			return n
		}
	}
	return 0
}

// opening is what made a key free for a grant: the latest event before it, at
// its server, in which the key went, or the server came without it. 0: nothing.
func (x *explainer) opening(grant uint64, key string) uint64 {
	g := &x.events[grant-1]
	for n := grant - 1; n > 0; n-- {
		e := &x.events[n-1]
		switch {
		case e.Kind == trace.Restart && e.Peer == g.Actor && e.A == 0,
			e.Kind == trace.Promote && e.Peer == g.Actor:
			return n
		case e.Actor != g.Actor:
			continue
		}
		for _, d := range e.Details {
			if d.Key == key && (d.What == trace.Expired || d.What == trace.Changed && d.Text == "") {
				return n
			}
		}
	}
	return 0
}

// ending is how the first belief of an overlap ended, if it did; 0 else.
func (x *explainer) ending() uint64 {
	r := x.violated[0]
	if r.Check != "exclusion" || len(r.Events) == 0 {
		return 0
	}
	first := &x.events[r.Events[0]-1]
	for i := r.Events[len(r.Events)-1]; int(i) < len(x.events); i++ {
		e := &x.events[i]
		if e.Actor == first.Actor && (e.Kind == trace.Release || e.Kind == trace.Lost) {
			return e.N
		}
	}
	return 0
}

// isOf reports whether an event is what one of the steps did.
func (x *explainer) isOf(e *trace.Event, steps []sim.Step) bool {
	if len(x.story.Order) > 0 {
		return true
	}
	for _, step := range steps {
		end := step.At
		for _, o := range step.Opts {
			if d, err := time.ParseDuration(o.Value); err == nil && (o.Name == "for" || o.Name == "outage") {
				end += d
			}
		}
		isMessage := e.Kind == trace.Drop || e.Kind == trace.Duplicate
		byMessage := step.Verb == "drop" || step.Verb == "duplicate" || step.Verb == "delay"
		if isMessage == byMessage && (e.At == step.At || e.At == end) || isMessage && byMessage && e.At >= step.At {
			return true
		}
	}
	return false
}

// sentence is an event as a sentence with its time.
func (x *explainer) sentence(e *trace.Event) string {
	line := strings.TrimSpace(string(e.AppendText(nil, x.names)))
	stamp, rest, _ := strings.Cut(line, " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	if e.Kind == trace.Execute {
		text = x.names[e.Actor] + " executes " + strings.TrimPrefix(text, x.names[e.Actor]+" ")
	}
	return fmt.Sprintf("At %s s %s (%s).", stamp, text, number)
}
