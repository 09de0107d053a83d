package simtest_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/simtest"
)

// renewedLock is a lock whose holder renews the lease with a script, a third of the lease after
// it was taken or renewed.
type renewedLock struct {
	*naiveLock
	renews *lockclient.Script
}

var (
	renewTTL = lockclient.NewScript("renew-ttl", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)
	// renewText writes the owner once more, which takes the TTL away.
	renewText = lockclient.NewScript("renew-text", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)
)

// Lock implements sim.Lock.
func (l *renewedLock) Lock(ctx context.Context) (sim.Held, error) {
	l.taken++
	value, lease := l.c.ID()+"/"+strconv.Itoa(l.taken), strconv.FormatInt(l.c.Lease().Milliseconds(), 10)
	for {
		r, err := l.do(ctx, "SET", l.c.Key(), value, "NX", "PX", lease)
		if err == nil && r.Text == "OK" {
			break
		}
		if err := l.c.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
	rt := l.c.Runtime()
	h := &naiveHeld{lock: l.naiveLock, value: value}
	h.lost, h.end = rt.WithCancelCause(ctx)
	rt.Go(func() {
		for l.c.Sleep(h.lost, l.c.Lease()/3) == nil {
			limited, cancel := l.patient(h.lost)
			r, err := l.redis.Eval(limited, l.renews, []string{l.c.Key()}, []string{value, lease})
			cancel()
			if err == nil && r.Int == 0 {
				h.end(lockclient.ErrLost)
			}
		}
	})
	return h, nil
}

// A renewal that takes the TTL away shows when a holder crashes: its lock stays for ever.
func TestRenewalsThatLoseTheTTL(t *testing.T) {
	with := func(renews *lockclient.Script) simtest.Test {
		own := sim.Own{Lock: func(c *sim.Client) sim.Lock {
			return &renewedLock{&naiveLock{c: c, redis: c.Transports()[0], careful: true}, renews}
		}}
		return simtest.Test{Seeds: 60, Own: own, Scenario: `
			world lock=own clients=3 ttl=3s hold=0s..3s think=0s..500ms
			expect lease=holds
			faults crash
			run for=30s`}
	}
	said := failing(t, with(renewText))
	require.Regexp(t, `lease is violated: nobody got the lock of c\d as it had lost its TTL`, said)
	require.Contains(t, said, "crashes with a lock that has lost its TTL")
	simtest.Run(t, with(renewTTL))
}
