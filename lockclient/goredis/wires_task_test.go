package goredis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"minikv/lockclient"
)

// wiresTask takes and leaves locks.
type wiresTask struct {
	*wiresRun
	clients []*lockclient.Client
	process int
	name    string
	draws   *rand.Rand
}

func (t *wiresTask) upTo(d time.Duration) time.Duration {
	return time.Duration(t.draws.IntN(int(d) + 1))
}

// cycle takes something once, and leaves it. It returns false when the process ends.
func (t *wiresTask) cycle() (goOn bool) {
	time.Sleep(t.upTo(3 * second))
	key := t.key(t.draws.IntN(wiresKeys))
	if t.kind.Counting {
		t.count(key)
		return true
	}
	is := holder{key, t.name, t.kind.Shared}
	lock := t.kind.Lock(key, t.clients)
	if t.kind.Rival != nil && t.process%2 == 1 {
		lock, is.shared = t.kind.Rival(key, t.clients), false
	}
	h, err := t.take(lock)
	t.check("lock", err)
	if err != nil {
		t.logf("%s gets no %s: %v", t.name, key, err)
		return !errors.Is(err, lockclient.ErrClosed)
	}
	t.admit(h, is)
	t.look(h, is)
	for range t.draws.IntN(3) {
		time.Sleep(t.upTo([]time.Duration{time.Millisecond, second, 20 * second}[t.draws.IntN(3)]))
		t.use(lock, h, is)
	}
	t.leave(h, is)
	return true
}

// take asks for a lock, with patience.
func (t *wiresTask) take(lock *lockclient.Lock) (*lockclient.Held, error) {
	var options []lockclient.LockOption
	if t.draws.IntN(3) == 0 {
		options = append(options, lockclient.Lease(second+t.upTo(20*second)))
	}
	if t.draws.IntN(4) == 0 {
		options = append(options, lockclient.As(t.name))
	}
	patience := t.upTo(20 * second)
	defer t.timed("lock", patience)()
	if t.draws.IntN(2) == 0 {
		return lock.TryLock(t.Context(), append(options, lockclient.Wait(patience))...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return lock.Lock(ctx, options...)
}

// use does something with what is held.
func (t *wiresTask) use(lock *lockclient.Lock, h *lockclient.Held, is holder) {
	switch t.draws.IntN(4) {
	case 0:
		d := time.Millisecond + t.upTo(20*second)
		err := h.Extend(t.Context(), d)
		t.check("extend", err)
		t.logf("%s extends by %v: %v", t.name, d, err)
	case 1:
		if t.kind.Reentrant {
			t.again(lock, h)
		}
	default:
		t.look(h, is)
	}
}

// again enters once more, and leaves.
func (t *wiresTask) again(lock *lockclient.Lock, h *lockclient.Held) {
	ctx, cancel := context.WithTimeout(h.In(t.Context()), t.upTo(5*second))
	defer cancel()
	again, err := lock.Lock(ctx)
	t.check("enter again", err)
	t.logf("%s enters again: %v", t.name, err)
	if err == nil {
		t.check("leave again", again.Unlock(t.Context()))
	}
}

// look compares what a client relies on with what is in Redis.
func (t *wiresTask) look(h *lockclient.Held, is holder) {
	if t.relies(h) && !t.knows(h, is, true) && t.relies(h) {
		t.broken("%s relies on %s as %s for %v more, of which Redis does not know", t.name, is.key,
			h.Owner(), h.Until()-t.rt.Mono())
	}
}

// knows reports whether Redis has a hold, or has none, as is expected. In a cluster it asks for
// a while: a master that was replaced answers from what it had until it hears of that.
func (t *wiresTask) knows(h *lockclient.Held, is holder, want bool) bool {
	for range 10 {
		held, err := t.surely(is).HeldBy(t.Context(), h.Owner())
		if err != nil || held == want {
			return true
		}
		if *wiresSite == "" {
			break
		}
		time.Sleep(second)
	}
	return false
}

// leave gives a lock back. Then a fresh owner has nothing any more.
func (t *wiresTask) leave(h *lockclient.Held, is holder) {
	t.mu.Lock()
	delete(t.relying, h)
	t.mu.Unlock()
	ended := t.timed("unlock", 0)
	err := h.Unlock(t.Context())
	ended()
	t.check("unlock", err)
	t.logf("%s unlocks %s: %v", t.name, is.key, err)
	// A failover by Sentinels may undo it, as no replica is asked.
	if err != nil || h.Owner() == t.name || *wiresSite == "sentinels" {
		return
	}
	if !t.knows(h, is, false) {
		t.broken("%s still has %s as %s after Unlock", t.name, is.key, h.Owner())
	}
}

// count takes permits of a semaphore, and gives them back.
func (t *wiresTask) count(key string) {
	n, patience := 1+t.draws.Int64N(2), t.upTo(20*second)
	ended := t.timed("acquire", patience)
	p, err := t.clients[0].Semaphore(key).TryAcquire(t.Context(), n, lockclient.Wait(patience))
	ended()
	t.check("acquire", err)
	t.logf("%s asks for %d permits of %s: %v", t.name, n, key, err)
	if err != nil {
		return
	}
	t.mu.Lock()
	t.taken[key] += n
	if t.taken[key] > wiresPermits {
		t.broken("%d permits of %s are taken", t.taken[key], key)
	}
	t.mu.Unlock()
	time.Sleep(t.upTo(5 * second))
	t.mu.Lock()
	t.taken[key] -= n
	t.mu.Unlock()
	defer t.timed("release", 0)()
	err = p.Release(t.Context())
	t.check("release", err)
	t.logf("%s releases %d permits of %s: %v", t.name, n, key, err)
}

// timed begins something that ends after its limit, but for what is under way then.
func (t *wiresTask) timed(what string, limit time.Duration) (ended func()) {
	begun, before := time.Now(), time.Duration(stalled.Load())
	return func() {
		over := time.Since(begun) - limit
		if over <= 2*wiresTimeout+stall {
			return
		}
		if over -= stalledSoFar() - before; over > 2*wiresTimeout+stall {
			t.Errorf("%v: %s took %v longer than it may", time.Since(t.begun), what, over)
		}
	}
}
