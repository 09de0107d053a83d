package simtest_test

import (
	"context"
	"strconv"
	"time"

	"minikv/lockclient"
	"minikv/sim"
)

// naiveLock is a lock as many write it: SET NX PX, and to unlock GET, and DEL if
// the value is still one's own. Between these two the lease may end, and then
// somebody else's lock is deleted. With careful, a script does both at once.
type naiveLock struct {
	c       *sim.Client
	redis   lockclient.Transport
	careful bool
	taken   int
}

func newNaiveLock(c *sim.Client, careful bool) sim.Lock {
	return &naiveLock{c: c, redis: c.Transports()[0], careful: careful}
}

// pollEvery is how long a client waits before it asks again, patience for a reply: of a
// message that gets lost nobody is told.
const (
	pollEvery = 50 * time.Millisecond
	patience  = 5 * time.Second
)

// patient is ctx for one request.
func (l *naiveLock) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	rt := l.c.Runtime()
	return rt.WithDeadline(ctx, rt.Mono()+patience)
}

// do sends one command.
func (l *naiveLock) do(ctx context.Context, args ...string) (lockclient.Reply, error) {
	ctx, cancel := l.patient(ctx)
	defer cancel()
	return l.redis.Do(ctx, l.c.Key(), args...)
}

// Lock implements sim.Lock.
func (l *naiveLock) Lock(ctx context.Context) (sim.Held, error) {
	rt := l.c.Runtime()
	l.taken++
	value := l.c.ID() + "/" + strconv.Itoa(l.taken)
	for {
		asked := rt.Mono()
		lease := strconv.FormatInt(l.c.Lease().Milliseconds(), 10)
		r, err := l.do(ctx, "SET", l.c.Key(), value, "NX", "PX", lease)
		if err == nil && r.Text == "OK" && rt.Mono() < asked+l.c.Lease() {
			return l.held(ctx, value, asked+l.c.Lease()), nil
		}
		if err := l.c.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

// held is the lock until a time of the client's clock; then it counts as lost.
func (l *naiveLock) held(ctx context.Context, value string, until time.Duration) *naiveHeld {
	rt := l.c.Runtime()
	h := &naiveHeld{lock: l, value: value}
	h.lost, h.end = rt.WithCancelCause(ctx)
	rt.Go(func() {
		_ = l.c.Sleep(h.lost, until-rt.Mono())
		h.end(lockclient.ErrLost)
	})
	return h
}

type naiveHeld struct {
	lock  *naiveLock
	value string
	lost  context.Context
	end   context.CancelCauseFunc
}

// Lost tells the simulator when the client believes no longer that it has the lock.
func (h *naiveHeld) Lost() context.Context { return h.lost }

var compareAndDelete = lockclient.NewScript("compare-and-delete",
	"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

// Unlock implements sim.Held.
func (h *naiveHeld) Unlock(ctx context.Context) error {
	h.end(nil)
	l := h.lock
	if l.careful {
		ctx, cancel := l.patient(ctx)
		defer cancel()
		_, err := l.redis.Eval(ctx, compareAndDelete, []string{l.c.Key()}, []string{h.value})
		return err
	}
	r, err := l.do(ctx, "GET", l.c.Key())
	if err != nil || r.Text != h.value {
		return err
	}
	_, err = l.do(ctx, "DEL", l.c.Key())
	return err
}
