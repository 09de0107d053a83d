package server

import "time"

// WallClock is an engine.Clock that follows the computer's clock.
type WallClock struct {
	start time.Time
}

// NewWallClock returns a clock whose monotonic part starts now.
func NewWallClock() WallClock { return WallClock{start: now()} }

// Wall is the date.
func (WallClock) Wall() time.Time { return now() }

// Mono is the time since the clock was made.
func (c WallClock) Mono() time.Duration { return time.Since(c.start) }

// now is the only place where the shell asks the date.
func now() time.Time { return time.Now() }
