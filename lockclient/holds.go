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

// reserve reserves a place for an acquisition in the hold of its owner: in the hold that its
// context carries, or in that of the name which the caller has chosen. h is nil if there is
// neither, and not held yet if it is only asked for so far.
func (c *Client) reserve(l *Lock, named string, inner *hold) (h *hold, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case inner != nil && len(inner.held) > 0 && (named == "" || named == inner.owner):
		h = inner
	case named != "":
		id := holdID{l.space, l.key, named}
		if c.keeper.isClosed(id, c.rt.Mono()) {
			return nil, ErrLost
		}
		h = c.keeper.asked(id, l.kind.renewal())
	default:
		return nil, nil
	}
	if h.isLost {
		return nil, ErrLost
	}
	h.line.asking++
	return h, nil
}

// unreserve gives up the place that an acquisition has reserved.
func (c *Client) unreserve(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := r.hold.line
	l.asking--
	if r.queued {
		l.queued--
		r.queued = false
	}
	c.keeper.forget(r.hold)
}

// enqueues notes that an acquisition asks for a place in the queue of its lock. All that ask in
// the owner's name share it.
func (c *Client) enqueues(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.queued {
		r.queued = true
		r.hold.line.queued++
	}
	r.hold.line.place = true
}

// placeIsGone notes that the server took the owner of a hold out of the queue.
func (c *Client) placeIsGone(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.place = false
}

// hasSurplus tells whether the server may count more of h's owner than is held.
func (c *Client) hasSurplus(h *hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.line.doubts.surplus > 0 || h.line.owing() != nil
}

// mayQueue tells whether an owner that others may share may have a place in the queue.
func (c *Client) mayQueue(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.hold != nil && r.hold.line.place
}

// keptPlace is asked by who has the turn of a hold that is lost. It returns for how long the owner's
// place was kept, 0 if nobody is to take it away.
func (c *Client) keptPlace(h *hold) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch l := c.keeper.lines[h.id()]; l {
	case nil:
		c.keeper.keep(h) // who asks in the owner's name takes turns with what follows
	case h.line:
	default: // others have asked since, and leave the queue themselves
		return 0
	}
	return h.place()
}

// place returns for how long the owner's place was kept, 0 if it has none or one of its own needs it.
// The mutex is held.
func (h *hold) place() time.Duration {
	if h.line.queued > 0 {
		return 0
	}
	return h.kept
}

// leavesQueue notes that an acquisition has no use for the place in the queue any more. It tells
// whether there may be one, and no other one has use for it, either.
func (c *Client) leavesQueue(r *request) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := r.hold.line
	if r.queued {
		r.queued = false
		l.queued--
	}
	return l.place && l.queued == 0
}

// reentered is asked by an acquisition whose turn it is. It tells whether h is held, and with
// which lease. If h is over, it was given back or lost in the meantime: then the acquisition has
// no place in it.
func (c *Client) reentered(h *hold) (held, over bool, lease time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = h.isHeld()
	return held, !held && h.line.next != h, h.lease
}

// isHeld tells whether a hold is held; it may be nil.
func (c *Client) isHeld(h *hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h != nil && h.isHeld()
}

// hasNamed tells whether the owner of a name holds the lock.
func (c *Client) hasNamed(id holdID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.keeper.lines[id]
	return l != nil && l.isHeld()
}

// grant makes a Held of an acquisition that the server granted.
func (c *Client) grant(ctx context.Context, a *acquisition, ans *answer) (*Held, error) {
	held := &Held{lock: a.lock, hold: a.hold, renewed: a.renewal != nil, token: ans.token, members: ans.members,
		since: c.rt.Mono()}
	h := held.hold
	if h == nil {
		h = &held.first
		held.hold = h
		*h = hold{space: a.lock.space, key: a.lock.key, owner: a.owner, named: a.named, // of a Multi at most
			renewal: a.lock.kind.renewal(), index: -1, round: ans.round}
		h.held, h.line = h.first[:0], &h.own
		h.line.asking = 1
	}
	if n := len(ans.members); n > 0 {
		ctx = ans.members[n-1].ctx // which ends with each of them
	}
	held.ctx, held.cancel = c.rt.WithCancelCause(held.In(ctx))
	if !c.enter(held, ans.sent, a.lease, ans.kept) {
		held.cancel(ErrLost)
		return nil, ErrLost
	}
	if a.queued {
		c.leavesQueue(&a.request)
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

// enter enters an acquisition. It is false if its hold is lost by now, or if a lease in doubt may
// have ended it before its reply came. It is also false if the hold has ended and the timer has not
// told so yet: then the server has granted another one.
func (c *Client) enter(held *Held, sent, lease, kept time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, h := &c.keeper, held.hold
	h.line.doubts.expire(sent)
	switch {
	case h.isLost || h.isHeld() && h.until <= held.since || c.reach(h, sent, lease) <= held.since:
		return false
	case !h.isHeld():
		h.renewal = held.lock.kind.renewal() // in its name it may have been asked for as a lock of another kind
		k.add(h)
	}
	h.held = append(h.held, held)
	h.line.asking--
	if held.renewed {
		k.serve(h, held.since+c.watchdog/3)
	}
	h.lease, h.asked, h.kept = lease, sent, max(h.kept, kept)
	h.until = c.reach(h, sent, lease)
	h.line.doubts.lasts(held.since + lease)
	k.sooner(h)
	return true
}

// reach returns until when h may be relied on after a lease that was asked for at sent. What is in
// doubt may be executed after that one, and set its own lease: the shortest one counts. (A renewal
// cuts none.) The mutex is held.
func (c *Client) reach(h *hold, sent, lease time.Duration) time.Duration {
	if h.space == wholeSpace {
		return noEnd
	}
	lease, date := h.line.doubts.sure(sent, lease)
	until := validity(sent, lease)
	if h.space == permitSpace {
		until = min(until, date, h.dateUnderWay(sent))
	}
	return until
}

// dateUnderWay returns the Mono time at which an Extend that is under way would have a permit
// end, if it was sent before the Mono time sent.
func (h *hold) dateUnderWay(sent time.Duration) time.Duration {
	if h.line.taken > 0 && h.asked < sent {
		return validity(h.asked, h.lease)
	}
	return noEnd
}

// extending notes that a new lease is asked for at sent, and returns it. A shorter one counts
// at once, as it may come into force without our knowing. undo has the old one count again: it
// is for a request that was not run.
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

// extended notes that an Extend has ended, whatever became of it.
func (c *Client) extended(h *hold) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h.replied = now
}

// prolong notes a lease that the server has confirmed. It is false if that came too late: the
// hold had ended, and stays so. The lease of a renewal (renews) counts only if it is longer, and
// if no other one was asked for later, which may have replaced it. Of a permit, whose leases are
// dates, it also does not count if an Extend was under way: that may have come after it.
func (c *Client) prolong(h *hold, sent, lease time.Duration, renews bool) bool {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.doubts.lasts(now + lease)
	if !h.isHeld() || h.until <= now {
		return false
	}
	switch until := c.reach(h, sent, lease); {
	case !renews:
		h.line.doubts.expire(sent)
		if h.renewed > 0 { // what was renewed meanwhile counts, as no lease here is shorter than a renewal's
			until = max(until, h.until)
		}
		h.until = until
		c.keeper.sooner(h) // a Redlock may have less now than before
	case h.space == permitSpace && sent <= h.replied:
	case sent > h.asked:
		h.until = max(h.until, until)
	}
	return true
}

// leaving is what a release must know of its hold, as it was when the release began.
type leaving struct {
	at     time.Duration // Mono time of that
	left   int           // acquisitions that remain
	lease  time.Duration // for those that remain
	until  time.Duration // Mono time until which the lock could be relied on
	lost   bool
	named  bool          // see hold, or followed
	place  time.Duration // see hold.place
	doubts doubts

	followed bool // by another hold of its owner, or somebody asks for one
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
	h := held.hold
	h.held = slices.DeleteFunc(h.held, func(o *Held) bool { return o == held })
	if len(h.held) == 0 {
		c.keeper.remove(h)
		c.keeper.rest()
	}
	c.unserve(held)
	named := h.named || c.keeper.isSucceeded(h)
	switch {
	case !h.isLost || h.named || h.space == wholeSpace:
	case named:
		h.line.doubts.mayCount(1) // which the hold that follows settles
	default:
		c.keeper.keep(h) // who asks in the owner's name takes turns with what follows
	}
	return leaving{at: now, left: len(h.held), lease: h.lease, until: h.until, lost: h.isLost, named: named,
		place: h.place(), doubts: h.line.doubts, followed: c.keeper.isSucceeded(h)}
}

// closeLine keeps others from asking in the name of h's owner while what h has left on the server
// is given back in the background, for as long as patience. If it is false, somebody has asked
// already, and nothing must be given back so.
func (c *Client) closeLine(h *hold, patience time.Duration) bool {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.close(h, now+patience+c.timeout, now)
}

// openLine ends closeLine.
func (c *Client) openLine(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.doubts.closed = false
	c.keeper.forget(h)
}

// unserve ends the service of the watchdog to one acquisition. The mutex is held.
func (c *Client) unserve(held *Held) {
	if held.renewed {
		held.renewed = false
		c.keeper.unserve(held.hold)
	}
}

// lose ends a hold that the server no longer knows, or whose validity is over. It tells
// everybody once. A hold that was unlocked is left alone. The server may still count what was not
// given back.
func (c *Client) lose(h *hold) {
	now := c.rt.Mono()
	c.mu.Lock()
	if !h.isHeld() {
		c.mu.Unlock()
		return
	}
	h.isLost = true
	h.until = min(h.until, now)
	if h.named { // a named owner's Unlock gives nothing back after a loss
		h.line.doubts.mayCount(len(h.held))
	}
	if h.renewed > 0 { // a renewal may be under way, and be executed after that has failed
		h.line.doubts.lasts(now + syncLimit + 2*c.timeout + c.watchdog)
	}
	c.keeper.sweep(now)
	c.keeper.remove(h)
	c.keeper.rest()
	queued := h.kept > 0
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
	if queued && !c.isClosed() {
		c.leaveLost(h)
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

// dismiss has the watchdog leave the members of a lost whole alone, and theirs, so that
// they end with their leases if nobody unlocks them.
func (h *Held) dismiss() {
	for _, m := range h.members {
		c := m.lock.client
		c.mu.Lock()
		c.unserve(m)
		c.mu.Unlock()
		m.dismiss()
	}
}

// holdsOf returns the holds that end when a lock is forced.
func (c *Client) holdsOf(l *Lock) []*hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	stays := func(h *hold) bool { return h.key != l.key || !h.space.meets(l.space) }
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
