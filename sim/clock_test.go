package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClockRateAndJump(t *testing.T) {
	w := &World{}
	c := Clock{w: w}
	w.now = 100 * time.Second
	c.setRate(10_000_000) // 1 % fast
	w.now = 200 * time.Second
	require.Equal(t, 201*time.Second, c.Mono())
	c.offset += 10 * time.Second
	require.Equal(t, int64(epoch+211), c.Wall().Unix())
	require.Equal(t, 201*time.Second, c.Mono(), "a jump leaves the monotonic clock alone")
}

// However often a clock jumps, it stays within what dates can be.
func TestClockJumpsOnlySoFar(t *testing.T) {
	for _, d := range []time.Duration{MaxDuration, -MaxDuration} {
		c := Clock{w: &World{}}
		for range 250 {
			c.jump(d)
		}
		require.Equal(t, 100*d, c.offset)
	}
}

// A clock that is a billionth fast shows a second, rounded down, no instant sooner than a true one.
func TestClockUntilRoundsUp(t *testing.T) {
	c := Clock{w: &World{}}
	c.setRate(1)
	require.Equal(t, time.Second, c.until(time.Second))
}

// until is the first instant at which a timer is due: not a nanosecond sooner or later.
func TestClockUntilIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &World{now: time.Duration(rapid.Int64Range(0, int64(MaxDuration)).Draw(t, "now"))}
		c := Clock{w: w}
		c.setRate(rapid.Int64Range(-999_999_999, 99_999_999_999).Draw(t, "rate"))
		w.now += time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "later"))
		target := c.Mono() + time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "wait"))
		at := c.until(target)
		before := w.now
		w.now = at
		require.GreaterOrEqual(t, c.Mono(), target)
		if at > before {
			w.now = at - 1
			require.Less(t, c.Mono(), target)
		}
	})
}
