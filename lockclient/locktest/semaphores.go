package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"minikv/lockclient"
)

// semaphore names the run's semaphore for a process.
func (p *process) semaphore(r *run) *lockclient.Semaphore { return p.clients[0].Semaphore(r.key) }

// filled starts a process whose semaphore has n permits. Unless options say
// otherwise it trusts in messages.
func (r *run) filled(n int64, opts ...lockclient.Option) *process {
	p := r.trusting(opts...)
	_, err := p.semaphore(r).TrySetPermits(r.ctx, n)
	r.ok("set the permits", err)
	return p
}

// trusting starts a process that looks again for a message only.
func (r *run) trusting(opts ...lockclient.Option) *process {
	return r.process(append([]lockclient.Option{lockclient.WithPoll(time.Hour)}, opts...)...)
}

// free requires a number of free permits, in the end.
func (r *run) free(p *process, want int64) {
	var n int64
	for begun := r.rt.Mono(); r.rt.Mono() < begun+slack; r.sleep(10 * time.Millisecond) {
		var err error
		n, err = p.semaphore(r).Available(r.ctx)
		r.ok("ask for the free permits", err)
		if n == want {
			return
		}
	}
	r.that(false, "%d permits are free, want %d", n, want)
}

// acquirer starts to acquire permits.
func (r *run) acquirer(p *process, n int64, got func(*lockclient.Permits)) *task {
	return r.start(func(*task) error {
		permits, err := p.semaphore(r).Acquire(r.ctx, n)
		if err == nil {
			got(permits)
		}
		return err
	})
}

func conservation(r *run) {
	const permits, tasks, rounds = 3, 6, 5
	processes := []*process{r.filled(permits), r.trusting()}
	var mu sync.Mutex
	var inside, most int64
	enter := func(n int64) {
		mu.Lock()
		inside += n
		most = max(most, inside)
		mu.Unlock()
	}
	var running []*task
	for i := range tasks {
		n := int64(1 + i%permits)
		running = append(running, r.start(func(*task) error {
			for range rounds {
				held, err := processes[i%2].semaphore(r).Acquire(r.ctx, n)
				if err != nil {
					return err
				}
				enter(n)
				r.sleep(time.Millisecond)
				enter(-n)
				if err := held.Release(r.ctx); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for _, t := range running {
		r.ok("acquire, work, release", r.end(t))
	}
	r.that(most <= permits, "%d of %d permits were taken", most, permits)
	r.free(processes[0], permits)
}

func permitNumbers(r *run) {
	a := r.filled(3)
	s := a.semaphore(r)
	set, err := s.TrySetPermits(r.ctx, 9)
	r.ok("set the permits again", err)
	r.that(!set, "permits were set twice")
	n, err := s.AddPermits(r.ctx, 2)
	r.that(err == nil && n == 5, "3 permits and 2 are %d, error %v", n, err)
	some, err := s.Acquire(r.ctx, 2)
	r.ok("acquire", err)
	_, err = s.TryAcquire(r.ctx, 4)
	r.is("acquire more than are free", err, lockclient.ErrNotAcquired)
	rest, err := s.Drain(r.ctx)
	r.ok("drain", err)
	r.that(rest.Count() == 3, "drained %d of 3 permits", rest.Count())
	r.free(a, 0)
	r.ok("release", some.Release(r.ctx))
	r.is("release twice", some.Release(r.ctx), lockclient.ErrNotHeld)
	r.free(a, 2)
	r.ok("release", rest.Release(r.ctx))
	r.free(a, 5)
}

func wakeByPermits(r *run) {
	a, b := r.filled(3), r.trusting()
	held, err := a.semaphore(r).Acquire(r.ctx, 2)
	r.ok("acquire", err)
	one, err := a.semaphore(r).Acquire(r.ctx, 1)
	r.ok("acquire", err)
	keep := func(*lockclient.Permits) {}
	large := r.acquirer(b, 3, keep)
	r.sleep(short)
	var small []*task
	for range 3 {
		small = append(small, r.acquirer(b, 1, keep))
	}
	r.sleep(short) // all have subscribed by then
	r.ok("release", one.Release(r.ctx))
	r.free(a, 0) // or the one who waits for three may come before
	r.ok("release", held.Release(r.ctx))
	for _, t := range small {
		r.ok("wait for one permit behind one who waits for three", r.end(t))
	}
	_, err = a.semaphore(r).AddPermits(r.ctx, 3)
	r.ok("add permits", err)
	r.ok("wait for three permits", r.end(large))
	r.free(a, 0)
}

func pollForPermits(r *run) {
	a, b := r.filled(0), r.process(lockclient.WithPoll(short))
	b.deafen()
	waiter := r.acquirer(b, 1, func(*lockclient.Permits) {})
	r.sleep(short)
	added := r.rt.Mono()
	_, err := a.semaphore(r).AddPermits(r.ctx, 1)
	r.ok("add a permit", err)
	r.ok("wait without messages", r.end(waiter))
	r.within(short+prompt, added, "from adding a permit to a waiter without messages")
}

func limitedAcquire(r *run) {
	s := r.filled(0).semaphore(r)
	begun := r.rt.Mono()
	_, err := s.TryAcquire(r.ctx, 1, lockclient.Wait(short))
	r.is("wait for a while", err, lockclient.ErrNotAcquired)
	waited := r.rt.Mono() - begun
	r.that(waited >= short, "a wait of %v took %v", short, waited)
	r.within(short+prompt, begun, "a limited wait")
	ctx, cancel := r.rt.WithDeadline(r.ctx, r.rt.Mono()+short)
	defer cancel()
	_, err = s.Acquire(ctx, 1)
	r.is("wait until the context ends", err, context.DeadlineExceeded)
	_, err = s.Acquire(r.ctx, -1)
	r.that(err != nil, "acquired -1 permits")
}

func unknownPermits(r *run) {
	a := r.filled(3)
	a.loseReplies(1)
	_, err := a.semaphore(r).Acquire(r.ctx, 1)
	r.is("acquire, the reply lost", err, lockclient.ErrUnknown)
	held, err := a.semaphore(r).Acquire(r.ctx, 3, lockclient.Wait(10*time.Second))
	r.ok("acquire all, what was taken included", err)
	a.loseReplies(1)
	r.is("release, the reply lost", held.Release(r.ctx), lockclient.ErrUnknown)
	r.sleep(2 * time.Second) // it is repeated, and counts once
	r.free(a, 3)
}

func unsentRelease(r *run) {
	a, b := r.filled(1), r.trusting()
	held, err := a.semaphore(r).Acquire(r.ctx, 1)
	r.ok("acquire", err)
	a.cut(true)
	r.is("release, the server out of reach", held.Release(r.ctx), lockclient.ErrNotSent)
	r.free(b, 0)
	a.cut(false)
	r.free(b, 1)
	r.sleep(2 * time.Second) // it is not given back again
	r.free(b, 1)
}

func vanishedSemaphore(r *run) {
	a := r.filled(1)
	held, err := a.semaphore(r).Acquire(r.ctx, 1)
	r.ok("acquire", err)
	_, err = a.faults[0].Transport.Do(r.ctx, r.key, "DEL", r.key)
	r.ok("delete the semaphore", err)
	r.is("release what is not there", held.Release(r.ctx), lockclient.ErrLost)
	set, err := a.semaphore(r).TrySetPermits(r.ctx, 1)
	r.ok("set the permits anew", err)
	r.that(set, "a late release has made the semaphore anew")
}

func expiringPermits(r *run) {
	a := r.process(lockclient.WithPoll(time.Hour))
	s := a.clients[0].PermitSemaphore(r.key)
	numbers := func(wantFree, wantTaken int64) {
		free, err := s.Available(r.ctx)
		r.ok("ask for the free permits", err)
		taken, err := s.Acquired(r.ctx)
		r.ok("ask for the taken permits", err)
		r.that(free == wantFree && taken == wantTaken, "%d free and %d taken, want %d and %d",
			free, taken, wantFree, wantTaken)
	}
	numbers(1, 0) // as Prepare made it
	r.ok("add permits", s.AddPermits(r.ctx, 2))
	first, err := s.Acquire(r.ctx, r.brief)
	r.ok("acquire", err)
	second, err := s.Acquire(first.Context(), long)
	r.ok("acquire another with the context of one", err)
	r.that(first.Owner() != second.Owner(), "two permits have one id")
	numbers(1, 2)
	r.ok("set fewer permits than are taken", s.SetPermits(r.ctx, 1))
	numbers(-1, 2)
	_, err = s.TryAcquire(r.ctx, long)
	r.is("acquire from a semaphore overdrawn", err, lockclient.ErrNotAcquired)
	r.sleep(r.brief + short)
	numbers(0, 1) // the first has come back
	r.lost(first)
	r.is("release an ended permit", first.Unlock(r.ctx), lockclient.ErrLost)
	r.ok("release", second.Unlock(r.ctx))
	numbers(1, 0)
	err = second.Extend(r.ctx, long)
	r.that(errors.Is(err, lockclient.ErrNotHeld), "extend a released permit: %v", err)
}
