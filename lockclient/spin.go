package lockclient

import (
	"context"
	"time"
)

// Constant after initialisation.
var (
	spinRelease    = embedded("spin_release")
	spinRelease316 = embedded("spin_release_316")
	spinForce      = embedded("spin_force")
)

// Backoff is how the waiters of a Spin pause between attempts. The first pause is
// Initial, at least 1 ms. Each further pause is Multiplier times the one before and a
// little more at random, up to Max. With Max equal to Initial, or less, the pause is
// constant.
type Backoff struct {
	Initial, Max time.Duration
	Multiplier   int // less than 1 counts as 1
}

// sound is b with all parts in their ranges.
func (b Backoff) sound() Backoff {
	b.Initial = min(max(b.Initial, time.Millisecond), noEnd)
	b.Max = min(max(b.Max, b.Initial), noEnd)
	b.Multiplier = max(b.Multiplier, 1)
	return b
}

// after is the pause that follows one, more being what is added at random. No
// product overflows.
func (b Backoff) after(pause, more time.Duration) time.Duration {
	if pause > b.Max/time.Duration(b.Multiplier) {
		return b.Max
	}
	return min(b.Max, pause*time.Duration(b.Multiplier)+more)
}

// DefaultBackoff is Redisson's exponential back-off.
var DefaultBackoff = Backoff{Initial: time.Millisecond, Max: 128 * time.Millisecond, Multiplier: 2}

// Spin names Redisson's spin lock (RSpinLock): a Mutex that uses no pub/sub. Its waiters
// ask again and again, see WithBackoff. It suits a lock that is held so briefly, or
// wanted by so many, that messages cost more than attempts. A Mutex of the same key
// excludes it, but is not woken by its Unlock.
func (c *Client) Spin(key string) *Lock {
	return c.hashLock(key, spin{mutex{c, key}})
}

// spin is the dialect of Spin.
type spin struct{ mutex }

func (s spin) release(owner string, lease time.Duration, latch string) call {
	c := s.client
	if c.compat316 {
		return call{spinRelease316, []string{s.key}, []string{millis(lease), owner}}
	}
	return call{spinRelease, []string{s.key, latch}, []string{millis(lease), owner, millis(c.latchTTL())}}
}

func (s spin) force() call { return call{spinForce, []string{s.key}, nil} }

func (s spin) await(context.Context, *request) (waiting, error) {
	c := s.client
	return &spinner{poller{c.rt.NewGate()}, c, c.backoff.Initial, 0}, nil
}

// spinner is the place of one waiter.
type spinner struct {
	poller
	client *Client
	pause  time.Duration // the next one
	parked int
}

// park waits no longer than the back-off says, which grows as Redisson's does.
func (s *spinner) park(ctx context.Context, d time.Duration) (woken bool, err error) {
	c := s.client
	d = min(d, s.pause)
	s.parked++
	more := time.Duration(randomBelow(c.rt, uint64(s.parked))) * time.Millisecond
	s.pause = c.backoff.after(s.pause, more)
	return s.poller.park(ctx, d)
}
