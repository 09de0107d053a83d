package simtest_test

import (
	"context"
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
	require.Contains(t, said, "it needs: no fault.\n")
	own.Check = nil
	said = failing(t, simtest.Test{Own: own, Seeds: 5, Scenario: "world lock=own ttl=2s bound=5s rounds=1\n" +
		"expect progress=holds\nat 0s pause m1 for=15s\nrun for=20s\n"})
	require.Contains(t, said, "it needs: no fault but those of the scenario's at lines.\n")
	simtest.Run(t, simtest.Test{Scenario: "world lock=own clients=1 hold=100ms\nexpect own=holds\nrun for=20s\n",
		Seeds: 20, Own: sim.Own{Lock: own.Lock, Check: newTurns}})
}

// Where clients do something else than to take the lock, nobody needs to get one.
func TestOwnInvariantOfRun(t *testing.T) {
	own := naive(true)
	own.Run = func(ctx context.Context, c *sim.Client) { _ = c.Sleep(ctx, time.Second) }
	own.Check = func(check.Names) check.Checker { return says{Verdict: check.Holds, Reason: "nobody was to get it"} }
	simtest.Run(t, simtest.Test{Scenario: "world lock=own\nexpect own=holds\nrun for=5s", Seeds: 10, Own: own})
}

// says is a check that always has the same result.
type says check.Result

func (says) Observe(*trace.Event) {}

func (s says) Result(time.Duration) check.Result { return check.Result(s) }

// The check that a test brings counts by whatever name its results go, and what it names
// beyond the run's events is nobody's harm.
func TestOwnInvariantOfAnotherName(t *testing.T) {
	own := naive(true)
	own.Check = func(check.Names) check.Checker {
		return says{Check: "turns", Verdict: check.Violated, Reason: "it never holds", Events: []uint64{0, 1 << 40}}
	}
	said := failing(t, simtest.Test{Scenario: "world lock=own\nexpect own=holds\nrun for=5s", Seeds: 10, Own: own})
	require.Contains(t, said, "own is violated: it never holds.")
}

// A promise that was put to the test in no run does not count as kept.
func TestPromiseThatIsNotTested(t *testing.T) {
	none := sim.Own{Lock: naive(true).Lock}
	unknown, nothing, idle := none, none, sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		_ = c.Sleep(ctx, time.Second)
	}}
	unknown.Check = func(check.Names) check.Checker { return says{Check: "turns", Verdict: check.Unknown} }
	nothing.Check = func(check.Names) check.Checker { return nil }
	for name, test := range map[string]struct {
		check, says string
		own         sim.Own
	}{
		"no check":          {"own", "only the test that brings the check can judge it", none},
		"nil":               {"own", "Own.Check returned no Checker", nothing},
		"never a verdict":   {"own", "its verdict is unknown", unknown},
		"nobody audits":     {"leak", "nobody has audited a lock", none},
		"nobody believes":   {"exclusion", "nobody got a lock", idle},
		"no holder's crash": {"lease", "no lock of a crashed holder was granted again", none},
	} {
		t.Run(name, func(t *testing.T) {
			said := failing(t, simtest.Test{Scenario: "world lock=own\nexpect " + test.check + "=holds\nrun for=5s", Seeds: 10,
				Own: test.own})
			require.Contains(t, said, "simtest: "+test.check+" was not put to the test with any of 10 seeds: "+test.says)
		})
	}
	simtest.Run(t, simtest.Test{Scenario: "world lock=own clients=2 ttl=2s\nexpect lease=holds\nfaults crash\nrun for=20s",
		Seeds: 100, Own: none})
}

// missing is an invariant about what is to happen: each of a producer's items is worked on
// in the end.
type missing struct{ done map[int64]bool }

// Observe implements check.Checker.
func (c *missing) Observe(e *trace.Event) {
	if e.Kind == trace.Hold {
		c.done[e.A] = true
	}
}

// Result implements check.Checker.
func (c *missing) Result(time.Duration) check.Result {
	for item := int64(1); item <= 5; item++ {
		if !c.done[item] {
			return check.Result{Verdict: check.Violated, Reason: fmt.Sprintf("item %d was never worked on", item)}
		}
	}
	return check.Result{Verdict: check.Holds, Reason: "each item was worked on"}
}

// popped is a queue whose item is gone with the client that has popped it: c1 puts five
// items there, of which another client works on one for 50 ms.
func popped(ctx context.Context, c *sim.Client) {
	queue, item := c.Transports()[0], 0
	for c.Name() == "c1" {
		if item++; item > 5 {
			_ = c.Sleep(ctx, time.Hour)
			return
		}
		_, _ = queue.Do(ctx, "q", "RPUSH", "q", fmt.Sprint(item))
		_ = c.Sleep(ctx, 100*time.Millisecond)
	}
	rt := c.Runtime()
	patient, cancel := rt.WithDeadline(ctx, rt.Mono()+time.Second)
	defer cancel()
	r, err := queue.Do(patient, "q", "LPOP", "q")
	_ = c.Sleep(ctx, 50*time.Millisecond)
	if n, ok := r.Integer(); err == nil && ok {
		c.Ends(c.Believes(uint64(n)), false)
	}
}

// A story of what has not happened is not that of a run that ends before it could, nor of
// clients that are not started or do not come back.
func TestStoryOfWhatHasNotHappened(t *testing.T) {
	own := sim.Own{Run: popped, Check: func(check.Names) check.Checker { return &missing{map[int64]bool{}} }}
	said := failing(t, simtest.Test{Own: own, Scenario: `
		world lock=own clients=3 think=0s
		expect own=holds
		faults client-restart=100ms..1s
		run for=9s`})
	require.Contains(t, said, "it needs: client-restart.")
	require.Contains(t, said, "clients=3")
	require.Contains(t, said, "run for=9s")
	require.Regexp(t, `crash c\d for=\S+\n`, said)
	for _, c := range []string{"c1", "c2", "c3"} {
		require.Regexp(t, `at \S+ start `+c+`\n`, said)
	}
	said = failing(t, simtest.Test{Own: own, Scenario: `
		world lock=own clients=2 think=0s
		expect own=holds
		faults lost-reply
		run for=9s`})
	require.Contains(t, said, "Assumptions that did not hold: messages arrive in time.\n", "there is no lease")
}
