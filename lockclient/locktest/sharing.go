package locktest

import (
	"context"
	"errors"

	"minikv/lockclient"
)

// reads takes the read side, which nobody must be keeping.
func (r *run) reads(p *process, ctx context.Context, opts ...lockclient.LockOption) *lockclient.Held {
	h, err := p.clients[0].RW(r.key).R().TryLock(ctx, opts...)
	r.ok("take the read side", err)
	return h
}

// writes takes the write side, which nobody must be keeping.
func (r *run) writes(p *process, ctx context.Context, opts ...lockclient.LockOption) *lockclient.Held {
	h, err := p.clients[0].RW(r.key).W().TryLock(ctx, opts...)
	r.ok("take the write side", err)
	return h
}

// notWritten requires the write side to be out of reach.
func (r *run) notWritten(p *process, while string) {
	_, err := p.clients[0].RW(r.key).W().TryLock(r.ctx)
	r.is("take the write side while "+while, err, lockclient.ErrNotAcquired)
}

func sharing(r *run) {
	a, b := r.process(), r.process()
	first, second, third := r.reads(a, r.ctx), r.reads(a, r.ctx), r.reads(b, r.ctx)
	for _, h := range []*lockclient.Held{second, first, third} {
		r.notWritten(a, "others read")
		r.notWritten(b, "others read")
		r.ok("unlock", h.Unlock(r.ctx))
	}
	h := r.writes(a, r.ctx)
	_, err := b.clients[0].RW(r.key).R().TryLock(r.ctx)
	r.is("take the read side while somebody writes", err, lockclient.ErrNotAcquired)
	r.ok("unlock", h.Unlock(r.ctx))
	r.ok("unlock", r.writes(b, r.ctx).Unlock(r.ctx))
}

func downgrade(r *run) {
	a, b := r.process(), r.process()
	writer := r.writes(a, r.ctx, lockclient.Lease(long))
	reader := r.reads(a, writer.In(r.ctx), lockclient.Lease(long))
	r.that(writer.Owner() == reader.Owner()+":write", "owners %q and %q", writer.Owner(), reader.Owner())
	waiter := r.start(func(t *task) (err error) {
		t.held, err = b.clients[0].RW(r.key).R().Lock(r.ctx)
		return err
	})
	r.sleep(short) // it has subscribed by then
	unlocked := r.rt.Mono()
	r.ok("unlock the write side", writer.Unlock(r.ctx))
	other := r.await(waiter)
	r.within(prompt, unlocked, "from the end of writing to the waiting reader")
	r.notWritten(b, "two read")
	r.ok("unlock", other.Unlock(r.ctx))
	r.notWritten(b, "the former writer reads")
	r.that(reader.Context().Err() == nil, "the read side ended with the write side")
	r.ok("unlock", reader.Unlock(r.ctx))
	r.ok("unlock", r.writes(b, r.ctx).Unlock(r.ctx))
}

func upgrade(r *run) {
	a := r.process()
	name := lockclient.As(a.clients[0].ID() + ":named")
	reader := r.reads(a, r.ctx)
	_, err := a.clients[0].RW(r.key).W().Lock(reader.Context())
	r.is("take the write side as a reader", err, lockclient.ErrDeadlock)
	named := r.reads(a, r.ctx, name)
	_, err = a.clients[0].RW(r.key).W().Lock(r.ctx, name)
	r.is("take the write side as a named reader", err, lockclient.ErrDeadlock)
	r.ok("unlock", errors.Join(named.Unlock(r.ctx), reader.Unlock(r.ctx)))
	writer := r.writes(a, r.ctx)
	reader = r.reads(a, writer.Context())
	again := r.writes(a, reader.Context())
	r.ok("unlock", errors.Join(again.Unlock(r.ctx), reader.Unlock(r.ctx), writer.Unlock(r.ctx)))
	r.ok("unlock", r.writes(a, r.ctx, name).Unlock(r.ctx))
}

func namedSides(r *run) {
	a := r.process()
	name := a.clients[0].ID() + ":named"
	read, write := a.clients[0].RW(r.key).R(), a.clients[0].RW(r.key).W()
	outer := r.writes(a, r.ctx, lockclient.As(name))
	r.that(outer.Owner() == name+":write", "%q writes as %q", name, outer.Owner())
	again := r.writes(a, r.ctx, lockclient.As(outer.Owner()))
	reader := r.reads(a, r.ctx, lockclient.As(outer.Owner()))
	r.that(reader.Owner() == name, "%q reads as %q", outer.Owner(), reader.Owner())
	for _, owner := range []string{name, outer.Owner()} {
		reads, err := read.HoldCount(r.ctx, owner)
		r.ok("ask for the hold count of the read side", err)
		writes, err := write.HoldCount(r.ctx, owner)
		r.ok("ask for the hold count of the write side", err)
		r.that(reads == 1 && writes == 2, "%q reads %d times and writes %d times, want 1 and 2", owner, reads, writes)
	}
	r.ok("unlock", errors.Join(reader.Unlock(r.ctx), again.Unlock(r.ctx), outer.Unlock(r.ctx)))
	held, err := write.HeldBy(r.ctx, name)
	r.that(err == nil && !held, "an unlocked write side is held, error %v", err)
}

func readInsideWrite(r *run) {
	a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process()
	writer := r.writes(a, r.ctx)
	reader := r.reads(a, writer.Context())
	r.ok("unlock the read side", reader.Unlock(r.ctx))
	r.sleep(3 * r.brief / 2)
	r.that(writer.Context().Err() == nil, "the write side was lost with the read side")
	r.notWritten(b, "somebody writes")
	r.ok("unlock", writer.Unlock(r.ctx))
}

func longReadInsideWrite(r *run) {
	a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process()
	writer := r.writes(a, r.ctx)
	reader := r.reads(a, writer.In(r.ctx), lockclient.Lease(long))
	inner := r.reads(a, reader.Context(), lockclient.Lease(short))
	r.ok("unlock", inner.Unlock(r.ctx))
	r.sleep(r.brief / 2) // the write side is renewed
	a.cut(true)
	r.sleep(r.brief + short)
	r.lost(writer)
	r.that(reader.Context().Err() == nil && reader.Until() > r.rt.Mono(), "the read side ended with the write side")
	r.notWritten(b, "the former writer reads")
	a.cut(false)
	r.is("unlock", writer.Unlock(r.ctx), lockclient.ErrLost)
	r.ok("unlock", reader.Unlock(r.ctx))
	r.ok("unlock", r.writes(b, r.ctx).Unlock(r.ctx))
}

func crashedReader(r *run) {
	a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process(lockclient.WithWatchdog(r.brief))
	c := r.process()
	crashed, living := r.reads(a, r.ctx), r.reads(b, r.ctx)
	a.cut(true)
	r.sleep(r.brief + short) // more than the lease of the one that crashed
	r.lost(crashed)
	r.notWritten(c, "the other reads")
	r.ok("unlock", living.Unlock(r.ctx))
	r.ok("unlock", r.writes(c, r.ctx).Unlock(r.ctx))
}

func longestReader(r *run) {
	a, b, c := r.process(), r.process(lockclient.WithWatchdog(r.brief)), r.process()
	first := r.reads(a, r.ctx, lockclient.Lease(long))
	fixed, renewed := r.reads(b, r.ctx, lockclient.Lease(r.brief)), r.reads(b, r.ctx)
	inner := r.reads(a, first.Context(), lockclient.Lease(short))
	r.ok("unlock", inner.Unlock(r.ctx))
	r.sleep(r.brief + short)
	r.lost(fixed)
	r.ok("extend to a shorter lease", renewed.Extend(r.ctx, short))
	r.ok("unlock", renewed.Unlock(r.ctx))
	r.that(first.Context().Err() == nil, "a long lease was reported lost")
	r.notWritten(c, "one reads with a long lease")
	r.ok("extend to a shorter lease", first.Extend(r.ctx, r.brief))
	r.sleep(r.brief + short)
	r.ok("unlock", r.writes(c, r.ctx).Unlock(r.ctx))
}
