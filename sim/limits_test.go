package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a file can ask for at most, each in a run that ends within seconds.
func TestExhaustingScenarios(t *testing.T) {
	var many, jumps, drops strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "at %dms pause c1 for=%dms\n", (i*7919)%100_000, i%50)
		fmt.Fprintf(&jumps, "at %dms clock m1 jump=-8784h\nat %dms clock c1 jump=+8784h\n", i%900, i%900)
		fmt.Fprintf(&drops, "at 0s drop m1 c1 next=1000000 after=1000000\n")
	}
	for name, text := range map[string]string{
		"100,000 lines in any order": "world\n" + many.String() + "run for=100s\n",
		"jumps that add up":          "world\n" + jumps.String() + "run for=1s\n",
		"100,000 rules of loss":      "world rounds=3\n" + drops.String() + "run for=1s\n",
		"a clock that nearly stands": "world ttl=1h\nat 0s clock c1 rate=-99.9999999%\n" +
			"at 0s clock m1 rate=-99.9999999%\nrun for=8784h\n",
		"clocks that race": "world ttl=8784h rounds=1\nat 0s clock c1 rate=+9999%\n" +
			"at 0s clock m1 rate=+9999%\nrun for=8784h\n",
		"rounds, a year long": "world rounds=1000000000 hold=1h think=1h ttl=8784h renew=off\nrun for=8784h\n",
		"an hour of delay":    "world delay=1h..1h lag=1h replicas=9\nrun for=10h\n",
		"the shortest lease":  "world ttl=1ms\nrun for=3s\n",
		"many nodes":          "world masters=99 lock=redlock clients=50 rounds=1\nrun for=1s\n",
		"everybody at once":   "world clients=20000 rounds=1 delay=1ms hold=1h\nat 0s start all\nrun for=2ms\n",
		"at one instant":      "world clients=20000 per-lock=1 rounds=1 delay=0s hold=1h\nat 0s start all\nrun for=1ms\n",
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			s, err := ParseScenario("x.scenario", text)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err = s.Run(ctx, Options{Seed: 1})
			require.NoError(t, err)
			t.Log(time.Since(started))
		})
	}
}

// A file that would cut a million million links is refused, and one that would cut one
// more than it may: so many are those of each name on one side with each on the other.
func TestHugePartitionIsRefused(t *testing.T) {
	side := func(name string, times int) string { return name + strings.Repeat(","+name, times-1) }
	for _, w := range []struct {
		one, other int
		refused    bool
	}{
		{1, 1_000_000, false}, {1, 1_000_001, true}, {1_000_001, 1, true}, {2, 500_000, false}, {2, 500_001, true},
		{100_001, 100_001, true},
	} {
		_, err := ParseScenario("x.scenario",
			"world\nat 0s partition "+side("c1", w.one)+" "+side("m1", w.other)+"\nrun for=1s\n")
		if !w.refused {
			require.NoError(t, err, "%d and %d", w.one, w.other)
			continue
		}
		require.ErrorContains(t, err, "x.scenario:2: expected at most 1000000 links", "%d and %d", w.one, w.other)
	}
}

// A run stops soon after its context ends, however much happens at one instant.
func TestInterruptIsPrompt(t *testing.T) {
	s, err := ParseScenario("x.scenario", "world clients=1000 per-lock=1 delay=0s think=0s hold=0s..1h\nrun for=8784h\n")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err = s.Run(ctx, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(started), 2*time.Second)
}
