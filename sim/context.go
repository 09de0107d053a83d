package sim

import (
	"context"
	"time"
)

// simCtx is a context on a process's virtual time. Ending it closes Done and
// runs its hooks at once, in the order of their registration. Its deadline
// needs no timer until somebody asks for Done or registers a hook: Err and
// waits look at the clock.
type simCtx struct {
	p        *process
	parent   context.Context
	up       *simCtx // the ancestor whose end ends this one; nil: none
	key, val any
	deadline time.Duration // on the process's monotonic clock
	limited  bool
	err      error
	inner    context.Context // made when Done is asked for, or to carry a cause
	cancel   context.CancelCauseFunc
	hooks    []*hook
	upHook   *hook // in up, while this one has hooks or Done was asked for
	timer    *timer
}

// hook is what to do when a context ends: run f, or wake a parked task.
type hook struct {
	f    func()
	task *task
}

// simKey finds the nearest simCtx through contexts that wrap it.
type simKey struct{}

// Value implements context.Context.
func (c *simCtx) Value(key any) any {
	if key == (simKey{}) {
		return c
	}
	if c.key != nil && key == c.key {
		return c.val
	}
	if c.inner != nil {
		if v := c.inner.Value(key); v != nil {
			return v // the standard library's own key: context.Cause asks for it
		}
	}
	return c.parent.Value(key)
}

// Deadline implements context.Context: a date of the process's wall clock.
func (c *simCtx) Deadline() (time.Time, bool) {
	left, ok := c.remaining()
	if !ok {
		return time.Time{}, false
	}
	return c.p.clock.Wall().Add(left), true
}

// Done implements context.Context.
func (c *simCtx) Done() <-chan struct{} {
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(context.Background())
		c.attach(true)
	}
	return c.inner.Done()
}

// Err implements context.Context.
func (c *simCtx) Err() error {
	if c.err != nil {
		return c.err
	}
	if c.up != nil && c.up.Err() != nil {
		c.end(c.up.err, context.Cause(c.up))
	} else if c.limited && c.p.clock.Mono() >= c.deadline {
		c.end(context.DeadlineExceeded, context.DeadlineExceeded)
	}
	return c.err
}

// AfterFunc makes std's contexts children without a goroutine.
func (c *simCtx) AfterFunc(f func()) (stop func() bool) {
	h := &hook{f: f}
	if c.Err() != nil {
		f()
		return func() bool { return false }
	}
	c.hook(h)
	return func() bool { return c.unhook(h) }
}

func (c *simCtx) hook(h *hook) {
	c.hooks = append(c.hooks, h)
	c.attach(h.f != nil)
}

func (c *simCtx) unhook(h *hook) bool {
	for i := len(c.hooks) - 1; i >= 0; i-- {
		if c.hooks[i] == h {
			c.hooks = append(c.hooks[:i], c.hooks[i+1:]...)
			if len(c.hooks) == 0 && c.inner == nil {
				c.detach()
			}
			return true
		}
	}
	return false
}

// attach makes the end of the ancestor known at once and, with timed, that of
// the deadline; a parked task looks at the deadline itself.
func (c *simCtx) attach(timed bool) {
	if c.err != nil {
		return
	}
	if c.upHook == nil && c.up != nil {
		c.upHook = &hook{f: func() { c.Err() }}
		c.up.hook(c.upHook)
	}
	if timed && c.limited && c.timer == nil {
		c.timer = c.p.after(c.deadline, func() { c.Err() })
	}
}

func (c *simCtx) detach() {
	if c.timer != nil {
		c.timer.stop()
		c.timer = nil
	}
	if c.upHook != nil {
		c.up.unhook(c.upHook)
		c.upHook = nil
	}
}

func (c *simCtx) end(err, cause error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.cancel == nil && cause != err {
		c.inner, c.cancel = context.WithCancelCause(context.Background())
	}
	if c.cancel != nil {
		c.cancel(cause)
	}
	hooks := c.hooks
	c.hooks = nil
	c.detach()
	for _, h := range hooks {
		if h.task != nil {
			h.task.ready(c.p.w.cause())
		} else {
			h.f()
		}
	}
}

// remaining is the time to the earliest deadline of c and its ancestors.
func (c *simCtx) remaining() (left time.Duration, ok bool) {
	for ; c != nil; c = c.up {
		if c.limited && (!ok || c.deadline-c.p.clock.Mono() < left) {
			left, ok = c.deadline-c.p.clock.Mono(), true
		}
	}
	return left, ok
}

// contextOf returns the simulator's context that decides when ctx ends, nil if
// nothing does. It panics when a context of real time stands in between.
func (p *process) contextOf(ctx context.Context) *simCtx {
	if c, ok := ctx.(*simCtx); ok {
		return c
	}
	c, ok := ctx.Value(simKey{}).(*simCtx)
	if !ok && ctx.Done() == nil {
		return nil // context.Background, and what only adds values to it
	}
	if !ok {
		panic("sim: a context that does not come from this simulation: derive contexts from Runtime")
	}
	switch ctx.Done() {
	case nil:
		return nil
	case c.Done():
		return c
	}
	panic("sim: a context of real time between simulated ones: derive contexts from Runtime")
}

// derive makes a child of parent.
func (p *process) derive(parent context.Context) *simCtx {
	return &simCtx{p: p, parent: parent, up: p.contextOf(parent)}
}
