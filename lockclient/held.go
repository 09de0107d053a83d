package lockclient

import (
	"context"
	"time"
)

// Held is one acquisition of a Lock. It is safe for concurrent use.
type Held struct {
	lock    *Lock
	hold    *hold
	token   uint64
	members []*Held       // of a Multi
	since   time.Duration // Mono time of the grant
	ctx     context.Context
	cancel  context.CancelCauseFunc

	// The client's mutex guards the rest.
	renewed  bool  // the watchdog serves it
	whole    *Held // the acquisition of a Multi that it is part of, or nil
	released bool
	first    hold // what hold points to, unless that is re-entered
}

// Key returns the lock's name, see Lock.Key.
func (h *Held) Key() string { return h.hold.key }

// Owner returns the identity on the wire: "uuid:n", "uuid:n:write" on the write
// side of a RW, the random value of a Redlock, or for a Multi what As has named,
// else the owner of its first member.
func (h *Held) Owner() string { return h.hold.owner }

// Token returns the fencing token of this acquisition; ok is false if its kind
// has none. Tokens of a lock only grow, as long as Redis keeps the counter. As
// on Redisson's wire each re-entry draws a new one: a resource that has seen it
// refuses the smaller token of the outer acquisition from then on.
func (h *Held) Token() (token uint64, ok bool) { return h.token, h.token > 0 }

// Context returns the context of the acquisition, which ends when the lock is
// lost (with cause ErrLost), when it is unlocked, or with the context given to
// Lock. A lock of the same name taken with it is re-entered.
func (h *Held) Context() context.Context { return h.ctx }

// In returns ctx with the acquisition in it, for re-entry, as Context has it, but
// without its end: what is taken with it may outlive h, as when a writer reads on.
func (h *Held) In(ctx context.Context) context.Context {
	if r, ok := h.lock.kind.(*redlock); ok {
		for i, c := range r.clients {
			ctx = h.at(c, i, ctx)
		}
	} else {
		ctx = h.at(h.lock.client, 0, ctx)
	}
	for _, m := range h.members {
		ctx = m.In(ctx)
	}
	return ctx
}

// at returns ctx with what the acquisition has by a client: of a Redlock that of one of its masters.
func (h *Held) at(c *Client, master int, ctx context.Context) context.Context {
	k := insideKey{c}
	outer, _ := ctx.Value(k).(*inside)
	return h.lock.client.rt.WithValue(ctx, k, &inside{h.hold, h.lock.client, master, outer})
}

// Lost returns a channel that is closed when the lock is lost: its renewal was
// refused, or its lease ended by the local monotonic clock, also while Redis
// cannot be reached.
func (h *Held) Lost() <-chan struct{} {
	c := h.lock.client
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.hold.lostChannel()
}

// Until returns the Runtime.Mono time until which the lock may be relied on as
// of now: the lease, from before it was asked for, less the drift. It is no
// duration, see Left. (The Mono of another System has another origin.)
func (h *Held) Until() time.Duration {
	c := h.lock.client
	c.mu.Lock()
	until := h.hold.until
	c.mu.Unlock()
	for _, m := range h.members { // their clocks may have other origins
		now := c.rt.Mono()
		until = min(until, now+m.Until()-m.lock.client.rt.Mono())
	}
	return until
}

// Left returns for how much longer the lock may be relied on, as of now: 0 if
// Until has passed.
func (h *Held) Left() time.Duration { return max(0, h.Until()-h.lock.client.rt.Mono()) }

// Extend replaces the lease by d, from now, in whole milliseconds and at least
// 1 ms. A lock that the watchdog renews keeps at least the watchdog's lease. Errors are
// ErrNotHeld after Unlock, ErrLost if the lock is lost (it is never revived), and those
// of Lock; after these the shorter of both leases counts, of a permit the one that ends
// earlier, unless the request was not run (ErrNotSent, LOADING).
//
// Who waits is not told of a shorter lease: if its holder dies, a waiter comes when it
// looks again, which is when the longer one would have ended, but after the lease of
// WithWatchdog at the latest. Redisson's waiters sleep as long as the longer one.
func (h *Held) Extend(ctx context.Context, d time.Duration) error {
	c := h.lock.client
	err := c.takeTurn(ctx, h.hold, -1)
	if err != nil {
		return opError("extend", h.Key(), err)
	}
	sent := c.rt.Mono()
	lease, undo, err := c.extending(h, sent, wholeMillis(d))
	if err == nil {
		err = h.lock.kind.extend(ctx, h, lease)
		c.extended(h.hold)
	}
	switch {
	case notRun(err):
		undo()
	case err == nil && !c.prolong(h.hold, sent, lease, false):
		err = ErrLost
	case err != nil && err != ErrNotHeld:
		c.doubtLease(h.hold, lease, err)
	}
	c.endTurn(h.hold)
	if err == ErrLost {
		c.lose(h.hold)
	}
	return opError("extend", h.Key(), err)
}

// Unlock gives the acquisition back. It sends its request even if ctx has
// ended, and waits for the reply as long as any request may take. Errors are
// ErrNotHeld at a second call; ErrLost if the lock ended before, so that others
// may have held it; ErrUnknown if no reply came; one that wraps ErrNotSent, and a
// *ServerError. After the last three it is repeated in the background, as a rule
// until the lease has ended (see As); WithObserver's GivenBack tells how that went.
func (h *Held) Unlock(ctx context.Context) error {
	c := h.lock.client
	if !c.drop(h) {
		return opError("unlock", h.Key(), ErrNotHeld)
	}
	h.cancel(nil)
	ctx = context.WithoutCancel(ctx)
	_ = c.takeTurn(ctx, h.hold, -1) // which has no end
	l := c.leaves(h)
	err := h.lock.kind.release(ctx, h, l)
	if err != nil || l.doubts.open() { // which is rare
		c.gaveBack(h.hold, &l, err)
	}
	c.endTurn(h.hold)
	if err == ErrLost {
		c.lose(h.hold)
	}
	if l.lost {
		err = ErrLost // whatever became of the request
	}
	err = opError("unlock", h.Key(), err)
	c.observe(Event{Kind: Released, Key: h.Key(), Owner: h.Owner(), Held: c.rt.Mono() - h.since, Err: err})
	return err
}
