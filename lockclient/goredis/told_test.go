package goredis_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/minikvtest"
)

// An extension counts for as long as it is, also of a lock that the watchdog renews: a renewal
// that comes later does not cut it.
func TestExtensionOfARenewedHold(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		mono := lockclient.System()
		h := s.lock(c.Mutex("k"), s.Context())
		require.NoError(s, h.Extend(s.Context(), time.Hour))
		assert.Greater(s, h.Until(), mono.Mono()+59*time.Minute)
		f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
		time.Sleep(2 * lockclient.DefaultWatchdog)
		assert.False(s, isLost(h))
		assert.False(s, s.takenByAnother("k"))
	})
}

// A fixed lease ends no sooner when somebody has taken the lock again in the meantime, to be
// renewed by the watchdog, and has given it back, confirmed by a replica or not, or of unknown
// outcome.
func TestFixedLeaseAroundARenewedOne(t *testing.T) {
	staged(t, func(s stage) {
		for _, fails := range []error{nil, errReset} {
			for _, replicas := range []bool{false, true} {
				f := s.transport()
				c := s.over(f)
				if replicas {
					c = s.over(replicated{f})
				}
				for _, l := range []*lockclient.Lock{c.Mutex("k"), c.RW("r").R(), c.RW("r").W()} {
					f.has(nil)
					outer := s.lock(l, s.Context(), hour)
					inner := s.lock(l, outer.Context())
					f.has(func(string, []string) fate { return fate{lose: fails} })
					_ = inner.Unlock(s.Context())
					f.has(nil)
					time.Sleep(2 * lockclient.DefaultWatchdog)
					assert.False(s, isLost(outer), "%v, replicas: %v", l.Key(), replicas)
					require.NoError(s, outer.Unlock(s.Context()))
				}
			}
		}
	})
}

// The waiters of a HashRedlock listen, as far as their masters answer.
func TestHashRedlockListens(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		masters := []stage{s, {s.T, minikvtest.Run(s)}, {s.T, minikvtest.Run(s)}}
		var asked atomic.Int64
		clients := func() (all []*lockclient.Client) {
			for _, m := range masters {
				c, f := m.client()
				f.has(func(script string, _ []string) fate {
					if script == "mutex-acquire" {
						asked.Add(1)
					}
					return fate{}
				})
				all = append(all, c)
			}
			return all
		}
		h := s.lock(lockclient.HashRedlock("k", clients()...), ctx, hour)
		time.Sleep(time.Second) // of three masters two are enough for it
		granted := make(chan *lockclient.Held)
		go func() { granted <- s.lock(lockclient.HashRedlock("k", clients()...), ctx, hour) }()
		time.Sleep(time.Second)
		before := asked.Load()
		time.Sleep(10 * time.Second)
		assert.Equal(s, before, asked.Load(), "who listens does not ask")
		unlocked := time.Now()
		require.NoError(s, h.Unlock(ctx))
		next := <-granted
		assert.Less(s, time.Since(unlocked), 10*time.Millisecond)
		require.NoError(s, next.Unlock(ctx))
	})
}

// A waiter of a fair lock that gives up while Redis is out of reach leaves the queue when
// that is back, for as long as its place is kept: it holds up nobody.
func TestWaiterLeavesAQueueAfterAnOutage(t *testing.T) {
	for name, options := range map[string][]lockclient.LockOption{"": nil, "named": {me}} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				holder, _ := s.client()
				c, f := s.client()
				held := s.lock(holder.Fair("k"), s.Context())
				ctx, cancel := context.WithTimeout(s.Context(), time.Second)
				defer cancel()
				time.AfterFunc(500*time.Millisecond, func() {
					f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
				})
				_, err := c.Fair("k").Lock(ctx, options...)
				require.ErrorIs(s, err, context.DeadlineExceeded)
				time.Sleep(time.Minute)
				f.has(nil)
				order := make(chan string, 1)
				go s.inTurn(holder, order, "next")
				time.Sleep(10 * time.Second)
				unlocked := time.Now()
				require.NoError(s, held.Unlock(s.Context()))
				<-order
				assert.Less(s, time.Since(unlocked), 100*time.Millisecond)
			})
		})
	}
}

// An extension of what is gone is a loss also where no replica confirms anything.
func TestUnconfirmedExtensionOfWhatIsGone(t *testing.T) {
	for name, of := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex":  func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"read":   func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
		"permit": func(c *lockclient.Client) *lockclient.Lock { return c.PermitSemaphore("k").Permit() },
	} {
		for _, confirms := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				staged(t, func(s stage) {
					f := s.transport()
					c := s.over(replicated{f})
					_, err := c.PermitSemaphore("k").TrySetPermits(s.Context(), 1)
					require.NoError(s, err)
					if name != "permit" {
						s.server.Del("k")
					}
					h := s.lock(of(c), s.Context(), hour)
					s.server.Del("k") // as a failover does
					s.server.Del("{k}:timeout")
					f.confirms = confirms
					require.ErrorIs(s, h.Extend(s.Context(), time.Minute), lockclient.ErrLost)
					assert.True(s, isLost(h))
				})
			})
		}
	}
}

// Nor does a renewal of what is gone wait for a confirmation.
func TestUnconfirmedRenewalOfWhatIsGone(t *testing.T) {
	staged(t, func(s stage) {
		f := s.transport()
		h := s.lock(s.over(replicated{f}).Mutex("k"), s.Context())
		f.confirms = false
		s.server.Del("k")
		time.Sleep(lockclient.DefaultWatchdog/3 + time.Second)
		assert.True(s, isLost(h))
	})
}

// A master has a twentieth of the lease to answer, unless it is told how long.
func TestTimeOfAMaster(t *testing.T) {
	for name, options := range map[string][]lockclient.LockOption{
		"a twentieth": {lockclient.Lease(20 * time.Second)},
		"its own":     {lockclient.Lease(time.Hour), lockclient.NodeTimeout(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				f.has(only("mutex-acquire", fate{before: time.Hour}))
				begun := time.Now()
				_, err := lockclient.HashRedlock("k", c).TryLock(s.Context(), options...)
				require.ErrorIs(s, err, lockclient.ErrNotAcquired)
				assert.Equal(s, time.Second, time.Since(begun))
			})
		})
	}
}

// What a named owner has from before stays when its name asks in vain, and when it gives
// back what it has taken since.
func TestNameOfAnEarlierProcess(t *testing.T) {
	t.Run("simple", func(t *testing.T) { // has the name alone as its value
		staged(t, func(s stage) {
			earlier, _ := s.client()
			s.lock(earlier.Simple("k"), s.Context(), me, hour)
			c, _ := s.client()
			_, err := c.Simple("k").TryLock(s.Context(), me)
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			time.Sleep(10 * time.Second)
			assert.True(s, s.server.Exists("k"))
		})
	})
	t.Run("mutex", func(t *testing.T) {
		staged(t, func(s stage) {
			earlier, _ := s.client()
			s.lock(earlier.Mutex("k"), s.Context(), me, hour)
			c, _ := s.client()
			require.NoError(s, s.lock(c.Mutex("k"), s.Context(), me, hour).Unlock(s.Context()))
			time.Sleep(10 * time.Second)
			assert.True(s, s.server.Exists("k"))
		})
	})
}

// What the server still counts of a hold of a name that was lost is given back with the
// next one of that name.
func TestLostHoldThatTheServerKeeps(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(time.Second))
		s.server.Do("PERSIST", "k")
		<-h.Lost()
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrLost)
		require.NoError(s, s.lock(c.Mutex("k"), s.Context(), me).Unlock(s.Context()))
		assert.False(s, s.server.Exists("k"))
	})
}

// An extension that was not sent does not bring back what was lost meanwhile.
func TestUnsentExtensionOfWhatIsLost(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		rt := lockclient.System()
		h := s.lock(c.Mutex("k"), s.Context(), hour)
		f.has(only("mutex-extend", fate{before: 2 * time.Second, err: lockclient.ErrNotSent}))
		time.AfterFunc(time.Second, func() { _, _ = c.Mutex("k").ForceUnlock(s.Context()) })
		require.ErrorIs(s, h.Extend(s.Context(), time.Minute), lockclient.ErrNotSent)
		require.True(s, isLost(h))
		assert.Less(s, h.Until(), rt.Mono())
	})
}

// A name that has had a fair lock leaves the queue like any other.
func TestFormerHolderLeavesAQueue(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		require.NoError(s, s.lock(c.Fair("k"), s.Context(), me).Unlock(s.Context()))
		other, _ := s.client()
		s.lock(other.Fair("k"), s.Context())
		_, err := c.Fair("k").TryLock(s.Context(), me, lockclient.Wait(time.Second))
		require.ErrorIs(s, err, lockclient.ErrNotAcquired)
		assert.False(s, s.server.Exists("redisson_lock_queue:{k}"))
	})
}

// A waiter leaves the queue though others ask in its name who do not wait: they never leave it.
func TestWaiterLeavesAQueueBesideAttempts(t *testing.T) {
	tries := map[string]func(string, []string) fate{
		"at once": only("fair-try", fate{after: 900 * time.Millisecond}),
		"later": func(script string, _ []string) fate {
			switch script {
			case "fair-try":
				return fate{after: 900 * time.Millisecond}
			case "fair-withdraw":
				return fate{err: lockclient.ErrNotSent}
			}
			return fate{}
		},
	}
	for name, fates := range tries {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				other, _ := s.client()
				s.lock(other.Fair("k"), s.Context())
				c, f := s.client()
				f.has(fates)
				gone := make(chan struct{})
				ask := func(wait time.Duration) {
					_, err := c.Fair("k").TryLock(s.Context(), me, lockclient.Wait(wait))
					assert.ErrorIs(s, err, lockclient.ErrNotAcquired)
					gone <- struct{}{}
				}
				go ask(1500 * time.Millisecond)
				for range 5 {
					time.Sleep(700 * time.Millisecond)
					go ask(0)
				}
				time.Sleep(100 * time.Millisecond)
				f.has(only("fair-try", fate{after: 900 * time.Millisecond}))
				for range 6 {
					<-gone
				}
				time.Sleep(5 * time.Second)
				assert.False(s, s.server.Exists("redisson_lock_queue:{k}"))
			})
		})
	}
}

// A re-entry of unknown outcome that arrives while its owner is giving back what another
// such has left does not keep the lock.
func TestReentryArrivesWhileItIsSettled(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		outer := s.lock(c.Mutex("k"), ctx, hour)
		f.has(only("mutex-acquire", fate{lose: errReset}))
		_, err := c.Mutex("k").Lock(outer.Context(), hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(only("mutex-acquire", lately))
		_, err = c.Mutex("k").Lock(outer.Context(), hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		releases := 0
		f.has(func(script string, _ []string) (is fate) {
			if script == "mutex-release" {
				releases++
				if releases == 2 {
					is.before = 200 * time.Millisecond
				}
			}
			return is
		})
		require.NoError(s, outer.Unlock(ctx))
		time.Sleep(10 * time.Second)
		assert.False(s, s.server.Exists("k"))
	})
}
