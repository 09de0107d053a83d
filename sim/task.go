package sim

import (
	"fmt"
	"runtime/debug"
	"time"
)

// task is one coroutine of a process. Exactly one task runs at any instant; it
// gives up the processor only in park.
type task struct {
	proc *process
	body func()
	on   *coroutine // nil: it has not begun, or ended

	gen    uint32        // number of the current park; ends with the first wake
	timer  int32         // step that ends the park, or -1
	wakeAt time.Duration // when, on the process's monotonic clock
	hook   hook          // in the context that may end the park
	parked bool
	ended  bool
	stops  int16  // panics that were to unwind it
	cause  uint64 // the event that woke it: the cause of what it does next
}

// stopped is the panic that unwinds a task of a dead process.
type stopped struct{}

// Error is seen where nothing unwinds: in a goroutine of the client's own.
func (stopped) Error() string {
	return "sim: a client's Runtime or Transport is used after the client's end: " +
		"code that is to run beside goes by Runtime's Go, never in a goroutine of its own"
}

// resume runs the task until it parks or ends. It gets a coroutine at the first
// resume.
func (t *task) resume(cause uint64) {
	w := t.proc.w
	if t.ended {
		return
	}
	t.gen++
	t.parked = false
	if t.timer >= 0 {
		w.queue.cancel(t.timer)
		t.timer = -1
	}
	t.cause = cause
	if t.on == nil {
		t.on = w.coroutine(t)
	}
	if !t.enter() {
		t.finish()
	}
}

// enter switches to the task; it returns when that parks (true) or ends (false).
func (t *task) enter() bool {
	w := t.proc.w
	before := w.running
	w.running = t
	t.on.next()
	w.running = before
	return !t.ended
}

// guard calls f, code of the client. A panic in it becomes the run's error, and so
// does the end of its goroutine.
func (p *process) guard(f func()) {
	returned := false
	defer func() {
		switch reason := recover().(type) {
		case nil:
			if !returned {
				p.exited()
			}
		case stopped:
		default:
			p.w.fail(fmt.Errorf("sim: %s panicked: %v\n%s", p.name(), reason, debug.Stack()))
		}
	}()
	f()
	returned = true
}

// exited is called when code of the client ends its goroutine. A coroutine is
// left where it is, as its end would end the world's goroutine as well.
func (p *process) exited() {
	p.w.fail(fmt.Errorf("sim: %s ended its goroutine (runtime.Goexit), as t.FailNow and package require do: "+
		"client code returns errors instead\n%s", p.name(), debug.Stack()))
	if t := p.w.running; t != nil {
		t.ended, t.on.lost = true, true
		t.on.yield(struct{}{}) // nobody resumes it
	}
}

func (t *task) finish() {
	w := t.proc.w
	switch {
	case t.on.lost:
	case len(w.idle) < spare:
		w.idle = append(w.idle, t.on)
	default:
		t.on.stop()
	}
	t.body, t.on = nil, nil
	t.proc.taskEnded()
}

// park gives up the processor until something resumes the task.
func (t *task) park() {
	t.parked = true
	t.on.yield(struct{}{})
	t.proc.check()
}

// unwind ends a task whose process is dead, running its deferred calls.
func (t *task) unwind() {
	if t.on == nil {
		return
	}
	if t.enter() {
		t.proc.w.fail(fmt.Errorf("sim: %s does not end: it recovers from every panic", t.proc.name()))
		return
	}
	if !t.on.lost {
		t.on.stop()
	}
}

// maxStops is how often a task may recover from being unwound.
const maxStops = 1000

// refuse unwinds a task of a dead process further. One that recovers every
// time is left where it is.
func (t *task) refuse() {
	if t.stops++; t.stops > maxStops {
		t.on.yield(struct{}{}) // nobody resumes it
	}
	panic(stopped{})
}

// ready schedules a parked task to go on now. The park it ends is settled: a
// second ready or a timer for it is stale.
func (t *task) ready(cause uint64) {
	if !t.parked {
		return
	}
	t.parked = false
	t.cause = cause
	if t.timer >= 0 {
		t.proc.w.queue.cancel(t.timer)
		t.timer = -1
	}
	w := t.proc.w
	w.queue.push(w.now, step{kind: stepReady, on: t, gen: t.gen})
}
