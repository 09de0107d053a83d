package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ErrScript is the reply that ends a script for which there is no memory.
const ErrScript = "OOM not enough memory for the script"

// part is how much of the memory Go's objects may take, in percent.
const part = 75

// Machine is the memory of the computer in bytes, 0 where that is not known.
var Machine = sync.OnceValue(func() int64 {
	bytes, err := memlimit.FromSystem()
	if err != nil {
		return 0
	}
	return int64(bytes)
})

// group is the limit of the process's control group in bytes, which is a container's;
// 0: none.
var group = sync.OnceValue(func() uint64 {
	bytes, err := memlimit.FromCgroup()
	if err != nil {
		return 0
	}
	return bytes
})

// Respect has the Go runtime collect garbage in time to stay within most bytes, and
// within nine tenths of the container's limit, where there is one: else garbage may take
// as much as what is in use, and the process is killed for it. GOMEMLIMIT goes before
// both. A program calls it when it begins.
func Respect(most int64) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	if group() > 0 {
		most = min(most, int64(group()/10*9))
	}
	debug.SetMemoryLimit(most)
}

// ballast counts as heap, though it is never used.
var ballast = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// SweepSeldom has the Go runtime let the heap grow to 64 MB, or more where SetGCPercent
// says so, before it collects garbage. Who leaves much behind and keeps next to nothing
// would have it do so every few milliseconds: that took a third of a search's time.
func SweepSeldom() { ballast() }

// Outgrown reports whether Go's objects take more than three quarters of what the
// process may use: of the computer's memory, of the container's limit or of
// GOMEMLIMIT, whichever is least. It may be called by any goroutine, and takes
// microseconds.
func Outgrown() bool {
	if !exceeds(uint64(Machine())) && !exceeds(group()) {
		return false
	}
	runtime.GC() // some of it may be garbage
	return exceeds(uint64(Machine())) || exceeds(group())
}

// exceeds reports whether Go's objects, those included that are garbage, take more
// than their part of limit, or of GOMEMLIMIT if that is less. A limit of 0 is none.
func exceeds(limit uint64) bool {
	now := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(now)
	objects, own := now[0].Value.Uint64(), now[1].Value.Uint64()
	if limit == 0 || own < limit {
		limit = own
	}
	return objects > limit/100*part
}
