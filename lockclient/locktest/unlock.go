package locktest

import (
	"errors"

	"minikv/lockclient"
)

// Whatever an unlock fails with, it is done before the lease does it.
func failedUnlock(r *run) {
	a, b := r.process(), r.process()
	fail := func(how string, begin, end func()) {
		h := r.take(a, lockclient.Lease(long))
		begin()
		err := h.Unlock(r.ctx)
		end()
		r.that(err != nil, "an unlock that was %s said nothing", how)
		h, err = b.lock.TryLock(r.ctx, lockclient.NodeTimeout(slack), lockclient.Wait(slack))
		r.ok("take a lock whose unlock was "+how, err)
		r.ok("unlock", h.Unlock(r.ctx))
	}
	fail("refused", func() { a.refuse(1) }, func() {})
	fail("not sent", func() { a.cut(true) }, func() { a.cut(false) })
}

// What is left of an unlock must not end a later hold of the same name.
func unlockAfterLease(r *run) {
	a, b := r.process(), r.process()
	name := lockclient.As(a.clients[0].ID() + ":worker")
	first := r.take(a, name, lockclient.Lease(r.brief))
	a.cut(true)
	r.that(first.Unlock(r.ctx) != nil, "an unlock that was not sent said nothing")
	r.ok("unlock", r.await(r.waiter(b)).Unlock(r.ctx)) // the lease has ended
	a.cut(false)
	second := r.take(a, name, lockclient.Lease(long))
	r.sleep(2 * repeats)
	r.refused(b, "taken again in a name that was unlocked before")
	r.ok("unlock", second.Unlock(r.ctx))

	first = r.take(a, name, lockclient.Lease(r.brief))
	r.lost(first)
	if r.kind.Composed {
		r.sleep(short) // its members end one after the other
	}
	second = r.take(a, name, lockclient.Lease(long))
	r.is("unlock a lost lock", first.Unlock(r.ctx), lockclient.ErrLost)
	r.refused(b, "taken again in a name whose lease had ended")
	r.ok("unlock", second.Unlock(r.ctx))
	r.ok("unlock", r.take(b).Unlock(r.ctx))
}

// A name that takes the lock again before its failed unlock was repeated has it
// once.
func unlockTakenOver(r *run) {
	a, b := r.process(), r.process()
	name := lockclient.As(a.clients[0].ID() + ":worker")
	first := r.take(a, name, lockclient.Lease(long))
	a.cut(true)
	err := first.Unlock(r.ctx)
	r.that(errors.Is(err, lockclient.ErrNotSent), "an unlock that was not sent: %v", err)
	a.cut(false)
	second := r.take(a, name, lockclient.Lease(long))
	r.sleep(2 * repeats)
	r.refused(b, "taken again in a name that was unlocked before")
	r.ok("unlock", second.Unlock(r.ctx))
	h, err := b.lock.TryLock(r.ctx, lockclient.Wait(slack))
	r.ok("take a lock that was unlocked twice", err)
	r.ok("unlock", h.Unlock(r.ctx))
}
