package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/minikvtest"
)

// What no replica has confirmed is given back only where nothing else can be in the
// owner's name: after a failover it could be that.
func TestUnconfirmedInAName(t *testing.T) {
	dead := func(script string, _ []string) fate {
		if script == "mutex-release" {
			return fate{err: lockclient.ErrNotSent} // the master has died
		}
		return fate{}
	}
	t.Run("re-entry", func(t *testing.T) {
		staged(t, func(s stage) {
			f := s.transport()
			c := s.over(replicated{f})
			outer := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(10*time.Minute))
			f.confirms = false
			f.has(dead)
			_, err := c.Mutex("k").Lock(outer.Context())
			require.ErrorIs(s, err, lockclient.ErrReplication)
			s.server.Do("HSET", "k", outer.Owner(), "1") // failover: the replica has the outer one alone
			f.has(nil)
			time.Sleep(time.Minute)
			assert.False(s, s.takenByAnother("k"))
			require.NoError(s, outer.Unlock(s.Context()))
			assert.False(s, s.server.Exists("k"))
		})
	})
	t.Run("named", func(t *testing.T) {
		staged(t, func(s stage) {
			f := s.transport()
			c := s.over(replicated{f})
			options := []lockclient.LockOption{lockclient.As("me"), lockclient.Lease(10 * time.Minute)}
			f.confirms = false
			f.has(dead)
			_, err := c.Mutex("k").Lock(s.Context(), options...)
			require.ErrorIs(s, err, lockclient.ErrReplication)
			time.Sleep(2 * time.Second)
			s.server.Del("k") // failover: the replica has nothing
			f.confirms = true
			h := s.lock(c.Mutex("k"), s.Context(), options...)
			f.has(nil)
			time.Sleep(time.Minute)
			assert.False(s, s.takenByAnother("k"))
			require.NoError(s, h.Unlock(s.Context()))
		})
	})
	t.Run("named, without a failover", func(t *testing.T) {
		staged(t, func(s stage) {
			f := s.transport()
			c := s.over(replicated{f})
			options := []lockclient.LockOption{lockclient.As("me"), lockclient.Lease(10 * time.Minute)}
			f.confirms = false
			_, err := c.Mutex("k").Lock(s.Context(), options...)
			require.ErrorIs(s, err, lockclient.ErrReplication)
			f.confirms = true
			h := s.lock(c.Mutex("k"), s.Context(), options...)
			require.NoError(s, h.Unlock(s.Context()))
			assert.False(s, s.server.Exists("k"), "the last Unlock gives back what was not confirmed")
		})
	})
}

// An inner Unlock that is repeated and finds the lock gone tells the outer hold.
func TestRepeatedUnlockFindsLoss(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		outer := s.lock(c.Mutex("k"), ctx, lockclient.Lease(10*time.Minute))
		inner := s.lock(c.Mutex("k"), outer.Context(), lockclient.Lease(10*time.Minute))
		s.server.Do("HSET", "k", outer.Owner(), "1") // a failover has lost the re-entry
		f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
		require.ErrorIs(s, inner.Unlock(ctx), lockclient.ErrNotSent)
		f.has(nil)
		time.Sleep(5 * time.Second)
		assert.True(s, isLost(outer))
		assert.True(s, s.takenByAnother("k"))
	})
}

// No repetition of a named owner's Unlock ends a later hold of that name, whichever client
// has it.
func TestRepeatedUnlockOfAName(t *testing.T) {
	for name, next := range map[string]func(s stage, c *lockclient.Client) *lockclient.Client{
		"the same client": func(_ stage, c *lockclient.Client) *lockclient.Client { return c },
		"another client": func(s stage, _ *lockclient.Client) *lockclient.Client {
			c, _ := s.client()
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx, begun := s.Context(), time.Now()
				c, f := s.client()
				h := s.lock(c.Mutex("k"), ctx, lockclient.As("me"), lockclient.Lease(5*time.Second))
				time.Sleep(800 * time.Millisecond)
				f.has(func(script string, _ []string) fate {
					switch {
					case script != "mutex-release":
						return fate{}
					case time.Since(begun) < 4500*time.Millisecond:
						return fate{err: lockclient.ErrNotSent}
					}
					return fate{before: time.Second}
				})
				require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
				time.Sleep(5100*time.Millisecond - time.Since(begun))
				s.lock(next(s, c).Mutex("k"), ctx, lockclient.As("me"), lockclient.Lease(10*time.Minute))
				time.Sleep(10 * time.Second)
				assert.False(s, s.takenByAnother("k"))
			})
		})
	}
}

// An acquisition in the same name that fails does not end the repetition of an Unlock.
func TestRepeatedUnlockMeetsAnAcquisition(t *testing.T) {
	staged(t, func(s stage) {
		ctx, me := s.Context(), lockclient.As("me")
		c, f := s.client()
		h := s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(10*time.Minute))
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
		f.has(func(script string, _ []string) fate {
			if script == "mutex-acquire" {
				return fate{before: time.Hour} // it never arrives
			}
			return fate{err: lockclient.ErrNotSent}
		})
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.Mutex("k").Lock(limited, me)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		time.Sleep(5 * time.Second)
		assert.False(s, s.server.Exists("k"))
	})
}

// An Unlock is repeated until the lease has ended that may be in force.
func TestUnlockAfterAnExtension(t *testing.T) {
	for name, extend := range map[string]func(s stage, f *fateful, h *lockclient.Held){
		"confirmed": func(s stage, _ *fateful, h *lockclient.Held) {
			require.NoError(s, h.Extend(s.Context(), time.Hour))
		},
		"of unknown outcome": func(s stage, f *fateful, h *lockclient.Held) {
			f.has(func(string, []string) fate { return fate{lose: errReset} })
			require.ErrorIs(s, h.Extend(s.Context(), time.Hour), lockclient.ErrUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				h := s.lock(c.Mutex("k"), s.Context(), lockclient.Lease(10*time.Second))
				extend(s, f, h)
				f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
				require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
				time.Sleep(25 * time.Second)
				f.has(nil)
				time.Sleep(5 * time.Second)
				assert.False(s, s.server.Exists("k"))
			})
		})
	}
}

// A renewal whose reply is late does not cut what was relied on since.
func TestLateRenewal(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		outer := s.lock(c.Mutex("k"), ctx)
		inner := s.lock(c.Mutex("k"), outer.In(ctx), lockclient.Lease(10*time.Minute))
		f.has(func(script string, _ []string) fate {
			if script == "mutex-renew" {
				return fate{after: time.Second}
			}
			return fate{}
		})
		time.Sleep(10*time.Second + 500*time.Millisecond) // the renewal is on its way
		require.NoError(s, outer.Unlock(ctx))
		time.Sleep(9 * time.Minute)
		assert.False(s, isLost(inner))
	})
}

// What gives back an acquisition of unknown outcome may overtake it, also when its own
// reply comes when the acquisition cannot be on its way any more.
func TestGivenBackTooEarly(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		begun := time.Now()
		f.has(func(script string, _ []string) fate {
			switch {
			case script == "mutex-acquire":
				return fate{arrives: 2 * time.Second}
			case time.Since(begun) < time.Second:
				return fate{err: lockclient.ErrNotSent}
			}
			return fate{after: 2500 * time.Millisecond}
		})
		ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Mutex("k").Lock(ctx, lockclient.Lease(time.Hour))
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		time.Sleep(10 * time.Second)
		assert.False(s, s.server.Exists("k"))
	})
}

// A renewal whose reply is late does not stand for a shorter lease that was asked for
// since.
func TestLateRenewalAndShorterLease(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		outer := s.lock(c.Mutex("k"), ctx)
		inner := s.lock(c.Mutex("k"), outer.In(ctx), lockclient.Lease(5*time.Second))
		f.has(only("mutex-renew", fate{after: time.Second}))
		time.Sleep(10*time.Second + 500*time.Millisecond) // the renewal is on its way
		require.NoError(s, outer.Unlock(ctx))
		require.NoError(s, inner.Extend(ctx, 2*time.Second))
		time.Sleep(4 * time.Second)
		assert.True(s, isLost(inner))
		assert.True(s, s.takenByAnother("k"))
	})
}

// late executes a script after who asked has given up.
type late struct {
	*fateful
	script string
	by     time.Duration
}

func (l late) Eval(
	ctx context.Context, s *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	if s.Name != l.script {
		return l.fateful.Eval(ctx, s, keys, args)
	}
	go func() {
		time.Sleep(l.by)
		_, _ = l.fateful.Eval(context.WithoutCancel(ctx), s, keys, args)
	}()
	<-ctx.Done()
	return lockclient.Reply{}, ctx.Err()
}

// What an attempt of a Redlock failed to take, or took too late, comes back.
func TestRedlockGivesBack(t *testing.T) {
	t.Run("granted late", func(t *testing.T) {
		staged(t, func(s stage) {
			masters := []stage{s, {s.T, minikvtest.Run(s)}, {s.T, minikvtest.Run(s)}}
			var clients []*lockclient.Client
			for i, m := range masters {
				var over lockclient.Transport = m.transport()
				if i > 0 {
					over = late{m.transport(), "mutex-acquire", 600 * time.Millisecond}
				}
				clients = append(clients, m.over(over))
			}
			_, err := lockclient.HashRedlock("k", clients...).TryLock(s.Context(),
				lockclient.Lease(10*time.Minute), lockclient.NodeTimeout(500*time.Millisecond))
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			time.Sleep(10 * time.Second)
			for _, m := range masters {
				assert.False(s, m.server.Exists("k"))
			}
		})
	})
	t.Run("a release that fails", func(t *testing.T) {
		staged(t, func(s stage) {
			var clients []*lockclient.Client
			for i, m := range []stage{s, {s.T, minikvtest.Run(s)}, {s.T, minikvtest.Run(s)}} {
				c, f := m.client()
				f.has(func(script string, _ []string) fate {
					if i > 0 || script == "mutex-release" {
						return fate{err: lockclient.ErrNotSent}
					}
					return fate{}
				})
				if i == 0 {
					time.AfterFunc(100*time.Millisecond, func() { f.has(nil) })
				}
				clients = append(clients, c)
			}
			_, err := lockclient.HashRedlock("k", clients...).TryLock(s.Context(), lockclient.Lease(10*time.Minute))
			require.ErrorIs(s, err, lockclient.ErrNotAcquired)
			time.Sleep(5 * time.Second)
			assert.False(s, s.server.Exists("k"))
		})
	})
}

// Close ends the wait for a HashRedlock, whose first client it is.
func TestCloseEndsTheWaitForAQuorum(t *testing.T) {
	staged(t, func(s stage) {
		masters := []stage{s, {s.T, minikvtest.Run(s)}, {s.T, minikvtest.Run(s)}}
		clients := func() (all []*lockclient.Client) {
			for _, m := range masters {
				c, _ := m.client()
				all = append(all, c)
			}
			return all
		}
		s.lock(lockclient.HashRedlock("k", clients()...), s.Context(), lockclient.Lease(10*time.Minute))
		mine, begun := clients(), time.Now()
		time.AfterFunc(time.Second, mine[0].Close)
		_, err := lockclient.HashRedlock("k", mine...).Lock(s.Context())
		require.ErrorIs(s, err, lockclient.ErrClosed)
		assert.Less(s, time.Since(begun), 2*time.Second)
	})
}
