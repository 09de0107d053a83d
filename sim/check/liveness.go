package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"minikv/trace"
)

// Liveness says that after the faults have ended everybody who waits gets what
// it waits for within a bound. Attempts that fail and are repeated are part of
// the wait, as for Progress. Without a moment of calm the whole run counts.
type Liveness struct {
	name    Names
	bound   time.Duration
	calm    time.Duration
	calmed  bool
	waiting map[trace.Actor]pending
	has     inside
	waits   int // that ended after the calm
	longest wait
}

// NewLiveness makes the checker for a bound.
func NewLiveness(name Names, bound time.Duration) *Liveness {
	return &Liveness{name: name, bound: bound, waiting: map[trace.Actor]pending{}, has: inside{}}
}

// Observe implements Checker.
func (l *Liveness) Observe(e *trace.Event) {
	if asked, waits := l.waiting[e.Actor]; l.has.doesWithout(e) && waits {
		l.longest = l.longest.or(e.Actor, asked.event, e.At-max(asked.at, l.calm))
		delete(l.waiting, e.Actor)
	}
	switch e.Kind {
	case trace.Calm:
		l.calm, l.calmed, l.longest, l.waits = e.At, true, wait{}, 0
	case trace.Acquire:
		if _, waits := l.waiting[e.Actor]; !waits {
			l.waiting[e.Actor] = pending{e.At, e.N}
		}
	case trace.Hold, trace.Opened:
		if asked, waits := l.waiting[e.Actor]; waits {
			l.longest = l.longest.or(e.Actor, asked.event, e.At-max(asked.at, l.calm))
			l.waits++
		}
		delete(l.waiting, e.Actor)
	case trace.Crash:
		delete(l.waiting, e.Peer)
	case trace.End:
		delete(l.waiting, e.Actor)
	}
}

// Result implements Checker.
func (l *Liveness) Result(end time.Duration) Result {
	worst := l.longest
	for _, actor := range slices.Sorted(maps.Keys(l.waiting)) {
		asked := l.waiting[actor]
		worst = worst.or(actor, asked.event, end-max(asked.at, l.calm))
	}
	longest := worst.d.Round(time.Millisecond)
	late, after := "", "in the whole run, as it has no calm"
	if l.calmed {
		late, after = " after the faults had ended", "after the faults"
	}
	switch {
	case worst.d > l.bound:
		return Result{Check: "liveness", Verdict: Violated, Events: []uint64{worst.event},
			Reason: fmt.Sprintf("%s waited %v%s, more than %v", l.name(worst.actor), longest, late, l.bound) + l.counts()}
	case l.waits == 0 || len(l.waiting) > 0:
		return Result{Check: "liveness", Verdict: Unknown, Reason: "nobody waited, or the run ended too soon"}
	}
	return Result{Check: "liveness", Reason: fmt.Sprintf("nobody waited longer than %v %s; the bound is %v",
		longest, after, l.bound)}
}

// counts says what counts, where that is no matter of course.
func (l *Liveness) counts() string {
	if l.calmed {
		return ""
	}
	return "; without a calm the whole run counts"
}
