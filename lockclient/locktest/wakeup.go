package locktest

import (
	"time"

	"minikv/lockclient"
)

func wakeByMessage(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	waiter := r.waiter(b)
	r.sleep(short) // it has subscribed by then
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(waiter)
	r.within(prompt, unlocked, "from the unlock to the waiter")
	r.ok("unlock", next.Unlock(r.ctx))
}

func wakeInTurn(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	var waiters []*task
	for range 4 {
		waiters = append(waiters, r.start(func(*task) error {
			held, err := b.lock.Lock(r.ctx, lockclient.Lease(long), lockclient.NodeTimeout(slack))
			if err != nil {
				return err
			}
			r.sleep(time.Millisecond)
			return held.Unlock(r.ctx)
		}))
	}
	r.sleep(short)
	unlocked := r.rt.Mono()
	r.ok("unlock", h.Unlock(r.ctx))
	for _, w := range waiters {
		r.ok("wait, lock, unlock", r.end(w))
	}
	r.within(time.Duration(len(waiters))*(prompt+looks), unlocked, "from the unlock to the last waiter's")
}

func wakeByTTL(r *run) {
	a, b := r.process(), r.process()
	b.deafen()
	h := r.take(a, lockclient.Lease(r.brief))
	begun := r.rt.Mono()
	waiter := r.waiter(b)
	r.sleep(short)
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(waiter)
	r.within(r.brief+looks, begun, "a lease and the wait for its end without messages")
	r.ok("unlock", next.Unlock(r.ctx))
}
