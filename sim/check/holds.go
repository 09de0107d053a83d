package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Holdings says that a server's hold count is its client's, whenever somebody
// looks while no request of the client is under way.
type Holdings struct {
	name   Names
	audits int // once somebody had asked for a lock
	asked  bool
	wrong  *trace.Event // the first audit that did not agree
}

// NewHoldings makes the checker.
func NewHoldings(name Names) *Holdings { return &Holdings{name: name} }

// Observe implements Checker.
func (c *Holdings) Observe(e *trace.Event) {
	c.asked = c.asked || e.Kind == trace.Acquire || e.Kind == trace.Hold
	if e.Kind != trace.Audit || e.Peer == 0 {
		return
	}
	if c.asked || e.A > 0 {
		c.audits++
	}
	if e.A != e.B && c.wrong == nil {
		wrong := *e
		c.wrong = &wrong
	}
}

// Result implements Checker.
func (c *Holdings) Result(time.Duration) Result {
	switch {
	case c.wrong != nil:
		return Result{Check: "holds", Verdict: Violated, Events: []uint64{c.wrong.N},
			Reason: fmt.Sprintf("at %s the server counted %d holds of %s, which had %d", stamp(c.wrong.At), c.wrong.A,
				c.name(c.wrong.Peer), c.wrong.B)}
	case c.audits == 0:
		return Result{Check: "holds", Verdict: Unknown,
			Reason: "nobody has audited a client once somebody had asked for a lock"}
	}
	return Result{Check: "holds", Reason: fmt.Sprintf("%d audits of clients, the server counts what they do", c.audits)}
}
