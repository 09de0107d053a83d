package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"minikv/lockclient"
	"minikv/trace"
)

// provide makes what clients find: semaphores have their permits, latches
// their count before anything happens.
func (w *World) provide(load *Workload) {
	k := findKind(load.Kind)
	if k.books.counter == nil {
		return
	}
	for lock := 1; lock <= w.cfg.Locks; lock++ {
		name := lockName(int32(lock))
		m := w.groups[0].home(name)
		m.byHand("SET", name, strconv.Itoa(k.books.counter(load)))
		m.settle(0)
	}
}

// semaphoreSource is a semaphore as a source: a worker takes one permit.
type semaphoreSource struct{ semaphore *lockclient.Semaphore }

// Lock implements source.
func (s semaphoreSource) Lock(ctx context.Context, t terms) (holding, error) {
	p, err := s.semaphore.Acquire(ctx, 1, t.options()...)
	if err != nil {
		return nil, err
	}
	return permit{p, ctx}, nil
}

// permit is a permit without a lease.
type permit struct {
	*lockclient.Permits
	ctx context.Context
}

func (p permit) Token() (uint64, bool)            { return 0, false }
func (p permit) Until() time.Duration             { return 0 }
func (p permit) Context() context.Context         { return p.ctx }
func (p permit) Unlock(ctx context.Context) error { return p.Release(ctx) }

func takesPermit(c *client, of []*lockclient.Client) part {
	return newWorker(c, semaphoreSource{of[0].Semaphore(lockName(c.lock))})
}

func takesLeasedPermit(c *client, of []*lockclient.Client) part {
	return newWorker(c, lockSource{of[0].PermitSemaphore(lockName(c.lock)).Permit()})
}

// countsOrWaits is the part of who waits for a latch, or counts it down.
func countsOrWaits(c *client, of []*lockclient.Client) part {
	latch := of[0].Latch(lockName(c.lock))
	if c.number <= c.load.Waiters {
		return awaiter{c, latch}
	}
	return counter{c, latch}
}

// counter counts a latch down, once in each round.
type counter struct {
	c     *client
	latch *lockclient.Latch
}

func (p counter) round(t *task, ctx context.Context) (more bool) {
	p.c.note(t, trace.CountDown)
	_, err := p.latch.CountDown(ctx)
	for errors.Is(err, lockclient.ErrNotSent) {
		t.sleep(nil, retryAfter)
		_, err = p.latch.CountDown(ctx)
	}
	if err != nil {
		p.c.failed(t, trace.Failed, err)
	}
	return !errors.Is(err, lockclient.ErrNoLatch)
}

// awaiter waits for a latch, until it is open or there is none.
type awaiter struct {
	c     *client
	latch *lockclient.Latch
}

func (p awaiter) round(t *task, ctx context.Context) (more bool) {
	p.c.note(t, trace.Acquire)
	err := p.latch.Wait(ctx)
	if err == nil {
		p.c.note(t, trace.Opened)
		return false
	}
	p.c.failed(t, trace.Refused, err)
	p.c.backOff(t)
	return !errors.Is(err, lockclient.ErrNoLatch)
}
