package simtest_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/sim/simtest"
	"minikv/trace"
)

// faulty is a check whose methods do what they are told to.
type faulty struct{ observe, result func() }

func (f faulty) Observe(e *trace.Event) {
	if e.N > 3 && f.observe != nil {
		f.observe()
	}
}

func (f faulty) Result(time.Duration) check.Result {
	if f.result != nil {
		f.result()
	}
	return check.Result{}
}

// A result that says nothing, or a verdict that there is not, is no verdict.
func TestCheckThatSaysNothing(t *testing.T) {
	for want, r := range map[string]check.Result{
		"in Result, returned a Result without a Reason or a Check":     {},
		"in Result, returned a Result without a Reason or a Check, as": {Verdict: check.Violated},
		"in Result, returned verdict 7, which there is not":            {Reason: "turns", Verdict: check.Verdict(7)},
	} {
		said := failing(t, simtest.Test{
			Scenario: "world clients=2 lock=own\nexpect own=holds\nrun for=5s\n",
			Own: sim.Own{
				Run:   func(ctx context.Context, c *sim.Client) { hold(ctx, c) },
				Check: func(check.Names) check.Checker { return says(r) },
			},
		})
		require.Contains(t, said, "with seed 1000000000: sim: the Checker of Own.Check, "+want)
	}
}

// A test's own check that computes for ever is named.
func TestCheckThatComputesForEver(t *testing.T) {
	defer simtest.SetPatience(simtest.SetPatience(20 * time.Millisecond))
	var enough atomic.Bool
	defer enough.Store(true)
	forever := func() {
		for !enough.Load() {
		}
	}
	for where, made := range map[string]faulty{"Observe": {observe: forever}, "Result": {result: forever}} {
		failed, said := ran(t, "TestMine", simtest.Test{
			Scenario: "world clients=2 lock=own\nexpect own=holds\nrun for=5s\n", Seeds: 1,
			Own: sim.Own{
				Run:   func(ctx context.Context, c *sim.Client) { hold(ctx, c) },
				Check: func(check.Names) check.Checker { return made },
			},
		})
		require.True(t, failed)
		require.Contains(t, said, "the Checker of Own.Check, in "+where+", goes on computing and never waits")
	}
}

// A test's own check that panics, ends its goroutine or blocks is named, as client code is,
// and neither ends the tests beside it nor holds them up.
func TestCheckThatFails(t *testing.T) {
	panics := func() { panic("mine") }
	for want, made := range map[string]func() check.Checker{
		"with seed 1000000000: sim: Own.Check panicked: mine": func() check.Checker { panic("mine") },
		"with seed 1000000000: sim: the Checker of Own.Check, in Observe, panicked: mine": func() check.Checker {
			return faulty{observe: panics}
		},
		"with seed 1000000000: sim: the Checker of Own.Check, in Result, panicked: mine": func() check.Checker {
			return faulty{result: panics}
		},
		"in Observe, ended its goroutine": func() check.Checker { return faulty{observe: runtime.Goexit} },
		"in Result, ended its goroutine":  func() check.Checker { return faulty{result: runtime.Goexit} },
		"simtest: the Checker of Own.Check, in Observe, waits in real time: it must return at once": func() check.Checker {
			return faulty{observe: func() { select {} }}
		},
		"simtest: the Checker of Own.Check, in Result, waits in real time": func() check.Checker {
			return faulty{result: func() { time.Sleep(time.Hour) }}
		},
	} {
		said := failing(t, simtest.Test{
			Scenario: "world clients=2 lock=own\nexpect own=holds\nrun for=5s\n",
			Own: sim.Own{
				Run:   func(ctx context.Context, c *sim.Client) { hold(ctx, c) },
				Check: func(check.Names) check.Checker { return made() },
			},
		})
		require.Contains(t, said, want)
		require.NotContains(t, said, "violated")
	}
}
