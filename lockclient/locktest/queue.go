package locktest

import (
	"fmt"
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
		r.queue(i + 1)
	}
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	for _, t := range running {
		r.ok("lock, unlock", r.end(t))
	}
	r.that(slices.IsSorted(came), "waiters came in the order %v", came)
	r.within(waiters*prompt, unlocked, "from the unlock to the last waiter's")
}

// queue waits until so many are in the queue of a fair lock.
func (r *run) queue(waiters int) {
	r.until(fmt.Sprintf("%d wait", waiters), func() (bool, error) {
		queue := "redisson_lock_queue:{" + r.key + "}"
		n, err := r.processes[0].faults[0].Transport.Do(r.ctx, queue, "LLEN", queue)
		return n.Int == int64(waiters), err
	})
}

func leaving(r *run) {
	a, b, c := r.process(), r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	ctx, cancel := r.rt.WithCancelCause(r.ctx)
	first := r.start(func(*task) error {
		_, err := b.lock.Lock(ctx)
		return err
	})
	r.queue(1)
	second := r.start(func(*task) error {
		_, err := b.lock.TryLock(r.ctx, lockclient.Wait(r.brief))
		return err
	})
	r.queue(2)
	third := r.waiter(c)
	r.queue(3)
	r.is("wait for a while", r.end(second), lockclient.ErrNotAcquired)
	cancel(nil)
	r.that(r.end(first) != nil, "a cancelled waiter took the lock")
	r.queue(1)
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(third)
	r.within(prompt, unlocked, "from the unlock to the waiter behind those that have left")
	r.ok("unlock", next.Unlock(r.ctx))
}

func deadWaiter(r *run) {
	a, b := r.process(), r.process(lockclient.WithFairWait(r.brief))
	c := r.process(lockclient.WithFairWait(r.brief))
	h := r.take(a, lockclient.Lease(r.brief))
	dead := r.waiter(b)
	r.queue(1)
	b.cut(true)
	b.close()
	r.that(r.end(dead) != nil, "a waiter of a closed client took the lock")
	begun := r.rt.Mono()
	third := r.waiter(c)
	r.queue(2)
	r.refused(c, "that is held, and has a waiter")
	_ = h.Unlock(r.ctx)
	next := r.await(third)
	r.within(2*r.brief+looks, begun, "the wait behind a dead waiter")
	r.ok("unlock", next.Unlock(r.ctx))
}

func keptPlaces(r *run) {
	a, b := r.process(), r.process(lockclient.WithFairWait(short/3))
	c := r.process(lockclient.WithFairWait(long))
	h := r.take(a, lockclient.Lease(r.brief))
	first := r.waiter(b)
	r.queue(1)
	second := r.waiter(c)
	r.queue(2)
	r.ok("extend", h.Extend(r.ctx, long))
	r.sleep(r.brief + short) // past the deadline that the first had when it came
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(first)
	r.ok("unlock", next.Unlock(r.ctx))
	last := r.await(second)
	r.ok("unlock", last.Unlock(r.ctx))
}

func lostPlace(r *run) {
	a, b := r.process(), r.process(lockclient.WithFairWait(short/3))
	h := r.take(a, lockclient.Lease(long))
	waiter := r.waiter(b)
	r.queue(1)
	for _, key := range []string{"redisson_lock_queue", "redisson_lock_timeout"} {
		key += ":{" + r.key + "}"
		_, err := r.processes[0].faults[0].Transport.Do(r.ctx, key, "DEL", key)
		r.ok("delete the queue", err)
	}
	r.queue(1) // again
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(waiter)
	r.within(short, unlocked, "from the unlock to a waiter that has lost its place")
	r.ok("unlock", next.Unlock(r.ctx))
}
