package check

import (
	"fmt"
	"maps"
	"time"

	"minikv/trace"
)

// Fencing says that the resource applied no stale write. Where turns have
// tokens, a write is stale when its token is below one that was already
// applied, or the same as another client's. With the same token, or without tokens,
// it is stale when its client's turn, the belief in which it was sent, began before
// that of a write that was already applied. Whatever the tokens, it is stale when its
// turn began before the client of a write that was already applied asked for that
// one's turn: tokens that do not grow with the turns protect nothing. Of a turn that is the
// later one and has no larger token that is said: its client is the rightful holder.
type Fencing struct {
	name    Names
	turns   int64
	asked   map[holder]uint64 // since which event a client asks for a lock
	turn    map[holder]turn   // of a client's latest belief in a lock
	sent    map[uint64]turn   // the turn in which a write was sent, by the event of its sending
	applied map[int32]write   // the latest, by lock: as long as none is stale, none before it had a higher token
	newest  map[int32]write   // of the turns that wrote, the one that was asked for last, by lock
	refused int
	writes  int
	stale   *trace.Event
	beside  write // beside which that is stale
	isLater bool  // it is of a later turn than that: its token is no larger
}

// turn is a belief: its number, the event that it begins with, and that with which its
// client asked for it, 0 if nothing tells.
type turn struct {
	number      int64
	held, asked uint64
}

type holder struct {
	actor trace.Actor
	lock  int32
}

type write struct {
	turn
	token int64
	owner trace.Actor // of the token
	event uint64      // of the write of that turn
}

// NewFencing makes the checker.
func NewFencing(name Names) *Fencing {
	return &Fencing{name: name, asked: map[holder]uint64{}, turn: map[holder]turn{}, sent: map[uint64]turn{},
		applied: map[int32]write{}, newest: map[int32]write{}}
}

// Observe implements Checker.
func (f *Fencing) Observe(e *trace.Event) {
	who := holder{e.Actor, e.Lock}
	switch e.Kind {
	case trace.Acquire:
		if f.asked[who] == 0 {
			f.asked[who] = e.N
		}
	case trace.Refused:
		delete(f.asked, who)
	case trace.Crash: // what it asks for when it was started again is another turn
		maps.DeleteFunc(f.asked, func(h holder, _ uint64) bool { return h.actor == e.Peer })
	case trace.Hold:
		f.turns++
		f.turn[who] = turn{f.turns, e.N, f.asked[who]}
		delete(f.asked, who)
	case trace.Send:
		if e.Lock != 0 {
			f.sent[e.N] = f.turn[who]
		}
	case trace.Drop:
		delete(f.sent, e.Cause)
	case trace.Reject:
		f.refused++
		delete(f.sent, e.Cause)
	case trace.Write:
		f.apply(e)
		delete(f.sent, e.Cause)
	}
}

func (f *Fencing) apply(e *trace.Event) {
	f.writes++
	if f.stale != nil { // the first is told
		return
	}
	w := write{f.sent[e.Cause], e.A, e.Peer, e.N}
	before, newest := f.applied[e.Lock], f.newest[e.Lock]
	sameToken := w.token != 0 && w.token == before.token && w.owner != before.owner
	early := w.token == before.token && w.number < before.number
	switch {
	case early || w.token < before.token || sameToken:
		f.goesStale(e, w, before)
	case w.held < newest.asked:
		f.goesStale(e, w, newest)
	}
	f.applied[e.Lock] = w
	if w.asked > newest.asked {
		f.newest[e.Lock] = w
	}
}

// goesStale notes a stale write, and one beside which it is stale.
func (f *Fencing) goesStale(e *trace.Event, w, beside write) {
	stale := *e
	f.stale, f.beside, f.isLater = &stale, beside, w.number > beside.number
}

// reason says what is wrong with the stale write.
func (f *Fencing) reason() string {
	at, who, earlier := stamp(f.stale.At), f.name(f.stale.Peer), f.name(f.beside.owner)
	switch token := f.stale.A; {
	case !f.isLater:
		return fmt.Sprintf("at %s the resource applied a stale write of %s", at, who)
	case token == f.beside.token:
		return fmt.Sprintf("at %s the resource applied a write of %s with token %d, which %s had before",
			at, who, token, earlier)
	default:
		return fmt.Sprintf("at %s the resource applied a write of %s with token %d, though %s had %d before",
			at, who, token, earlier, f.beside.token)
	}
}

// Result implements Checker.
func (f *Fencing) Result(time.Duration) Result {
	switch {
	case f.stale != nil:
		return Result{Check: "fencing", Verdict: Violated, Events: []uint64{f.beside.event, f.stale.N}, Reason: f.reason()}
	case f.writes == 0:
		return Result{Check: "fencing", Verdict: Unknown,
			Reason: fmt.Sprintf("no write was applied, and %d refused", f.refused)}
	}
	return Result{Check: "fencing",
		Reason: fmt.Sprintf("%s applied, none stale; %d refused", Several(f.writes, "write"), f.refused)}
}
