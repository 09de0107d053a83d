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
	// repeats tells that a request was sent before that may have been executed, or may be yet.
	repeats bool
	// until is the Mono time from which it is not repeated any more.
	until time.Duration
}

// release counts down on the server. A request that failed is repeated until it is answered, for
// as long as that can free nothing else. Where a repetition could count down twice, it is left to
// the last release of the hold, which settles what is in doubt.
func (l *hashLock) release(ctx context.Context, held *Held, lv leaving) error {
	c, h := l.client, held.hold
	if lv.lost && lv.named {
		return ErrLost // what the server has in this name may be a later hold's
	}
	sent := c.rt.Mono()
	u := unlocking{leaving: lv, lock: l, hold: h, latch: c.record(l.key), until: noEnd}
	if lv.left == 0 {
		u.until = lv.until - c.timeout // a later hold of this name may follow: what is sent by then has come before
	}
	if u.alone() {
		u.until = max(lv.doubts.ends, sent+c.latchTTL())
	}
	until := c.patienceEnds(c.timeout)
	err := c.persist(ctx, until, u.try(ctx), func() error { return u.try(ctx) })
	if _, lossy := c.replicated(); err == nil && lv.left > 0 && !l.steady && !lossy {
		c.prolong(h, sent, lv.lease, false) // else no replica has confirmed the lease of those that remain
	}
	if u.alone() && lv.doubts.mayTake {
		u.recall()
	}
	if err == nil || err == ErrLost {
		return err
	}
	c.doubtUnlock(h, lv.lease, err)
	c.repeatLater(u, err)
	return err
}

// recall gives back, in the background, what an acquisition of unknown outcome may yet take in
// the name of an owner who has nothing any more. As repeatLater does, it takes a copy of the
// unlocking. So that of an Unlock which succeeds at once, as nearly all do, stays on the stack.
func (u unlocking) recall() {
	c := u.lock.client
	if patience := c.patience(true, u.lease); c.closeLine(u.hold, patience) {
		c.recall(u.lock.key, u.hold.owner, patience, true, u.settle)
	}
}

// repeatLater repeats, in the background, an unlocking that failed with err.
func (c *Client) repeatLater(u unlocking, err error) {
	if u.alone() && !c.closeLine(u.hold, u.until-c.rt.Mono()) {
		return
	}
	c.rt.Go(func() { c.repeat(&u, err) })
}

// alone tells whether nothing else can be in the owner's name. Then no repetition can do harm.
func (u *unlocking) alone() bool { return u.left == 0 && !u.named }

// try gives the acquisition back. With the last one of its hold it also gives back the surplus
// that is in doubt. If the request may have been executed, this bounds the repetitions, as
// its latch ends.
func (u *unlocking) try(ctx context.Context) error {
	c := u.lock.client
	sent := c.rt.Mono()
	reply, err := u.lock.unlock(ctx, u.hold.owner, u.lease, u.latch, u.place, u.repeats)
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
	case u.left == 0 && freed == 0 && u.doubts.surplus > 0:
		return u.settle(ctx)
	}
	return nil
}

// settle gives back what the server still counts of a hold that is over, as far as that is in
// doubt. It reads the count first: nothing is decremented on suspicion.
func (u *unlocking) settle(ctx context.Context) error {
	l := u.lock
	n, err := l.holdCount(ctx, u.hold.owner)
	for range min(n, int64(u.doubts.surplus)) {
		if err != nil {
			break
		}
		_, err = l.unlock(ctx, u.hold.owner, u.lease, l.client.record(l.key), 0, false)
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
	if u.alone() && !u.doubts.mayTake { // else recall may be at work
		c.openLine(u.hold)
	}
}

// retry repeats an unlocking once that failed with err. It is settled in four cases: it was
// answered, it is overdue, another one has it to settle, or the client is closed.
func (c *Client) retry(u *unlocking, err error) (settled bool, _ error) {
	if ended := c.takeTurn(c.base, u.hold, -1); ended != nil {
		return true, err
	}
	pending, overdue := c.pending(u)
	if pending && !overdue {
		err = u.try(c.base)
		if err != nil && err != ErrLost {
			c.doubtLease(u.hold, u.lease, err)
		}
		c.gaveBack(u.hold, &u.leaving, err)
	}
	c.endTurn(u.hold)
	switch {
	case !pending:
		return true, err
	case !overdue && err != nil && err != ErrLost:
		return false, err
	}
	if err == ErrLost {
		c.lose(u.hold) // who has other acquisitions has lost them, too
		err = nil      // as good as unlocked
	}
	c.observe(Event{Kind: GivenBack, Key: u.hold.key, Owner: u.hold.owner, Err: err})
	return true, err
}

// pending tells whether an unlocking is still to be repeated, and prepares it for that. Another
// one may settle it: the last one of its own hold, or that of a later hold of its owner. It is
// overdue if only the end of the lease is left to wait for.
func (c *Client) pending(u *unlocking) (pending, overdue bool) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h := u.hold
	u.at, u.lease, u.place, u.doubts = now, h.lease, h.place(), h.line.doubts
	u.doubts.surplus-- // which it is itself, see doubtUnlock
	if u.left > 0 {
		pending = h.isHeld()
	} else {
		pending = h.line.hold == h
	}
	return pending, pending && now >= u.until
}

// latchTTL is how long an unlock may be repeated. Redisson's rule with its
// default settings gives 16 s to 20 s.
func (c *Client) latchTTL() time.Duration { return 4*c.timeout + 8*time.Second }

// latchWindow is for how long a request may be sent again that may have been executed: the last
// repetition must find the latch. Under Compat316 there is no latch.
func (c *Client) latchWindow() time.Duration {
	if c.compat316 {
		return 0
	}
	return c.latchTTL() - c.timeout
}

// patienceAfter is patience for what an acquisition may have taken that failed with err. Where
// a script failed it is given back only once, as giving back may fail for ever, too.
func (c *Client) patienceAfter(err error, alone bool, lease time.Duration) time.Duration {
	if scriptFailed(err) {
		return 0
	}
	return c.patience(alone, lease)
}

// scriptFailed tells whether a server has refused a script, or what it did, and would again.
func scriptFailed(err error) bool { return serverError(err) != nil && !notRun(err) }

// patience returns for how long from now on what an acquisition took may be given back. If it
// is not alone in its owner's name, that can do harm after its lease.
func (c *Client) patience(alone bool, lease time.Duration) time.Duration {
	if alone {
		return max(c.latchTTL(), lease)
	}
	return min(c.latchWindow(), lease)
}
