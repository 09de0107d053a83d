package simtest_test

import (
	"context"
	"runtime"
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
		"client code waits in real time":  func() check.Checker { return faulty{observe: func() { select {} }} },
		"sim.(*ownCheck).Result":          func() check.Checker { return faulty{result: func() { select {} }} },
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
