package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// kept are kinds of lock of which each keeps something at "k" of one server.
var kept = map[string]func(c *lockclient.Client) *lockclient.Lock{
	"mutex":        func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
	"fair":         func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
	"spin":         func(c *lockclient.Client) *lockclient.Lock { return c.Spin("k") },
	"read":         func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
	"write":        func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	"simple":       func(c *lockclient.Client) *lockclient.Lock { return c.Simple("k") },
	"permit":       func(c *lockclient.Client) *lockclient.Lock { return c.PermitSemaphore("k").Permit() },
	"hash-redlock": func(c *lockclient.Client) *lockclient.Lock { return lockclient.HashRedlock("k", c) },
	"redlock":      func(c *lockclient.Client) *lockclient.Lock { return lockclient.Redlock("k", c) },
}

// onEachKept runs a test with a lock of each kind that nobody holds yet.
func onEachKept(t *testing.T, test func(s stage, name string, l *lockclient.Lock, f *fateful)) {
	for name, of := range kept {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				if name == "permit" {
					_, err := c.PermitSemaphore("k").TrySetPermits(s.Context(), 1)
					require.NoError(s, err)
				}
				test(s, name, of(c), f)
			})
		})
	}
}

// lose loses what a server has of a lock, as a failover may.
func (s stage) lose() {
	s.server.Del("k")
	s.server.Del("{k}:timeout")
}

// Whoever unlocks, or extends, what the server has lost is told so.
func TestUnlockOfWhatIsGone(t *testing.T) {
	onEachKept(t, func(s stage, _ string, l *lockclient.Lock, _ *fateful) {
		h := s.lock(l, s.Context(), hour)
		s.lose()
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrLost)
	})
	onEachKept(t, func(s stage, _ string, l *lockclient.Lock, f *fateful) {
		h := s.lock(l, s.Context(), hour)
		s.lose()
		require.ErrorIs(s, h.Extend(s.Context(), time.Minute), lockclient.ErrLost)
		assert.True(s, isLost(h))
		f.has(func(script string, _ []string) fate {
			assert.Fail(s, "what is lost is not asked for", script)
			return fate{}
		})
		require.ErrorIs(s, h.Extend(s.Context(), time.Minute), lockclient.ErrLost)
		f.has(nil)
	})
}

// An inner Unlock that finds the lock gone tells the outer hold.
func TestInnerUnlockFindsLoss(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		outer := s.lock(c.Mutex("k"), s.Context(), hour)
		inner := s.lock(c.Mutex("k"), outer.Context(), hour)
		s.lose()
		require.ErrorIs(s, inner.Unlock(s.Context()), lockclient.ErrLost)
		assert.True(s, isLost(outer))
	})
}

// What an Unlock failed to give back is given back when a server that was out of reach for
// a while is there again.
func TestUnlockDuringAnOutage(t *testing.T) {
	onEachKept(t, func(s stage, name string, l *lockclient.Lock, f *fateful) {
		h := s.lock(l, s.Context(), hour)
		f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
		require.Error(s, h.Unlock(s.Context()))
		time.Sleep(5 * time.Second)
		f.has(nil)
		time.Sleep(2 * time.Second)
		if name == "permit" {
			assert.False(s, s.server.Exists("{k}:timeout"))
		} else {
			assert.False(s, s.server.Exists("k"))
		}
	})
}

// So is what an acquisition may have taken, of which the outcome is unknown.
func TestUnknownBeforeAnOutage(t *testing.T) {
	onEachKept(t, func(s stage, name string, l *lockclient.Lock, f *fateful) {
		if name == "simple" || name == "redlock" {
			return // no script takes them
		}
		unanswered := true
		f.has(func(string, []string) (is fate) {
			if unanswered {
				unanswered = false
				return fate{lose: errReset}
			}
			return fate{err: lockclient.ErrNotSent}
		})
		_, err := l.TryLock(s.Context(), hour)
		require.Error(s, err)
		time.Sleep(5 * time.Second)
		f.has(nil)
		time.Sleep(lockclient.DefaultTimeout + 2*time.Second)
		if name == "permit" {
			assert.False(s, s.server.Exists("{k}:timeout"))
		} else {
			assert.False(s, s.server.Exists("k"))
		}
	})
}

// Who has a lock, how often and for how long is what the server says.
func TestWhatTheServerSays(t *testing.T) {
	onEachKept(t, func(s stage, name string, l *lockclient.Lock, _ *fateful) {
		if name == "permit" || name == "redlock" || name == "hash-redlock" {
			return // which have no owner that can be named
		}
		says := func(me int64, ttl time.Duration) {
			s.Helper()
			locked, err := l.IsLocked(s.Context())
			require.NoError(s, err)
			assert.Equal(s, me > 0, locked)
			for owner, want := range map[string]int64{"me": me, "you": 0} {
				n, err := l.HoldCount(s.Context(), owner)
				require.NoError(s, err)
				assert.Equal(s, want, n, owner)
			}
			left, limited, err := l.TTL(s.Context())
			require.NoError(s, err)
			assert.Equal(s, ttl > 0, limited)
			assert.Equal(s, ttl, left)
		}
		h := s.lock(l, s.Context(), me, hour)
		says(1, time.Hour)
		require.NoError(s, h.Unlock(s.Context()))
		says(0, 0)
		h = s.lock(l, s.Context(), me, hour)
		for _, want := range []bool{true, false} {
			freed, err := l.ForceUnlock(s.Context())
			require.NoError(s, err)
			assert.Equal(s, want, freed)
		}
		assert.True(s, isLost(h))
		says(0, 0)
	})
}

// However often somebody asks for it, a loss is told to all.
func TestLossIsToldToAll(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), s.Context())
		first, second := h.Lost(), h.Lost()
		s.lose()
		<-first
		<-second
		<-h.Lost()
	})
}

// An Unlock that failed is not repeated any more when the next hold of its name settles it:
// it would cut that one's lease.
func TestUnlockThatTheNextHoldSettles(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(20*time.Second))
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
		h = s.lock(c.Mutex("k"), s.Context(), me, hour)
		f.has(nil)
		time.Sleep(30 * time.Second)
		assert.False(s, s.takenByAnother("k"))
		require.NoError(s, h.Unlock(s.Context()))
		assert.False(s, s.server.Exists("k"))
	})
}

// Of several leases that may yet come into force the shortest counts.
func TestExtensionsOfUnknownOutcome(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		h := s.lock(c.Mutex("k"), ctx, hour)
		f.has(only("mutex-extend", lately))
		require.ErrorIs(s, h.Extend(ctx, 15*time.Second), lockclient.ErrUnknown)
		require.ErrorIs(s, h.Extend(ctx, 4*time.Second), lockclient.ErrUnknown)
		f.has(nil)
		require.NoError(s, h.Extend(ctx, time.Hour))
		for range 10 {
			time.Sleep(time.Second)
			assert.False(s, !isLost(h) && s.takenByAnother("k"), "held by two")
		}
	})
}

// Of a permit the dates count that they bring.
func TestExtensionsOfAPermitOfUnknownOutcome(t *testing.T) {
	staged(t, func(s stage) {
		ctx, rt := s.Context(), lockclient.System()
		c, f := s.client()
		_, err := c.PermitSemaphore("k").TrySetPermits(ctx, 1)
		require.NoError(s, err)
		h := s.lock(c.PermitSemaphore("k").Permit(), ctx, hour)
		f.has(only("permit-extend", lately))
		require.ErrorIs(s, h.Extend(ctx, 15*time.Second), lockclient.ErrUnknown)
		require.ErrorIs(s, h.Extend(ctx, 7*time.Second), lockclient.ErrUnknown)
		f.has(nil)
		require.NoError(s, h.Extend(ctx, time.Hour))
		assert.False(s, isLost(h))
		assert.LessOrEqual(s, h.Until(), rt.Mono()+4*time.Second)
		assert.Greater(s, h.Until(), rt.Mono()+3*time.Second)
	})
}

// An extension of which nothing is known is no loss.
func TestExtensionDuringAnOutage(t *testing.T) {
	onEachKept(t, func(s stage, _ string, l *lockclient.Lock, f *fateful) {
		h := s.lock(l, s.Context(), hour)
		f.has(func(string, []string) fate { return fate{err: errReset} })
		err := h.Extend(s.Context(), time.Minute)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		assert.NotErrorIs(s, err, lockclient.ErrLost)
		assert.False(s, isLost(h))
		f.has(nil)
		require.NoError(s, h.Unlock(s.Context()))
	})
}

// What is given back is given back whatever has become of the caller's context.
func TestUnlockAfterTheEndOfTheContext(t *testing.T) {
	onEachKept(t, func(s stage, _ string, l *lockclient.Lock, _ *fateful) {
		ctx, cancel := context.WithCancel(s.Context())
		h := s.lock(l, ctx, hour)
		cancel()
		require.NoError(s, h.Unlock(ctx))
	})
	staged(t, func(s stage) {
		c, _ := s.client()
		_, err := c.Semaphore("s").TrySetPermits(s.Context(), 1)
		require.NoError(s, err)
		ctx, cancel := context.WithCancel(s.Context())
		p, err := c.Semaphore("s").Acquire(ctx, 1)
		require.NoError(s, err)
		cancel()
		require.NoError(s, p.Release(ctx))
	})
}

// Who gives up while an Unlock may come that would end the hold is told why, at once.
func TestGivenUpBeforeALateUnlock(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), me)
		f.has(only("mutex-release", fate{lose: errReset}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrUnknown)
		f.has(nil)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := c.Mutex("k").Lock(ctx, me)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		assert.Equal(s, time.Second, time.Since(begun))
	})
}

// A latch whose count is no number is not open.
func TestLatchWithoutANumber(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		s.server.Do("SET", "l", "many")
		assert.ErrorContains(s, c.Latch("l").Wait(s.Context()), `"many"`)
	})
}

// A Multi that was lost, and is unlocked then, ends the renewal of nothing else.
func TestLostMultiLeavesTheWatchdog(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		multi := s.lock(lockclient.Multi(c.Mutex("k"), c.Mutex("l")), s.Context())
		other := s.lock(c.Mutex("l"), multi.In(s.Context()))
		s.lose()
		<-multi.Lost()
		require.ErrorIs(s, multi.Unlock(s.Context()), lockclient.ErrLost)
		time.Sleep(2 * time.Minute)
		assert.False(s, isLost(other))
		require.NoError(s, other.Unlock(s.Context()))
	})
}

// A name that the caller chooses is that owner's and no other's: not that of the context,
// if it has another one; and that of a hold that was taken without a name, if it is the same.
func TestNamesOfHolders(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), ctx, me)
		_, err := c.Mutex("k").TryLock(h.Context(), lockclient.As("you"))
		require.ErrorIs(s, err, lockclient.ErrNotAcquired)
		require.NoError(s, h.Unlock(ctx))
	})
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), ctx)
		again := s.lock(c.Mutex("k"), ctx, lockclient.As(h.Owner()))
		s.lose()
		require.ErrorIs(s, again.Unlock(ctx), lockclient.ErrLost)
		assert.True(s, isLost(h))
	})
}

// The number of permits is set once.
func TestPermitsAreSetOnce(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		for _, want := range []bool{true, false} {
			set, err := c.PermitSemaphore("p").TrySetPermits(s.Context(), 1)
			require.NoError(s, err)
			assert.Equal(s, want, set)
			set, err = c.Semaphore("s").TrySetPermits(s.Context(), 1)
			require.NoError(s, err)
			assert.Equal(s, want, set)
			set, err = c.Latch("l").TrySetCount(s.Context(), 1)
			require.NoError(s, err)
			assert.Equal(s, want, set)
		}
	})
}

// An Unlock of a Simple in a chosen name is not repeated: its value may be that of a later
// hold.
func TestFailedUnlockOfANamedSimple(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		h := s.lock(c.Simple("k"), ctx, me, lockclient.Lease(5*time.Second))
		f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
		require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
		time.Sleep(6 * time.Second)
		other, _ := s.client()
		s.lock(other.Simple("k"), ctx, me, hour)
		f.has(nil)
		time.Sleep(time.Minute)
		assert.True(s, s.server.Exists("k"))
	})
}

// An extension that was not sent leaves the lease as it was, also for those who take the
// lock again.
func TestUnsentExtensionChangesNothing(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), hour)
		f.has(only("mutex-extend", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Extend(s.Context(), time.Second), lockclient.ErrNotSent)
		s.lock(c.Mutex("k"), h.Context(), lockclient.Lease(10*time.Second))
		assert.Greater(s, h.Until(), 59*time.Minute)
		time.Sleep(30 * time.Second)
		assert.False(s, s.takenByAnother("k"))
	})
}
