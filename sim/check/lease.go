package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Lease says that the lock of a crashed holder is granted again when its TTL
// on the server has passed, and no sooner: nobody waits for it more than a second
// longer. Of one that has lost its TTL nobody waits more than a second at all.
// Attempts that fail and are repeated are part of a wait, which begins anew
// behind a pause of its client.
type Lease struct {
	name    Names
	held    map[trace.Actor][]int32 // the locks in which an actor believes, in their order
	waiting map[trace.Actor]asked   // the lock for which an actor waits, and since when
	paused  map[trace.Actor]bool
	open    []crash // whose lock nobody got since
	result  Result  // Unknown until a lock was granted again
}

type crash struct {
	holder  trace.Actor
	lock    int32
	freeAt  time.Duration // when it crashed, if its lock has no TTL
	event   uint64
	endless bool // its lock has lost its TTL
}

// grace is how long somebody may wait for a lock that is free.
const grace = time.Second

// NewLease makes the checker.
func NewLease(name Names) *Lease {
	return &Lease{name: name, held: map[trace.Actor][]int32{}, waiting: map[trace.Actor]asked{},
		paused: map[trace.Actor]bool{},
		result: Result{Check: "lease", Verdict: Unknown, Reason: "no lock of a crashed holder was granted again"}}
}

// Observe implements Checker.
func (l *Lease) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		if a, waits := l.waiting[e.Actor]; !waits || a.lock != e.Lock {
			l.leaves(e.Actor, e.At)
			l.waiting[e.Actor] = asked{e.Actor, e.At, e.N, e.Lock}
		}
	case trace.Refused:
		if len(l.held[e.Actor]) > 0 { // what it asked for inside that, it does without
			l.leaves(e.Actor, e.At)
		}
	case trace.Hold:
		l.held[e.Actor] = append(l.held[e.Actor], e.Lock)
		l.granted(e)
		delete(l.waiting, e.Actor)
	case trace.Release, trace.Lost:
		l.ends(e)
	case trace.Pause:
		l.result = l.Result(e.At)
		l.paused[e.Peer] = true
	case trace.Resume:
		delete(l.paused, e.Actor)
		if a, waits := l.waiting[e.Actor]; waits {
			a.at = e.At
			l.waiting[e.Actor] = a
		}
	case trace.Crash:
		l.leaves(e.Peer, e.At)
		delete(l.paused, e.Peer)
		if held := l.held[e.Peer]; len(held) > 0 && e.A != 0 {
			l.open = append(l.open, crash{e.Peer, held[0], e.At + time.Duration(max(e.A, 0)), e.N, e.A < 0})
		}
	case trace.End:
		l.leaves(e.Actor, e.At)
	}
}

// ends closes the actor's latest belief.
func (l *Lease) ends(e *trace.Event) {
	held := l.held[e.Actor]
	for i := len(held) - 1; i >= 0; i-- {
		if held[i] == e.Lock {
			l.held[e.Actor] = slices.Delete(held, i, i+1)
			return
		}
	}
}

// leaves ends the wait of an actor that got nothing.
func (l *Lease) leaves(who trace.Actor, now time.Duration) {
	l.result = l.Result(now)
	delete(l.waiting, who)
}

// inVain is how long somebody has waited for a crashed holder's lock since its TTL
// has passed.
func (l *Lease) inVain(c crash, now time.Duration) (longest time.Duration) {
	for _, a := range l.waiting { //tidy:unordered the most of all
		if a.lock == c.lock && !l.paused[a.actor] {
			longest = max(longest, now-max(c.freeAt, a.at))
		}
	}
	return longest
}

func (l *Lease) granted(e *trace.Event) {
	i := slices.IndexFunc(l.open, func(c crash) bool { return c.lock == e.Lock })
	if i < 0 {
		return
	}
	c := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	late := l.inVain(c, e.At)
	switch {
	case c.endless && late > grace:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s, which had lost its TTL, only when somebody had waited %v",
			l.name(e.Actor), l.name(c.holder), late.Round(time.Millisecond)))
	case c.endless: // why it was free does not show
	case e.At < c.freeAt:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s %v before its TTL had passed",
			l.name(e.Actor), l.name(c.holder), c.freeAt-e.At))
	case late > grace:
		l.fail(c.event, e.N, fmt.Sprintf("%s got the lock of %s only %v after its TTL had passed and somebody waited for it",
			l.name(e.Actor), l.name(c.holder), late.Round(time.Millisecond)))
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
	for _, c := range l.open {
		if l.inVain(c, end) > grace {
			why := "although its TTL had passed"
			if c.endless {
				why = "as it had lost its TTL"
			}
			return broken(c.event, c.event, fmt.Sprintf("nobody got the lock of %s %s", l.name(c.holder), why))
		}
	}
	return l.result
}
