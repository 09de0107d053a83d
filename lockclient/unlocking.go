package lockclient

import (
	"context"
	"time"
)

// unlocking is the release of one acquisition of a hash lock, from its first
// request to the last repetition.
type unlocking struct {
	leaving
	lock  *hashLock
	hold  *hold
	latch string // of all its requests
	// repeats tells that one of unknown outcome was sent, which may come yet.
	repeats bool
	// until is the Mono time from which it is not repeated any more.
	until time.Duration
}

// release counts down on the server. A request that failed is repeated until it
// is answered, for as long as that can free nothing else; where it could count
// down twice, the hold's last release settles it.
func (l *hashLock) release(ctx context.Context, held *Held, lv leaving) error {
	c, h := l.client, held.hold
	if lv.lost && h.named {
		return ErrLost // what the server has in this name may be a later hold's
	}
	sent := c.rt.Mono()
	u := unlocking{leaving: lv, lock: l, hold: h, latch: c.record(l.key), until: noEnd}
	if lv.left == 0 {
		u.until = lv.until - c.timeout // of a named owner: what is sent then has arrived when the lease ends
	}
	if u.alone() {
		u.until = max(lv.ends, sent+c.latchTTL())
	}
	until := c.patienceEnds(c.timeout)
	err := c.persist(ctx, until, u.try(ctx), func() error { return u.try(ctx) })
	if _, lossy := c.replicated(); err == nil && lv.left > 0 && !l.steady && !lossy {
		c.prolong(h, sent, lv.lease, false) // else no replica has confirmed the lease of those that remain
	}
	if u.alone() && lv.mayTake {
		u.recall()
	}
	if err == nil || err == ErrLost {
		return err
	}
	c.doubt(h, lv.lease, 0, err)
	c.owe(h)
	c.repeatLater(u, err)
	return err
}

// recall gives back, in the background, what may be left in the name of an owner who
// has nothing any more. It has a copy, as repeatLater has: an Unlock that succeeds at
// once, as nearly all do, then has its own on the stack.
func (u unlocking) recall() {
	c := u.lock.client
	c.recall(u.lock.key, u.hold.owner, c.patience(true, u.lease), true, u.settle)
}

// repeatLater repeats, in the background, an unlocking that failed with err.
func (c *Client) repeatLater(u unlocking, err error) { c.rt.Go(func() { c.repeat(&u, err) }) }

// alone tells whether nothing else can be in the owner's name, so that no
// repetition can do harm.
func (u *unlocking) alone() bool { return u.left == 0 && !u.hold.named }

// try gives the acquisition back, and with the last one of its hold those of
// which nobody knew whether the server counts them. An error of unknown outcome
// bounds the repetitions: the latch ends.
func (u *unlocking) try(ctx context.Context) error {
	c := u.lock.client
	sent := c.rt.Mono()
	reply, err := u.lock.unlock(ctx, u.hold.owner, u.lease, u.latch, u.repeats)
	if err != nil {
		u.repeats = u.repeats || !notRun(err)
		if !u.alone() && !notRun(err) {
			u.until = min(u.until, sent+c.latchWindow())
		}
		return err
	}
	freed, held := reply.Integer()
	switch {
	case !held || freed == 1 && u.left > 0:
		return ErrLost // the server knew of fewer acquisitions than we
	case u.left == 0 && freed == 0 && u.doubtful > 0:
		return u.settle(ctx)
	}
	return nil
}

// settle ends a hold of which the server still counts acquisitions, when as
// many were of unknown outcome. It reads the count first: never is a hold
// decremented on suspicion.
func (u *unlocking) settle(ctx context.Context) error {
	l := u.lock
	n, err := l.holdCount(ctx, u.hold.owner)
	for range min(n, int64(u.doubtful)) {
		if err != nil {
			break
		}
		_, err = l.unlock(ctx, u.hold.owner, u.lease, l.client.record(l.key), false)
	}
	return err
}

// repeat repeats an unlocking that failed with err, until that is settled.
func (c *Client) repeat(u *unlocking, err error) {
	pause := c.rt.NewGate()
	settled, err := c.retry(u, err)
	for !settled {
		if _, ended := pause.Wait(c.base, retryPeriod); ended != nil {
			return
		}
		if closed := c.again(noEnd, func() { settled, err = c.retry(u, err) }); closed != nil {
			return
		}
	}
}

// retry repeats an unlocking that failed with err, once. It is settled if that was
// answered, or overdue, or has become another one's matter, or the client is closed.
func (c *Client) retry(u *unlocking, err error) (settled bool, _ error) {
	if ended := c.takeTurn(c.base, u.hold, -1); ended != nil {
		return true, err
	}
	pending, overdue := c.pending(u)
	sent := c.rt.Mono()
	if pending && !overdue {
		err = u.try(c.base)
		if err != nil && err != ErrLost {
			c.doubt(u.hold, u.lease, 0, err)
			c.mayCome(u.hold, err)
		}
	}
	c.endTurn(u.hold)
	switch {
	case !pending:
		return true, err
	case !overdue && err != nil && err != ErrLost:
		return false, err
	}
	if !overdue {
		c.paid(u.hold, sent)
	}
	if err == ErrLost {
		c.lose(u.hold) // who has other acquisitions has lost them, too
		err = nil      // as good as unlocked
	}
	c.observe(Event{Kind: GivenBack, Key: u.hold.key, Owner: u.hold.owner, Err: err})
	return true, err
}

// owe notes that the server may count an acquisition of h that was given back.
func (c *Client) owe(h *hold) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h.doubtful++
	if h.index < 0 {
		c.keeper.owe(h, now)
	}
}

// pending tells whether an unlocking is still to be repeated, with the lease and the
// doubts that its hold has by now. It is not if another one settles it: the last of its
// own hold, or that of a later one in its name. It is overdue if the lease ends it.
func (c *Client) pending(u *unlocking) (pending, overdue bool) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	u.lease, u.doubtful = u.hold.lease, u.hold.doubtful-1 // its own is among them, see owe
	switch {
	case u.left > 0:
		pending = u.hold.index >= 0
	case u.hold.named:
		pending = c.keeper.owed[u.hold.id()] == u.hold
	default:
		pending = true
	}
	return pending, pending && now >= u.until
}

// paid notes that the server counts nothing of h any more, as it says to what was sent at
// the Mono time sent: what could come then may have come since.
func (c *Client) paid(h *hold, sent time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keeper.owed[h.id()] == h && sent > max(h.late.by(), h.line.late) {
		delete(c.keeper.owed, h.id())
	}
}

// latchTTL is how long an unlock may be repeated. Redisson's rule with its
// default settings gives 16 s to 20 s.
func (c *Client) latchTTL() time.Duration { return 4*c.timeout + 8*time.Second }

// latchWindow is how long after a request that may have been executed it may be
// sent again: the last one must find the latch. Under Compat316 there is none.
func (c *Client) latchWindow() time.Duration {
	if c.compat316 {
		return 0
	}
	return c.latchTTL() - c.timeout
}

// patienceAfter is patience for what an acquisition that failed with err may have taken:
// it is given back once where a script failed, as giving back may fail for ever, too.
func (c *Client) patienceAfter(err error, alone bool, lease time.Duration) time.Duration {
	if serverError(err) != nil && !notRun(err) {
		return 0
	}
	return c.patience(alone, lease)
}

// patience returns for how long what an acquisition took may be given back, from
// now on. When not alone in its owner's name, that can do harm after its lease.
func (c *Client) patience(alone bool, lease time.Duration) time.Duration {
	if alone {
		return max(c.latchTTL(), lease)
	}
	return min(c.latchWindow(), lease)
}
