package simtest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/simtest"
)

// sleepyLock is a lock whose waiters are woken by a message. A client that finds the lock taken
// subscribes, and does not look again before it waits: a release in between it never hears of.
type sleepyLock struct{ *naiveLock }

var deleteAndTell = lockclient.NewScript("delete-and-tell", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('PUBLISH', KEYS[1] .. ':free', '1')`)

// Lock implements sim.Lock.
func (l sleepyLock) Lock(ctx context.Context) (sim.Held, error) {
	for {
		r, err := l.do(ctx, "SET", l.c.Key(), l.c.ID(), "NX", "PX", "30000")
		if err == nil && r.Text == "OK" {
			return &sleepyHeld{l}, nil
		}
		free := l.c.Runtime().NewGate()
		s, err := l.redis.Subscribe(ctx, l.c.Key()+":free", false, func(string) { free.Open() }, func() {})
		if err != nil {
			return nil, err
		}
		_, err = free.Wait(ctx, -1)
		s.Close()
		if err != nil {
			return nil, err
		}
	}
}

type sleepyHeld struct{ lock sleepyLock }

// Unlock implements sim.Held.
func (h *sleepyHeld) Unlock(ctx context.Context) error {
	l := h.lock
	_, err := l.redis.Eval(ctx, deleteAndTell, []string{l.c.Key()}, []string{l.c.ID()})
	return err
}

// A wake-up that is lost shows where a release may come at any time of another's attempt, and no
// later one wakes who has missed it: durations are ranges that begin at 0, and rounds are few.
func TestLostWakeUps(t *testing.T) {
	own := sim.Own{Lock: func(c *sim.Client) sim.Lock {
		return sleepyLock{&naiveLock{c: c, redis: c.Transports()[0]}}
	}}
	in := func(durations string) simtest.Test {
		return simtest.Test{Seeds: 100, Own: own, Scenario: "world lock=own clients=2 ttl=30s " + durations +
			"\nexpect progress=holds\nrun for=120s"}
	}
	simtest.Run(t, in("hold=100ms rounds=1"))
	simtest.Run(t, in("hold=1s think=1s"))
	said := failing(t, in("hold=0s..50ms think=0s..100ms rounds=3"))
	require.Contains(t, said, "simtest: progress is violated with seed")
}
