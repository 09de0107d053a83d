package sim

import (
	"slices"
	"strings"

	"minikv/internal/trace"
	"minikv/sim/check"
)

// Decisive picks, from all events of a run, at most limit that decided its
// verdicts: faults, what clients believed, the resource's answers, and for
// each grant the command that gave it. Of a violated run it keeps only the
// clients that took part in the violation. Where there is no room for all, the
// faults stay, with what came first after each.
func Decisive(events []trace.Event, results []check.Result, limit int) []trace.Event {
	involved := culprits(events, results)
	granting := grantingCommands(events)
	var picked []trace.Event
	for _, e := range events {
		who := subject(&e)
		if granting[e.N] {
			who = e.Peer
		}
		if e.Kind.Fault() || (decides(e.Kind) || granting[e.N]) && (involved == nil || involved[who]) {
			picked = append(picked, e)
		}
	}
	return thin(picked, limit)
}

// dispensable are the kinds of events that go first when there is no room for
// all, in this order.
var dispensable = []trace.Kind{trace.Drop, trace.Release, trace.Execute, trace.Failed}

// thin brings events down to the limit. When leaving out what is dispensable
// is not enough, it keeps the faults, and as many events after each, and at
// the beginning, as there is room for.
func thin(events []trace.Event, limit int) []trace.Event {
	for _, kind := range dispensable {
		if len(events) > limit {
			events = slices.DeleteFunc(events, func(e trace.Event) bool { return e.Kind == kind })
		}
	}
	if len(events) <= limit {
		return events
	}
	faults := 0
	for _, e := range events {
		if e.Kind.Fault() {
			faults++
		}
	}
	room, since := max(1, (limit-faults)/(faults+1)), 0
	var kept []trace.Event
	for _, e := range events {
		since++
		if e.Kind.Fault() {
			since = 0
		}
		if since <= room && len(kept) < limit {
			kept = append(kept, e)
		}
	}
	return kept
}

func decides(k trace.Kind) bool {
	switch k {
	case trace.Hold, trace.Lost, trace.Release, trace.Write, trace.Reject, trace.Refused, trace.Failed, trace.Expire,
		trace.CountDown, trace.Opened, trace.Audit:
		return true
	}
	return false
}

// subject is the client that e is about, or 0.
func subject(e *trace.Event) trace.Actor {
	switch e.Kind {
	case trace.Write, trace.Reject:
		return e.Peer
	case trace.Expire, trace.Audit:
		return 0
	}
	return e.Actor
}

// culprits are the clients whose events made a check fail; nil if none did.
func culprits(events []trace.Event, results []check.Result) map[trace.Actor]bool {
	var involved map[trace.Actor]bool
	for _, r := range results {
		for _, n := range r.Events {
			who := subject(&events[n-1])
			if who == 0 {
				continue
			}
			if involved == nil {
				involved = map[trace.Actor]bool{0: true}
			}
			involved[who] = true
		}
	}
	return involved
}

// confirms reports whether an execution asked what replicas have.
func confirms(e *trace.Event) bool {
	return strings.HasPrefix(e.Text, "INFO ") || strings.HasPrefix(e.Text, "WAIT ")
}

// grantingCommands are the executions from which a client's belief followed,
// going back along the causes of each Hold.
func grantingCommands(events []trace.Event) map[uint64]bool {
	found := map[uint64]bool{}
	for i := range events {
		if events[i].Kind != trace.Hold {
			continue
		}
		for n := events[i].Cause; n != 0; n = events[n-1].Cause {
			if events[n-1].Kind == trace.Execute && !confirms(&events[n-1]) {
				found[n] = true
				break
			}
		}
	}
	return found
}
