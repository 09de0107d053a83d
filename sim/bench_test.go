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

// BenchmarkSeed prints how many whole runs the simulator gets through in a
// second of real time, one after the other: a search is made of them.
func BenchmarkSeed(b *testing.B) {
	failover, err := Find("failover_before_replication")
	require.NoError(b, err)
	for name, s := range map[string]*Scenario{
		"failover": failover,
		"60s of three clients": parsed(b, "world clients=3 lock=mutex ttl=30s hold=5s think=0s..1s\n"+
			"expect exclusion=holds\nrun for=60s\n"),
		"60s of three clients, faults": parsed(b, "world clients=3 lock=mutex ttl=30s hold=5s think=0s..1s\n"+
			"expect exclusion=holds\nfaults pause drop crash amnesia partition\nrun for=60s\n"),
		"30s of redlock": parsed(b, "world masters=5 lock=redlock renew=off ttl=10s hold=3s think=3s..5s rounds=2\n"+
			"expect exclusion=holds\nrun for=30s\n"),
	} {
		b.Run(name, func(b *testing.B) {
			lua := NewLua()
			b.ReportAllocs()
			events, runs := uint64(0), 0
			for i := 0; b.Loop(); i++ {
				r, err := s.Run(context.Background(), Options{Seed: uint64(i), Lua: lua})
				require.NoError(b, err)
				events += r.Events
				runs++
			}
			b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "seeds/s")
			b.ReportMetric(float64(events)/float64(runs), "events/seed")
		})
	}
}

func parsed(b testing.TB, text string) *Scenario {
	b.Helper()
	s, err := ParseScenario("bench.scenario", text)
	require.NoError(b, err)
	return s
}
