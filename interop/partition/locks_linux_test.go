package partition

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

const (
	// givenUp is after how long lockclient gives up a request, by default.
	givenUp = lockclient.DefaultTimeout
	// long is a cut in which a client gives up a request and its connection, which rueidis
	// does not if requests share it.
	long = 7 * time.Second
)

// Constant after initialisation.
var (
	acquire = lockclient.Shipped("mutex_acquire").SHA
	release = lockclient.Shipped("mutex_release").SHA
	renew   = lockclient.Shipped("mutex_renew").SHA
)

// An acquisition that its caller has given up is executed after the heal, unless its
// connection was closed and forgets it.
func TestGivenUpAcquisition(t *testing.T) {
	onEachClient(t, func(t *testing.T, lib string, b backend) {
		for name, w := range map[string]way{"both ways": both, "requests": requests} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seen, p := watch(t, b), newPlace()
				c, key := newClient(t, lib, p, b), "k:"+p.address
				heal := p.cut(w)
				sent := time.Now()
				gaveUp(t, c, key, sent)
				seen.still(sent.Add(long), acquire, key)
				healed := heal()
				if forgets(lib) {
					seen.still(latest(sent, healed).Add(atOnce), acquire, key)
				} else {
					seen.arrives(sent, healed, acquire, key)
				}
			})
		}
	})
}

// forgets tells whether a library has connections that forget what has not arrived
// when it closes them, and closes them in a long cut.
func forgets(lib string) bool { return lib != "rueidis" }

// gaveUp demands that an acquisition is given up, with an unknown outcome.
func gaveUp(t *testing.T, c *lockclient.Client, key string, sent time.Time) {
	t.Helper()
	_, err := c.Mutex(key).TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrUnknown)
	require.NotErrorIs(t, err, lockclient.ErrNotSent)
	require.WithinDuration(t, sent.Add(givenUp), time.Now(), atOnce)
}

// Where only replies are dropped it is executed at once, and given up all the same; after the
// heal it is taken back.
func TestAcquisitionWithoutAReply(t *testing.T) {
	onEachClient(t, func(t *testing.T, lib string, b backend) {
		seen, p, key := watch(t, b), newPlace(), "unanswered:"+lib
		c := newClient(t, lib, p, b)
		heal := p.cut(replies)
		sent := time.Now()
		gaveUp(t, c, key, sent)
		e := seen.await(time.Now(), acquire, key)
		assert.WithinDuration(t, sent, e.at, atOnce)
		time.Sleep(time.Until(sent.Add(long)))
		at := latest(sent, heal()).Add(slack)
		other := newClient(t, lib, newPlace(), b)
		ctx, cancel := context.WithDeadline(t.Context(), at)
		defer cancel()
		_, err := other.Mutex(key).Lock(ctx)
		require.NoError(t, err)
		assert.Len(t, seen.executedFrom(p, acquire, key), 1, "nobody has sent it again")
	})
}

// A request that found no connection, and none in time, is never executed.
func TestAcquisitionThatHasNoConnection(t *testing.T) {
	onEachServer(t, func(t *testing.T, b backend) {
		seen, p := watch(t, b), newPlace()
		transport, end, err := libraries["go-redis"](p, b.address) // which connects when it has to
		require.NoError(t, err)
		t.Cleanup(end)
		c := lockclient.New(transport, lockclient.System())
		t.Cleanup(c.Close)
		heal := p.cut(both)
		sent := time.Now()
		_, err = c.Mutex("unconnected").TryLock(t.Context())
		require.True(t, errors.Is(err, lockclient.ErrUnknown) || errors.Is(err, lockclient.ErrNotSent), "%v", err)
		time.Sleep(time.Until(sent.Add(long)))
		seen.still(latest(sent, heal()).Add(atOnce), acquire, "unconnected")
	})
}

// An unlock that was given up is executed after the heal, and its repetitions with it;
// whoever has the lock by then keeps it.
func TestLateUnlock(t *testing.T) {
	onEachClient(t, func(t *testing.T, lib string, b backend) {
		seen, p, key := watch(t, b), newPlace(), "late:"+lib
		c, other := newClient(t, lib, p, b), newClient(t, lib, newPlace(), b)
		h, err := c.Mutex(key).TryLock(t.Context())
		require.NoError(t, err)
		time.Sleep(idle)
		heal := p.cut(both)
		sent := time.Now()
		require.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrUnknown)
		seen.still(sent.Add(long), release, key)
		healed := heal()
		ctx, cancel := context.WithDeadline(t.Context(), latest(sent, healed).Add(slack))
		defer cancel()
		held, err := other.Mutex(key).Lock(ctx)
		require.NoError(t, err)
		if !forgets(lib) {
			require.Eventually(t, func() bool {
				return len(seen.executed(release, key)) > 1
			}, time.Until(latest(sent, healed).Add(slack)), 10*time.Millisecond, "what was sent first, and a repetition")
		}
		time.Sleep(time.Until(latest(sent, healed)))
		count, err := other.Mutex(key).HoldCount(t.Context(), held.Owner())
		require.NoError(t, err)
		assert.EqualValues(t, 1, count)
		require.NoError(t, held.Unlock(t.Context()))
	})
}

// Who is cut off is told that its lock is lost before another can have it, and a renewal that
// comes late brings nothing back.
func TestLateRenewal(t *testing.T) {
	onEachClient(t, func(t *testing.T, lib string, b backend) {
		const lease = 4500 * time.Millisecond
		seen, p, key := watch(t, b), newPlace(), "renewed:"+lib
		c, other := newClient(t, lib, p, b, lockclient.WithWatchdog(lease)), newClient(t, lib, newPlace(), b)
		h, err := c.Mutex(key).TryLock(t.Context())
		require.NoError(t, err)
		seen.await(time.Now().Add(lease), renew, key)
		time.Sleep(lease / 9) // the next one is a while away
		before := len(seen.executed(renew, key))
		heal := p.cut(both)
		cut := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), cut.Add(lease+slack))
		defer cancel()
		held, err := other.Mutex(key).Lock(ctx)
		require.NoError(t, err)
		select {
		case <-h.Lost():
		default:
			assert.Fail(t, "two believe that they have it")
		}
		time.Sleep(time.Until(cut.Add(long + time.Second)))
		healed := heal()
		if forgets(lib) {
			time.Sleep(time.Until(latest(cut, healed)))
		} else {
			require.Eventually(t, func() bool {
				return len(seen.executed(renew, key)) > before
			}, time.Until(latest(cut, healed).Add(slack)), 10*time.Millisecond, "a renewal was under way")
		}
		count, err := other.Mutex(key).HoldCount(t.Context(), held.Owner())
		require.NoError(t, err)
		assert.EqualValues(t, 1, count)
		require.NoError(t, held.Unlock(t.Context()))
		locked, err := other.Mutex(key).IsLocked(t.Context())
		require.NoError(t, err)
		assert.False(t, locked)
	})
}

// The message of an unlock waits for the heal as all else does, and wakes who waits, if
// its client has not connected anew meanwhile. Then the message is lost, and the waiter asks.
func TestUnlockWhileAWaiterIsCutOff(t *testing.T) {
	onEachClient(t, func(t *testing.T, lib string, b backend) {
		for name, c := range map[string]struct {
			lasts time.Duration
			anew  bool
		}{
			"noticed by nobody": {2 * time.Second, false},
			"noticed":           {15 * time.Second, true}, // after 6 s by go-redis, after 11 s by rueidis
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seen, p := watch(t, b), newPlace()
				key, channel := "w:"+p.address, "redisson_lock__channel:{w:"+p.address+"}"
				holder, waiter := newClient(t, lib, newPlace(), b), newClient(t, lib, p, b)
				h, err := holder.Mutex(key).TryLock(t.Context(), lockclient.Lease(time.Minute))
				require.NoError(t, err)
				got := make(chan error, 1)
				go func() {
					_, err := waiter.Mutex(key).Lock(context.Background())
					got <- err
				}()
				seen.await(time.Now().Add(slack), "SUBSCRIBE", channel)
				time.Sleep(idle)
				heal := p.cut(both)
				sent := time.Now()
				require.NoError(t, h.Unlock(t.Context()))
				time.Sleep(time.Until(sent.Add(c.lasts)))
				require.Empty(t, got)
				limit := time.Until(latest(sent, heal()).Add(slack))
				if c.anew {
					limit = 2 * slack
				}
				select {
				case err := <-got:
					require.NoError(t, err)
				case <-time.After(limit):
					require.Fail(t, "the waiter sleeps")
				}
				seen.await(time.Now().Add(slack), "UNSUBSCRIBE", channel) // as nobody waits any more
				assert.Equal(t, c.anew, len(seen.executed("SUBSCRIBE", channel)) > 1)
			})
		}
	})
}
