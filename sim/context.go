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
	cause    error
	endedAt  time.Duration // on the process's monotonic clock
	first    *hook
	last     *hook
	upHook   hook // in up, while this one has hooks or Done was asked for
	timer    *timer
	inner    *innerCtx // made when the standard library asks
}

// innerCtx is the standard library's half of a simCtx: for Done, causes and its
// own children.
type innerCtx struct {
	context.Context
	cancel context.CancelCauseFunc
	expire *expiry // ends it with DeadlineExceeded
}

// hook is what to do when a context ends. It is part of what does it.
type hook struct {
	in         *simCtx // nil: in none
	prev, next *hook
	does       ending
}

// ending is told of the end of a context that it has a hook in.
type ending interface{ contextEnded() }

// hookFunc is a hook's function of the standard library's contexts.
type hookFunc func()

func (f hookFunc) contextEnded() { f() }

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
		c.end(c.up.endedAt, c.up.err, c.up.cause)
	}
	return c.err
}

// AfterFunc calls f at once when c ends, or now if it has ended. With it, the
// standard library's contexts need no goroutine to follow c.
func (c *simCtx) AfterFunc(f func()) (stop func() bool) {
	if c.Err() != nil {
		f()
		return func() bool { return false }
	}
	h := &hook{does: hookFunc(f)}
	c.hook(h, true)
	return func() bool { return c.unhook(h) }
}

// cancelNow ends c, unless it has ended.
func (c *simCtx) cancelNow(cause error) {
	if c.Err() == nil {
		c.end(c.p.clock.Mono(), context.Canceled, cause)
	}
}

// hook has h told of c's end. A parked task looks at deadlines itself; others
// need them timed.
func (c *simCtx) hook(h *hook, timed bool) {
	h.in, h.prev, h.next = c, c.last, nil
	if c.last == nil {
		c.first = h
	} else {
		c.last.next = h
	}
	c.last = h
	c.attach(timed)
}

// unhook reports whether h was still to be told.
func (c *simCtx) unhook(h *hook) bool {
	if h.in != c || c.err != nil {
		return false
	}
	if h.prev == nil {
		c.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		c.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.in, h.prev, h.next = nil, nil, nil
	if c.first == nil && c.inner == nil {
		c.detach()
	}
	return true
}

// attach makes the end of the ancestor known at once and, with timed, that of
// the deadline.
func (c *simCtx) attach(timed bool) {
	if c.err != nil {
		return
	}
	if c.up != nil && c.upHook.in == nil {
		c.upHook.does = c
		c.up.hook(&c.upHook, true)
	}
	if timed && c.limited && c.timer == nil {
		c.timer = c.p.after(c.deadline, c.contextEnded)
	}
}

// contextEnded looks whether c has ended too.
func (c *simCtx) contextEnded() { c.Err() }

func (c *simCtx) detach() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.upHook.in != nil {
		c.up.unhook(&c.upHook)
	}
}

// end ends c at a time of the process's monotonic clock.
func (c *simCtx) end(at time.Duration, err, cause error) {
	c.err, c.cause, c.endedAt = err, cause, at
	if c.inner != nil {
		c.endInner()
	}
	h := c.first
	c.first, c.last = nil, nil
	c.detach()
	for h != nil {
		next := h.next
		h.in, h.prev, h.next = nil, nil, nil
		h.does.contextEnded()
		h = next
	}
}

// makeInner makes the standard library's half, ended if c has ended without one.
func (c *simCtx) makeInner() {
	if c.inner != nil {
		return
	}
	c.inner = &innerCtx{expire: &expiry{Context: context.Background()}}
	c.inner.Context, c.inner.cancel = context.WithCancelCause(c.inner.expire)
	if c.err != nil {
		c.endInner()
	}
}

func (c *simCtx) endInner() {
	if c.err == context.DeadlineExceeded {
		c.inner.expire.now()
	} else {
		c.inner.cancel(c.cause)
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

// endsWithin reports whether c ends after d at the latest; c may be nil.
func (c *simCtx) endsWithin(d time.Duration) bool {
	left, limited := c.remaining()
	return limited && left <= d
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
		panic("sim: " + p.name() + " uses a context of " + c.p.name())
	}
	return c
}

// derive makes a child of parent.
func (p *process) derive(parent context.Context) *simCtx {
	return &simCtx{p: p, parent: parent, up: p.contextOf(parent)}
}
