package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/internal/trace"
)

// Progress says that whoever asks for the lock gets it within a bound, unless
// its process ends.
type Progress struct {
	name    Names
	bound   time.Duration
	since   map[trace.Actor]pending
	longest time.Duration
	worst   trace.Actor
}

type pending struct {
	at    time.Duration
	event uint64
}

// NewProgress makes the checker for a bound.
func NewProgress(name Names, bound time.Duration) *Progress {
	return &Progress{name: name, bound: bound, since: map[trace.Actor]pending{}}
}

// Observe implements Checker.
func (p *Progress) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		if _, waiting := p.since[e.Actor]; !waiting {
			p.since[e.Actor] = pending{e.At, e.N}
		}
	case trace.Hold:
		p.waited(e.Actor, e.At-p.since[e.Actor].at)
		delete(p.since, e.Actor)
	case trace.Crash:
		delete(p.since, e.Peer)
	}
}

func (p *Progress) waited(actor trace.Actor, d time.Duration) {
	if d > p.longest {
		p.longest, p.worst = d, actor
	}
}

// Result implements Checker.
func (p *Progress) Result(end time.Duration, complete bool) Result {
	var stuck []trace.Actor
	for actor := range p.since { //tidy:unordered sorted below
		stuck = append(stuck, actor)
	}
	slices.Sort(stuck)
	for _, actor := range stuck {
		if d := end - p.since[actor].at; complete && d > p.bound {
			return Result{Check: "progress", Verdict: Violated, Events: []uint64{p.since[actor].event},
				Reason: fmt.Sprintf("%s waits since %s", p.name(actor), stamp(p.since[actor].at))}
		}
	}
	switch {
	case p.longest > p.bound:
		return Result{Check: "progress", Verdict: Violated,
			Reason: fmt.Sprintf("%s waited %v, more than %v", p.name(p.worst), p.longest, p.bound)}
	case !complete:
		return Result{Check: "progress", Verdict: Unknown, Reason: "the run was stopped early"}
	}
	return Result{Check: "progress",
		Reason: fmt.Sprintf("nobody waited longer than %v; the bound is %v", p.longest.Round(time.Millisecond), p.bound)}
}
