package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// task is one coroutine of a process. Exactly one task runs at any instant; it
// gives up the processor only in park.
type task struct {
	proc  *process
	body  func()
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	gen    uint32        // number of the current park; ends with the first wake
	timer  int32         // step that ends the park, or -1
	wakeAt time.Duration // when, on the process's monotonic clock
	hook   hook          // in the context that may end the park
	parked bool
	ended  bool
	stops  int    // panics that were to unwind it
	cause  uint64 // the event that woke it: the cause of what it does next
}

// stopped is the panic that unwinds a task of a dead process.
type stopped struct{}

// resume runs the task until it parks or ends. The coroutine is made at the
// first resume.
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
	if t.next == nil {
		t.next, _ = iter.Pull(t.seq)
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
	_, alive := t.next()
	w.running = before
	return alive
}

// seq is the coroutine. A panic of the user's code becomes the run's error.
func (t *task) seq(yield func(struct{}) bool) {
	t.yield = yield
	makeRoom()
	t.proc.guard(t.body)
}

// makeRoom has the stack of a new coroutine grow at once to what lock clients
// need, while there is next to nothing on it to copy.
//
//go:noinline
func makeRoom() {
	var room [stackRoom]byte
	touch(&room)
}

// stackRoom is in bytes.
const stackRoom = 6 << 10

//go:noinline
func touch(room *[stackRoom]byte) { room[0] = 1 }

// guard calls f, code of the client. A panic in it becomes the run's error.
func (p *process) guard(f func()) {
	defer func() {
		switch reason := recover().(type) {
		case nil, stopped:
		default:
			p.w.fail(fmt.Errorf("sim: %s panicked: %v\n%s", p.name, reason, debug.Stack()))
		}
	}()
	f()
}

func (t *task) finish() {
	t.ended = true
	t.body, t.next, t.yield = nil, nil, nil
	t.proc.taskEnded()
}

// park gives up the processor until something resumes the task.
func (t *task) park() {
	t.parked = true
	t.yield(struct{}{})
	t.proc.check()
}

// unwind ends a task whose process is dead, running its deferred calls.
func (t *task) unwind() {
	if t.next != nil && !t.ended && t.enter() {
		t.proc.w.fail(fmt.Errorf("sim: %s does not end: it recovers from every panic", t.proc.name))
	}
	t.ended = true
}

// maxStops is how often a task may recover from being unwound.
const maxStops = 1000

// refuse unwinds a task of a dead process further. One that recovers every
// time is left where it is.
func (t *task) refuse() {
	if t.stops++; t.stops > maxStops {
		t.yield(struct{}{}) // nobody resumes it
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
	t.proc.w.queue.push(t.proc.w.now, step{kind: stepReady, task: t, gen: t.gen, proc: t.proc})
}
