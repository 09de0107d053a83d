package adapter

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A connection is kept for a while, the latest one serves first, and only at its
// place; one that is too many is not kept at all.
func TestSpares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped atomic.Int32 // their times end at once
		spares := NewSpares(func(int) { dropped.Add(1) })
		for i := range spareCount + 1 {
			spares.Keep("a", i)
		}
		require.EqualValues(t, 1, dropped.Load())
		_, ok := spares.Take("b")
		assert.False(t, ok)
		latest, ok := spares.Take("a")
		assert.True(t, ok)
		assert.Equal(t, spareCount-1, latest)

		time.Sleep(spareTime + time.Millisecond)
		synctest.Wait()
		assert.EqualValues(t, spareCount, dropped.Load(), "not the one that is used")
		_, ok = spares.Take("a")
		assert.False(t, ok)
	})
}

// In a cluster a connection serves the channels of its slot.
func TestPlace(t *testing.T) {
	assert.Equal(t, Place(false, "a"), Place(false, "b"))
	assert.Equal(t, Place(true, "x:{a}"), Place(true, "y:{a}:{b}"))
	for _, other := range []string{"a", "x:{b}", "x:{}", "y:{}", "x:{a"} {
		for _, one := range []string{"x:{a}", "b", "{}", "z:{"} {
			assert.NotEqual(t, Place(true, one), Place(true, other), "%s, %s", one, other)
		}
	}
}
