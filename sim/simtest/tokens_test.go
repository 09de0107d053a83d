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

// tokenLock is a lock that draws a token with each grant.
type tokenLock struct {
	naiveLock
	draw func(l *tokenLock, ctx context.Context) (uint64, error)
}

type tokenHeld struct {
	*naiveHeld
	token uint64
}

// Token implements what the simulator asks a Held for.
func (h tokenHeld) Token() (uint64, bool) { return h.token, true }

// Lock implements sim.Lock.
func (l *tokenLock) Lock(ctx context.Context) (sim.Held, error) {
	for {
		h, err := l.naiveLock.Lock(ctx)
		if err != nil {
			return nil, err
		}
		held := tokenHeld{naiveHeld: h.(*naiveHeld)}
		if held.token, err = l.draw(l, ctx); err == nil {
			return held, nil
		}
		if err := held.Unlock(ctx); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
}

// byClock draws tokens from the client's clock, which others do not share.
func byClock(l *tokenLock, _ context.Context) (uint64, error) {
	return uint64(l.c.Runtime().WallMillis()), nil
}

var nextTokenIfMine = lockclient.NewScript("next-token-if-mine",
	"return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('INCR', KEYS[2]) or 0")

// whileItHolds draws them from a counter while the server has the lock.
func whileItHolds(l *tokenLock, ctx context.Context) (uint64, error) {
	ctx, cancel := l.patient(ctx)
	defer cancel()
	mine := l.c.ID() + "/" + strconv.Itoa(l.taken)
	r, err := l.redis.Eval(ctx, nextTokenIfMine, []string{l.c.Key(), "token"}, []string{mine})
	if err == nil && r.Int == 0 {
		err = lockclient.ErrLost
	}
	return uint64(r.Int), err
}

// Tokens protect what the lock protects if they grow with the turns, which those of
// clocks that differ do not.
func TestTokensOfClocks(t *testing.T) {
	test := func(draw func(*tokenLock, context.Context) (uint64, error)) simtest.Test {
		return simtest.Test{
			Scenario: "world lock=own clients=2 ttl=3s hold=1s think=1s fence=on\nexpect fencing=holds\n" +
				"faults delay pause client-offset\nrun for=30s\n",
			Own: sim.Own{Lock: func(c *sim.Client) sim.Lock {
				return &tokenLock{*newNaiveLock(c, true).(*naiveLock), draw}
			}},
		}
	}
	simtest.Run(t, test(whileItHolds))
	said := failing(t, test(byClock))
	require.Contains(t, said, "simtest: fencing is violated with seed ")
	require.Contains(t, said, "it needs: client-offset, pause.\n")
	require.Regexp(t, `(?m)^ *# fencing is violated: at \S+ the resource applied a stale write of c\d\.$`, said)
}
