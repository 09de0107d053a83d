package sim

import (
	"slices"
	"strings"

	"minikv/sim/check"
	"minikv/trace"
)

// Decisive picks, from all events of a run, at most limit that decided its
// verdicts: those that the results name, faults, what clients believed, the
// resource's answers, for each grant the command that gave it, and what took a
// lock from who believed to have it. Of a violated run it keeps only the clients
// that took part in the violation, unless that leaves too little to understand it.
// Where there is no room for all, the events that the results name and the faults
// stay, with what came first after each fault.
func Decisive(events []trace.Event, results []check.Result, limit int) []trace.Event {
	named := map[uint64]bool{}
	for _, r := range results {
		for _, n := range r.Events {
			named[n] = true
		}
	}
	granting, taking := grantingCommands(events), takingCommands(events)
	picked := pick(events, named, granting, taking, culprits(events, results))
	if len(picked) < fewest {
		picked = pick(events, named, granting, taking, nil)
	}
	for i := 0; i < len(events) && 0 < len(picked) && len(picked) < fewest; i++ {
		if e := &events[i]; e.Kind == trace.Execute && e.N > picked[len(picked)-1].N {
			picked = append(picked, *e) // what servers did next
		}
	}
	return thin(picked, named, taking, limit)
}

// fewest is how many events it takes to understand a run.
const fewest = 4

// pick picks the events that decide, of the clients that are involved; nil: of all.
func pick(
	events []trace.Event, named, granting, taking map[uint64]bool, involved map[trace.Actor]bool,
) (picked []trace.Event) {
	for _, e := range events {
		who := subject(&e)
		if granting[e.N] {
			who = e.Peer
		}
		ofThem := involved == nil || involved[who]
		if named[e.N] || taking[e.N] || e.Kind.Fault() || (decides(e.Kind) || granting[e.N]) && ofThem {
			picked = append(picked, e)
		}
	}
	return picked
}

// dispensable are the kinds of events that go first when there is no room for
// all, in this order.
var dispensable = []trace.Kind{trace.Drop, trace.Delay, trace.Release, trace.Execute, trace.Failed}

// thin brings events down to the limit. When leaving out what is dispensable
// is not enough, it keeps what is named, the faults, and as many events after
// each fault, and at the beginning, as there is room for.
func thin(events []trace.Event, named, taking map[uint64]bool, limit int) []trace.Event {
	for _, kind := range dispensable {
		if len(events) > limit {
			events = slices.DeleteFunc(events, func(e trace.Event) bool {
				return e.Kind == kind && !named[e.N] && !taking[e.N]
			})
		}
	}
	if len(events) <= limit {
		return events
	}
	faults, reserved := 0, 0
	for _, e := range events {
		switch {
		case named[e.N]:
			reserved++
		case e.Kind.Fault():
			faults++
		}
	}
	left := max(0, limit-reserved) // for what is not named
	room, since := max(1, (left-faults)/(faults+1)), 0
	var kept []trace.Event
	for _, e := range events {
		since++
		if e.Kind.Fault() {
			since = 0
		}
		switch {
		case named[e.N]:
			kept = append(kept, e)
		case since <= room && left > 0:
			kept = append(kept, e)
			left--
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

// Confirms reports whether an execution asked what replicas have.
func Confirms(e *trace.Event) bool {
	return strings.HasPrefix(e.Text, "INFO ") || strings.HasPrefix(e.Text, "WAIT ")
}

// grantingCommands are the executions from which a client's belief followed: the last one
// before each Hold, going back along its causes, and at the other servers of a quorum
// those that changed the lock's key for this client since it asked. Only details tell of these.
func grantingCommands(events []trace.Event) map[uint64]bool {
	found := map[uint64]bool{}
	changed := map[of]map[trace.Actor]uint64{} // by whom, of which key, where, with which event
	for i := range events {
		switch e := &events[i]; e.Kind {
		case trace.Acquire:
			delete(changed, of{e.Actor, e.Key})
		case trace.Execute:
			for _, d := range e.Details {
				if who := (of{e.Peer, d.Key}); d.What == trace.Changed && d.Text != "none" {
					if changed[who] == nil {
						changed[who] = map[trace.Actor]uint64{}
					}
					changed[who][e.Actor] = e.N
				}
			}
		case trace.Hold:
			var last trace.Actor // the server that answered last
			for n := e.Cause; n != 0; n = events[n-1].Cause {
				if cause := &events[n-1]; cause.Kind == trace.Execute && !Confirms(cause) {
					found[n], last = true, cause.Actor
					break
				}
			}
			for server, n := range changed[of{e.Actor, e.Key}] { //tidy:unordered a set is filled
				found[n] = found[n] || server != last
			}
		}
	}
	return found
}

// of is a client, or a server, and a key.
type of struct {
	who trace.Actor
	key string
}

// takingCommands are the executions that removed the key of a lock while the client that
// had changed it there last believed to have it. Only details tell of that.
func takingCommands(events []trace.Event) map[uint64]bool {
	found := map[uint64]bool{}
	changed := map[of]trace.Actor{} // by whom last, at a node
	beliefs := map[of]int{}         // of a client
	for i := range events {
		switch e := &events[i]; e.Kind {
		case trace.Hold:
			beliefs[of{e.Actor, e.Key}]++
		case trace.Release, trace.Lost:
			beliefs[of{e.Actor, e.Key}]--
		case trace.Execute:
			for _, d := range e.Details {
				switch at := (of{e.Actor, d.Key}); {
				case d.What != trace.Changed:
				case d.Text != "none":
					changed[at] = e.Peer
				default:
					found[e.N] = found[e.N] || beliefs[of{changed[at], d.Key}] > 0
					delete(changed, at)
				}
			}
		}
	}
	return found
}
