package stories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// referee gathers the events of a story and judges it by them.
type referee struct {
	story *sim.Scenario
	names []string // of actors

	mu     sync.Mutex
	began  time.Time
	events []trace.Event // without numbers, in any order
}

// begins has the story begin now, and returns when that is.
func (r *referee) begins() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = time.Now()
	return r.began
}

func newReferee(s *sim.Scenario) *referee {
	r := &referee{story: s, names: []string{"nobody", "resource", "nemesis"}}
	for i := range s.World.Clients {
		r.names = append(r.names, clientName(i+1))
	}
	return r
}

func (r *referee) actor(name string) trace.Actor {
	return trace.Actor(max(slices.Index(r.names, name), 0))
}

// note notes an event at a time.
func (r *referee) note(at time.Time, e trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = at.Sub(r.began)
	r.events = append(r.events, e)
}

// judge gives the verdicts of all checks that the story expects something of, and that
// need no more than what clients tell.
func (r *referee) judge() (results []check.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.complete()
	for _, e := range r.story.Expect {
		c := r.checker(e.Check)
		if c == nil {
			continue
		}
		for i := range events {
			c.Observe(&events[i])
		}
		results = append(results, c.Result(r.story.For))
	}
	return results
}

// checker is the check of that name, nil if it looks at what only the simulator knows.
func (r *referee) checker(name string) check.Checker {
	w := &r.story.World
	names := func(a trace.Actor) string { return r.names[a] }
	switch name {
	case "exclusion":
		return check.NewSharing(names, func(a trace.Actor) bool { return int(a)-2 <= w.Load.Readers })
	case "fencing":
		return check.NewFencing(names)
	case "progress":
		return check.NewProgress(names, w.Bound)
	case "lease":
		return check.NewLease(names)
	case "kept":
		return check.NewKept(names)
	case "capacity":
		return check.NewCapacity(names, w.Load.Permits)
	case "gate":
		return check.NewGate(names, w.Load.Count)
	case "order":
		return check.NewOrder(names, 10*w.Delay.Hi)
	}
	return nil
}

// complete puts the events in the order of their times, ends the beliefs of those that
// crash, and lets the resource decide about what is written.
func (r *referee) complete() (all []trace.Event) {
	slices.SortStableFunc(r.events, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	add := func(e trace.Event) uint64 {
		e.N = uint64(len(all) + 1)
		all = append(all, e)
		return e.N
	}
	held, dead := map[trace.Actor][]int32{}, map[trace.Actor]bool{}
	seen := map[int32]int64{}
	for _, e := range r.events {
		if dead[e.Actor] || e.At > r.story.For {
			continue
		}
		switch e.Kind {
		case trace.Hold:
			held[e.Actor] = append(held[e.Actor], e.Lock)
		case trace.Release, trace.Lost:
			held[e.Actor] = held[e.Actor][1:]
		case trace.Write:
			sent := add(trace.Event{At: e.At, Kind: trace.Send, Actor: e.Actor, Peer: r.actor("resource"), Lock: e.Lock})
			e.Actor, e.Peer, e.Cause, e.B = r.actor("resource"), e.Actor, sent, seen[e.Lock]
			if r.story.World.Fence && e.A < seen[e.Lock] {
				e.Kind = trace.Reject
			}
			seen[e.Lock] = max(seen[e.Lock], e.A)
		}
		n := add(e)
		if e.Kind == trace.Crash && e.Peer != 0 {
			dead[e.Peer] = true
			for _, lock := range held[e.Peer] {
				add(trace.Event{At: e.At, Kind: trace.Lost, Actor: e.Peer, Lock: lock, Cause: n})
			}
		}
	}
	return all
}

// String is what happened, an event a line.
func (r *referee) String() string {
	var b strings.Builder
	for _, e := range r.complete() {
		fmt.Fprintf(&b, "\n%8.3f %s %v %s lock=%d %d %s",
			e.At.Seconds(), r.names[e.Actor], e.Kind, r.names[e.Peer], e.Lock, e.A, e.Text)
	}
	return b.String()
}
