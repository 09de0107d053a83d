package sim

import (
	"context"
	"encoding/binary"
	"time"

	"minikv/lockclient"
	"minikv/trace"
)

// clientRuntime is lockclient's Runtime on a process: virtual time, coroutines,
// the process's own clocks.
type clientRuntime struct{ p *process }

var _ lockclient.Runtime = clientRuntime{}

func (r clientRuntime) Mono() time.Duration {
	r.p.check()
	return r.p.clock.Mono()
}

func (r clientRuntime) WallMillis() int64 {
	r.p.check()
	return r.p.clock.Wall().UnixMilli()
}

func (r clientRuntime) Random(b []byte) {
	r.p.check()
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], r.p.random())
		b = b[copy(b, word[:]):]
	}
}

func (r clientRuntime) Go(f func()) {
	r.p.check()
	r.p.spawn(f)
}

func (r clientRuntime) NewGate() lockclient.Gate { return &gate{p: r.p} }

func (r clientRuntime) NewTimer(f func()) lockclient.Timer {
	return &timer{p: r.p, f: f, done: true}
}

func (r clientRuntime) WithValue(parent context.Context, key, value any) context.Context {
	return &valueCtx{parent, key, value}
}

func (r clientRuntime) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	c := r.p.derive(parent)
	return c, func(cause error) {
		if cause == nil {
			cause = context.Canceled
		}
		c.cancelNow(cause)
	}
}

func (r clientRuntime) WithDeadline(parent context.Context, at time.Duration) (context.Context, context.CancelFunc) {
	c := r.p.derive(parent)
	c.deadline, c.limited = at, true
	return c, func() { c.cancelNow(context.Canceled) }
}

func (r clientRuntime) Remaining(ctx context.Context) (time.Duration, bool) {
	c := r.p.contextOf(ctx)
	if c == nil {
		return 0, false
	}
	return c.remaining()
}

// gate implements lockclient.Gate for one waiter.
type gate struct {
	p      *process
	open   bool
	waiter *task
}

func (g *gate) Open() {
	if g.p.dead {
		return
	}
	g.open = true
	if g.waiter != nil {
		g.waiter.ready(g.p.w.cause())
	}
}

func (g *gate) Wait(ctx context.Context, d time.Duration) (bool, error) {
	if !g.open {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		g.waiter = g.p.running()
		g.waiter.sleep(g.p.contextOf(ctx), d)
		g.waiter = nil
	}
	if g.open {
		g.open = false
		return true, nil
	}
	return false, ctx.Err()
}

// running is the task that calls; it must be one of p's.
func (p *process) running() *task {
	p.check()
	t := p.w.running
	if t == nil || t.proc != p {
		panic("sim: " + p.name() + " waits outside of its own tasks")
	}
	return t
}

// sleep parks t until it is made ready, d has passed on its process's clock
// (negative: no limit) or ctx ends; ctx may be nil.
func (t *task) sleep(ctx *simCtx, d time.Duration) {
	if ctx != nil {
		if ctx.Err() != nil {
			return
		}
		if left, ok := ctx.remaining(); ok && (d < 0 || left < d) {
			d = max(left, 0)
		}
		t.hook.does = t
		ctx.hook(&t.hook, false)
	}
	if d >= 0 {
		t.wakeAt = t.proc.clock.Mono() + min(d, farAway)
		t.arm()
	}
	t.park()
	if ctx != nil {
		ctx.unhook(&t.hook)
	}
}

// contextEnded ends t's sleep.
func (t *task) contextEnded() { t.ready(t.proc.w.cause()) }

// arm schedules the end of t's sleep by its process's clock.
func (t *task) arm() {
	w := t.proc.w
	w.armed++
	t.timer = w.queue.push(t.proc.clock.until(t.wakeAt),
		step{kind: stepWake, on: t, gen: t.gen, cause: t.cause})
}

// after runs f at the given time of the process's monotonic clock.
func (p *process) after(at time.Duration, f func()) *timer {
	tm := &timer{p: p, f: f, done: true}
	tm.Set(at)
	return tm
}

// timer is a callback on a process's clock. It implements lockclient.Timer.
type timer struct {
	p    *process
	at   time.Duration // on the process's monotonic clock
	f    func()
	id   int32  // its step, or -1: it is due, and its process is paused
	gen  uint32 // how often it was set; a step of an earlier one is stale
	done bool
}

// Set implements lockclient.Timer.
func (tm *timer) Set(at time.Duration) {
	if tm.p.dead {
		return
	}
	tm.Stop()
	tm.at, tm.done = at, false
	tm.gen++
	tm.arm()
	tm.p.timers = append(tm.p.timers, tm)
}

func (tm *timer) arm() {
	w := tm.p.w
	w.armed++
	tm.id = w.queue.push(tm.p.clock.until(tm.at), step{kind: stepTimer, on: tm, gen: tm.gen, cause: w.cause()})
}

func (tm *timer) fire(gen uint32) {
	if tm.done || gen != tm.gen {
		return
	}
	tm.remove()
	n := tm.p.w.emit(trace.Event{Kind: trace.Wake, Actor: tm.p.actor})
	tm.p.w.following(n, func() { tm.p.guard(tm.f) })
}

// Stop implements lockclient.Timer.
func (tm *timer) Stop() {
	if !tm.done {
		tm.remove()
		if tm.id >= 0 {
			tm.p.w.queue.cancel(tm.id)
		}
	}
}

func (tm *timer) remove() {
	tm.done = true
	timers := tm.p.timers
	for i, other := range timers {
		if other == tm {
			tm.p.timers = append(timers[:i], timers[i+1:]...)
			return
		}
	}
}

// setRate changes the process's clock and re-arms what was timed by it.
func (p *process) setRate(ppb int64) {
	p.ownClock().setRate(ppb)
	for _, t := range p.tasks {
		if t.parked && t.timer >= 0 {
			p.w.queue.cancel(t.timer)
			t.arm()
		}
	}
	for _, tm := range p.timers {
		if tm.id >= 0 {
			p.w.queue.cancel(tm.id)
			tm.arm()
		}
	}
}
