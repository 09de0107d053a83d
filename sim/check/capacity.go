package check

import (
	"fmt"
	"time"

	"minikv/trace"
)

// Capacity says that no more permits of a semaphore are believed taken at a
// time than it has.
type Capacity struct {
	name    Names
	permits int
	taken   map[int32]int // permits believed taken, by semaphore
	most    int
	over    *trace.Event // the first belief in a permit too many
}

// NewCapacity makes the checker for semaphores of so many permits.
func NewCapacity(name Names, permits int) *Capacity {
	return &Capacity{name: name, permits: permits, taken: map[int32]int{}}
}

// Observe implements Checker.
func (c *Capacity) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		c.taken[e.Lock]++
		c.most = max(c.most, c.taken[e.Lock])
		if c.taken[e.Lock] > c.permits && c.over == nil {
			over := *e
			c.over = &over
		}
	case trace.Release, trace.Lost:
		c.taken[e.Lock]--
	}
}

// Result implements Checker.
func (c *Capacity) Result(time.Duration) Result {
	switch {
	case c.over != nil:
		taken := fmt.Sprintf("all %d were", c.permits)
		if c.permits == 1 {
			taken = "the only one was"
		}
		return Result{Check: "capacity", Verdict: Violated, Events: []uint64{c.over.N},
			Reason: fmt.Sprintf("at %s %s got a permit although %s taken", stamp(c.over.At), c.name(c.over.Actor), taken)}
	case c.most == 0:
		return Result{Check: "capacity", Verdict: Unknown, Reason: "nobody got a permit"}
	}
	return Result{Check: "capacity", Reason: fmt.Sprintf("at most %d of %d permits were taken", c.most, c.permits)}
}
