package sim

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/memory"
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
			for b.Loop() {
				unstarted, waiting := bytesPerClient(b, clients)
				b.ReportMetric(unstarted, "B/unstarted")
				b.ReportMetric(waiting, "B/waiting")
			}
		})
	}
}

// A client that waits needs a stack of 4 KiB: the next one would be twice as large. What
// its frames have in use decides it, some 1,200 bytes at most.
func TestMemory(t *testing.T) {
	if raceDetector || strconv.IntSize < 64 {
		t.Skip("the promise is for 64 bits, without the race detector, which makes stacks larger")
	}
	unstarted, waiting := bytesPerClient(t, 50_000) // of which nothing else takes a part that counts
	require.LessOrEqual(t, unstarted, 300.)
	require.LessOrEqual(t, waiting, 8192.)
}

// bytesPerClient is how many bytes each of so many clients takes before it starts, and while it
// waits in lock().
func bytesPerClient(t testing.TB, clients int) (unstarted, waiting float64) {
	s := parsed(t, fmt.Sprintf("world clients=%d hold=1h..1h\nexpect exclusion=holds\nrun for=3s\n", clients))
	memory.SweepSeldom()
	before := inUse()
	r := &runner{s: s.with(Options{Seed: 1})}
	r.build(Options{})
	unstarted = (inUse() - before) / float64(clients)
	for i, c := range r.clients {
		r.w.at(time.Duration(i)*time.Second/time.Duration(clients), c.start)
	}
	require.NoError(t, r.w.Run(3*time.Second))
	waiting = (inUse() - before) / float64(clients)
	r.w.Stop()
	return unstarted, waiting
}

// inUse is how many bytes heap and stacks need, after a collection.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // the first shrinks stacks, the second sweeps what the first has found
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
