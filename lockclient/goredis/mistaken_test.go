package goredis_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Locks of one key, or of the same text as key, are not taken for each other.
func TestLocksOfOneKey(t *testing.T) {
	for name, inside := range map[string]func(s stage, c *lockclient.Client){
		"a Multi of one, by name": func(s stage, c *lockclient.Client) {
			ctx := s.Context()
			s.lock(lockclient.Multi(c.Mutex("a")), ctx, lockclient.As("me"))
			h := s.lock(c.Mutex("a"), ctx, lockclient.As("me"))
			assert.Less(s, h.Until(), time.Minute)
		},
		"a Multi": func(s stage, c *lockclient.Client) {
			ctx := s.Context()
			m := s.lock(lockclient.Multi(c.Mutex("a"), c.Mutex("b")), ctx)
			h, err := c.Mutex("a,b").TryLock(m.Context())
			require.NoError(s, err)
			require.NoError(s, h.Unlock(ctx))
			assert.False(s, isLost(m))
		},
		"a HashRedlock": func(s stage, c *lockclient.Client) {
			ctx := s.Context()
			h := s.lock(lockclient.HashRedlock("k", c), ctx, lockclient.Lease(time.Minute))
			_, err := c.Mutex("k").TryLock(ctx)
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			_, err = c.Mutex("k").TryLock(h.Context())
			require.ErrorIs(s, err, lockclient.ErrDeadlock)
			assert.False(s, isLost(h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, _ := s.client()
				inside(s, c)
				time.Sleep(11 * time.Second) // the watchdog renews
			})
		})
	}
}

// A re-entry of a Multi gives back what it took when the Multi is lost, and one that is
// refused leaves it alone.
func TestReentryOfAMulti(t *testing.T) {
	t.Run("lost", func(t *testing.T) {
		staged(t, func(s stage) {
			ctx := s.Context()
			c, f := s.client()
			semaphore := c.PermitSemaphore("s")
			_, err := semaphore.TrySetPermits(ctx, 2)
			require.NoError(s, err)
			lock := lockclient.Multi(c.Mutex("a"), semaphore.Permit())
			outer := s.lock(lock, ctx)
			time.Sleep(9 * time.Second)
			s.server.Del("{s}:timeout") // which a renewal finds
			f.has(func(script string, _ []string) fate {
				if script == "permit-acquire" {
					return fate{after: 2 * time.Second}
				}
				return fate{}
			})
			_, err = lock.Lock(outer.In(ctx))
			require.ErrorIs(s, err, lockclient.ErrLost)
			require.ErrorIs(s, outer.Unlock(ctx), lockclient.ErrLost)
			time.Sleep(10 * time.Minute)
			assert.False(s, s.server.Exists("a"))
			taken, err := semaphore.Acquired(ctx)
			require.NoError(s, err)
			assert.Zero(s, taken)
		})
	})
	t.Run("refused", func(t *testing.T) {
		staged(t, func(s stage) {
			ctx := s.Context()
			c, _ := s.client()
			semaphore := c.PermitSemaphore("s")
			_, err := semaphore.TrySetPermits(ctx, 1)
			require.NoError(s, err)
			lock := lockclient.Multi(c.Mutex("a"), semaphore.Permit())
			outer := s.lock(lock, ctx)
			_, err = lock.TryLock(outer.Context())
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			assert.False(s, isLost(outer))
			require.NoError(s, outer.Unlock(ctx))
		})
	})
}

// The caller's slice of options stays as it is.
func TestOptionsAreTheCallers(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		semaphore := c.PermitSemaphore("s")
		_, err := semaphore.TrySetPermits(s.Context(), 1)
		require.NoError(s, err)
		all := []lockclient.LockOption{lockclient.Wait(time.Second), lockclient.As("me")}
		_, err = semaphore.TryAcquire(s.Context(), time.Second, all[:1]...)
		require.NoError(s, err)
		h := s.lock(c.Mutex("m"), s.Context(), all...)
		assert.Equal(s, "me", h.Owner())
	})
}

// An extension that no replica has confirmed is not relied on, of whichever kind.
func TestExtensionIsConfirmed(t *testing.T) {
	for name, of := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex": func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"read":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write": func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				f := s.transport()
				h := s.lock(of(s.over(replicated{f})), s.Context(), lockclient.Lease(10*time.Second))
				before := h.Until()
				f.confirms = false
				require.ErrorIs(s, h.Extend(s.Context(), time.Hour), lockclient.ErrReplication)
				assert.Equal(s, before, h.Until())
			})
		})
	}
}

// What has changed nothing needs no confirmation.
func TestNothingToConfirm(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		f := s.transport()
		c := s.over(replicated{f})
		_, err := c.Semaphore("s").TrySetPermits(ctx, 1)
		require.NoError(s, err)
		p, err := c.Semaphore("s").Acquire(ctx, 1)
		require.NoError(s, err)
		f.confirms = false
		_, err = c.Latch("none").CountDown(ctx)
		assert.ErrorIs(s, err, lockclient.ErrNoLatch)
		set, err := c.Semaphore("s").TrySetPermits(ctx, 5)
		assert.NoError(s, err)
		assert.False(s, set)
		s.server.Del("s")
		assert.ErrorIs(s, p.Release(ctx), lockclient.ErrLost)
	})
}

// A reader that wrote before and died keeps nobody out for longer than its own lease.
func TestReaderThatWroteAndDied(t *testing.T) {
	for name, options := range map[string][]lockclient.Option{"": nil, "3.16": {lockclient.Compat316()}} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, _ := s.client(options...)
				w := s.lock(c.RW("k").W(), ctx, lockclient.Lease(time.Hour))
				s.lock(c.RW("k").R(), w.In(ctx), lockclient.Lease(5*time.Second))
				require.NoError(s, w.Unlock(ctx))
				c.Close()
				time.Sleep(5*time.Second + time.Millisecond)
				other, _ := s.client()
				_, err := other.RW("k").W().TryLock(ctx)
				assert.NoError(s, err)
			})
		})
	}
}

// inTurn takes a fair lock, gives it back and tells of it.
func (s stage) inTurn(c *lockclient.Client, order chan<- string, name string, options ...lockclient.LockOption) {
	h := s.lock(c.Fair("k"), s.Context(), options...)
	order <- name
	assert.NoError(s, h.Unlock(s.Context()))
}

// withdrawsLate delays the withdrawals from a fair queue.
func withdrawsLate(script string, _ []string) fate {
	if script == "fair-withdraw" {
		return fate{before: 20 * time.Millisecond}
	}
	return fate{}
}

// A named waiter that leaves a fair queue takes neither a wake-up with it, nor the place
// of another waiter of that name.
func TestNamedWaiterLeavesAQueue(t *testing.T) {
	t.Run("at the head", func(t *testing.T) {
		staged(t, func(s stage) {
			holder, _ := s.client()
			c, f := s.client()
			held := s.lock(holder.Fair("k"), s.Context())
			f.has(withdrawsLate)
			mine, cancel := context.WithCancel(s.Context())
			go func() { _, _ = c.Fair("k").Lock(mine, lockclient.As("me")) }()
			time.Sleep(time.Second)
			order := make(chan string, 1)
			go s.inTurn(holder, order, "next")
			time.Sleep(time.Second)
			cancel()
			time.Sleep(10 * time.Millisecond)
			begun := time.Now()
			require.NoError(s, held.Unlock(s.Context()))
			<-order
			assert.Less(s, time.Since(begun), 100*time.Millisecond)
		})
	})
	t.Run("and comes back", func(t *testing.T) {
		staged(t, func(s stage) {
			holder, _ := s.client()
			c, f := s.client()
			held := s.lock(holder.Fair("k"), s.Context())
			f.has(withdrawsLate)
			_, err := c.Fair("k").TryLock(s.Context(), lockclient.As("me"), lockclient.Wait(time.Second))
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			order := make(chan string, 2)
			go s.inTurn(c, order, "me", lockclient.As("me"))
			time.Sleep(10 * time.Millisecond)
			go s.inTurn(holder, order, "other")
			time.Sleep(3 * time.Second)
			require.NoError(s, held.Unlock(s.Context()))
			assert.Equal(s, []string{"me", "other"}, []string{<-order, <-order})
		})
	})
	t.Run("while another waits", func(t *testing.T) {
		staged(t, func(s stage) {
			holder, _ := s.client()
			c, _ := s.client()
			held := s.lock(holder.Fair("k"), s.Context())
			order := make(chan string, 2)
			go s.inTurn(c, order, "me", lockclient.As("me"))
			time.Sleep(time.Second)
			go func() { _, _ = c.Fair("k").TryLock(s.Context(), lockclient.As("me"), lockclient.Wait(time.Second)) }()
			time.Sleep(500 * time.Millisecond)
			go s.inTurn(holder, order, "other")
			time.Sleep(3 * time.Second)
			require.NoError(s, held.Unlock(s.Context()))
			assert.Equal(s, []string{"me", "other"}, []string{<-order, <-order})
		})
	})
}

// Of several waiters of one name that give up together the last one leaves the queue.
func TestNamedWaitersLeaveAQueue(t *testing.T) {
	staged(t, func(s stage) {
		holder, _ := s.client()
		c, f := s.client()
		s.lock(holder.Fair("k"), s.Context())
		f.has(withdrawsLate)
		leave := func() {
			_, err := c.Fair("k").TryLock(s.Context(), lockclient.As("me"), lockclient.Wait(time.Second))
			assert.ErrorIs(s, err, lockclient.ErrNotAcquired)
		}
		beside(leave, leave, leave)
		assert.False(s, s.server.Exists("redisson_lock_queue:{k}"))
	})
}

// The error of a context that ends while a request is refused is among what is returned.
func TestContextEndsWhileRefused(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		f.has(func(string, []string) fate {
			return fate{err: &lockclient.ServerError{Text: "TRYAGAIN Multiple keys request during rehashing of slot"}}
		})
		ctx, cancel := context.WithTimeout(s.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.Mutex("k").Lock(ctx)
		assert.ErrorIs(s, err, context.DeadlineExceeded)
		assert.ErrorContains(s, err, "TRYAGAIN")
	})
}

// Permits whose deadlines have passed are asked for after the poll, though fewer are to be
// there than were taken.
func TestPermitsThatHaveEnded(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client(lockclient.WithPoll(time.Second))
		semaphore := c.PermitSemaphore("s")
		_, err := semaphore.TrySetPermits(ctx, 4)
		require.NoError(s, err)
		for range 4 {
			_, err := semaphore.Acquire(ctx, 2*time.Second)
			require.NoError(s, err)
		}
		require.NoError(s, semaphore.SetPermits(ctx, 1))
		begun := time.Now()
		_, err = semaphore.Acquire(ctx, 2*time.Second)
		require.NoError(s, err)
		assert.Less(s, time.Since(begun), 4*time.Second)
	})
}

// A waiter of a chosen name whose request arrives when it has given up is taken out of the
// queue, but not one of that name who has come since.
func TestNamedWaiterArrivesLate(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		first := s.lock(c.Fair("k"), ctx)
		f.has(only("fair-acquire", fate{arrives: 2 * time.Second}))
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.Fair("k").Lock(limited, me)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		time.Sleep(5 * time.Second)
		assert.False(s, s.server.Exists("redisson_lock_queue:{k}"))

		f.has(only("fair-acquire", fate{arrives: time.Second}))
		limited, cancel = context.WithTimeout(ctx, time.Second/2)
		defer cancel()
		_, err = c.Fair("k").Lock(limited, me)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		order := make(chan string, 2)
		go s.inTurn(c, order, "me", me)
		time.Sleep(time.Second / 10)
		go s.inTurn(c, order, "you", lockclient.As("you"))
		time.Sleep(5 * time.Second)
		require.NoError(s, first.Unlock(ctx))
		assert.Equal(s, "me", <-order)
		assert.Equal(s, "you", <-order)
	})
}

// No owner can have the name of the field that says who may have the lock: a reader's request
// would leave a lock that is nobody's and has no end, and a Mutex would seem to be read.
func TestOwnerWithTheNameOfTheMode(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		_, err := c.RW("k").R().Lock(s.Context(), lockclient.As("mode"))
		require.Error(s, err)
		for name, lock := range map[string]*lockclient.Lock{ //tidy:unordered each by itself
			"Mutex": c.Mutex("k"), "Fair": c.Fair("k"), "Fenced": c.Fenced("k"), "NonReentrant": c.NonReentrant("k"),
		} {
			_, err := lock.TryLock(s.Context(), lockclient.As("mode"))
			require.ErrorContains(s, err, `owner "mode"`, name)
		}
		h, err := c.RW("k").W().TryLock(s.Context(), lockclient.As("mode"))
		require.NoError(s, err)
		_, err = c.RW("k").R().Lock(h.Context())
		require.Error(s, err)
		require.NoError(s, h.Unlock(s.Context()))
		assert.False(s, s.server.Exists("k"))
	})
}

// A permit that another program has taken for a thousand years, or for so long that its
// deadline overflowed, has nobody ask without a pause.
func TestPermitOfAThousandYears(t *testing.T) {
	thousand := strconv.FormatInt(time.Now().AddDate(1000, 0, 0).UnixMilli(), 10)
	for _, deadline := range []string{thousand, "1e17", "-9223370313000000000"} {
		staged(t, func(s stage) { permitUntil(s, deadline) })
	}
}

func permitUntil(s stage, deadline string) {
	c, f := s.client()
	semaphore := c.PermitSemaphore("s")
	_, err := semaphore.TrySetPermits(s.Context(), 0)
	require.NoError(s, err)
	s.server.Do("ZADD", "{s}:timeout", deadline, "another's")
	asked := 0
	f.has(func(string, []string) fate {
		asked++
		return fate{}
	})
	_, err = semaphore.TryAcquire(s.Context(), time.Second, lockclient.Wait(20*time.Second))
	require.ErrorIs(s, err, lockclient.ErrNotAcquired)
	assert.Less(s, asked, 10)
}

// A closed client drains nothing.
func TestDrainAfterClose(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		_, err := c.Semaphore("s").TrySetPermits(s.Context(), 5)
		require.NoError(s, err)
		c.Close()
		_, err = c.Semaphore("s").Drain(s.Context())
		assert.ErrorIs(s, err, lockclient.ErrClosed)
	})
}

// A latch that was deleted, set again and opened is open, also if that message was lost.
func TestLatchThatWasSetAgain(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client()
		other, _ := s.client()
		_, err := other.Latch("l").TrySetCount(ctx, 1)
		require.NoError(s, err)
		waited := make(chan error)
		go func() { waited <- c.Latch("l").Wait(ctx) }()
		time.Sleep(time.Second)
		s.server.Do("EVAL", "redis.call('del', 'l') redis.call('publish', KEYS[1], 1) "+
			"redis.call('set', 'l', 1) redis.call('publish', KEYS[1], 1)", "1", "redisson_countdownlatch__channel__{l}")
		time.Sleep(time.Second)
		s.server.Do("CLIENT", "KILL", "TYPE", "pubsub")
		_, err = other.Latch("l").CountDown(ctx)
		require.NoError(s, err)
		assert.NoError(s, <-waited)
	})
}

// A latch that was opened, set again and opened at once was not deleted: the message that
// tells so is on its way when the count is gone.
func TestLatchOfWhichTheOpeningIsToldLate(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client()
		const channel = "redisson_countdownlatch__channel__{l}"
		_, err := c.Latch("l").TrySetCount(ctx, 1)
		require.NoError(s, err)
		plain, strict := make(chan error, 1), make(chan error, 1)
		go func() { plain <- c.Latch("l").Wait(ctx) }()
		go func() { strict <- c.Latch("l").Strict().Wait(ctx) }()
		time.Sleep(time.Second)
		s.server.Do("EVAL", "redis.call('publish', KEYS[1], 0) redis.call('publish', KEYS[1], 1) redis.call('del', 'l')",
			"1", channel)
		time.Sleep(time.Second)
		s.server.Do("PUBLISH", channel, "1") // and once more
		time.Sleep(time.Second)
		s.server.Do("PUBLISH", channel, "0")
		assert.NoError(s, <-plain)
		assert.NoError(s, <-strict)
	})
}

// What may no longer be relied on says so.
func TestUntilAfterLoss(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(time.Hour))
		_, err := c.Mutex("k").ForceUnlock(s.Context())
		require.NoError(s, err)
		assert.LessOrEqual(s, h.Until(), lockclient.System().Mono())
	})
}

// Who hears of a loss finds the contexts of its holds ended.
func TestContextsEndBeforeALossIsTold(t *testing.T) {
	staged(t, func(s stage) {
		c, _ := s.client()
		h := s.lock(c.Mutex("k"), s.Context())
		for range 1000 {
			h = s.lock(c.Mutex("k"), h.In(s.Context()))
		}
		s.server.Del("k")
		<-h.Lost()
		assert.Error(s, h.Context().Err())
	})
}

// A Multi that is re-entered without a lease is renewed, whatever lease it has had.
func TestReentryOfAMultiIsRenewed(t *testing.T) {
	for name, lease := range map[string]func(s stage, multi *lockclient.Lock) *lockclient.Held{
		"from the start": func(s stage, multi *lockclient.Lock) *lockclient.Held {
			return s.lock(multi, s.Context(), lockclient.Lease(5*time.Second))
		},
		"by Extend": func(s stage, multi *lockclient.Lock) *lockclient.Held {
			h := s.lock(multi, s.Context())
			require.NoError(s, h.Extend(s.Context(), 5*time.Second))
			return h
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, _ := s.client()
				multi := lockclient.Multi(c.Mutex("k"), c.Mutex("l"))
				outer := lease(s, multi)
				inner := s.lock(multi, outer.In(s.Context()))
				require.NoError(s, outer.Unlock(s.Context()))
				time.Sleep(time.Minute)
				assert.False(s, isLost(inner))
				assert.NoError(s, inner.Unlock(s.Context()))
			})
		})
	}
}
