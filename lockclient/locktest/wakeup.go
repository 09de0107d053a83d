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
	waited := r.rt.Mono() - unlocked
	r.that(waited < slack, "the waiter came %v after the unlock", waited)
	r.ok("unlock", next.Unlock(r.ctx))
}

func wakeInTurn(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a, lockclient.Lease(long))
	var waiters []*task
	for range 4 {
		waiters = append(waiters, r.start(func(*task) error {
			held, err := b.lock.Lock(r.ctx, lockclient.Lease(long))
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
	waited := r.rt.Mono() - unlocked
	r.that(waited < slack, "the last waiter was done %v after the unlock", waited)
}

func wakeByTTL(r *run) {
	a, b := r.process(), r.process()
	b.deafen()
	h := r.take(a, lockclient.Lease(2*short))
	begun := r.rt.Mono()
	waiter := r.waiter(b)
	r.sleep(short)
	r.ok("unlock", h.Unlock(r.ctx))
	next := r.await(waiter)
	waited := r.rt.Mono() - begun
	r.that(waited < 2*short+slack, "without a message the waiter came after %v", waited)
	r.ok("unlock", next.Unlock(r.ctx))
}
