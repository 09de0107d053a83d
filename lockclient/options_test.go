package lockclient_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// strictWire is a wire that, as adapters do, refuses what comes with an ended context.
type strictWire struct{ *wire }

func (s strictWire) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	if err := ctx.Err(); err != nil {
		return lockclient.Reply{}, err
	}
	return s.wire.Eval(ctx, script, keys, args)
}

func (s strictWire) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(string), lost func(),
) (lockclient.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.wire.Subscribe(ctx, channel, sharded, deliver, lost)
}

// forEver is what a caller writes who wants no limit.
const forEver = time.Duration(math.MaxInt64)

// A TTL that a time.Duration cannot hold is a very long one.
func TestLongestTTL(t *testing.T) {
	s := newCounter()
	s.count = math.MaxInt64
	left, ok, err := lockclient.New(s, lockclient.System()).Mutex("a").TTL(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Greater(t, left, 70*365*24*time.Hour)
}

// Nor is it a short one to who waits for its end.
func TestLongestWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, ttl := range []int64{math.MaxInt64, math.MaxInt64/1_000_000*2 + 3} {
			w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(ttl), nil }}
			_, err := lockclient.New(w, lockclient.System()).Mutex("a").TryLock(t.Context(), lockclient.Wait(time.Second))
			require.ErrorIs(t, err, lockclient.ErrNotAcquired)
			assert.Less(t, len(w.sent(t, 0)), 5)
		}
	})
}

// The longest durations are no more than very long ones: nothing overflows.
func TestLongestDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refusals, failures atomic.Int32
		refusals.Store(2)
		w := strictWire{&wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case script == "mutex-acquire" && refusals.Add(-1) >= 0:
				return integer(1000), nil
			case failures.Load() > 0:
				failures.Add(-1)
				return lockclient.Reply{}, errReset
			}
			return free(script, keys)
		}}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(forEver), lockclient.WithTimeout(forEver),
			lockclient.WithPoll(forEver), lockclient.WithFairWait(forEver))
		time.Sleep(time.Second) // no sum begins at 0

		h, err := c.Mutex("a").TryLock(t.Context(), lockclient.Wait(forEver))
		require.NoError(t, err, "it waits for the holder")
		require.NoError(t, h.Unlock(t.Context()))

		h, err = c.Mutex("a").TryLock(t.Context(), lockclient.Lease(forEver))
		require.NoError(t, err)
		require.NoError(t, h.Extend(t.Context(), forEver))
		time.Sleep(24 * time.Hour)
		require.NoError(t, h.Context().Err())
		require.NoError(t, h.Unlock(t.Context()))

		failures.Store(5)
		_, err = c.Mutex("a").TryLock(t.Context(), lockclient.Lease(forEver))
		require.ErrorIs(t, err, lockclient.ErrUnknown)
		time.Sleep(time.Minute)
		assert.Zero(t, failures.Load(), "it is given back until that is answered")
		c.Close()
	})
}
