package sim

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

type testKey struct{}

var errWhy = errors.New("why")

// inTask runs f as client code of a world of its own, and returns the world's error.
func inTask(t *testing.T, f func(p *process, rt clientRuntime, root context.Context)) error {
	t.Helper()
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1})
	c := oneClient(w, &Workload{})
	c.p.spawn(func() { f(c.p, clientRuntime{c.p}, &simCtx{p: c.p, parent: context.Background()}) })
	err := w.Run(time.Hour)
	w.Stop()
	return err
}

func (p *process) pass(d time.Duration) { p.running().sleep(nil, d) }

func TestContextCauses(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		parent, cancelParent := rt.WithCancelCause(root)
		child, cancelChild := rt.WithCancelCause(parent)
		grandchild, cancelGrandchild := rt.WithDeadline(rt.WithValue(child, testKey{}, 1), rt.Mono()+time.Minute)
		std, cancelStd := context.WithCancel(grandchild)
		defer cancelStd()
		late, _ := rt.WithCancelCause(grandchild)

		require.Equal(t, 1, std.Value(testKey{}))
		require.NoError(t, grandchild.Err())
		require.NoError(t, context.Cause(grandchild))
		cancelChild(errWhy)
		cancelChild(errors.New("too late"))
		for _, c := range []context.Context{child, grandchild, std, late} {
			require.Equal(t, context.Canceled, c.Err())
			require.Equal(t, errWhy, context.Cause(c))
			require.Equal(t, context.Canceled, receive(c))
		}
		require.NoError(t, parent.Err())
		cancelGrandchild()
		require.Equal(t, errWhy, context.Cause(grandchild))

		// One that was cancelled without a cause keeps its own when its parent ends with one.
		own, cancelOwn := rt.WithDeadline(parent, rt.Mono()+time.Minute)
		cancelOwn()
		cancelParent(errWhy)
		require.Equal(t, context.Canceled, context.Cause(own))
		require.Equal(t, errWhy, context.Cause(parent))
	}))
}

// receive waits on Done, which must be closed, and returns the error.
func receive(c context.Context) error {
	select {
	case <-c.Done():
		return c.Err()
	default:
		return nil
	}
}

func TestContextDeadlines(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		// Nobody waits on it: it ends all the same, and for the reason that came first.
		parent, cancelParent := rt.WithCancelCause(root)
		child, _ := rt.WithDeadline(parent, rt.Mono()+time.Second)
		p.pass(2 * time.Second)
		cancelParent(errWhy)
		p.pass(time.Second)
		require.Equal(t, context.DeadlineExceeded, child.Err(), "its deadline came before its parent's end")
		require.Equal(t, context.DeadlineExceeded, context.Cause(child))

		// Cause alone, without Err before it.
		alone, _ := rt.WithDeadline(root, rt.Mono()+time.Second)
		p.pass(time.Second)
		require.Equal(t, context.DeadlineExceeded, context.Cause(alone))

		// The parent's deadline is sooner: both end then.
		sooner, _ := rt.WithDeadline(root, rt.Mono()+time.Second)
		later, _ := rt.WithDeadline(sooner, rt.Mono()+time.Hour)
		left, ok := rt.Remaining(later)
		require.True(t, ok)
		require.Equal(t, time.Second, left)
		date, ok := later.Deadline()
		require.True(t, ok)
		require.Equal(t, p.clock.Wall().Add(time.Second), date)
		std, cancel := context.WithCancel(later)
		defer cancel()
		p.pass(time.Second - 1)
		require.NoError(t, std.Err())
		p.pass(1)
		require.Equal(t, context.DeadlineExceeded, std.Err(), "told at once, although nobody asked later or sooner")
		require.Equal(t, context.DeadlineExceeded, later.Err())

		// WithoutCancel keeps the values and loses the end.
		free := context.WithoutCancel(rt.WithValue(later, testKey{}, 7))
		require.NoError(t, free.Err())
		below, _ := rt.WithCancelCause(free)
		require.NoError(t, below.Err())
		require.Equal(t, 7, below.Value(testKey{}))
		_, ok = rt.Remaining(below)
		require.False(t, ok)
	}))
}

// Hooks run in the order of their registration, and a stopped one does not run.
func TestContextAfterFunc(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		c, cancel := rt.WithCancelCause(root)
		var order []int
		add := func(i int) func() bool {
			return c.(*simCtx).AfterFunc(func() { order = append(order, i) })
		}
		stop1, stop2, _ := add(1), add(2), add(3)
		require.True(t, stop2())
		require.False(t, stop2())
		cancel(nil)
		require.False(t, stop1())
		add(4)
		require.Equal(t, []int{1, 3, 4}, order)
	}))
}

// A wait ends when its context does, with a parent's deadline, and at once if it has ended.
func TestContextEndsWaits(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		parent, _ := rt.WithDeadline(root, rt.Mono()+time.Second)
		c, _ := rt.WithCancelCause(rt.WithValue(parent, testKey{}, 1))
		gate := rt.NewGate()
		for range 2 {
			opened, err := gate.Wait(c, time.Minute)
			require.False(t, opened)
			require.Equal(t, context.DeadlineExceeded, err)
			require.Equal(t, time.Second, rt.Mono())
		}
		p.running().sleep(c.(*simCtx), time.Minute)
		require.Equal(t, time.Second, rt.Mono())
	}))
}

// Nothing is left of 100,000 requests in the context that they came from.
func TestContextsDoNotGrow(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
		outer, _ := rt.WithCancelCause(root)
		gate := rt.NewGate()
		for i := range 100_000 {
			c, cancel := rt.WithDeadline(rt.WithValue(outer, testKey{}, i), rt.Mono()+time.Second)
			if i%3 == 0 {
				_ = c.Done()
			}
			if i%1000 == 0 {
				_, _ = gate.Wait(c, time.Millisecond)
			}
			cancel()
		}
		require.Nil(t, outer.(*simCtx).first)
		require.Nil(t, root.(*simCtx).first)
		require.Empty(t, p.timers)
		require.Less(t, len(p.w.queue.slab), 10_000)
	}))
}

func TestForeignContextsAreRefused(t *testing.T) {
	other := &process{w: &World{names: []string{"c9"}}}
	type derivation func(root context.Context) (context.Context, func())
	for want, derive := range map[string]derivation{
		"that does not come from this simulation: derive": func(context.Context) (context.Context, func()) {
			return context.WithCancel(context.Background())
		},
		"of real time between simulated ones: derive": func(root context.Context) (context.Context, func()) {
			return context.WithTimeout(root, time.Hour)
		},
		"of c9": func(context.Context) (context.Context, func()) {
			return &simCtx{p: other, parent: context.Background()}, func() {}
		},
	} {
		err := inTask(t, func(_ *process, rt clientRuntime, root context.Context) {
			ctx, cancel := derive(root)
			defer cancel()
			rt.WithCancelCause(rt.WithValue(ctx, testKey{}, 1))
		})
		require.ErrorContains(t, err, "sim: c1 panicked: sim: ")
		require.ErrorContains(t, err, "a context "+want)
	}
}

// oneClient makes the only client of a world, with a process.
func oneClient(w *World, load *Workload) *client {
	w.addClients(1, 1, load, nil)
	w.clients[0].process()
	return w.clients[0]
}

// What is to happen at the end of all time happens in no run, and keeps none from its end.
func TestForEver(t *testing.T) {
	for _, never := range []time.Duration{farAway, math.MaxInt64 / 2, math.MaxInt64} {
		woke := ""
		require.NoError(t, inTask(t, func(p *process, rt clientRuntime, root context.Context) {
			p.pass(time.Minute)
			rt.NewTimer(func() { woke += "timer " }).Set(never)
			ctx, _ := rt.WithDeadline(root, never)
			rt.Go(func() {
				_, _ = rt.NewGate().Wait(ctx, -1)
				woke += "context "
			})
			rt.Go(func() {
				_, _ = rt.NewGate().Wait(root, never)
				woke += "gate "
			})
			rt.Go(func() {
				p.running().sleep(nil, never)
				woke += "sleep "
			})
			p.pass(time.Minute)
			woke += "work "
		}))
		require.Equal(t, "work ", woke, never)
	}
}
