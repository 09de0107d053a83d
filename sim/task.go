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
	name  string
	body  func()
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	gen    uint32        // number of the current park; ends with the first wake
	timer  int32         // step that ends the park, or -1
	wakeAt time.Duration // when, on the process's monotonic clock
	hook   hook          // in the context that may end the park
	parked bool
	ended  bool
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
		t.next, t.stop = iter.Pull(t.seq)
	}
	before := w.running
	w.running = t
	_, alive := t.next()
	w.running = before
	if !alive {
		t.finish()
	}
}

// seq is the coroutine. A panic of the user's code becomes the run's error.
func (t *task) seq(yield func(struct{}) bool) {
	t.yield = yield
	defer func() {
		switch p := recover().(type) {
		case nil, stopped:
		default:
			t.proc.w.fail(fmt.Errorf("sim: %s panicked: %v\n%s", t.name, p, debug.Stack()))
		}
	}()
	t.body()
}

func (t *task) finish() {
	t.ended = true
	t.body, t.next, t.stop, t.yield = nil, nil, nil, nil
	t.proc.taskEnded(t)
}

// park gives up the processor until something resumes the task.
func (t *task) park() {
	t.parked = true
	if !t.yield(struct{}{}) {
		panic(stopped{})
	}
	t.proc.check()
}

// unwind ends a task whose process is dead, running its deferred calls.
func (t *task) unwind() {
	if t.next != nil && !t.ended {
		t.stop()
	}
	t.ended = true
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
