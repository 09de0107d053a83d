package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"minikv/trace"
)

// Progress says that whoever asks for a lock gets it within a bound, unless its
// process crashes, however long it had waited. An attempt that failed and is repeated
// is part of the wait, which a client that gives up has waited in vain; with one inside
// of what the client has the wait ends, as it does without that. While a client itself
// is paused it does not wait. Of who waits when the run ends the verdict says that its wait
// is within the bound so far, and the reason names it.
type Progress struct {
	name    Names
	bound   time.Duration
	waiting waiting
	got     int // how often somebody got what it waited for
	longest wait
}

// waiting is who waits, who has something, and who is paused.
type waiting struct {
	since  map[trace.Actor]pending
	has    inside
	paused map[trace.Actor]time.Duration // since when
}

// pending is who asked and did not get the lock yet.
type pending struct {
	at    time.Duration
	event uint64
}

func newWaiting() waiting {
	return waiting{map[trace.Actor]pending{}, inside{}, map[trace.Actor]time.Duration{}}
}

// observe notes who asks, who is gone, and pauses. A pause puts off when its client
// asked, by as much as it lasts.
func (w *waiting) observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		if _, waits := w.since[e.Actor]; !waits {
			w.since[e.Actor] = pending{e.At, e.N}
		}
	case trace.Pause:
		if _, still := w.paused[e.Peer]; !still {
			w.paused[e.Peer] = e.At
		}
	case trace.Resume:
		if asked, waits := w.since[e.Actor]; waits {
			w.since[e.Actor] = pending{e.At - w.waited(e.Actor, e.At), asked.event}
		}
		delete(w.paused, e.Actor)
	case trace.Crash:
		delete(w.since, e.Peer)
		delete(w.paused, e.Peer)
	case trace.End:
		delete(w.since, e.Actor)
	}
}

// waited is how long somebody who waits has done so.
func (w *waiting) waited(who trace.Actor, now time.Duration) time.Duration {
	asked := w.since[who].at
	if paused, still := w.paused[who]; still {
		now = max(asked, paused)
	}
	return now - asked
}

// ended is the wait that an event ends, by what its client has got or in vain.
func (w *waiting) ended(e *trace.Event) (d wait, got, is bool) {
	got = e.Kind == trace.Hold || e.Kind == trace.Opened
	asked, waits := w.since[e.Actor]
	if is = (w.has.doesWithout(e) || got || e.Kind == trace.End) && waits; is {
		d = wait{e.Actor, w.waited(e.Actor, e.At), asked.event}
		delete(w.since, e.Actor)
	}
	return d, got, is
}

// anew has all who wait begin to do so now.
func (w *waiting) anew(now time.Duration) {
	for who, asked := range w.since { //tidy:unordered each is set by itself
		w.since[who] = pending{now, asked.event}
	}
}

// all are those who wait, and how long they have.
func (w *waiting) all(now time.Duration) (list []wait) {
	for _, who := range slices.Sorted(maps.Keys(w.since)) {
		list = append(list, wait{who, w.waited(who, now), w.since[who].event})
	}
	return list
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
func (w wait) or(other wait) wait {
	if other.d > w.d {
		return other
	}
	return w
}

// NewProgress makes the checker for a bound.
func NewProgress(name Names, bound time.Duration) *Progress {
	return &Progress{name: name, bound: bound, waiting: newWaiting()}
}

// Observe implements Checker.
func (p *Progress) Observe(e *trace.Event) {
	if d, got, is := p.waiting.ended(e); is {
		p.longest = p.longest.or(d)
		if got {
			p.got++
		}
	}
	p.waiting.observe(e)
}

// Result implements Checker.
func (p *Progress) Result(end time.Duration) Result {
	worst, still := p.longest, p.waiting.all(end)
	for _, w := range still {
		worst = worst.or(w)
	}
	longest := worst.d.Round(time.Millisecond)
	switch {
	case worst.d > p.bound:
		return Result{Check: "progress", Verdict: Violated, Events: []uint64{worst.event},
			Reason: fmt.Sprintf("%s waited %v, more than %v", p.name(worst.actor), longest, p.bound)}
	case p.got == 0:
		return Result{Check: "progress", Verdict: Unknown, Reason: "nobody asked for a lock and got it"}
	case end <= p.bound && len(still) > 0:
		return Result{Check: "progress", Verdict: Unknown, Reason: fmt.Sprintf("%s still waited when the run ended, "+
			"and the run was no longer than the bound of %v", p.name(still[0].actor), p.bound)}
	}
	return Result{Check: "progress", Reason: fmt.Sprintf("nobody waited longer than %v; the bound is %v", longest,
		p.bound) + p.waitsStill(still)}
}

// waitsStill names who waits when the run ends, of several the one that has waited longest:
// nobody knows how long that would have gone on.
func (p *Progress) waitsStill(still []wait) string {
	if len(still) == 0 {
		return ""
	}
	w := still[0]
	for _, other := range still[1:] {
		w = w.or(other)
	}
	return fmt.Sprintf("; %s still waits, for %v so far", p.name(w.actor), w.d.Round(time.Millisecond))
}
