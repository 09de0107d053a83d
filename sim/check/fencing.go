package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Fencing says that the resource applied no stale write. Where turns have
// tokens, a write is stale when its token is below one that was already
// applied, or the same as another client's. With the same token, or without tokens,
// it is stale when its client's turn, the belief in which it was sent, began before
// that of a write that was already applied.
type Fencing struct {
	name    Names
	turns   int64
	turn    map[holder]int64 // of a client's latest belief in a lock
	sent    map[uint64]int64 // the turn in which a write was sent, by the event of its sending
	applied map[int32]write  // with the highest token that wrote, the highest turn, by lock
	refused int
	writes  int
	stale   *trace.Event
	later   uint64 // the event of the write beside which that is stale
}

type holder struct {
	actor trace.Actor
	lock  int32
}

type write struct {
	turn, token int64
	owner       trace.Actor // of the token
	event       uint64      // of the write of that turn
}

// NewFencing makes the checker.
func NewFencing(name Names) *Fencing {
	return &Fencing{name: name, turn: map[holder]int64{}, sent: map[uint64]int64{}, applied: map[int32]write{}}
}

// Observe implements Checker.
func (f *Fencing) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		f.turns++
		f.turn[holder{e.Actor, e.Lock}] = f.turns
	case trace.Send:
		if e.Lock != 0 {
			f.sent[e.N] = f.turn[holder{e.Actor, e.Lock}]
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
	turn, token, before := f.sent[e.Cause], e.A, f.applied[e.Lock]
	sameToken := token != 0 && token == before.token && e.Peer != before.owner
	early := token == before.token && turn < before.turn
	if f.stale == nil && (early || token < before.token || sameToken) {
		stale := *e
		f.stale, f.later = &stale, before.event
	}
	switch {
	case token > before.token:
		f.applied[e.Lock] = write{turn, token, e.Peer, e.N}
	case token == before.token && turn >= before.turn:
		f.applied[e.Lock] = write{turn, token, before.owner, e.N}
	}
}

// Result implements Checker.
func (f *Fencing) Result(time.Duration) Result {
	switch {
	case f.stale != nil:
		return Result{Check: "fencing", Verdict: Violated, Events: []uint64{f.later, f.stale.N},
			Reason: fmt.Sprintf("at %s the resource applied a stale write of %s", stamp(f.stale.At), f.name(f.stale.Peer))}
	case f.writes == 0:
		return Result{Check: "fencing", Verdict: Unknown,
			Reason: fmt.Sprintf("no write was applied, and %d refused", f.refused)}
	}
	return Result{Check: "fencing", Reason: fmt.Sprintf("%d writes applied, none stale; %d refused", f.writes, f.refused)}
}
