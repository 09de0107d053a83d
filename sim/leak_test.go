package sim

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/trace"
)

// requireNoGoroutines demands that as few goroutines are left as there were.
func requireNoGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func TestRunsLeaveNoGoroutines(t *testing.T) {
	lua, before := NewLua(), runtime.NumGoroutine()
	library := Library()
	for i := range 200 {
		s := library[i%len(library)]
		ctx, cancel := context.WithCancel(context.Background())
		opt := Options{Seed: uint64(i), Lua: lua, For: 5 * time.Second}
		if i%2 == 1 { // stopped by the way
			opt.Observe = func(e *trace.Event, _ []string) {
				if e.N == 60 {
					cancel()
				}
			}
		}
		_, _ = s.Run(ctx, opt)
		cancel()
	}
	requireNoGoroutines(t, before)
}

// A panic of client code ends the run with an error that names the client,
// wherever it happens, and leaves nothing behind.
func TestPanicsOfClients(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, f := range map[string]func(p *process, rt clientRuntime, root context.Context){
		"in a task":        func(*process, clientRuntime, context.Context) { panic("oh") },
		"in a second task": func(_ *process, rt clientRuntime, _ context.Context) { rt.Go(func() { panic("oh") }) },
		"in a timer": func(p *process, _ clientRuntime, _ context.Context) {
			p.after(time.Second, func() { panic("oh") })
			p.pass(time.Minute)
		},
		"while it is unwound": func(p *process, _ clientRuntime, _ context.Context) {
			p.after(time.Second, p.crash)
			defer func() { panic("oh") }()
			p.pass(time.Minute)
		},
		"in a callback of a subscription": func(p *process, _ clientRuntime, root context.Context) {
			tr := &transport{p: p, group: p.w.groups[0]}
			_, err := tr.Subscribe(root, "ch", false, func(string) { panic("oh") }, func() {})
			if err == nil {
				_, _ = tr.Do(root, "", "PUBLISH", "ch", "x")
			}
			p.pass(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1})
			c := oneClient(w, &Workload{})
			c.p.spawn(func() { f(c.p, clientRuntime{c.p}, &simCtx{p: c.p, parent: context.Background()}) })
			c.p.spawn(func() { c.p.pass(time.Hour) })
			_ = w.Run(time.Hour)
			w.Stop()
			require.ErrorContains(t, w.err, "sim: c1 panicked: oh")
		})
	}
	requireNoGoroutines(t, before)
}

// Code that recovers from every panic can neither hang the end of a run nor
// send anything once its process is dead.
func TestStubbornTask(t *testing.T) {
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1})
	c := oneClient(w, &Workload{})
	c.p.spawn(func() {
		for {
			func() {
				defer func() { _ = recover() }()
				clientRuntime{c.p}.Mono()
				c.p.pass(time.Second)
			}()
		}
	})
	require.NoError(t, w.Run(10*time.Second))
	before := w.Events()
	w.Stop()
	require.ErrorContains(t, w.err, "sim: c1 does not end: it recovers from every panic")
	require.Equal(t, before, w.Events())
}

// Deferred code of a dead process runs, and has no effect.
func TestDeadProcessIsInert(t *testing.T) {
	w := NewWorld(Config{Plan: cluster.Plan{Masters: 1}, Locks: 1})
	c := oneClient(w, &Workload{Kind: "mutex", TTL: time.Second})
	ran := false
	c.p.spawn(func() {
		ctx := &simCtx{p: c.p, parent: context.Background()}
		h, err := c.clients()[0].Mutex("lock:1").Lock(ctx)
		require.NoError(t, err)
		defer func() {
			ran = true
			_ = h.Unlock(ctx)
		}()
		c.p.pass(time.Hour)
	})
	w.at(100*time.Millisecond, c.p.crash)
	require.NoError(t, w.Run(time.Minute))
	hash := w.Hash()
	w.Stop()
	require.True(t, ran)
	require.Equal(t, hash, w.Hash())
}

func TestEndedTasksAreFreed(t *testing.T) {
	require.NoError(t, inTask(t, func(p *process, rt clientRuntime, _ context.Context) {
		for range 10_000 {
			rt.Go(func() {})
			p.pass(time.Millisecond)
		}
		require.Less(t, len(p.tasks), 20)
	}))
}

// 10,000 clients that contend for 100 locks stay far below 1 GiB.
func TestMemoryOfManyClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, err := Find("contention")
	require.NoError(t, err)
	peak, ticks := uint64(0), 0
	_, err = s.Run(context.Background(), Options{Seed: 1, Clients: 10_000, For: 3 * time.Second,
		Tick: func(time.Duration, uint64, int) {
			var m runtime.MemStats
			if ticks++; ticks%10 == 0 {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.Sys)
			}
		}})
	require.NoError(t, err)
	require.NotZero(t, peak)
	require.Less(t, peak, uint64(1<<30))
}
