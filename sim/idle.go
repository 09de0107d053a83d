package sim

import (
	"cmp"
	"fmt"
	"slices"

	"minikv/sim/check"
)

// Idle is an `at` line that did nothing in a run, or less than it says: what the run shows
// is not what its file tells.
type Idle struct {
	Step   Step
	Struck int // of a line about messages: how many it struck
	Next   int // how many it was to strike; 0: the line is not about messages
}

// Text says it in words.
func (i Idle) Text() string {
	if i.Next > 0 {
		return fmt.Sprintf("%q struck %d of %s", i.Step.Text(), i.Struck, check.Several(i.Next, "message"))
	}
	return fmt.Sprintf("%q did nothing", i.Step.Text())
}

// strike has a step of the nemesis do what it does, at nodes that must be awake for it
// when they go on.
func (r *runner) strike(v verb, s Step) {
	if v.when == whenAwake && r.waitsFor(s, func() { r.strike(v, s) }) {
		return
	}
	before := r.w.events
	v.apply(r, s)
	switch {
	case v.when == later:
	case r.w.events == before:
		r.idle = append(r.idle, Idle{Step: s})
	default:
		r.w.strikes(s)
	}
}

// strikes notes that a step has done something, by its kind of fault if it was drawn.
func (w *World) strikes(s Step) {
	if s.Fault != "" && !slices.Contains(w.struck, s.Fault) {
		w.struck = append(w.struck, s.Fault)
	}
}

// waitsFor has f called later if a node that is to do a step stands still, and reports whether.
func (r *runner) waitsFor(s Step, f func()) bool {
	for _, n := range r.doers(s) {
		if n.paused > 0 {
			n.whenAwake(f)
			return true
		}
	}
	return false
}

// doers are the nodes that do a step.
func (r *runner) doers(s Step) []*node {
	if s.Verb != "move" {
		return []*node{r.node(s.Args[0])}
	}
	to := r.node(s.Args[1])
	return []*node{to.group.home(s.Args[0]), to}
}

// missed keeps which of the messages that steps wait for have not come.
func (r *runner) missed() {
	for _, l := range slices.Concat(r.w.losses, r.w.doubles, r.w.delays) {
		r.idle = append(r.idle, Idle{l.step, l.next - l.left, l.next})
	}
	for _, s := range r.w.stalls {
		r.idle = append(r.idle, Idle{Step: s.step})
	}
}

// idleLines are those that the file has: of a fault that is drawn nobody expects that it strikes.
func (r *runner) idleLines() []Idle {
	list := slices.DeleteFunc(r.idle, func(i Idle) bool { return i.Step.Line == 0 })
	slices.SortStableFunc(list, func(a, b Idle) int { return cmp.Compare(a.Step.Line, b.Step.Line) })
	return list
}
