package check

import (
	"fmt"
	"time"

	"minikv/internal/trace"
)

// Lease says that the lock of a crashed holder is granted again when its TTL
// on the server has passed, and no sooner.
type Lease struct {
	name    Names
	holders map[trace.Actor]int32 // the lock in which an actor believes
	open    map[int32]crash       // locks whose holder crashed and that nobody got since
	waiting map[int32]int         // how many wait for a lock
	checked int
	result  Result
}

type crash struct {
	holder trace.Actor
	freeAt time.Duration
	event  uint64
}

// grace is how long after its TTL a lock may stay free while somebody waits.
const grace = time.Second

// NewLease makes the checker.
func NewLease(name Names) *Lease {
	return &Lease{name: name, holders: map[trace.Actor]int32{}, open: map[int32]crash{}, waiting: map[int32]int{}}
}

// Observe implements Checker.
func (l *Lease) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		l.waiting[e.Lock]++
	case trace.Refused:
		l.waiting[e.Lock]--
	case trace.Hold:
		l.waiting[e.Lock]--
		l.holders[e.Actor] = e.Lock
		l.granted(e)
	case trace.Release:
		delete(l.holders, e.Actor)
	case trace.Crash:
		if lock := l.holders[e.Peer]; lock != 0 && e.A > 0 {
			l.open[lock] = crash{e.Peer, e.At + time.Duration(e.A), e.N}
		}
	}
}

func (l *Lease) granted(e *trace.Event) {
	c, ok := l.open[e.Lock]
	if !ok {
		return
	}
	delete(l.open, e.Lock)
	l.checked++
	switch early := c.freeAt - e.At; {
	case early > 0:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s %v before its TTL had passed",
			l.name(e.Actor), l.name(c.holder), early))
	case early < -grace:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s only %v after its TTL had passed",
			l.name(e.Actor), l.name(c.holder), -early))
	default:
		l.result.Reason = fmt.Sprintf("the lock of %s was free at %s, %s had it at %s",
			l.name(c.holder), stamp(c.freeAt), l.name(e.Actor), stamp(e.At))
	}
}

func (l *Lease) fail(crashed, granted uint64, reason string) {
	if l.result.Verdict != Violated {
		l.result = Result{Verdict: Violated, Reason: reason, Events: []uint64{crashed, granted}}
	}
}

// Result implements Checker.
func (l *Lease) Result(end time.Duration, _ bool) Result {
	for lock := range l.open { //tidy:unordered a run has few crashes; the first failure is enough
		if c := l.open[lock]; l.waiting[lock] > 0 && end > c.freeAt+grace {
			l.fail(c.event, c.event, fmt.Sprintf("nobody got the lock of %s although its TTL had passed", l.name(c.holder)))
		}
	}
	l.result.Check = "lease"
	if l.checked == 0 && l.result.Verdict == Holds {
		return Result{Check: "lease", Verdict: Unknown, Reason: "no lock of a crashed holder was granted again"}
	}
	return l.result
}
