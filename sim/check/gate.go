package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Gate says that nobody finds a latch open before it was counted down as often
// as its count says. A call to count down counts from its beginning.
type Gate struct {
	name  Names
	count int
	calls map[int32]int // to count down, by latch
	found int           // how often a latch was found open
	early *trace.Event
	had   int // calls when that came
}

// NewGate makes the checker for latches of a count.
func NewGate(name Names, count int) *Gate {
	return &Gate{name: name, count: count, calls: map[int32]int{}}
}

// Observe implements Checker.
func (g *Gate) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.CountDown:
		g.calls[e.Lock]++
	case trace.Opened:
		g.found++
		if g.calls[e.Lock] < g.count && g.early == nil {
			early := *e
			g.early, g.had = &early, g.calls[e.Lock]
		}
	}
}

// Result implements Checker.
func (g *Gate) Result(time.Duration) Result {
	switch {
	case g.early != nil:
		return Result{Check: "gate", Verdict: Violated, Events: []uint64{g.early.N},
			Reason: fmt.Sprintf("%s found the latch open at %s, after %d of %d counts", g.name(g.early.Actor),
				stamp(g.early.At), g.had, g.count)}
	case g.found == 0:
		return Result{Check: "gate", Verdict: Unknown, Reason: "nobody found the latch open"}
	}
	return Result{Check: "gate",
		Reason: fmt.Sprintf("found open %s, never before %s", Several(g.found, "time"), Several(g.count, "count"))}
}
