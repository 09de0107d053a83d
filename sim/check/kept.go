package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Kept says that no client that lives loses a lock that it has: it is neither
// told of a loss, nor finds at its unlock that the lock was gone.
type Kept struct {
	name    Names
	grants  int
	crashed map[trace.Actor]bool
	lost    *trace.Event // the first loss
}

// NewKept makes the checker.
func NewKept(name Names) *Kept { return &Kept{name: name, crashed: map[trace.Actor]bool{}} }

// Observe implements Checker.
func (k *Kept) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		k.grants++
	case trace.Crash:
		k.crashed[e.Peer] = true
	case trace.Start: // again: it lives
		delete(k.crashed, e.Actor)
	case trace.Lost:
		k.loses(e)
	case trace.Failed:
		if e.A == 1 {
			k.loses(e)
		}
	}
}

func (k *Kept) loses(e *trace.Event) {
	if k.lost == nil && !k.crashed[e.Actor] {
		lost := *e
		k.lost = &lost
	}
}

// Result implements Checker.
func (k *Kept) Result(time.Duration) Result {
	switch {
	case k.lost != nil:
		return Result{Check: "kept", Verdict: Violated, Events: []uint64{k.lost.N},
			Reason: fmt.Sprintf("%s knew at %s that it had lost its lock", k.name(k.lost.Actor), stamp(k.lost.At))}
	case k.grants == 0:
		return Result{Check: "kept", Verdict: Unknown, Reason: "nobody got a lock"}
	}
	return Result{Check: "kept", Reason: Several(k.grants, "grant") + ", none lost before its unlock"}
}
