package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Theft says that no client's request ends what the server has granted to
// another, before its time is over: truth against truth, whatever clients believe.
type Theft struct {
	name   Names
	grants int
	stolen *trace.Event
}

// NewTheft makes the checker.
func NewTheft(name Names) *Theft { return &Theft{name: name} }

// Observe implements Checker.
func (t *Theft) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		t.grants++
	case trace.Steal:
		if t.stolen == nil {
			stolen := *e
			t.stolen = &stolen
		}
	}
}

// Result implements Checker.
func (t *Theft) Result(time.Duration) Result {
	switch {
	case t.stolen != nil:
		return Result{Check: "theft", Verdict: Violated, Events: []uint64{t.stolen.N},
			Reason: fmt.Sprintf("at %s a request of %s ended what %s had", stamp(t.stolen.At), t.name(t.stolen.Actor),
				t.name(t.stolen.Peer))}
	case t.grants == 0:
		return Result{Check: "theft", Verdict: Unknown, Reason: "nobody got a lock"}
	}
	return Result{Check: "theft", Reason: Several(t.grants, "grant") + ", each ended by its owner or by time"}
}
