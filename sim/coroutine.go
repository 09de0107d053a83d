package sim

import (
	"iter"
	"runtime"
	"strings"
)

// coroutine runs the tasks that it is given, one after the other: a new one costs
// as much as some hundred events, and most tasks are short.
type coroutine struct {
	task  *task // nil: it waits for one
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	lost  bool   // it has ended its goroutine: nothing may switch to it
	name  string // of its goroutine, where strays are looked for
}

// coroutine takes one that waits for a task, or makes one.
func (w *World) coroutine(t *task) *coroutine {
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		c.task = t
		return c
	}
	c := &coroutine{task: t}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) { // until the world stops
		c.yield = yield
		if w.cfg.Stray != nil {
			c.name = goroutine()
		}
		makeRoom()
		for {
			t := c.task
			t.proc.guard(t.body)
			t.ended, c.task = true, nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
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

// goroutine is the name of the one that runs, such as "goroutine 7".
func goroutine() string {
	var buf [64]byte
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), " [")
	return name
}
