package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Leak says that nothing stays taken that nobody believes to have: at every
// audit the servers have no more taken than clients believe to have of it. An audit
// belongs where leases of the dead have ended.
type Leak struct {
	audits int // once somebody had asked for a lock
	asked  bool
	leaked *trace.Event // the first audit that found more
}

// NewLeak makes the checker.
func NewLeak() *Leak { return &Leak{} }

// Observe implements Checker.
func (l *Leak) Observe(e *trace.Event) {
	l.asked = l.asked || e.Kind == trace.Acquire || e.Kind == trace.Hold
	if e.Kind != trace.Audit || e.Peer != 0 {
		return
	}
	if l.asked || e.A > 0 {
		l.audits++
	}
	if e.A > e.B && l.leaked == nil {
		leaked := *e
		l.leaked = &leaked
	}
}

// Result implements Checker.
func (l *Leak) Result(time.Duration) Result {
	switch {
	case l.leaked != nil:
		return Result{Check: "leak", Verdict: Violated, Events: []uint64{l.leaked.N},
			Reason: fmt.Sprintf("at %s the server counted %d as taken, and clients believed to have %d of that",
				stamp(l.leaked.At), l.leaked.A, l.leaked.B)}
	case l.audits == 0:
		return Result{Check: "leak", Verdict: Unknown, Reason: "nobody has audited a lock once somebody had asked for one"}
	}
	return Result{Check: "leak", Reason: fmt.Sprintf("%d audits, nothing is taken that nobody has", l.audits)}
}
