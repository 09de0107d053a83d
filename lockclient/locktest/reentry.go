package locktest

import (
	"context"

	"minikv/lockclient"
)

func reentrancy(r *run) {
	a, b := r.process(), r.process()
	outer := r.take(a)
	inner, err := a.lock.TryLock(outer.Context())
	r.ok("take the lock again", err)
	r.that(inner.Owner() == outer.Owner(), "owner %q again as %q", outer.Owner(), inner.Owner())
	r.count(a, outer.Owner(), 2)
	r.ok("unlock once", inner.Unlock(r.ctx))
	r.count(a, outer.Owner(), 1)
	r.that(outer.Context().Err() == nil, "the outer context ended with the inner hold")
	r.refused(b, "unlocked once of twice")
	r.ok("unlock twice", outer.Unlock(r.ctx))
	r.ok("unlock", r.take(b).Unlock(r.ctx))

	err = a.lock.Do(r.ctx, func(ctx context.Context, outer *lockclient.Held) error {
		return a.lock.Do(ctx, func(_ context.Context, inner *lockclient.Held) error {
			r.count(a, inner.Owner(), 2)
			return nil
		})
	})
	r.ok("Do inside Do", err)
	r.count(a, outer.Owner(), 0)
}

func namedOwner(r *run) {
	a, b := r.process(), r.process()
	name := lockclient.As(a.clients[0].ID() + ":worker")
	first, second := r.take(a, name), r.take(a, name)
	r.count(a, first.Owner(), 2)
	r.refused(b, "held by a named owner")
	r.ok("unlock once", first.Unlock(r.ctx))
	r.refused(b, "still held by a named owner")
	r.ok("unlock twice", second.Unlock(r.ctx))
	r.ok("unlock", r.take(a).Unlock(r.ctx))
}

func unknownReentry(r *run) {
	a, b := r.process(), r.process()
	outer := r.take(a)
	a.loseReplies(1)
	_, err := a.lock.TryLock(outer.Context())
	r.is("take the lock again, the reply lost", err, lockclient.ErrUnknown)
	r.that(outer.Context().Err() == nil, "the outer hold ended with an unknown re-entry")
	inner, err := a.lock.TryLock(outer.Context())
	r.ok("take the lock again", err)
	r.ok("unlock once", inner.Unlock(r.ctx))
	r.refused(b, "while its outer hold lasts")
	r.ok("unlock twice", outer.Unlock(r.ctx))
	r.count(a, outer.Owner(), 0)
	r.ok("unlock", r.take(b).Unlock(r.ctx))
}

func unknownInnerUnlock(r *run) {
	a, b := r.process(), r.process()
	outer := r.take(a)
	inner, err := a.lock.TryLock(outer.Context())
	r.ok("take the lock again", err)
	a.loseReplies(1)
	r.is("unlock once, the reply lost", inner.Unlock(r.ctx), lockclient.ErrUnknown)
	r.sleep(short) // the request may be repeated, and must not count twice
	r.count(a, outer.Owner(), 1)
	r.ok("unlock twice", outer.Unlock(r.ctx))
	r.count(a, outer.Owner(), 0)
	r.ok("unlock", r.take(b).Unlock(r.ctx))
}

func noReentry(r *run) {
	a := r.process()
	outer := r.take(a)
	_, err := a.lock.Lock(outer.Context())
	r.is("wait for oneself", err, lockclient.ErrDeadlock)
	r.that(outer.Context().Err() == nil, "the holder lost its lock by asking again")
	r.ok("unlock", outer.Unlock(r.ctx))
}

// count requires a hold count on the server.
func (r *run) count(p *process, owner string, want int64) {
	n, err := p.clients[0].Mutex(r.key).HoldCount(r.ctx, owner) // the same for every hash
	r.ok("ask for the hold count", err)
	r.that(n == want, "hold count %d, want %d", n, want)
}
