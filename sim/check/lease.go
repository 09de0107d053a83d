package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Lease says that the lock of a crashed holder is granted again when its TTL
// on the server has passed, and no sooner: at most a second later while
// somebody waits for it.
type Lease struct {
	name    Names
	holders map[trace.Actor]int32 // the lock in which an actor believes
	waiting map[trace.Actor]int32 // the lock for which an actor waits
	open    []crash               // whose lock nobody got since
	result  Result                // Unknown until a lock was granted again
}

type crash struct {
	holder trace.Actor
	lock   int32
	freeAt time.Duration
	event  uint64
}

// grace is how long after its TTL a lock may stay free while somebody waits.
const grace = time.Second

// NewLease makes the checker.
func NewLease(name Names) *Lease {
	return &Lease{name: name, holders: map[trace.Actor]int32{}, waiting: map[trace.Actor]int32{},
		result: Result{Check: "lease", Verdict: Unknown, Reason: "no lock of a crashed holder was granted again"}}
}

// Observe implements Checker.
func (l *Lease) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		l.waiting[e.Actor] = e.Lock
	case trace.Refused:
		delete(l.waiting, e.Actor)
	case trace.Hold:
		delete(l.waiting, e.Actor)
		l.holders[e.Actor] = e.Lock
		l.granted(e)
	case trace.Release, trace.Lost:
		delete(l.holders, e.Actor)
	case trace.Crash:
		delete(l.waiting, e.Peer)
		if lock := l.holders[e.Peer]; lock != 0 && e.A > 0 {
			l.open = append(l.open, crash{e.Peer, lock, e.At + time.Duration(e.A), e.N})
		}
	}
}

func (l *Lease) granted(e *trace.Event) {
	i := slices.IndexFunc(l.open, func(c crash) bool { return c.lock == e.Lock })
	if i < 0 {
		return
	}
	c := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	switch early := c.freeAt - e.At; {
	case early > 0:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s %v before its TTL had passed",
			l.name(e.Actor), l.name(c.holder), early))
	case early < -grace:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s only %v after its TTL had passed",
			l.name(e.Actor), l.name(c.holder), -early))
	case l.result.Verdict != Violated:
		l.result = Result{Check: "lease", Reason: fmt.Sprintf("the lock of %s was free at %s, %s had it at %s",
			l.name(c.holder), stamp(c.freeAt), l.name(e.Actor), stamp(e.At))}
	}
}

func (l *Lease) fail(crashed, granted uint64, reason string) {
	if l.result.Verdict != Violated {
		l.result = broken(crashed, granted, reason)
	}
}

func broken(crashed, granted uint64, reason string) Result {
	return Result{Check: "lease", Verdict: Violated, Reason: reason, Events: []uint64{crashed, granted}}
}

// Result implements Checker.
func (l *Lease) Result(end time.Duration) Result {
	if l.result.Verdict == Violated {
		return l.result
	}
	wanted := map[int32]bool{}
	for _, lock := range l.waiting { //tidy:unordered a set is made
		wanted[lock] = true
	}
	for _, c := range l.open {
		if wanted[c.lock] && end > c.freeAt+grace {
			return broken(c.event, c.event,
				fmt.Sprintf("nobody got the lock of %s although its TTL had passed", l.name(c.holder)))
		}
	}
	return l.result
}
