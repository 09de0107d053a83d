package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Liveness says that after the faults have ended everybody who waits gets what
// it waits for within a bound. Attempts that fail and are repeated are part of
// the wait, as for Progress. Without a moment of calm the whole run counts.
type Liveness struct {
	name    Names
	bound   time.Duration
	calmed  bool
	waiting waiting
	waits   int // that ended after the calm
	longest wait
}

// NewLiveness makes the checker for a bound.
func NewLiveness(name Names, bound time.Duration) *Liveness {
	return &Liveness{name: name, bound: bound, waiting: newWaiting()}
}

// Observe implements Checker.
func (l *Liveness) Observe(e *trace.Event) {
	if d, got, is := l.waiting.ended(e); is {
		l.longest = l.longest.or(d)
		if got {
			l.waits++
		}
	}
	if e.Kind == trace.Calm {
		l.calmed, l.longest, l.waits = true, wait{}, 0
		l.waiting.anew(e.At)
	}
	l.waiting.observe(e)
}

// Result implements Checker.
func (l *Liveness) Result(end time.Duration) Result {
	worst := l.longest
	for _, w := range l.waiting.all(end) {
		worst = worst.or(w)
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
	case l.waits == 0 || len(l.waiting.since) > 0:
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
