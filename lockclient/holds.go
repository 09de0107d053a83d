package lockclient

import (
	"context"
	"errors"
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

// reserve reserves a place for an acquisition in the hold of its owner: that of its
// context, or the one of the name that the caller has chosen, which may be only asked
// for so far. h is nil if there is neither.
func (c *Client) reserve(l *Lock, named string, inner *hold) (h *hold, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case inner != nil && len(inner.held) > 0 && (named == "" || named == inner.owner):
		h = inner
	case named != "":
		h = c.keeper.asked(holdID{l.space, l.key, named}, l.kind.renewal())
	default:
		return nil, nil
	}
	if h.isLost {
		return nil, ErrLost
	}
	h.line.pending++
	return h, nil
}

// unreserve gives up the place that an acquisition has reserved. The last to leave the line
// sees to what is not known of the hold that was asked for latest, which may be another one.
func (c *Client) unreserve(r *request) {
	now, h := c.rt.Mono(), r.hold
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.pending--
	if r.leaving {
		h.line.leaving--
	}
	last := c.keeper.byOwner[h.id()]
	if h.line.pending == 0 && last != nil && last.line == h.line && last.index < 0 && last.doubtful > 0 && !last.isOver {
		c.keeper.owe(last, now)
	}
	c.keeper.forget(h)
}

// isLast notes that an acquisition is leaving, and tells whether all are that are under
// way in the name of its hold.
func (c *Client) isLast(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := r.hold.line
	r.leaving = true
	l.leaving++
	return l.leaving == l.pending
}

// reentered tells, for an acquisition whose turn it is, whether h is held, and with
// which lease. It is over if it has been given back, or lost, in the meantime: then
// the acquisition has no place in it.
func (c *Client) reentered(h *hold) (held, over bool, lease time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = len(h.held) > 0
	return held, h.isLost || h.isOver || !held && !h.named, h.lease
}

// doubt notes, of a request that failed with err when it was its turn, what the server
// may have done, and may do yet: bring a lease into force, and count more acquisitions
// than we do.
func (c *Client) doubt(h *hold, lease time.Duration, more int, err error) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, ErrUnknown) {
		h.late.add(lateLease{lease, validity(h.asked, lease), now + c.timeout})
	}
	h.doubtful += more
	h.mayTake = h.mayTake || more > 0 && errors.Is(err, ErrUnknown)
	h.ends = max(h.ends, now+c.timeout+lease)
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
	return h != nil && len(h.held) > 0 && !h.isLost
}

// grant makes a Held of an acquisition that the server granted.
func (c *Client) grant(ctx context.Context, a *acquisition, ans *answer) (*Held, error) {
	held := &Held{lock: a.lock, hold: a.hold, renewed: a.renewal != nil, token: ans.token, members: ans.members,
		since: c.rt.Mono()}
	h := held.hold
	if h == nil {
		h = &held.first
		held.hold = h
		*h = hold{space: a.lock.space, key: a.lock.key, owner: a.owner,
			renewal: a.lock.kind.renewal(), index: -1, round: ans.round}
		h.held, h.line = h.first[:0], &h.own
		h.line.pending = 1
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
	return held, nil
}

// joinMembers makes the acquisitions of which a Multi consists parts of it.
func (c *Client) joinMembers(whole *Held) {
	for _, m := range whole.members {
		if !m.join(whole) {
			c.lose(whole.hold)
		}
	}
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
		k.add(h, sent)
	}
	h.held = append(h.held, held)
	h.line.pending--
	if held.renewed {
		k.serve(h, held.since+c.watchdog/3)
	}
	h.lease, h.asked = lease, sent
	h.until = c.reach(h, sent, lease)
	h.ends = max(h.ends, held.since+lease)
	k.sooner(h)
	return true
}

// reach returns until when h may be relied on after a lease that was asked for
// at sent. A hold that the watchdog serves counts on the watchdog's lease at
// most, as a renewal may overtake; and so may a request of unknown outcome, unless it
// would have come before. The mutex is held.
func (c *Client) reach(h *hold, sent, lease time.Duration) time.Duration {
	if h.space == wholeSpace {
		return noEnd
	}
	if h.renewed > 0 {
		lease = min(lease, c.watchdog)
	}
	h.late.expire(sent)
	lease, date := h.late.cut(lease)
	until := validity(sent, lease)
	if h.space == permitSpace {
		until = min(until, date, h.date(sent))
	}
	return until
}

// date returns the Mono time at which a permit may end by the date of an Extend that is under
// way, where another request was sent at sent.
func (h *hold) date(sent time.Duration) time.Duration {
	if h.line.taken > 0 && h.asked < sent {
		return validity(h.asked, h.lease)
	}
	return noEnd
}

// extending notes that a new lease is asked for at sent, and returns it. A
// shorter one counts at once: it may come into force without our knowing. If it turns
// out that it never will, undo has the old one count again.
func (c *Client) extending(held *Held, sent, lease time.Duration) (_ time.Duration, undo func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := held.hold
	switch {
	case held.released:
		return lease, nil, ErrNotHeld
	case h.isLost:
		return lease, nil, ErrLost
	case h.renewed > 0:
		lease = max(lease, c.watchdog)
	}
	oldLease, oldAsked, oldUntil := h.lease, h.asked, h.until
	h.lease, h.asked = lease, sent
	h.until = min(h.until, c.reach(h, sent, lease))
	c.keeper.sooner(h)
	return lease, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		h.lease, h.asked = oldLease, oldAsked
		if !h.isLost {
			h.until = max(h.until, oldUntil)
		}
	}, nil
}

// prolong notes a lease that the server confirmed; false if that came too
// late: the hold had ended, and stays so. That of a renewal counts only if it is
// longer, and none was asked for later, which may have replaced it: renews is true then.
func (c *Client) prolong(h *hold, sent, lease time.Duration, renews bool) bool {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.index < 0 || h.until <= now {
		return false
	}
	h.ends = max(h.ends, now+lease)
	switch until := c.reach(h, sent, lease); {
	case !renews:
		h.until = until
	case sent > h.asked:
		h.until = max(h.until, until)
	}
	return true
}

// leaving is what a release must know of its hold.
type leaving struct {
	left     int           // acquisitions that remain
	doubtful int           // see hold
	lease    time.Duration // for those that remain
	until    time.Duration // Mono time until which the lock could be relied on
	ends     time.Duration // see hold
	lost     bool
	mayTake  bool // see hold
}

// drop notes that an acquisition is to be given back; false if that was noted before.
func (c *Client) drop(held *Held) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = !held.released
	held.released = true
	return first
}

// leaves takes out an acquisition whose turn it is to be given back.
func (c *Client) leaves(held *Held) leaving {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	k, h := &c.keeper, held.hold
	h.held = slices.DeleteFunc(h.held, func(o *Held) bool { return o == held })
	if h.isLost && h.named {
		h.doubtful++ // see release: the server may count it, and go on to
	}
	if len(h.held) == 0 {
		h.isOver = true
		k.remove(h)
		k.rest()
		if now <= h.late.by() && !h.isLost { // of a lost one it was noted then
			k.owe(h, now)
		}
	}
	c.unserve(held)
	return leaving{left: len(h.held), doubtful: h.doubtful, mayTake: h.mayTake, lost: h.isLost,
		lease: h.lease, until: h.until, ends: h.ends}
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
	h.until = min(h.until, now)
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
	c.mu.Unlock()
	for _, one := range held {
		one.cancel(ErrLost)
		one.dismiss()
	}
	c.tellLost(h)
	for _, whole := range wholes {
		whole.lock.client.lose(whole.hold)
	}
	var since time.Duration
	if len(held) > 0 {
		since = now - held[0].since
	}
	c.observe(Event{Kind: Lost, Key: h.key, Owner: h.owner, Held: since})
}

// tellLost closes the channel of a hold that is lost: who hears it finds its contexts
// ended.
func (c *Client) tellLost(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.lossIsTold = true
	if h.lost != nil {
		close(h.lost)
	}
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

// holdsOf returns the holds that end when a lock is forced.
func (c *Client) holdsOf(l *Lock) []*hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	stays := func(h *hold) bool { return h.key != l.key || !h.space.isForced(l.space) }
	return slices.DeleteFunc(slices.Clone(c.keeper.holds), stays)
}

// loseAll ends all holds.
func (c *Client) loseAll() {
	c.mu.Lock()
	holds := slices.Clone(c.keeper.holds)
	c.mu.Unlock()
	for _, h := range holds {
		c.lose(h)
	}
}
