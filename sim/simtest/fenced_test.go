package simtest_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim"
	"minikv/sim/simtest"
)

// fencedLock is a lock with fencing tokens, of which a client is never told that it is lost.
// early has it draw its token before it waits for the lock. With again it takes its own lock for
// granted, as after a reply that got lost, and sends more requests before it believes.
type fencedLock struct {
	*naiveLock
	early, again bool
}

func newFenced(early, again bool) sim.Own {
	return sim.Own{Lock: func(c *sim.Client) sim.Lock {
		return &fencedLock{&naiveLock{c: c, redis: c.Transports()[0], careful: true}, early, again}
	}}
}

var (
	takeFenced = lockclient.NewScript("take-fenced", `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
if owner then return tonumber(redis.call('GET', KEYS[2])) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', KEYS[2])`)
	takePlain = lockclient.NewScript("take-plain", `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`)
)

// Lock implements sim.Lock.
func (l *fencedLock) Lock(ctx context.Context) (sim.Held, error) {
	l.taken++
	value, lease := l.c.ID()+"/"+strconv.Itoa(l.taken), strconv.FormatInt(l.c.Lease().Milliseconds(), 10)
	if l.again {
		value = l.c.ID()
	}
	h, script := &fencedHeld{naiveHeld{lock: l.naiveLock, value: value, end: func(error) {}}, 0}, takeFenced
	if l.early {
		script = takePlain
		for h.token == 0 {
			if r, err := l.do(ctx, "INCR", l.c.Key()+":token"); err == nil {
				h.token = uint64(r.Int)
			}
		}
	}
	for {
		limited, cancel := l.patient(ctx)
		r, err := l.redis.Eval(limited, script, []string{l.c.Key(), l.c.Key() + ":token"}, []string{value, lease})
		cancel()
		if err == nil && r.Int > 0 {
			if !l.early {
				h.token = uint64(r.Int)
			}
			l.looksRound(ctx)
			return h, nil
		}
		if err := l.c.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

// looksRound sends requests that change nothing of the lock's owner.
func (l *fencedLock) looksRound(ctx context.Context) {
	if !l.again {
		return
	}
	_, _ = l.do(ctx, "PTTL", l.c.Key())
	_, _ = l.do(ctx, "PEXPIRE", l.c.Key(), "3000", "GT")
	limited, cancel := l.patient(ctx)
	defer cancel()
	if s, err := l.redis.Subscribe(limited, l.c.Key()+":free", false, func(string) {}, func() {}); err == nil {
		s.Close()
	}
}

type fencedHeld struct {
	naiveHeld
	token uint64
}

func (h *fencedHeld) Token() (uint64, bool) { return h.token, true }

func (h *fencedHeld) Lost() context.Context { return nil }

// fencedWorld is one in which little may be expected but that tokens grow.
const fencedWorld = `
	world lock=own fence=on clients=3 ttl=3s hold=0s..2s think=0s..500ms %pool
	expect fencing=holds
	faults %faults
	run for=30s`

func fencedIn(faults, pool string) string {
	return strings.NewReplacer("%faults", faults, "%pool", pool).Replace(fencedWorld)
}

// Who draws its token before it waits may get the lock behind one who has drawn later: its
// token is the smaller one, and the resource refuses the rightful holder, or takes a write of a
// turn that is over. One drawn with the lock is larger whatever happens, be it that a client
// hears late of it, or asks for more before it believes.
func TestTokensThatAreDrawnBeforeTheLock(t *testing.T) {
	said := failing(t, simtest.Test{Seeds: 20, Own: newFenced(true, false), Scenario: fencedIn("pause", "")})
	require.Regexp(t, `fencing is violated: at \S+ c\d got the lock with token \d+, though c\d had \d+ before`, said)
	for _, again := range []bool{false, true} {
		simtest.Run(t, simtest.Test{Seeds: fencedSeeds, Own: newFenced(false, again), Scenario: fencedIn("pause", "")})
		simtest.Run(t, simtest.Test{Seeds: fencedSeeds, Own: newFenced(false, again), Scenario: fencedIn(
			"pause delay lost-reply duplicate drop client-restart jump drift client-jump slow stall", "")})
		simtest.Run(t, simtest.Test{Seeds: fencedSeeds, Own: newFenced(false, again), Scenario: fencedIn(
			"delay=1s..8s duplicate=1s..8s partition most=12", "pool=on")})
	}
}

const fencedSeeds = 40
