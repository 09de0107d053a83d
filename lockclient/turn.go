package lockclient

import (
	"context"
	"fmt"
	"time"
)

// limit is how long a caller wants to wait.
type limit struct {
	begun time.Duration // Mono time of the call
	wait  time.Duration // 0 for one attempt, negative for no limit
}

// remaining is what remains of the wait, negative for no limit.
func (l limit) remaining(rt Runtime) time.Duration {
	if l.wait < 0 {
		return -1
	}
	return max(0, l.begun+l.wait-rt.Mono())
}

// turn is one caller's way to what it asks for: attempts, and between them a
// place among the waiters.
type turn struct {
	limit
	client   *Client
	asker    asker
	attempts int // so far

	done bool          // what the latest attempt said, see asker
	hint time.Duration // and when to make the next one
}

// asker is what a turn is for.
type asker interface {
	// attempt asks once. If that was in vain, hint is when it may be of use to
	// ask again without having been woken.
	attempt(ctx context.Context) (done bool, hint time.Duration, err error)
	// join joins the waiters.
	join(ctx context.Context) (waiting, error)
}

// run attempts, joins the waiters, and attempts again until an attempt
// succeeds, fails, or the wait is over (ErrNotAcquired). The attempt after
// joining closes the gap in which a wake-up could be missed.
func (t *turn) run(ctx context.Context) error {
	if err := t.try(ctx); t.done || err != nil {
		return err
	}
	if t.left() == 0 {
		return ErrNotAcquired
	}
	place, err := t.enter(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	for {
		last := t.left() == 0 // whoever is woken at the end may still be the only one who was
		err := place.attempt(func() error { return t.try(ctx) })
		if t.done || err != nil {
			return err
		}
		if last {
			return ErrNotAcquired
		}
		woken, err := place.park(ctx, t.pause())
		if err != nil {
			return contextError(ctx)
		}
		if !woken && t.left() == 0 {
			return ErrNotAcquired
		}
	}
}

// try makes one attempt, unless ctx has ended or the client is closed.
func (t *turn) try(ctx context.Context) (err error) {
	switch {
	case ctx.Err() != nil:
		return contextError(ctx)
	case t.client.isClosed():
		return ErrClosed
	}
	t.attempts++
	t.done, t.hint, err = t.asker.attempt(ctx)
	return err
}

// enter joins the waiters, within the wait that is left.
func (t *turn) enter(ctx context.Context) (waiting, error) {
	limited := ctx
	if t.wait >= 0 {
		var cancel context.CancelFunc
		limited, cancel = t.client.rt.WithDeadline(ctx, t.begun+t.wait)
		defer cancel()
	}
	place, err := t.asker.join(limited)
	switch {
	case err == nil:
		return place, nil
	case ctx.Err() != nil:
		return nil, contextError(ctx)
	case t.left() == 0:
		return nil, ErrNotAcquired
	}
	return nil, fmt.Errorf("subscribe: %w", err)
}

// pause is how long to park after an attempt.
func (t *turn) pause() time.Duration {
	hint := max(t.hint, time.Millisecond) // a TTL of 0 is about to end
	if left := t.left(); left >= 0 {
		hint = min(hint, left)
	}
	return hint
}

// left is what remains of the wait, negative for no limit.
func (t *turn) left() time.Duration { return t.remaining(t.client.rt) }

// observeTurn tells of the end of a turn, successful unless e has an error.
func (c *Client) observeTurn(t *turn, e Event) {
	e.Kind, e.Wait, e.Attempts = Acquired, c.rt.Mono()-t.begun, t.attempts
	if e.Err != nil {
		e.Kind = Failed
	}
	c.observe(e)
}
