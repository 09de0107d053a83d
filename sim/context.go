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
	up       *simCtx       // the ancestor whose end ends this one; nil: none
	deadline time.Duration // on the process's monotonic clock
	limited  bool
	err      error
	endedAt  time.Duration   // on the process's monotonic clock
	inner    context.Context // the standard library's half: for Done, causes and its own children
	cancel   context.CancelCauseFunc
	expire   *expiry // ends inner with DeadlineExceeded
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
	if c.Err() != nil {
		c.makeInner()
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
	c.Err()
	c.makeInner()
	c.attach(true)
	return c.inner.Done()
}

// Err implements context.Context. What ended first counts, whenever somebody looks.
func (c *simCtx) Err() error {
	if c.err != nil {
		return c.err
	}
	above := c.up != nil && c.up.Err() != nil
	switch {
	case c.limited && c.deadline <= c.p.clock.Mono() && !(above && c.up.endedAt <= c.deadline):
		c.end(c.deadline, context.DeadlineExceeded, context.DeadlineExceeded)
	case above:
		c.end(c.up.endedAt, c.up.err, context.Cause(c.up))
	}
	return c.err
}

// AfterFunc calls f at once when c ends, or now if it has ended. With it, the
// standard library's contexts need no goroutine to follow c.
func (c *simCtx) AfterFunc(f func()) (stop func() bool) {
	h := &hook{f: f}
	if c.Err() != nil {
		f()
		return func() bool { return false }
	}
	c.hook(h)
	return func() bool { return c.unhook(h) }
}

// cancelNow ends c, unless it has ended.
func (c *simCtx) cancelNow(cause error) {
	if c.Err() == nil {
		c.end(c.p.clock.Mono(), context.Canceled, cause)
	}
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

// end ends c at a time of the process's monotonic clock.
func (c *simCtx) end(at time.Duration, err, cause error) {
	if cause != err {
		c.makeInner()
	}
	c.err, c.endedAt = err, at
	if c.inner != nil {
		c.endInner(cause)
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

// makeInner makes the standard library's half, ended if c has ended without one.
func (c *simCtx) makeInner() {
	if c.inner != nil {
		return
	}
	c.expire = &expiry{Context: context.Background()}
	c.inner, c.cancel = context.WithCancelCause(c.expire)
	if c.err != nil {
		c.endInner(c.err)
	}
}

func (c *simCtx) endInner(cause error) {
	if c.err == context.DeadlineExceeded {
		c.expire.now()
	} else {
		c.cancel(cause)
	}
}

// expiry is the parent of a simCtx's inner context. It can end that as a
// deadline does, for which the standard library has no function.
type expiry struct {
	context.Context
	err error
	f   func()
}

func (x *expiry) now() {
	x.err = context.DeadlineExceeded
	x.f()
}

// Done implements context.Context: it may end.
func (x *expiry) Done() <-chan struct{} { return never }

var never = make(chan struct{})

// Err implements context.Context.
func (x *expiry) Err() error { return x.err }

// AfterFunc is how the inner context asks to be told.
func (x *expiry) AfterFunc(f func()) (stop func() bool) {
	x.f = f
	return func() bool { return true }
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

// valueCtx is a context with one value more. It ends when its parent does.
type valueCtx struct {
	context.Context
	key, value any
}

// Value implements context.Context.
func (c *valueCtx) Value(key any) any {
	if key == c.key {
		return c.value
	}
	return c.Context.Value(key)
}

// contextOf returns the simulator's context that decides when ctx ends, nil if
// nothing does. It panics when a context of real time stands in between, or
// when it is another process's.
func (p *process) contextOf(ctx context.Context) *simCtx {
	for {
		v, ok := ctx.(*valueCtx)
		if !ok {
			break
		}
		ctx = v.Context
	}
	c, ok := ctx.(*simCtx)
	if !ok {
		done := ctx.Done()
		if done == nil {
			return nil // context.Background, and what only adds values to it
		}
		c, ok = ctx.Value(simKey{}).(*simCtx)
		if !ok {
			panic("sim: a context that does not come from this simulation: derive contexts from Runtime")
		}
		if done != c.Done() {
			panic("sim: a context of real time between simulated ones: derive contexts from Runtime")
		}
	}
	if c.p != p {
		panic("sim: " + p.name + " uses a context of " + c.p.name)
	}
	return c
}

// derive makes a child of parent.
func (p *process) derive(parent context.Context) *simCtx {
	return &simCtx{p: p, parent: parent, up: p.contextOf(parent)}
}
