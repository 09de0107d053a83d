package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Liveness says that after the faults have ended everybody who waits gets what
// it waits for within a bound. Attempts that fail and are repeated are part of
// the wait. Without a moment of calm the whole run counts.
type Liveness struct {
	name    Names
	bound   time.Duration
	calm    time.Duration
	waiting map[trace.Actor]pending
	waits   int // that ended after the calm, or did not
	longest wait
}

// NewLiveness makes the checker for a bound.
func NewLiveness(name Names, bound time.Duration) *Liveness {
	return &Liveness{name: name, bound: bound, waiting: map[trace.Actor]pending{}}
}

// Observe implements Checker.
func (l *Liveness) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Calm:
		l.calm, l.longest, l.waits = e.At, wait{}, 0
	case trace.Acquire:
		if _, waits := l.waiting[e.Actor]; !waits {
			l.waiting[e.Actor] = pending{e.At, e.N}
		}
	case trace.Hold, trace.Opened:
		l.waited(e.Actor, e.At)
		delete(l.waiting, e.Actor)
	case trace.Crash:
		delete(l.waiting, e.Peer)
	case trace.End:
		delete(l.waiting, e.Actor)
	}
}

func (l *Liveness) waited(actor trace.Actor, until time.Duration) {
	asked, waits := l.waiting[actor]
	if !waits {
		return
	}
	l.waits++
	if d := until - max(asked.at, l.calm); d > l.longest.d {
		l.longest = wait{actor, d, asked.event}
	}
}

// Result implements Checker.
func (l *Liveness) Result(end time.Duration) Result {
	var waiting []trace.Actor
	for actor := range l.waiting { //tidy:unordered sorted below
		waiting = append(waiting, actor)
	}
	slices.Sort(waiting)
	for _, actor := range waiting {
		l.waited(actor, end)
	}
	longest := l.longest.d.Round(time.Millisecond)
	switch {
	case l.longest.d > l.bound:
		return Result{Check: "liveness", Verdict: Violated, Events: []uint64{l.longest.event},
			Reason: fmt.Sprintf("%s waited %v after the faults had ended, more than %v", l.name(l.longest.actor),
				longest, l.bound)}
	case l.waits == 0 || len(waiting) > 0:
		return Result{Check: "liveness", Verdict: Unknown, Reason: "nobody waited, or the run ended too soon"}
	}
	return Result{Check: "liveness", Reason: fmt.Sprintf("nobody waited longer than %v after the faults; the bound is %v",
		longest, l.bound)}
}
