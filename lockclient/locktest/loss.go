package locktest

import (
	"context"
	"errors"
	"time"

	"minikv/lockclient"
)

func renewal(r *run) {
	a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process()
	h := r.take(a)
	r.sleep(3 * r.brief / 2) // the unlock is between two renewals
	r.that(h.Context().Err() == nil, "a renewed lock was reported lost")
	r.that(h.Until() > r.rt.Mono(), "the validity must grow with each renewal")
	r.refused(b, "that the watchdog renews")
	r.ok("unlock", h.Unlock(r.ctx))
	scripts := a.faults[0].sent()
	r.sleep(r.brief / 2)
	r.that(a.faults[0].sent() == scripts, "an unlocked lock is still renewed")
}

func forcedLoss(r *run) {
	a, b, c := r.process(lockclient.WithWatchdog(r.brief)), r.process(), r.process()
	h := r.take(a)
	freed, err := c.lock.ForceUnlock(r.ctx)
	r.ok("force the unlock", err)
	r.that(freed, "a forced unlock freed nothing")
	next := r.take(b)
	r.lost(h)
	r.is("unlock", h.Unlock(r.ctx), lockclient.ErrLost)
	r.refused(a, "taken by another after the forced unlock")
	r.ok("unlock", next.Unlock(r.ctx))

	h = r.take(a, lockclient.Lease(long)) // which nobody renews
	_, err = c.lock.ForceUnlock(r.ctx)
	r.ok("force the unlock", err)
	next = r.take(b)
	r.is("extend a lock that another has", h.Extend(r.ctx, long), lockclient.ErrLost)
	r.lost(h)
	r.refused(a, "taken by another after the forced unlock")
	r.ok("unlock", next.Unlock(r.ctx))
}

func silentLoss(r *run) {
	a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process()
	h := r.take(a)
	a.cut(true)
	next := r.await(r.waiter(b))
	r.that(h.Until() < r.rt.Mono(), "the validity must end before others can hold")
	r.lost(h)
	a.cut(false)
	r.sleep(short)
	r.that(h.Context().Err() != nil && h.Until() < r.rt.Mono(), "a lost lock must not come back")
	err := a.lock.Do(h.Context(), func(context.Context, *lockclient.Held) error { return nil })
	r.is("take a lost lock again", err, lockclient.ErrLost)
	r.is("unlock", h.Unlock(r.ctx), lockclient.ErrLost)
	r.ok("unlock", next.Unlock(r.ctx))
}

func renewalRetried(r *run) {
	a := r.process(lockclient.WithWatchdog(5 * r.brief / 2))
	h := r.take(a)
	ends := h.Until()
	a.cut(true)
	r.until("a renewal fails", func() (bool, error) { return a.faults[0].refusals() > 0, nil })
	a.cut(false)
	r.until("the next one saves the lock", func() (bool, error) { return h.Until() > ends, nil })
	r.that(h.Context().Err() == nil, "one failed renewal lost the lock")
	r.ok("unlock", h.Unlock(r.ctx))
}

func unknownAcquire(r *run) {
	a, b := r.process(), r.process()
	a.loseReplies(1)
	_, err := a.lock.TryLock(r.ctx, lockclient.Lease(long))
	r.is("take the lock, the reply lost", err, lockclient.ErrUnknown)
	r.that(!errors.Is(err, lockclient.ErrNotAcquired), "an unknown outcome is no refusal")
	h, err := b.lock.TryLock(r.ctx, lockclient.Wait(slack))
	r.ok("take a lock that was given back", err)
	r.ok("unlock", h.Unlock(r.ctx))
}

func unknownUnlock(r *run) {
	a, b := r.process(), r.process()
	h := r.take(a)
	a.loseReplies(1)
	r.is("unlock, the reply lost", h.Unlock(r.ctx), lockclient.ErrUnknown)
	h, err := b.lock.TryLock(r.ctx, lockclient.Wait(slack))
	r.ok("take a lock that was unlocked", err)
	r.ok("unlock", h.Unlock(r.ctx))
}

// lost requires a holder to be told that its lock is lost.
func (r *run) lost(h *lockclient.Held) {
	for begun := r.rt.Mono(); h.Context().Err() == nil; r.sleep(10 * time.Millisecond) {
		r.that(r.rt.Mono() < begun+slack, "the holder was not told of its loss")
	}
	r.that(context.Cause(h.Context()) == lockclient.ErrLost, "the context's cause must be ErrLost")
}

// loseReplies loses the replies of the next n scripts that each master executes.
func (p *process) loseReplies(n int) {
	for _, f := range p.faults {
		f.set(func(f *faults) { f.loseReply = n })
	}
}

// refuse has each master refuse the next n scripts, as one that has just started does.
func (p *process) refuse(n int) {
	for _, f := range p.faults {
		f.set(func(f *faults) { f.refuse = n })
	}
}

// cut puts the masters out of reach, or back.
func (p *process) cut(cut bool) {
	for _, f := range p.faults {
		f.set(func(f *faults) { f.cut = cut })
	}
}

// deafen loses all messages to the process.
func (p *process) deafen() {
	for _, f := range p.faults {
		f.set(func(f *faults) { f.deaf = true })
	}
}
