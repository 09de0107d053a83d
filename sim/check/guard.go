package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Guard says that nobody is told that a lock is free while another believes to
// have it: from before the question was asked until after it was answered, in the
// order of events, as time may stand still.
type Guard struct {
	name   Names
	since  map[trace.Actor]uint64  // the event of the question that an actor has asked
	held   map[int32][]trace.Event // the beliefs in each lock, in their order
	asked  int
	wrong  *trace.Event
	holder trace.Actor
}

// NewGuard makes the checker.
func NewGuard(name Names) *Guard {
	return &Guard{name: name, since: map[trace.Actor]uint64{}, held: map[int32][]trace.Event{}}
}

// Observe implements Checker.
func (g *Guard) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		g.held[e.Lock] = append(g.held[e.Lock], *e)
	case trace.Release, trace.Lost:
		g.ends(e)
	case trace.Asks:
		g.since[e.Actor] = e.N
	case trace.Told:
		g.told(e)
	}
}

// ends closes the actor's latest belief.
func (g *Guard) ends(e *trace.Event) {
	list := g.held[e.Lock]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Actor == e.Actor {
			g.held[e.Lock] = slices.Delete(list, i, i+1)
			return
		}
	}
}

func (g *Guard) told(e *trace.Event) {
	g.asked++
	for _, h := range g.held[e.Lock] {
		if e.A == 0 && h.N < g.since[e.Actor] && g.wrong == nil {
			wrong := *e
			g.wrong, g.holder = &wrong, h.Actor
		}
	}
}

// Result implements Checker.
func (g *Guard) Result(time.Duration) Result {
	switch {
	case g.wrong != nil:
		return Result{Check: "guard", Verdict: Violated, Events: []uint64{g.wrong.N},
			Reason: fmt.Sprintf("at %s %s was told that the lock is free, which %s had all the time", stamp(g.wrong.At),
				g.name(g.wrong.Actor), g.name(g.holder))}
	case g.asked == 0:
		return Result{Check: "guard", Verdict: Unknown, Reason: "nobody asked"}
	}
	return Result{Check: "guard", Reason: fmt.Sprintf("%d answers, none wrong when it was given", g.asked)}
}
