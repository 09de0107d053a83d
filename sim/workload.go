package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"minikv/internal/trace"
	"minikv/lockclient"
)

// Belief is a client's belief that it holds a lock: from the moment lock()
// returns until it calls unlock(), is told that the lock is lost, or crashes.
type Belief struct {
	p     *process
	lock  int32
	token int64 // fencing token, 0 without one
	over  bool
}

// beginBelief records that a task's lock() has returned.
func (t *task) beginBelief(lock int32, h *lockclient.Held) *Belief {
	b := &Belief{p: t.proc, lock: lock}
	if token, ok := h.Token(); ok {
		b.token = int64(token)
	}
	valid := h.Until() - t.proc.clock.Mono()
	e := trace.Event{Kind: trace.Hold, Lock: lock, A: b.token, B: int64(valid)}
	if t.proc.w.cfg.Details {
		e.Key = lockName(lock)
	}
	t.note(e)
	t.proc.holding = append(t.proc.holding, b)
	return b
}

// endBelief records how a belief ended; the first end counts.
func (w *World) endBelief(b *Belief, kind trace.Kind, cause uint64, text string) uint64 {
	if b.over {
		return 0
	}
	b.over = true
	for i, other := range b.p.holding {
		if other == b {
			b.p.holding = append(b.p.holding[:i], b.p.holding[i+1:]...)
			break
		}
	}
	e := trace.Event{Kind: kind, Actor: b.p.actor, Lock: b.lock, A: b.token, Cause: cause, Text: text}
	if w.cfg.Details {
		e.Key = lockName(b.lock)
	}
	return w.emit(e)
}

func lockName(lock int32) string { return "lock:" + strconv.Itoa(int(lock)) }

// Workload is what each client does: rounds of lock, work, write to the
// resource, unlock, think.
type Workload struct {
	Kind   string        // "mutex", "fenced" or "redlock"
	TTL    time.Duration // the lease
	Renew  bool          // by the watchdog; else the lease is fixed
	Hold   Range         // time between lock and write
	Think  Range         // time between unlock and the next lock
	Rounds int           // 0: for ever
}

// Kinds are the lock kinds that a workload can use.
var Kinds = []string{"mutex", "fenced", "redlock"}

// addClient makes a client of the workload; it does nothing until it is started.
func (w *World) addClient(name string, lock int32, load *Workload) *client {
	p := &process{w: w, name: name, actor: w.actor(name), clock: Clock{w: w}, choices: w.newDraws("client/" + name)}
	w.procs = append(w.procs, p)
	return &client{p: p, lock: lock, load: load}
}

// client is one process of the workload.
type client struct {
	p       *process
	lock    int32
	load    *Workload
	started bool
}

// start starts the client; a second start, or one after a crash, does nothing.
func (c *client) start() {
	if c.started || c.p.dead {
		return
	}
	c.started = true
	n := c.p.w.emit(trace.Event{Kind: trace.Start, Actor: c.p.actor})
	c.p.w.following(n, func() { c.p.spawn(c.run) })
}

// handle makes the process's lock.
func (c *client) handle() *lockclient.Lock {
	var clients []*lockclient.Client
	for _, g := range c.p.w.groups {
		t := &transport{p: c.p, group: g}
		clients = append(clients, lockclient.New(t, clientRuntime{c.p},
			lockclient.WithWatchdog(c.load.TTL), lockclient.WithID(c.p.name)))
	}
	switch c.load.Kind {
	case "fenced":
		return clients[0].Fenced(lockName(c.lock))
	case "redlock":
		return lockclient.Redlock(lockName(c.lock), clients...)
	}
	return clients[0].Mutex(lockName(c.lock))
}

func (c *client) run() {
	root := &simCtx{p: c.p, parent: context.Background()}
	lock := c.handle()
	t := c.p.running()
	for round := 1; c.load.Rounds == 0 || round <= c.load.Rounds; round++ {
		c.round(t, root, lock)
		t.sleep(root, time.Duration(c.p.choices.span(c.load.Think)))
	}
	t.note(trace.Event{Kind: trace.End})
}

// round is one lock, work, write and unlock.
func (c *client) round(t *task, ctx *simCtx, lock *lockclient.Lock) {
	e := trace.Event{Kind: trace.Acquire, Lock: c.lock}
	if c.p.w.cfg.Details {
		e.Key = lockName(c.lock)
	}
	t.note(e)
	h, err := lock.Lock(ctx, c.options()...)
	if err != nil {
		c.failed(t, trace.Refused, err)
		t.sleep(ctx, retryAfter)
		return
	}
	b := t.beginBelief(c.lock, h)
	c.watchLoss(b, h)
	c.work(t, b, h)
	cause := c.p.w.endBelief(b, trace.Release, t.cause, "")
	if cause != 0 {
		t.cause = cause
	}
	if err := h.Unlock(ctx); err != nil {
		c.failed(t, trace.Failed, err)
		return
	}
	t.note(trace.Event{Kind: trace.Freed, Lock: c.lock})
}

// retryAfter is how long a client waits after a failed lock().
const retryAfter = 100 * time.Millisecond

func (c *client) options() []lockclient.LockOption {
	if c.load.Renew {
		return nil
	}
	return []lockclient.LockOption{lockclient.Lease(c.load.TTL)}
}

// watchLoss ends the belief at the instant at which the client is told.
func (c *client) watchLoss(b *Belief, h *lockclient.Held) {
	ctx := h.Context().(*simCtx)
	ctx.AfterFunc(func() {
		if errors.Is(context.Cause(ctx), lockclient.ErrLost) {
			c.p.w.endBelief(b, trace.Lost, 0, "it has noticed")
		}
	})
}

// work is the critical section. It stops as soon as the lock is known to be lost.
func (c *client) work(t *task, b *Belief, h *lockclient.Held) {
	ctx := h.Context().(*simCtx)
	t.sleep(ctx, time.Duration(c.p.choices.span(c.load.Hold)))
	if ctx.Err() != nil {
		return
	}
	if _, err := c.p.write(ctx, b); err != nil {
		c.failed(t, trace.Failed, fmt.Errorf("write: %w", err))
	}
}

func (c *client) failed(t *task, kind trace.Kind, err error) {
	e := trace.Event{Kind: kind, Lock: c.lock}
	if c.p.w.cfg.Details {
		e.Key, e.Text = lockName(c.lock), err.Error()
	}
	t.note(e)
}
