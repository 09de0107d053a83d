package check

import (
	"fmt"
	"time"

	"minikv/internal/trace"
)

// Fencing says that the resource applied no stale write: none from a client
// whose turn came before that of a client whose write it has already applied.
type Fencing struct {
	name    Names
	turns   int64
	turn    map[holder]int64 // of a client's latest belief in a lock
	applied map[int32]int64  // the latest turn that wrote, by lock
	refused int
	stale   *trace.Event
	writes  int
}

type holder struct {
	actor trace.Actor
	lock  int32
}

// NewFencing makes the checker.
func NewFencing(name Names) *Fencing {
	return &Fencing{name: name, turn: map[holder]int64{}, applied: map[int32]int64{}}
}

// Observe implements Checker.
func (f *Fencing) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		f.turns++
		f.turn[holder{e.Actor, e.Lock}] = f.turns
	case trace.Reject:
		f.refused++
	case trace.Write:
		f.writes++
		turn := f.turn[holder{e.Peer, e.Lock}]
		if turn < f.applied[e.Lock] && f.stale == nil {
			stale := *e
			f.stale = &stale
		}
		f.applied[e.Lock] = max(f.applied[e.Lock], turn)
	}
}

// Result implements Checker.
func (f *Fencing) Result(time.Duration, bool) Result {
	if f.stale == nil {
		return Result{Check: "fencing",
			Reason: fmt.Sprintf("%d writes applied, none stale; %d refused", f.writes, f.refused)}
	}
	return Result{Check: "fencing", Verdict: Violated, Events: []uint64{f.stale.N},
		Reason: fmt.Sprintf("at %s the resource applied a stale write of %s", stamp(f.stale.At), f.name(f.stale.Peer))}
}
