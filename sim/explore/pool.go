package explore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"minikv/luaengine"
	"minikv/sim"
)

// Engines are script environments that searches share, one search after the
// other: each takes some milliseconds to make, with all scripts. The zero value
// is ready.
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

// block is how many runs a worker takes at a time.
const block = 8

// each calls a worker's function for 0 to n-1 and hands the results to collect
// in that order, whichever worker had them. It ends when collect returns false,
// after the last, or when ctx ends; then the workers' second function is called.
func each[R any](
	ctx context.Context, n, workers int, worker func() (run func(context.Context, int) R, end func()),
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
	var next atomic.Int64
	var running sync.WaitGroup
	results := make(chan done, workers)
	for range workers {
		running.Go(func() {
			run, end := worker()
			defer end()
			for first := int(next.Add(block)) - block; first < n && ctx.Err() == nil; first = int(next.Add(block)) - block {
				d := done{first: first}
				for i := first; i < min(first+block, n); i++ {
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
			at += block
		}
		if !more {
			stop() // the workers end; what they still bring is not looked at
		}
	}
	if !more {
		return nil
	}
	return ctx.Err()
}
