package simtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/simtest"
	"minikv/trace"
)

// turns is an invariant as a user writes one: nobody gets the lock more than twice in
// a row while somebody else waits for it.
type turns struct {
	name    check.Names
	waiting map[trace.Actor]bool
	last    trace.Actor
	inARow  []uint64 // the grants of the last one
	result  check.Result
}

func newTurns(name check.Names) check.Checker {
	return &turns{name: name, waiting: map[trace.Actor]bool{},
		result: check.Result{Check: "own", Verdict: check.Unknown, Reason: "nobody got a lock"}}
}

// Observe implements check.Checker.
func (c *turns) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		c.waiting[e.Actor] = true
	case trace.Refused:
		delete(c.waiting, e.Actor)
	case trace.Hold:
		delete(c.waiting, e.Actor)
		if e.Actor != c.last || len(c.waiting) == 0 {
			c.last, c.inARow = e.Actor, nil
		}
		c.inARow = append(c.inARow, e.N)
		switch {
		case c.result.Verdict == check.Violated:
		case len(c.inARow) > 2:
			c.result.Verdict, c.result.Events = check.Violated, c.inARow
			c.result.Reason = fmt.Sprintf("%s got the lock three times in a row while %d waited", c.name(e.Actor),
				len(c.waiting))
		default:
			c.result.Verdict, c.result.Reason = check.Holds, "everybody gets a turn"
		}
	}
}

// Result implements check.Checker.
func (c *turns) Result(time.Duration) check.Result { return c.result }

// A test brings its invariant along with its lock: it is searched, shrunk and
// replayed as those that are built in.
func TestOwnInvariant(t *testing.T) {
	const world = "world lock=own clients=3 ttl=2s hold=100ms think=0s..200ms\nexpect own=holds\nrun for=20s\n"
	own := naive(true)
	own.Check = newTurns
	said := failing(t, simtest.Test{Scenario: world, Own: own})
	require.Contains(t, said, "own is violated with seed")
	require.Regexp(t, `own violated: c\d got the lock three times in a row while \d waited`, said)
	require.Contains(t, said, "it needs: no fault")
	simtest.Run(t, simtest.Test{Scenario: "world lock=own clients=1 hold=100ms\nexpect own=holds\nrun for=20s\n",
		Seeds: 20, Own: sim.Own{Lock: own.Lock, Check: newTurns}})
}
