package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOutgrown(t *testing.T) {
	assert.False(t, exceeds(0), "nothing is known")
	assert.False(t, exceeds(1<<50))
	assert.True(t, exceeds(1<<10))

	assert.False(t, Outgrown())
	before := debug.SetMemoryLimit(64 << 20)
	defer debug.SetMemoryLimit(before)
	held := make([]byte, 60<<20)
	assert.True(t, Outgrown())
	runtime.KeepAlive(held)
	assert.False(t, Outgrown(), "what is garbage does not count")
}

func TestRespect(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	Respect(1 << 40)
	assert.LessOrEqual(t, debug.SetMemoryLimit(-1), int64(1<<40))
	debug.SetMemoryLimit(1 << 41)
	Respect(1 << 40)
	assert.EqualValues(t, 1<<41, debug.SetMemoryLimit(-1), "GOMEMLIMIT goes before")
}
