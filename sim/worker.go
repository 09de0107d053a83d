package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minikv/lockclient"
	"minikv/trace"
)

// worker is the part of a client that takes something, works, and gives it back.
type worker struct {
	c     *client
	outer source
	inner source // what it takes while it has that
	mixed bool   // it writes, and reads inside
}

// newWorker is one that takes of the same source while it has it.
func newWorker(c *client, s source) *worker { return &worker{c: c, outer: s, inner: s} }

// source is where a worker gets what it holds.
type source interface {
	Lock(ctx context.Context, t terms) (holding, error)
}

// terms are on what a client takes something.
type terms struct {
	lease time.Duration // 0: the watchdog renews
	wait  time.Duration // 0: one attempt; negative: without limit
}

// options are the terms for lockclient. What they need is not to stay on the stack
// of a client that waits.
//
//go:noinline
func (t terms) options() []lockclient.LockOption {
	var opts []lockclient.LockOption
	if t.lease > 0 {
		opts = append(opts, lockclient.Lease(t.lease))
	}
	if t.wait >= 0 {
		opts = append(opts, lockclient.Wait(t.wait))
	}
	return opts
}

// holding is what a worker has: a *lockclient.Held has these methods.
type holding interface {
	Token() (token uint64, ok bool)
	Until() time.Duration // on the client's monotonic clock; 0: it has no end
	Context() context.Context
	Unlock(ctx context.Context) error
}

// retryAfter is how long a client waits after a failed lock().
const retryAfter = 100 * time.Millisecond

// round is one lock, work, write and unlock. While a worker waits for a lock, its stack
// is what a client costs: what comes behind has frames of its own.
func (p *worker) round(t *task, ctx context.Context) (more bool) {
	b, h, err := p.take(t, ctx, false)
	p.c.got = err == nil
	if err != nil {
		p.c.failed(t, trace.Refused, err)
		p.c.backOff(t)
		return true
	}
	p.use(t, ctx, b, h)
	return true
}

// use is what a worker does with what it has got.
func (p *worker) use(t *task, ctx context.Context, b *Belief, h holding) {
	p.reenter(t, h.Context(), p.c.load.Reenter)
	if p.c.load.Downgrade && !p.c.reads() {
		b, h = p.downgrade(t, ctx, b, h)
	}
	p.work(t, b, h)
	p.giveBack(t, ctx, b, h)
}

// take takes what the worker takes first, or what it takes inside that.
func (p *worker) take(t *task, ctx context.Context, inside bool) (*Belief, holding, error) {
	c, from := p.c, p.outer
	if inside {
		from = p.inner
	}
	c.note(t, trace.Acquire)
	var patience *timer
	if c.load.Cancel > 0 {
		ctx, patience = c.impatient(ctx)
	}
	c.p.asking = true
	h, err := from.Lock(ctx, c.terms())
	c.p.asking = false
	if patience != nil {
		patience.Stop()
	}
	if err != nil {
		return nil, nil, err
	}
	return p.believes(t, h, inside), h, nil
}

// believes begins what the worker believes when it has got something.
func (p *worker) believes(t *task, h holding, inside bool) *Belief {
	reads := trace.Actor(0)
	if inside && p.mixed {
		reads = p.c.actor
	}
	b := t.beginBelief(p.c.lock, h, reads)
	watchLoss(b, h)
	return b
}

// impatient returns a context that is cancelled after a while, unless that is stopped.
func (c *client) impatient(ctx context.Context) (context.Context, *timer) {
	ctx, cancel := clientRuntime{c.p}.WithCancelCause(ctx)
	return ctx, c.p.after(c.p.clock.Mono()+c.load.Cancel, func() { cancel(nil) })
}

// reenter takes, again and again, more while it has something, and gives that
// back.
func (p *worker) reenter(t *task, ctx context.Context, times int) {
	if times == 0 {
		return
	}
	b, h, err := p.take(t, ctx, true)
	if err != nil {
		p.c.failed(t, trace.Refused, err)
		return
	}
	p.reenter(t, h.Context(), times-1)
	p.giveBack(t, ctx, b, h)
}

// downgrade gives back what is held for what may be had inside it, as a writer
// that reads on.
func (p *worker) downgrade(t *task, ctx context.Context, b *Belief, h holding) (*Belief, holding) {
	inner, kept, err := p.take(t, inside(ctx, h), true)
	if err != nil {
		p.c.failed(t, trace.Refused, err)
		return b, h
	}
	p.giveBack(t, ctx, b, h)
	return inner, kept
}

// inside is a context in which what is held is known.
func inside(ctx context.Context, h holding) context.Context {
	if held, ok := h.(*lockclient.Held); ok {
		return held.In(ctx)
	}
	return ctx
}

func (p *worker) giveBack(t *task, ctx context.Context, b *Belief, h holding) {
	if cause := p.c.p.w.endBelief(b, trace.Release, t.cause, ""); cause != 0 {
		t.cause = cause
	}
	p.c.done = p.c.last
	if err := h.Unlock(ctx); err != nil {
		p.c.failed(t, trace.Failed, err)
		return
	}
	t.note(trace.Event{Kind: trace.Freed, Lock: p.c.lock})
}

// terms are those of the next acquisition.
func (c *client) terms() terms {
	t := terms{wait: -1}
	if !c.load.Renew {
		t.lease = time.Duration(c.p.choices.span(c.load.Lease))
	}
	switch {
	case c.load.Once:
		t.wait = 0
	case c.load.Wait > 0:
		t.wait = c.load.Wait
	}
	return t
}

// watchLoss ends the belief at the instant at which the client is told.
func watchLoss(b *Belief, h holding) {
	b.ctx = b.p.contextOf(h.Context())
	switch {
	case b.ctx == nil:
		return // it is never told
	case b.ctx.Err() != nil:
		b.contextEnded()
		return
	}
	b.hook.does = b
	b.ctx.hook(&b.hook, true)
}

// contextEnded looks whether the belief's context tells of a loss.
func (b *Belief) contextEnded() {
	if errors.Is(b.ctx.cause, lockclient.ErrLost) {
		b.p.w.endBelief(b, trace.Lost, 0, "it has noticed")
	}
}

// holdTime draws how long a client works.
func (c *client) holdTime() time.Duration {
	if !c.load.Scales {
		return time.Duration(c.p.choices.span(c.load.Hold))
	}
	lease := c.load.TTL
	long := []time.Duration{0, time.Millisecond, 100 * time.Millisecond, lease / 3, lease + time.Millisecond, 2 * lease}
	d := long[c.p.choices.draw(uint64(len(long)))] + time.Duration(c.p.choices.span(Range{0, 200 * time.Millisecond}))
	return min(d, c.load.Hold.Hi)
}

// work is the critical section. It stops as soon as the lock is known to be lost.
func (p *worker) work(t *task, b *Belief, h holding) {
	c, ctx := p.c, h.Context()
	t.sleep(c.p.contextOf(ctx), c.holdTime())
	if ctx.Err() != nil {
		return
	}
	if _, err := c.p.write(ctx, b); err != nil {
		c.failed(t, trace.Failed, fmt.Errorf("write: %w", err))
	}
}
