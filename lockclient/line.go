package lockclient

import (
	"context"
	"errors"
	"time"
)

// line is where requests about one hold wait for their turn, and about those that
// follow it in its owner's name. One goes at a time, so that what a hold is known to
// have is in the order in which the server did it: an answer that comes late says
// nothing about what was asked for later.
type line struct {
	places      // one: who has it has the turn
	pending int // acquisitions under way
	leaving int // those of them that are giving up

	late time.Duration // Mono time until which an Unlock of unknown outcome may come: it would end what follows
}

// mayCome notes, of what failed with err when it was its turn to be given back, that it may
// yet be: a later hold of its owner has to wait for that.
func (c *Client) mayCome(h *hold, err error) {
	if !h.named || !errors.Is(err, ErrUnknown) {
		return
	}
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.late = now + c.timeout
	h.ends = max(h.ends, h.line.late)
	if h.index < 0 {
		c.keeper.owe(h, now)
	}
}

// outlast waits until nothing can come any more that would end a hold of h's owner, if
// something can: then it has given up the turn.
func (c *Client) outlast(ctx context.Context, h *hold) (waited bool, err error) {
	c.mu.Lock()
	late := h.line.late
	c.mu.Unlock()
	now := c.rt.Mono()
	if late == 0 || now > late {
		return false, nil
	}
	c.endTurn(h)
	if _, err = c.rt.NewGate().Wait(ctx, late-now+1); err != nil {
		err = contextError(ctx)
	}
	return true, err
}

// takeTurn waits until nobody else asks about h, for no longer than limit (ErrNotAcquired)
// unless that is negative. A Multi asks about nothing itself. Who has the turn calls
// nothing of the user's, who might wait for it.
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
