package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"minikv/trace"
)

// Progress says that whoever asks for a lock gets it within a bound, unless its
// process ends, however long it had waited. An attempt that failed and is repeated
// is part of the wait; with one inside of what the client has the wait ends, as it does
// without that.
type Progress struct {
	name    Names
	bound   time.Duration
	since   map[trace.Actor]pending
	has     inside
	got     int // how often somebody got what it waited for
	longest wait
}

// pending is who asked and did not get the lock yet.
type pending struct {
	at    time.Duration
	event uint64
}

// inside is how many beliefs of each actor have not ended.
type inside map[trace.Actor]int

// doesWithout reports whether an event ends a wait in vain: an attempt has failed by who
// has something and goes on with that.
func (has inside) doesWithout(e *trace.Event) bool {
	switch e.Kind {
	case trace.Hold:
		has[e.Actor]++
	case trace.Release, trace.Lost:
		has[e.Actor]--
	case trace.Refused:
		return has[e.Actor] > 0
	}
	return false
}

// wait is how long somebody has waited.
type wait struct {
	actor trace.Actor
	d     time.Duration
	event uint64 // of the asking
}

// or is the longer of two waits.
func (w wait) or(actor trace.Actor, event uint64, d time.Duration) wait {
	if d > w.d {
		return wait{actor, d, event}
	}
	return w
}

// NewProgress makes the checker for a bound.
func NewProgress(name Names, bound time.Duration) *Progress {
	return &Progress{name: name, bound: bound, since: map[trace.Actor]pending{}, has: inside{}}
}

// Observe implements Checker.
func (p *Progress) Observe(e *trace.Event) {
	if asked, waits := p.since[e.Actor]; p.has.doesWithout(e) && waits {
		p.longest = p.longest.or(e.Actor, asked.event, e.At-asked.at)
		delete(p.since, e.Actor)
	}
	switch e.Kind {
	case trace.Acquire:
		if _, waits := p.since[e.Actor]; !waits {
			p.since[e.Actor] = pending{e.At, e.N}
		}
	case trace.Hold, trace.Opened:
		if asked, waits := p.since[e.Actor]; waits {
			p.longest = p.longest.or(e.Actor, asked.event, e.At-asked.at)
			p.got++
		}
		delete(p.since, e.Actor)
	case trace.Crash:
		delete(p.since, e.Peer)
	case trace.End:
		delete(p.since, e.Actor)
	}
}

// Result implements Checker.
func (p *Progress) Result(end time.Duration) Result {
	worst := p.longest
	for _, actor := range slices.Sorted(maps.Keys(p.since)) {
		asked := p.since[actor]
		worst = worst.or(actor, asked.event, end-asked.at)
	}
	longest := worst.d.Round(time.Millisecond)
	switch {
	case worst.d > p.bound:
		return Result{Check: "progress", Verdict: Violated, Events: []uint64{worst.event},
			Reason: fmt.Sprintf("%s waited %v, more than %v", p.name(worst.actor), longest, p.bound)}
	case p.got == 0:
		return Result{Check: "progress", Verdict: Unknown, Reason: "nobody asked for a lock and got it"}
	}
	return Result{Check: "progress", Reason: fmt.Sprintf("nobody waited longer than %v; the bound is %v", longest,
		p.bound)}
}
