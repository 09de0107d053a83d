package lockclient

import (
	"context"
	"time"
)

// line is one owner's way to one lock. It has the holds of this owner one after the other, and
// those who ask in the owner's name wait here for their turn. Only one request is sent at a
// time. So the answers come in the order in which the server had the requests, and a late answer
// says nothing about what was asked for later.
//
// What stays unknown of these requests is in doubts.
type line struct {
	places        // one: who has it has the turn
	hold   *hold  // the latest one that was granted: held, lost or given back; nil: none yet
	next   *hold  // the one that a named owner asks for; nil while hold is held
	asking int32  // acquisitions under way
	queued int32  // those of them that have use for a place in the queue, see Client.enqueues
	place  bool   // there may be one
	doubts doubts // about what the server has in the owner's name
}

// isHeld tells whether the owner holds the lock.
func (l *line) isHeld() bool { return l.hold != nil && l.hold.isHeld() }

// owing returns the latest hold if it is lost, its owner was not named, and somebody has yet to give
// it back; else nil. If a hold follows it before that, what the server counts of it is that one's to
// settle.
func (l *line) owing() *hold {
	if h := l.hold; h != nil && h.isLost && !h.named && len(h.held) > 0 {
		return h
	}
	return nil
}

// isIdle tells whether nothing is held and nothing is under way.
func (l *line) isIdle() bool { return l.taken == 0 && l.asking == 0 && !l.isHeld() }

// outlast waits until no Unlock can come any more that would end the next hold of h's owner, but
// not beyond the Mono time end (ErrNotAcquired): one that is repeated in vain is in doubt for ever
// longer. If it has to wait, it gives up the turn before.
func (c *Client) outlast(ctx context.Context, h *hold, end time.Duration) (waited bool, err error) {
	c.mu.Lock()
	by := h.line.doubts.unlockBy
	c.mu.Unlock()
	now := c.rt.Mono()
	if by == 0 || now > by {
		return false, nil
	}
	c.endTurn(h)
	if now >= end {
		return true, ErrNotAcquired
	}
	if _, err = c.rt.NewGate().Wait(ctx, min(by+1, end)-now); err != nil {
		err = contextError(ctx)
	}
	return true, err
}

// takeTurn waits until nobody else has the turn in h's line. It waits for no longer than limit
// (ErrNotAcquired), unless that is negative. A Multi takes no turns, as it asks for nothing itself.
// Who has the turn calls nothing of the user's: that might wait for the turn.
func (c *Client) takeTurn(ctx context.Context, h *hold, limit time.Duration) error {
	if h.space == wholeSpace || c.standIn(h, nil) {
		return nil
	}
	gate := c.rt.NewGate()
	if c.standIn(h, gate) {
		return nil
	}
	mine, err := gate.Wait(ctx, limit)
	if mine {
		return nil
	}
	c.stepOut(h, gate)
	if err != nil {
		return contextError(ctx)
	}
	return ErrNotAcquired
}

// standIn takes the turn if nobody has it; if somebody has, the gate, unless it is
// nil, opens when it comes.
func (c *Client) standIn(h *hold, gate Gate) (mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.line.take(1, gate)
}

// stepOut gives up a place in the line, or the turn if it has come in the meantime.
func (c *Client) stepOut(h *hold, gate Gate) {
	c.mu.Lock()
	mine := h.line.stepOut(gate)
	c.mu.Unlock()
	if mine {
		c.endTurn(h)
	}
}

// endTurn gives the turn to who has waited longest.
func (c *Client) endTurn(h *hold) {
	if h.space == wholeSpace {
		return
	}
	c.mu.Lock()
	next := h.line.leave(1)
	if next == nil {
		c.keeper.forget(h)
	}
	c.mu.Unlock()
	for _, gate := range next {
		gate.Open()
	}
}
