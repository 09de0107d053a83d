package locktest

import (
	"context"
	"sync"

	"minikv/lockclient"
)

// member names the i-th of the mutexes that a lock of several is made of.
func (r *run) member(p *process, i int) *lockclient.Lock {
	return p.clients[0].Mutex(memberKey(r.key, i))
}

// memberKey names the i-th mutex of a lock of several; the first has its name.
func memberKey(key string, i int) string { return key + ":::"[:i] }

func allOrNone(r *run) {
	a, b := r.process(), r.process()
	second, err := r.member(b, 1).TryLock(r.ctx, lockclient.Lease(long))
	r.ok("take a member", err)
	r.refused(a, "of which a member is taken")
	waiter := r.waiter(a)
	r.sleep(2 * short)
	first, err := r.member(b, 0).TryLock(r.ctx, lockclient.Wait(slack))
	r.ok("take a member that somebody waits for with others", err)
	r.ok("unlock", first.Unlock(r.ctx))
	unlocked := r.rt.Mono()
	r.ok("unlock", second.Unlock(r.ctx))
	h := r.await(waiter)
	r.within(looks+prompt, unlocked, "from the unlock to the waiter")
	for i := range 2 {
		_, err = r.member(b, i).TryLock(r.ctx)
		r.is("take a member of what is held", err, lockclient.ErrNotAcquired)
	}
	r.ok("unlock", h.Unlock(r.ctx))
}

func lossOfOne(r *run) {
	for i := range 2 {
		a, b := r.process(lockclient.WithWatchdog(r.brief)), r.process()
		h := r.take(a)
		freed, err := r.member(b, i).ForceUnlock(r.ctx)
		r.ok("force the unlock of a member", err)
		r.that(freed, "a member was free")
		r.lost(h)
		other, err := r.member(b, 1-i).TryLock(r.ctx, lockclient.Wait(slack))
		r.ok("wait for the other member, which nobody may renew", err)
		r.ok("unlock", other.Unlock(r.ctx))
		r.is("unlock", h.Unlock(r.ctx), lockclient.ErrLost)
		r.ok("unlock", r.take(b).Unlock(r.ctx))
	}
}

// crossed has locks of several members overlap in a ring, while somebody takes
// two members against the order and holds one while he waits.
func crossed(r *run) {
	const rounds = 4
	var mu sync.Mutex
	inside := make([]int, 3)
	overlaps := 0
	enter := func(by int, members ...int) {
		mu.Lock()
		defer mu.Unlock()
		for _, i := range members {
			inside[i] += by
			if inside[i] > 1 {
				overlaps++
			}
		}
	}
	var running []*task
	for n := range 3 {
		p, i, j := r.process(), n, (n+1)%3
		pair := lockclient.Multi(r.member(p, i), r.member(p, j))
		running = append(running, r.start(func(*task) error {
			return repeat(rounds, func() error {
				return pair.Do(r.ctx, func(context.Context, *lockclient.Held) error {
					enter(1, i, j)
					r.sleep(short / 100)
					enter(-1, i, j)
					return nil
				})
			})
		}))
	}
	p := r.process()
	running = append(running, r.start(func(*task) error {
		return repeat(rounds, func() error {
			return r.member(p, 2).Do(r.ctx, func(ctx context.Context, _ *lockclient.Held) error {
				return r.member(p, 0).Do(ctx, func(context.Context, *lockclient.Held) error {
					enter(1, 2, 0)
					r.sleep(short / 100)
					enter(-1, 2, 0)
					return nil
				})
			})
		})
	}))
	for _, t := range running {
		r.ok("lock, work, unlock", r.end(t))
	}
	r.that(overlaps == 0, "%d holders overlapped", overlaps)
}

// repeat calls f n times, or until it fails.
func repeat(n int, f func() error) error {
	for range n {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
