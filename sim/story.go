package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"minikv/sim/check"
	"minikv/trace"
)

// Decisive picks, from all events of a run, at most limit that decided its verdicts:
//
//   - those that the results name, and by which others had what was given once more, and faults;
//   - what clients believed, and the resource's answers;
//   - for each grant the commands that gave it;
//   - what took a lock from a client that believed to have it, or wrote over it.
//
// Of a violated run it keeps only the clients that took part in the violation, unless
// that leaves too little to understand it. If there is no room for all, the events that
// the results name and the faults stay, with what came first after each fault.
func Decisive(events []trace.Event, results []check.Result, limit int) []trace.Event {
	named := map[uint64]bool{}
	for _, r := range results {
		for _, n := range r.Events {
			named[n] = true
			if held := hadBefore(r.Check, events, &events[n-1]); len(held) <= fewest { // as many as there is room for
				for _, n := range held {
					named[n] = true
				}
			}
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
		fault := e.Kind.Fault() && (e.Kind != trace.Heal || e.A > 0) // what was not cut does not heal
		if named[e.N] || taking[e.N] || fault || (decides(e.Kind) || granting[e.N]) && ofThem {
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
	room, since := max(0, left-faults)/(faults+1), 0
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

// culprits are the clients whose events made a check fail, with those whom it takes to
// see why; nil if none did, or if somebody waited too long: then all have to do with it.
func culprits(events []trace.Event, results []check.Result) map[trace.Actor]bool {
	var involved map[trace.Actor]bool
	for _, r := range results {
		if r.Verdict == check.Violated && (r.Check == "progress" || r.Check == "liveness") {
			return nil
		}
		for _, n := range r.Events {
			who := subject(&events[n-1])
			if who == 0 {
				continue
			}
			if involved == nil {
				involved = map[trace.Actor]bool{0: true}
			}
			involved[who] = true
			for _, other := range against(r.Check, events, &events[n-1]) {
				involved[other] = true
			}
		}
	}
	return involved
}

// against are the clients that an event which made a check fail was about: who was robbed,
// or who had what was given once more, or said to be free.
func against(check string, events []trace.Event, e *trace.Event) (who []trace.Actor) {
	if check == "theft" {
		return []trace.Actor{e.Peer}
	}
	for _, n := range hadBefore(check, events, e) {
		who = append(who, events[n-1].Actor)
	}
	return who
}

// hadBefore are the events by which others had what an event that made a check fail has
// given once more, or says to be free.
func hadBefore(check string, events []trace.Event, e *trace.Event) []uint64 {
	if check != "capacity" && check != "guard" {
		return nil
	}
	return HeldByOthers(events, e)
}

// HeldByOthers returns the numbers of the events by which others than e's actor had begun
// to hold the lock that e is about, as far as they still held it when e happened.
func HeldByOthers(events []trace.Event, e *trace.Event) (began []uint64) {
	for i := range events[:e.N-1] {
		switch o := &events[i]; {
		case o.Lock != e.Lock || o.Actor == e.Actor:
		case o.Kind == trace.Hold:
			began = append(began, o.N)
		case o.Kind == trace.Release || o.Kind == trace.Lost:
			i := len(began) - 1
			for i >= 0 && events[began[i]-1].Actor != o.Actor {
				i--
			}
			if i >= 0 {
				began = slices.Delete(began, i, i+1)
			}
		}
	}
	return began
}

// Confirms reports whether an execution asked which replicas have confirmed a write.
func Confirms(e *trace.Event) bool {
	return strings.HasPrefix(e.Text, "INFO ") || strings.HasPrefix(e.Text, "WAIT ")
}

// grantingCommands are the executions from which a client's belief followed: the last one
// before each Hold, going back along its causes, and those that changed the lock's keys for
// this client last since it asked; and those by which somebody had what was stolen. Only
// details tell of these.
func grantingCommands(events []trace.Event) map[uint64]bool {
	found := map[uint64]bool{}
	changed := map[trace.Actor]map[keyAt]uint64{} // by whom, where, with which event
	var before map[trace.Actor]uint64             // the latest execution: what had changed the same keys
	for i := range events {
		e := &events[i]
		if len(e.Details) > 0 {
			before = lastChanges(changed, e)
		}
		for _, d := range e.Details {
			switch at := (keyAt{e.Actor, d.Key}); {
			case d.Gone():
				for _, keys := range changed { //tidy:unordered each loses the key
					delete(keys, at)
				}
			case d.What != trace.Changed:
			case changed[e.Peer] == nil:
				changed[e.Peer] = map[keyAt]uint64{at: e.N}
			default:
				changed[e.Peer][at] = e.N
			}
		}
		switch e.Kind {
		case trace.Acquire:
			maps.DeleteFunc(changed[e.Actor], func(at keyAt, _ uint64) bool { return ofLock(at.key, e.Key) })
		case trace.Hold:
			for n := e.Cause; n != 0; n = events[n-1].Cause {
				if cause := &events[n-1]; cause.Kind == trace.Execute && !Confirms(cause) {
					found[n] = true
					break
				}
			}
			for at, n := range changed[e.Actor] { //tidy:unordered a set is filled
				found[n] = found[n] || ofLock(at.key, e.Key)
			}
		case trace.Steal:
			if n := before[e.Peer]; n != 0 {
				found[n] = true
			}
		}
	}
	return found
}

// lastChanges are the events with which each client had last changed one of the keys that an
// event changes.
func lastChanges(changed map[trace.Actor]map[keyAt]uint64, e *trace.Event) map[trace.Actor]uint64 {
	last := map[trace.Actor]uint64{}
	for _, d := range e.Details {
		for who, keys := range changed { //tidy:unordered a map is filled
			if n := keys[keyAt{e.Actor, d.Key}]; d.What == trace.Changed && n > last[who] {
				last[who] = n
			}
		}
	}
	return last
}

// keyAt is a key at a server.
type keyAt struct {
	server trace.Actor
	key    string
}

// ofLock reports whether a key is a lock's: it has its name, or has that in its own, as
// keys do that a lock has beside the first, and those of a lock that a test brings.
func ofLock(key, lock string) bool {
	_, rest, found := strings.Cut(key, lock)
	return found && lock != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// takingCommands are the executions that removed a key of a lock, or wrote over it, while
// a client that had changed it there believed to have the lock, and what had been read of a
// key before it was removed. Only details tell of that.
func takingCommands(events []trace.Event) map[uint64]bool {
	found := map[uint64]bool{}
	changed := map[keyAt][]trace.Actor{}        // by whom, since it is there
	beliefs := map[trace.Actor]map[string]int{} // in which locks
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case trace.Hold:
			if beliefs[e.Actor] == nil {
				beliefs[e.Actor] = map[string]int{}
			}
			beliefs[e.Actor][e.Key]++
		case trace.Release, trace.Lost:
			if n := beliefs[e.Actor][e.Key]; n > 1 {
				beliefs[e.Actor][e.Key] = n - 1
			} else {
				delete(beliefs[e.Actor], e.Key)
			}
		case trace.Steal:
			if e.Cause > 0 {
				by := &events[e.Cause-1]
				found[by.N], found[lookBefore(events, by)] = true, true
			}
		}
		for _, d := range e.Details {
			at := keyAt{e.Actor, d.Key}
			has := func(who trace.Actor) bool { return believes(beliefs[who], d.Key) }
			another := func(who trace.Actor) bool { return who != e.Peer && has(who) }
			switch {
			case d.What == trace.Expired:
				delete(changed, at)
			case d.Gone():
				if slices.ContainsFunc(changed[at], has) {
					found[e.N], found[lookBefore(events, e)] = true, true
				}
				delete(changed, at)
			case d.What == trace.Changed:
				found[e.N] = found[e.N] || namesSomebody(d.Text) && slices.ContainsFunc(changed[at], another)
				if !slices.Contains(changed[at], e.Peer) {
					changed[at] = append(changed[at], e.Peer)
				}
			}
		}
	}
	return found
}

// lookBefore is the event with which the client of an execution had read a key that this
// changed, by a command of its own, before it sent that; 0 if there was none.
func lookBefore(events []trace.Event, e *trace.Event) uint64 {
	for n := e.Cause; n != 0; n = events[n-1].Cause {
		read := &events[n-1]
		if read.Kind != trace.Execute || read.Peer != e.Peer {
			continue
		}
		if d := read.Details; len(d) == 1 && d[0].What == trace.Called && !strings.HasPrefix(d[0].Text, "EVALSHA ") {
			words := strings.Fields(d[0].Text)
			if slices.ContainsFunc(e.Details, func(d trace.Detail) bool {
				return d.What == trace.Changed && slices.Contains(words, d.Key)
			}) {
				return n
			}
		}
		return 0
	}
	return 0
}

// believes reports whether one of the locks that a client believes to have has a key.
func believes(locks map[string]int, key string) bool {
	for lock := range locks { //tidy:unordered any of them will do
		if ofLock(key, lock) {
			return true
		}
	}
	return false
}

// namesSomebody reports whether the state of a key is a text that is no count: what several
// have together may be changed by each.
func namesSomebody(state string) bool {
	text, found := strings.CutPrefix(state, "string{")
	text, _, _ = strings.Cut(text, "}")
	_, err := strconv.ParseInt(text, 10, 64)
	return found && err != nil
}
