package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// cyclesScenario: 1,000 clients, each with a lock of its own, that lock, write
// to the resource and unlock as fast as the network lets them.
const cyclesScenario = `# Cycles.
world clients=1000 per-lock=1 lock=mutex ttl=30s renew=on delay=1ms..5ms hold=1ms think=0s..10ms
expect exclusion=holds
run for=5s seed=1
`

// BenchmarkSimulator prints how many events and lock/unlock cycles the
// simulator gets through in a second of real time, with 1,000 clients, tracing
// off and the hash on.
func BenchmarkSimulator(b *testing.B) {
	for name, text := range map[string]string{
		"uncontended": cyclesScenario,
		"contended":   "world clients=1000 per-lock=10 hold=1ms..5ms\nexpect exclusion=holds\nrun for=5s seed=1\n",
	} {
		b.Run(name, func(b *testing.B) {
			s, err := ParseScenario("bench.scenario", text)
			require.NoError(b, err)
			lua := NewLua()
			b.ReportAllocs()
			events, grants := uint64(0), 0
			for b.Loop() {
				r, err := s.Run(context.Background(), Options{Seed: s.Seed, Lua: lua})
				require.NoError(b, err)
				require.True(b, r.AsExpected())
				events += r.Events
				grants += r.Grants
			}
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(events)/seconds, "events/s")
			b.ReportMetric(float64(grants)/seconds, "cycles/s")
			b.ReportMetric(float64(events)/float64(grants), "events/cycle")
		})
	}
}

// BenchmarkSeed is a whole short run: three clients, a failover.
func BenchmarkSeed(b *testing.B) {
	s, err := Find("failover_before_replication")
	require.NoError(b, err)
	lua := NewLua()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, err := s.Run(context.Background(), Options{Seed: uint64(i), Lua: lua})
		require.NoError(b, err)
	}
}
