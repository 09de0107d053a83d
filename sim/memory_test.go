package sim

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var million = flag.Bool("million", false, "measure the memory of 1,000,000 clients, which is 8 GB")

// BenchmarkMemory prints how many bytes a client costs that was not started, and
// one that waits in lock(), as 99 of 100 do here.
func BenchmarkMemory(b *testing.B) {
	for _, clients := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			if clients > 10_000 && testing.Short() || clients > 100_000 && !*million {
				b.Skip("a gigabyte for each 100,000")
			}
			s := parsed(b, fmt.Sprintf("world clients=%d hold=1h..1h\nexpect exclusion=holds\nrun for=3s\n", clients))
			for b.Loop() {
				before := inUse()
				r := &runner{s: s.with(Options{Seed: 1})}
				r.build(Options{})
				made := inUse()
				for i, c := range r.clients {
					r.w.at(time.Duration(i)*time.Second/time.Duration(clients), c.start)
				}
				require.NoError(b, r.w.Run(3*time.Second))
				waiting := inUse()
				b.ReportMetric((made-before)/float64(clients), "B/unstarted")
				b.ReportMetric((waiting-before)/float64(clients), "B/waiting")
				r.w.Stop()
			}
		})
	}
}

// inUse is how many bytes heap and stacks need, after a collection.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // the first shrinks stacks, the second sweeps what the first has found
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
