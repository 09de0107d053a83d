package topology

import (
	"sync"
	"time"
)

// clock is a node's own: it may be ahead of or behind the computer's, and run
// faster or slower.
type clock struct {
	mu     sync.Mutex
	since  time.Time     // when the rate was set, by the computer
	mono   time.Duration // what the monotonic clock showed then
	rate   float64       // 1: as the computer's
	wall   time.Time     // what the wall clock showed when the node started
	offset time.Duration // by which the wall clock has been set since
}

func newClock() *clock {
	now := time.Now()
	return &clock{since: now, rate: 1, wall: now}
}

// Mono implements engine.Clock.
func (c *clock) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monoNow()
}

func (c *clock) monoNow() time.Duration {
	passed := time.Since(c.since)
	if c.rate != 1 {
		passed = time.Duration(float64(passed) * c.rate)
	}
	return c.mono + passed
}

// Wall implements engine.Clock.
func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall.Add(c.offset + c.monoNow()).Round(0)
}

// setOffset puts the wall clock that far ahead of the computer's.
func (c *clock) setOffset(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.offset = now.Add(d).Sub(c.wall) - c.monoNow()
}

// setRate lets both clocks run that much faster than the computer's from now on.
func (c *clock) setRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono, c.since, c.rate = c.monoNow(), time.Now(), rate
}
