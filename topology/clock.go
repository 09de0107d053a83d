package topology

import (
	"math"
	"sync"
	"time"
)

// clock is a node's own: it may be ahead of or behind the topology's, and run
// faster or slower.
type clock struct {
	base   *Clock
	mu     sync.Mutex
	since  time.Time     // when the rate was set, by the topology's clock
	mono   time.Duration // what the monotonic clock showed then
	rate   float64       // 1: as the topology's
	wall   time.Time     // what the wall clock showed when the node started
	offset time.Duration // by which the wall clock has been set since
}

// newClock is a clock that is late by so much, until it skips that.
func newClock(base *Clock, late time.Duration) *clock {
	now := base.Now()
	return &clock{base: base, since: now, rate: 1, wall: now.Add(-late)}
}

// Mono implements engine.Clock.
func (c *clock) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monoNow()
}

func (c *clock) monoNow() time.Duration {
	passed := c.base.Now().Sub(c.since)
	if c.rate != 1 {
		passed = duration(float64(passed) * c.rate)
	}
	return c.mono + passed
}

// Wall implements engine.Clock.
func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall.Add(c.offset).Add(c.monoNow()).Round(0)
}

// setOffset puts the wall clock that far ahead of the topology's.
func (c *clock) setOffset(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.base.Now()
	c.offset = now.Add(d).Add(-c.monoNow()).Sub(c.wall)
}

// jump sets the wall clock forward, or back.
func (c *clock) jump(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = c.wall.Add(c.offset).Add(by).Sub(c.wall) // at the bounds of a Duration it stays
}

// skip lets time pass at once.
func (c *clock) skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono += d
}

// setRate lets both clocks run that much faster than the topology's from now on.
func (c *clock) setRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono, c.since, c.rate = c.monoNow(), c.base.Now(), rate
}

// trueTime is how long the topology's clock takes while the node's shows that
// this much has passed.
func (c *clock) trueTime(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate == 1 {
		return d
	}
	return duration(float64(d)/c.rate) + 1
}

// longestDuration is how far a clock goes whose rate is absurd: a century or so, of which
// several can be added.
const longestDuration = math.MaxInt64 / 3

// duration is ns, but no more than the longest.
func duration(ns float64) time.Duration {
	return time.Duration(max(-longestDuration, min(ns, longestDuration)))
}
