package lockclient

import (
	"context"
	"slices"
	"time"
)

// validity returns the Mono time until which a lease asked for at sent may be
// relied on: sent + lease - drift, where drift is 1 % + 2 ms.
// Source: redis.io "Distributed Locks with Redis", MIN_VALIDITY.
func validity(sent, lease time.Duration) time.Duration {
	return sent + lease - lease/100 - 2*time.Millisecond
}

// noEnd is the Mono time until which a hold without an end of its own may be
// relied on: after 73 years. Adding to it does not overflow.
const noEnd time.Duration = 1 << 61

// reserve reserves a place in the hold that an acquisition re-enters, and
// returns it with its lease; h is nil if there is none. inner is the hold of
// its context, id names an owner if the caller has chosen one.
func (c *Client) reserve(id holdID, inner *hold) (h *hold, lease time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h = inner
	if id.owner != "" && (h == nil || h.owner != id.owner) {
		h = c.keeper.of(id)
	}
	switch {
	case h == nil || h.count == 0:
		return nil, 0, nil
	case h.isLost:
		return nil, 0, ErrLost
	}
	h.count++
	if h.composed {
		return h, 0, nil // its members have leases of their own
	}
	return h, h.lease, nil
}

// holdOf returns the hold of a name, or nil.
func (c *Client) holdOf(id holdID) *hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.of(id)
}

// isHeld tells whether a hold, which may be nil, is neither given back nor lost.
func (c *Client) isHeld(h *hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h != nil && h.count > 0 && !h.isLost
}

// unreserve gives up a place that was reserved; doubtful if the server may
// have counted it.
func (c *Client) unreserve(h *hold, doubtful bool) {
	c.mu.Lock()
	h.count--
	if doubtful {
		h.doubtful++
	}
	if h.count == 0 {
		c.keeper.remove(h)
		c.keeper.rest()
	}
	c.mu.Unlock()
}

// grant makes a Held of an acquisition that the server granted.
func (c *Client) grant(ctx context.Context, a *acquisition, ans *answer) (*Held, error) {
	held := &Held{lock: a.lock, hold: a.hold, renewed: a.renewal != nil, token: ans.token, members: ans.members,
		since: c.rt.Mono()}
	h := held.hold
	if h == nil {
		h = &held.first
		held.hold = h
		*h = hold{key: a.lock.key, owner: a.owner, named: a.named,
			renewal: a.lock.kind.renewal(), composed: ans.members != nil, count: 1, index: -1, round: ans.round}
		h.held = h.first[:0]
	}
	if n := len(ans.members); n > 0 {
		ctx = ans.members[n-1].ctx // which ends with each of them
	}
	held.ctx, held.cancel = c.rt.WithCancelCause(held.In(ctx))
	if !c.enter(held, ans.sent, a.lease) {
		held.cancel(ErrLost)
		return nil, ErrLost
	}
	a.hold = nil // the reserved place is held's now
	for _, m := range held.members {
		if !m.join(held) {
			c.lose(h)
		}
	}
	return held, nil
}

// join makes an acquisition part of one of a Multi. It is false if it is lost already.
func (h *Held) join(whole *Held) bool {
	c := h.lock.client
	c.mu.Lock()
	defer c.mu.Unlock()
	h.whole = whole
	return !h.hold.isLost
}

// enter enters an acquisition. It is false if its hold is lost by now, or has ended
// and the timer that tells so is late: what the server has granted is another one.
func (c *Client) enter(held *Held, sent, lease time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, h := &c.keeper, held.hold
	switch {
	case h.isLost || h.index >= 0 && h.until <= held.since:
		return false
	case h.index < 0:
		k.add(h)
	}
	h.held = append(h.held, held)
	if held.renewed {
		k.serve(h, held.since+c.watchdog/3)
	}
	h.lease = lease
	h.until = c.reach(h, sent, lease)
	k.sooner(h)
	return true
}

// reach returns until when h may be relied on after a lease that was asked for
// at sent. A hold that the watchdog serves counts on the watchdog's lease at
// most, as a renewal may overtake. The mutex is held.
func (c *Client) reach(h *hold, sent, lease time.Duration) time.Duration {
	if h.composed {
		return noEnd
	}
	if h.renewed > 0 {
		lease = min(lease, c.watchdog)
	}
	return validity(sent, lease)
}

// extending notes that a new lease is asked for at sent, and returns it. A
// shorter one counts at once: it may come into force without our knowing.
func (c *Client) extending(held *Held, sent, lease time.Duration) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := held.hold
	switch {
	case held.released:
		return lease, ErrNotHeld
	case h.isLost:
		return lease, ErrLost
	case h.renewed > 0:
		lease = max(lease, c.watchdog)
	}
	h.lease = lease
	h.until = min(h.until, c.reach(h, sent, lease))
	c.keeper.sooner(h)
	return lease, nil
}

// prolong notes a lease that the server confirmed; false if that came too
// late: the hold had ended, and stays so.
func (c *Client) prolong(h *hold, sent, lease time.Duration) bool {
	now := c.rt.Mono()
	c.mu.Lock()
	ended := h.index < 0 || h.until <= now
	if !ended {
		h.until = c.reach(h, sent, lease)
	}
	c.mu.Unlock()
	if ended {
		c.lose(h)
	}
	return !ended
}

// leaving is what a release must know of its hold.
type leaving struct {
	left     int           // acquisitions that remain
	doubtful int           // see hold
	lease    time.Duration // for those that remain
	until    time.Duration // Mono time until which the lock could be relied on
	lost     bool
}

// drop takes one acquisition out; ok is false if it was unlocked before.
func (c *Client) drop(held *Held) (l leaving, ok bool) {
	c.mu.Lock()
	h := held.hold
	if held.released {
		c.mu.Unlock()
		return leaving{}, false
	}
	held.released = true
	h.held = slices.DeleteFunc(h.held, func(o *Held) bool { return o == held })
	h.count--
	if h.count == 0 {
		c.keeper.remove(h)
		c.keeper.rest()
	}
	c.unserve(held)
	l = leaving{left: h.count, doubtful: h.doubtful, lease: h.lease, until: h.until, lost: h.isLost}
	c.mu.Unlock()
	return l, true
}

// unserve ends the service of the watchdog to one acquisition. The mutex is held.
func (c *Client) unserve(held *Held) {
	if held.renewed {
		held.renewed = false
		c.keeper.unserve(held.hold)
	}
}

// lose ends a hold that the server no longer knows, or whose validity is over.
// It tells everybody once; a hold that was unlocked is left alone.
func (c *Client) lose(h *hold) {
	now := c.rt.Mono()
	c.mu.Lock()
	if h.index < 0 {
		c.mu.Unlock()
		return
	}
	h.isLost = true
	c.keeper.remove(h)
	c.keeper.rest()
	c.keeper.owe(h, now)
	held := slices.Clone(h.held)
	var wholes []*Held
	for _, one := range held {
		if one.whole != nil {
			wholes = append(wholes, one.whole)
		}
	}
	if h.lost != nil {
		close(h.lost)
	}
	c.mu.Unlock()
	for _, one := range held {
		one.cancel(ErrLost)
		one.dismiss()
	}
	for _, whole := range wholes {
		whole.lock.client.lose(whole.hold)
	}
	var since time.Duration
	if len(held) > 0 {
		since = now - held[0].since
	}
	c.observe(Event{Kind: Lost, Key: h.key, Owner: h.owner, Held: since})
}

// dismiss has the watchdog leave the members of a lost whole alone, so that they
// end with their leases if nobody unlocks them.
func (h *Held) dismiss() {
	for _, m := range h.members {
		c := m.lock.client
		c.mu.Lock()
		c.unserve(m)
		c.mu.Unlock()
	}
}

// loseAll ends the holds of the lock named key, or all if key is empty.
func (c *Client) loseAll(key string) {
	for _, h := range c.holdsOf(key) {
		c.lose(h)
	}
}

// holdsOf returns the holds of the lock named key, or all if key is empty.
func (c *Client) holdsOf(key string) []*hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	others := func(h *hold) bool { return key != "" && h.key != key }
	return slices.DeleteFunc(slices.Clone(c.keeper.holds), others)
}
