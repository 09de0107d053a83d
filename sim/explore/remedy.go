package explore

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"minikv/sim"
	"minikv/sim/check"
)

// Remedy is a change of the world that was tried, and what the story gives with it.
type Remedy struct {
	Name  string        // says what was changed
	Saves bool          // the promise is kept, as far as was tried
	Tried int           // in how many variants of the story it is kept as well
	Moved string        // the line of a variant in which the promise breaks all the same; "": there is none
	Why   string        // why the verdict on the story as it was told is unknown; "": it is not
	Note  string        // what it saves instead; "": nothing
	Less  string        // what of the story as it was told does not happen with it, if it saves that; "": all does
	Story *sim.Scenario // with the change: as it was told, unless a variant decided
}

// Effect says in a few words what happens to the check called name with the remedy.
func (r *Remedy) Effect(name string) string {
	effect := name + " is still violated"
	switch {
	case r.Saves && r.Why != "":
		return fmt.Sprintf("%s is not violated in %s; in this one %s", name, variants(r.Tried), r.Why)
	case r.Why != "" && r.Moved == "":
		return fmt.Sprintf("it does not show whether %s is violated: %s", name, r.Why)
	case r.Saves:
		effect = name + " is not violated"
		if r.Tried > 0 {
			effect += ", nor in " + variants(r.Tried)
		}
		if r.Less != "" {
			effect += ", but " + r.Less
		}
		return effect
	case r.Moved != "":
		effect += fmt.Sprintf(" with this line instead: %q", r.Moved)
	}
	if r.Note != "" {
		effect += ", but " + r.Note
	}
	return effect
}

// variants are so many of a story.
func variants(n int) string {
	if n == 1 {
		return "a variant of the story"
	}
	return fmt.Sprintf("%d variants of the story", n)
}

// change is a remedy to try: the story in another world.
type change struct {
	name string
	make func(s *sim.Scenario) (*sim.Scenario, error)
}

// withTokens is the change that protects the resource only.
const withTokens = "fencing tokens (lock=fenced)"

// changes are tried in this order, where they make sense.
var changes = []change{
	{"acquisitions checked with WAIT (sync=on)", func(s *sim.Scenario) (*sim.Scenario, error) {
		if s.World.Replicas == 0 || s.World.Sync {
			return nil, errSenseless
		}
		return s.With("sync", "on")
	}},
	{"no grant without a replica (sync=required)", func(s *sim.Scenario) (*sim.Scenario, error) {
		if w := &s.World; w.Load.Required || !w.MayRequire() {
			return nil, errSenseless
		}
		return s.With("sync", "required")
	}},
	{"every write needs a replica (min-replicas=1)", func(s *sim.Scenario) (*sim.Scenario, error) {
		w := &s.World
		comesBack := w.Watched > 0 || w.Cluster // who was master is a replica then; else none would be left
		if w.Replicas == 0 || !comesBack || !w.Sync || w.MinGood > 0 {
			return nil, errSenseless
		}
		return s.With("min-replicas", "1")
	}},
	{"connections that are closed abortively (abort=on)", func(s *sim.Scenario) (*sim.Scenario, error) {
		isLate := func(step sim.Step) bool { return step.Verb == "partition" || step.Verb == "delay" }
		if !s.World.Pool || s.World.Abort || !slices.ContainsFunc(s.Steps, isLate) {
			return nil, errSenseless
		}
		return s.With("abort", "on")
	}},
	{withTokens, func(s *sim.Scenario) (*sim.Scenario, error) {
		if s.World.Load.Kind != "mutex" {
			return nil, errSenseless
		}
		return s.With("lock", "fenced")
	}},
	{"restarts delayed by more than a lease", delayedRestart},
	{"a lease a third as long", func(s *sim.Scenario) (*sim.Scenario, error) {
		return withLease(s, (s.World.Load.TTL / 3).Round(time.Millisecond))
	}},
	{"a lease three times as long", func(s *sim.Scenario) (*sim.Scenario, error) {
		return withLease(s, 3*s.World.Load.TTL)
	}},
	{"lockclient instead of Redisson's client", func(s *sim.Scenario) (*sim.Scenario, error) {
		if !s.World.Load.Redisson {
			return nil, errSenseless
		}
		whole, err := withoutBroken(s)
		if err != nil {
			return nil, err
		}
		return whole.With("profile", "")
	}},
	{"releases that look at the owner (no broken=release)", func(s *sim.Scenario) (*sim.Scenario, error) {
		if !s.World.Load.Broken {
			return nil, errSenseless
		}
		return withoutBroken(s)
	}},
}

// withoutBroken has the clients that were broken on purpose as they should be.
func withoutBroken(s *sim.Scenario) (*sim.Scenario, error) { return s.With("broken", "") }

var errSenseless = fmt.Errorf("explore: this remedy makes no sense here")

// isLeased reports whether what a scenario is about ends by time.
func isLeased(s *sim.Scenario) bool { return !sim.TraitsOf(s.World.Load.Kind).Lasting }

// withLease has another lease, and clients that hold as long as before.
func withLease(s *sim.Scenario, ttl time.Duration) (*sim.Scenario, error) {
	if !isLeased(s) || s.World.Load.Scales {
		return nil, errSenseless
	}
	return s.With("ttl", sim.DurationText(ttl))
}

// delayedRestart has servers that forget when they crash stay away until all leases
// have ended.
func delayedRestart(s *sim.Scenario) (*sim.Scenario, error) {
	c := *s
	c.Steps = nil
	away := s.World.Load.TTL + time.Second
	changed := false
	for _, step := range s.Steps {
		server := len(step.Args) == 1 && step.Args[0][0] != 'c'
		switch {
		case !server || !forgets(step) || !isLeased(s):
		case step.Verb == "crash" && has(step, "for") && lasts(step, "for") < away:
			step.Opts = withOption(step.Opts, "for", sim.DurationText(away))
			changed = true
		case step.Verb == "restart" && has(step, "data"):
			down := slices.IndexFunc(c.Steps, func(other sim.Step) bool {
				return other.Verb == "crash" && other.Args[0] == step.Args[0] && !has(other, "for")
			})
			if down >= 0 && step.At-c.Steps[down].At >= away {
				break
			}
			if down >= 0 {
				step.At = c.Steps[down].At
				c.Steps = slices.Delete(c.Steps, down, down+1)
			}
			step.Verb, step.Opts = "crash", withOption(step.Opts, "for", sim.DurationText(away))
			changed = true
		}
		c.Steps = append(c.Steps, step)
	}
	if !changed {
		return nil, errSenseless
	}
	inOrder(c.Steps)
	return c.Again()
}

// has reports whether a step has an option.
func has(step sim.Step, option string) bool {
	return slices.ContainsFunc(step.Opts, func(o sim.Option) bool { return o.Name == option })
}

// withOption are the options with another value of one, which may be new.
func withOption(opts []sim.Option, name, value string) []sim.Option {
	opts = slices.DeleteFunc(slices.Clone(opts), func(o sim.Option) bool { return o.Name == name })
	return append(opts, sim.Option{Name: name, Value: value})
}

// remedies tries what could have saved the story.
func (x *explainer) remedies() (list []Remedy, err error) {
	if len(x.story.Order) > 0 {
		return nil, nil // an order fits one world only
	}
	if x.story.World.Load.Scales { // what clients do should not depend on the lease
		plain, err := x.story.With("scales", "")
		if err != nil {
			return nil, err
		}
		saved, err := x.holds(plain)
		if err != nil {
			return nil, err
		}
		if !saved {
			x.story = plain
		}
	}
	for _, c := range changes {
		if c.name == withTokens && x.checks[0] != "exclusion" && x.checks[0] != "fencing" {
			continue // tokens change nothing about it
		}
		other, err := c.make(x.story)
		if err != nil {
			continue
		}
		if heeded, err := x.heeded(other); err != nil {
			return nil, err
		} else if !heeded {
			continue
		}
		r := Remedy{Name: c.name}
		if err := x.try(&r, other); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// heeded reports whether sync=on is more than a word to a lock that a test brings: one that
// does not ask its Transport's Topology does the same with it, which says nothing of WAIT.
func (x *explainer) heeded(other *sim.Scenario) (bool, error) {
	if x.story.World.Load.Kind != sim.OwnKind || other.World.Sync == x.story.World.Sync {
		return true, nil
	}
	without, err := x.goOn(x.story)
	if err != nil {
		return false, err
	}
	with, err := x.goOn(other)
	return err == nil && with.report.Hash != without.report.Hash, err
}

// try runs a story with its change, and goes on until what was taken in it has had
// time to end. If it keeps the promise it is tried with its lines at other times: a
// lease of another length moves what the old times hit.
func (x *explainer) try(r *Remedy, story *sim.Scenario) error {
	o, err := x.goOn(story)
	if err != nil {
		return err
	}
	r.Story = o.report.Scenario
	if len(o.violated) > 0 {
		x.note(r, o)
		return nil
	}
	if r.Saves = x.keeps(r, o); r.Saves {
		if r.Less, err = x.less(o); err != nil {
			return err
		}
	}
	for _, m := range x.others(story, o) {
		other, err := x.goOn(m.story)
		if err != nil {
			return err
		}
		if len(other.violated) > 0 {
			r.Story, r.Moved, r.Saves = other.report.Scenario, m.line, false
			x.note(r, other)
			return nil
		}
		if x.keeps(&Remedy{}, other) {
			if r.Tried++; !r.Saves {
				r.Story, r.Saves = other.report.Scenario, true
			}
		}
	}
	return nil
}

// less says what of the story as it was told does not happen in a run of it with a change: a
// line may do nothing there, or fewer clients get a lock.
func (x *explainer) less(o *outcome) (string, error) {
	told, err := x.goOn(x.story)
	if err != nil {
		return "", err
	}
	var list []string
	for _, idle := range o.report.Idle {
		isIt := func(other sim.Idle) bool { return other.Text() == idle.Text() }
		if !slices.ContainsFunc(told.report.Idle, isIt) {
			list = append(list, idle.Text())
		}
	}
	w := watcher{}
	for i := range x.events {
		w.observe(&x.events[i])
	}
	if o.holders < len(w.holders) {
		list = append(list, fmt.Sprintf("%s got a lock instead of %d", check.Several(o.holders, "client"), len(w.holders)))
	}
	return listed(list), nil
}

// keeps reports whether a run keeps the promise; a remedy learns why that is unknown.
func (x *explainer) keeps(r *Remedy, o *outcome) bool {
	for _, result := range o.report.Results {
		if result.Check == x.checks[0] {
			if result.Verdict == check.Unknown {
				r.Why = result.Reason
			}
			return result.Verdict == check.Holds
		}
	}
	return false
}

// note says what a remedy saves instead of a check. With a lock that had tokens before,
// it is not the remedy that saves the resource.
func (x *explainer) note(r *Remedy, o *outcome) {
	if !o.tokens || x.checks[0] != "exclusion" || sim.TraitsOf(x.story.World.Load.Kind).Tokens {
		return
	}
	for _, result := range o.report.Results {
		if result.Check == "fencing" && result.Verdict == check.Holds {
			r.Note = "the resource takes no stale write"
		}
	}
}

// goOn runs a story until what is taken in it has had time to end and to be taken
// again after its faults.
func (x *explainer) goOn(story *sim.Scenario) (*outcome, error) {
	with := *story
	for _, step := range story.Steps {
		with.For = max(with.For, step.At+lasts(step, "for")+lasts(step, "outage")+lasts(step, "by")+lasts(step, "late"))
	}
	load := &story.World.Load
	with.For += 2*max(load.TTL, x.story.World.Load.TTL) + 2*load.Hold.Hi
	if !slices.ContainsFunc(with.Expect, func(e sim.Expectation) bool { return e.Check == "fencing" }) {
		with.Expect = append(slices.Clone(with.Expect), sim.Expectation{Check: "fencing", Verdict: "holds"})
	}
	again, err := with.Again()
	if err != nil {
		return nil, err
	}
	return x.watch(x.ctx, again)
}

// moved is a variant of a story: one of its lines is another, or comes at another time.
type moved struct {
	line  string
	story *sim.Scenario
}

// mostVariants is how many variants of a story are tried at most, and mostEvents how
// many events the runs of all may have, about.
const (
	mostVariants = 120
	mostEvents   = 400_000
)

// others are stories in which a line comes at another time: after a step of the
// protocol as the story went, with its change or without; or a key goes that another
// kind of lock calls by another number.
func (x *explainer) others(story *sim.Scenario, o *outcome) (list []moved) {
	var lines []int
	for i, step := range story.Steps {
		if step.Verb == "start" || !isHarmless(step) {
			lines = append(lines, i)
		}
	}
	times := slices.Clone(o.steps)
	for i := range x.events {
		if x.events[i].Kind.Protocol() {
			times = append(times, x.events[i].At)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	each := 0
	if len(lines) > 0 {
		each = min(mostVariants, mostEvents/int(o.report.Events+1)) / len(lines)
	}
	each = min(each, len(times))
	for i, step := range story.Steps {
		if step.Verb != "evict" {
			continue
		}
		for key := 1; key <= keysOfALock; key++ {
			c := *story
			c.Steps = slices.Clone(story.Steps)
			c.Steps[i].Opts = []sim.Option{{Name: "key", Value: strconv.Itoa(key)}}
			list = append(list, moved{c.Steps[i].Text(), &c})
		}
	}
	for n := range each {
		for _, i := range lines {
			at := times[n*len(times)/each] + 10*time.Microsecond
			if c := retimed(story, i, at); c != nil {
				list = append(list, *c)
			}
		}
	}
	return list
}

// keysOfALock is how many keys a lock has at most.
const keysOfALock = 3

// retimed is a story in which a client starts, or a fault strikes, at another time.
// Faults keep their order: those that follow it come as much later. nil: it would
// come before another fault.
func retimed(story *sim.Scenario, line int, at time.Duration) *moved {
	c := *story
	c.Steps = slices.Clone(story.Steps)
	moves := &c.Steps[line]
	by := at - moves.At
	for i := range c.Steps {
		step := &c.Steps[i]
		switch {
		case moves.Verb == "start" || step.Verb == "start" || i == line:
		case i < line && step.At > at:
			return nil
		case i > line:
			step.At += by
		}
	}
	moves.At = at
	text := moves.Text()
	inOrder(c.Steps)
	return &moved{text, &c}
}
