package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// Explanation says why a run violates a check.
type Explanation struct {
	Result   check.Result
	Story    []string // what led to it: sentences in the order of time
	Broken   []string // the assumptions that turned out false
	Remedies []Remedy // changes of the world that were tried
	Faults   []string // with Order: the actions that are faults
	Order    bool     // the story is an order of actions. No remedy was tried, as an order fits one world only
}

// Text returns the explanation as lines.
func (e *Explanation) Text() string {
	var text strings.Builder
	for _, sentence := range e.Story {
		text.WriteString(sentence + "\n")
	}
	if len(e.Broken) > 0 {
		fmt.Fprintf(&text, "Assumptions that did not hold: %s.\n", strings.Join(e.Broken, "; "))
	}
	switch {
	case e.Order:
		if len(e.Faults) > 0 {
			fmt.Fprintf(&text, "The faults of its order: %s.\n", strings.Join(e.Faults, ", "))
		}
		text.WriteString("\nNo remedy was tried, as an order of actions fits one world only.\n")
	case len(e.Remedies) == 0:
		text.WriteString("\nNo known remedy applies to this story.\n")
	}
	widest := 0
	for _, r := range e.Remedies {
		widest = max(widest, len(r.Name))
	}
	for i, r := range e.Remedies {
		if i == 0 {
			text.WriteString("\nThe same story, run again with\n")
		}
		fmt.Fprintf(&text, "  %-*s %s\n", widest+1, r.Name+":", r.Effect(e.Result.Check))
	}
	return text.String()
}

// Explain runs a scenario with its seed and says why a check is violated: the first check
// that disappoints, else the first that is violated at all. It returns nil if none is.
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
	e := &Explanation{Result: x.violated[0], Story: x.tell(needed)}
	if e.Order = len(x.story.Order) > 0; e.Order {
		e.Faults = sim.FaultsOf(x.story.Order)
	}
	if e.Broken, err = x.broken(needed); err != nil {
		return nil, err
	}
	e.Remedies, err = x.remedies()
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

// event is the event of a number.
func (x *explainer) event(n uint64) *trace.Event { return &x.events[n-1] }

// latest is the number of the latest event before event n that is such; 0: none is.
func (x *explainer) latest(n uint64, is func(*trace.Event) bool) uint64 {
	for n--; n > 0 && !is(x.event(n)); {
		n--
	}
	return n
}

// next is the number of the first event behind event n that is such; 0: none is.
func (x *explainer) next(n uint64, is func(*trace.Event) bool) uint64 {
	for n++; n <= uint64(len(x.events)); n++ {
		if is(x.event(n)) {
			return n
		}
	}
	return 0
}

// needed are faults that suffice for the violation, each of which it needs besides the
// others: of several that would do alone the one without which this very violation, with
// its times, does not happen, else the first. One that was needed because of another, as a
// promotion after a crash, may go when that has gone.
func (x *explainer) needed() (steps []sim.Step, err error) {
	left := *x.story
	for _, still := range []func(check.Result) bool{
		func(r check.Result) bool { return r.Reason == x.violated[0].Reason },
		func(check.Result) bool { return true },
	} {
		for more := true; more; {
			more = false
			for i := len(left.Steps) - 1; i >= 0; i-- {
				if isHarmless(left.Steps[i]) {
					continue
				}
				without := left
				without.Steps = slices.Delete(slices.Clone(left.Steps), i, i+1)
				o, err := x.run(x.ctx, &without, x.story.Seed)
				if err != nil {
					return nil, err
				}
				if len(o.violated) > 0 && still(o.violated[0]) {
					left, more = without, true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(left.Steps), isHarmless), nil
}

// isOf reports whether an event is what one of the steps did.
func (x *explainer) isOf(e *trace.Event, steps []sim.Step) bool {
	if len(x.story.Order) > 0 {
		return true
	}
	return slices.ContainsFunc(steps, func(step sim.Step) bool { return x.isWhat(e, step) })
}

// lasts is a step's option that is a duration; 0: it has none.
func lasts(step sim.Step, name string) time.Duration {
	for _, o := range step.Opts {
		if d, err := time.ParseDuration(o.Value); err == nil && o.Name == name {
			return d
		}
	}
	return 0
}
