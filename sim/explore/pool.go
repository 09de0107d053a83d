package explore

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"

	"minikv/luaengine"
	"minikv/sim"
)

// Engines are script environments that several searches use, one search after the other:
// each takes some milliseconds to make, with all scripts. The zero value is ready.
type Engines struct {
	mu   sync.Mutex
	free []*luaengine.Engine
}

// take returns an environment that nobody else uses. A nil e has none to spare.
func (e *Engines) take() *luaengine.Engine {
	if e == nil {
		return sim.NewLua()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.free)
	if n == 0 {
		return sim.NewLua()
	}
	lua := e.free[n-1]
	e.free = e.free[:n-1]
	return lua
}

// give takes an environment back.
func (e *Engines) give(lua *luaengine.Engine) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = append(e.free, lua)
}

// Known keeps results by name, for several goroutines that look for them at the same
// time. The zero value is ready.
type Known[R any] struct {
	mu   sync.Mutex
	list map[string]*sought[R]
}

// sought is something that was found, or is being looked for.
type sought[R any] struct {
	once  sync.Once
	found R
	err   error
}

// Find returns the result of that name if it is known, else what find returns. If another
// goroutine is looking for the same name, Find waits for its result.
func (k *Known[R]) Find(name string, find func() (R, error)) (R, error) {
	k.mu.Lock()
	if k.list == nil {
		k.list = map[string]*sought[R]{}
	}
	s := k.list[name]
	if s == nil {
		s = &sought[R]{}
		k.list[name] = s
	}
	k.mu.Unlock()
	s.once.Do(func() { s.found, s.err = find() })
	return s.found, s.err
}

// InOrder calls run for 0 to n-1 on several workers (0: one for each core), each of which
// takes one number at a time. It calls done for each number, in that order and in the
// caller's goroutine. The first error ends it, or the end of ctx.
func InOrder(
	ctx context.Context, n, workers int, run func(ctx context.Context, i int) error, done func(i int) error,
) (err error) {
	worker := func() (func(context.Context, int) error, func()) { return run, func() {} }
	ended := each(ctx, &counter{most: 1}, n, workers, worker, func(i int, failed error) bool {
		if err = failed; err == nil {
			err = done(i)
		}
		return err == nil
	})
	return cmp.Or(err, ended)
}

// counter hands out the runs of a search, in their order.
type counter struct {
	mu   sync.Mutex
	next int
	most int // at a time
}

// most is how many runs of a search a worker takes at a time, later on: the first
// ones are taken alone, as many a search ends with them.
const most = 8

// take returns the next runs, at most up to n; first is n when there are none.
func (c *counter) take(n int) (first, end int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = c.next
	c.next = min(n, first+min(c.most, 1+first/c.most))
	return first, c.next
}

// each calls a worker's function for 0 to n-1 and hands the results to collect
// in that order, whichever worker had them. It ends when collect returns false,
// after the last, or when ctx ends; then the workers' second function is called.
// A run that ended its goroutine is an error.
func each[R any](
	ctx context.Context, next *counter, n, workers int, worker func() (run func(context.Context, int) R, end func()),
	collect func(int, R) bool,
) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type done struct {
		first   int
		results []R
	}
	var running sync.WaitGroup
	results := make(chan done, workers)
	for range workers {
		running.Go(func() {
			run, end := worker()
			defer end()
			for first, end := next.take(n); first < end && ctx.Err() == nil; first, end = next.take(n) {
				d := done{first: first}
				for i := first; i < end && ctx.Err() == nil; i++ {
					d.results = append(d.results, run(ctx, i))
				}
				results <- d
			}
		})
	}
	go func() { running.Wait(); close(results) }()
	waiting, at, more := map[int][]R{}, 0, true
	for d := range results {
		waiting[d.first] = d.results
		for list, ok := waiting[at]; ok && more && ctx.Err() == nil; list, ok = waiting[at] {
			delete(waiting, at)
			for i := 0; i < len(list) && more; i++ {
				more = collect(at+i, list[i])
			}
			at += len(list)
		}
		if !more {
			stop() // the workers end; what they still bring is not looked at
		}
	}
	switch {
	case !more:
		return nil
	case ctx.Err() == nil && at < n:
		return ErrExited
	}
	return ctx.Err()
}

// ErrExited says that a run did not come to its end, so there is no verdict.
var ErrExited = errors.New("client code ended the goroutine of the run (runtime.Goexit), as t.FailNow and " +
	"package require do: it has to return errors instead")
