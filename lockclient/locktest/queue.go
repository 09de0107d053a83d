package locktest

import (
	"slices"
	"sync"

	"minikv/lockclient"
)

func order(r *run) {
	const waiters = 6
	processes := []*process{r.process(), r.process(), r.process()}
	h := r.take(processes[0], lockclient.Lease(long))
	var mu sync.Mutex
	var came []int
	var running []*task
	for i := range waiters {
		running = append(running, r.start(func(*task) error {
			held, err := processes[i%len(processes)].lock.Lock(r.ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			came = append(came, i)
			mu.Unlock()
			return held.Unlock(r.ctx)
		}))
		r.sleep(short / 3) // it is in the queue by then
	}
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	for _, t := range running {
		r.ok("lock, unlock", r.end(t))
	}
	r.that(slices.IsSorted(came), "waiters came in the order %v", came)
	waited := r.rt.Mono() - unlocked
	r.that(waited < slack, "the last waiter was done %v after the unlock", waited)
}

func leaving(r *run) {
	a, b, c := r.process(), r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	ctx, cancel := r.rt.WithCancelCause(r.ctx)
	first := r.start(func(*task) error {
		_, err := b.lock.Lock(ctx)
		return err
	})
	r.sleep(short / 2)
	second := r.start(func(*task) error {
		_, err := b.lock.TryLock(r.ctx, lockclient.Wait(short))
		return err
	})
	r.sleep(short / 2)
	third := r.waiter(c)
	r.is("wait for a while", r.end(second), lockclient.ErrNotAcquired)
	cancel(nil)
	r.that(r.end(first) != nil, "a cancelled waiter took the lock")
	r.sleep(short) // both have left by then
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(third)
	waited := r.rt.Mono() - unlocked
	r.that(waited < slack, "behind waiters that have left the lock came after %v", waited)
	r.ok("unlock", next.Unlock(r.ctx))
}

func deadWaiter(r *run) {
	a, b := r.process(), r.process(lockclient.WithFairWait(2*short))
	c := r.process(lockclient.WithFairWait(2 * short))
	h := r.take(a, lockclient.Lease(2*short))
	dead := r.waiter(b)
	r.sleep(short / 2)
	b.cut(true)
	b.close()
	r.that(r.end(dead) != nil, "a waiter of a closed client took the lock")
	begun := r.rt.Mono()
	third := r.waiter(c)
	r.sleep(short / 2)
	r.refused(c, "that is held, and has a waiter")
	_ = h.Unlock(r.ctx)
	next := r.await(third)
	waited := r.rt.Mono() - begun
	r.that(waited < 4*short+slack, "behind a dead waiter the lock came after %v", waited)
	r.ok("unlock", next.Unlock(r.ctx))
}

func lostPlace(r *run) {
	a, b := r.process(), r.process(lockclient.WithFairWait(short/3))
	h := r.take(a, lockclient.Lease(short))
	waiter := r.waiter(b)
	r.sleep(short / 2)
	r.ok("extend", h.Extend(r.ctx, 4*short)) // past the waiter's deadline
	r.sleep(3 * short)
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(waiter)
	waited := r.rt.Mono() - unlocked
	r.that(waited < slack, "a waiter without a place came %v after the unlock", waited)
	r.ok("unlock", next.Unlock(r.ctx))
}
