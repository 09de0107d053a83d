package sim

import (
	"math/bits"
	"time"
)

// epoch is the date at which every run begins. It lies in the future so that a
// real deadline that slipped into a simulation is in the past of it, and is seen.
const epoch = 7258118400 // 2200-01-01 00:00:00 UTC in Unix seconds

const billion = 1_000_000_000

// Clock is one actor's own view of time: a wall clock with an offset, which may
// jump, and a monotonic clock. Both run at a rate that may differ from true
// time, in parts per billion.
type Clock struct {
	w      *World
	since  time.Duration // true time at which rate was set
	mono   time.Duration // monotonic reading then
	offset time.Duration // wall − epoch − monotonic
	rate   int64         // parts per billion fast (positive) or slow
	before *Clock        // as it ran until since; nil: at no other rate
}

// Wall implements engine.Clock.
func (c *Clock) Wall() time.Time { return time.Unix(epoch, int64(c.offset+c.Mono())).UTC() }

// ahead is how far the wall clock is ahead of the true date.
func (c *Clock) ahead() time.Duration { return c.offset + c.Mono() - c.w.now }

// Mono implements engine.Clock.
func (c *Clock) Mono() time.Duration {
	return c.mono + scale(c.w.now-c.since, billion+c.rate, billion)
}

// setRate makes the clock run fast or slow from now on.
func (c *Clock) setRate(ppb int64) {
	before := *c
	c.before = &before
	c.mono, c.since, c.rate = c.Mono(), c.w.now, ppb
}

// monoAt is what Mono was at an earlier true time.
func (c *Clock) monoAt(t time.Duration) time.Duration {
	for t < c.since && c.before != nil {
		c = c.before
	}
	return c.mono + scale(max(t, 0)-c.since, billion+c.rate, billion)
}

// until returns the first true time at which Mono is at least target, farAway at most.
func (c *Clock) until(target time.Duration) time.Duration {
	if target <= c.Mono() {
		return c.w.now
	}
	return min(c.since+min(scaleUp(target-c.mono, billion, billion+c.rate), farAway), farAway)
}

// maxOffset bounds how far jumps can take a wall clock from its monotonic one.
const maxOffset = 100 * MaxDuration

// jump sets the wall clock by d.
func (c *Clock) jump(d time.Duration) {
	c.offset = max(-maxOffset, min(c.offset+d, maxOffset))
}

// farAway is later than every run's end: what a clock that nearly stands says
// of the time at which it will show something, and when what has no end ends.
const farAway = 100 * MaxDuration

// scale is d·num/den with a 128-bit product, rounded down. d is not negative.
func scale(d time.Duration, num, den int64) time.Duration {
	if num == den {
		return d
	}
	hi, lo := bits.Mul64(uint64(d), uint64(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	return time.Duration(q)
}

// scaleUp is scale, rounded up, and at most farAway.
func scaleUp(d time.Duration, num, den int64) time.Duration {
	if num == den {
		return d
	}
	hi, lo := bits.Mul64(uint64(d), uint64(num))
	if hi >= uint64(den) {
		return farAway
	}
	q, rest := bits.Div64(hi, lo, uint64(den))
	if rest > 0 {
		q++
	}
	return time.Duration(min(q, uint64(farAway)))
}
