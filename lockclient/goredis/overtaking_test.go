package goredis_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// hurries has what asks for a short lease arrive first and be answered first, and what
// asks for an hour arrive first and be answered last.
func hurries(_ string, args []string) fate {
	if args[0] == "3600000" {
		return fate{after: 100 * time.Millisecond}
	}
	return fate{before: 20 * time.Millisecond}
}

// Of requests about one hold that are made at the same time none cuts the lease that
// another one counts on, whatever comes late.
func TestLeasesOfRequestsThatMeet(t *testing.T) {
	for name, meet := range map[string]func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held{
		"first acquisitions of a named owner": func(s stage, c *lockclient.Client, f *fateful) (long *lockclient.Held) {
			ctx := s.Context()
			f.has(hurries)
			me := lockclient.As("me")
			beside(func() { long = s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(time.Hour)) },
				func() { s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(time.Second)) })
			return long
		},
		"re-entries": func(s stage, c *lockclient.Client, f *fateful) (long *lockclient.Held) {
			ctx := s.Context()
			h := s.lock(c.Mutex("k"), ctx, lockclient.Lease(10*time.Second))
			f.has(hurries)
			beside(func() { long = s.lock(c.Mutex("k"), h.Context(), lockclient.Lease(time.Hour)) },
				func() { s.lock(c.Mutex("k"), h.Context(), lockclient.Lease(time.Second)) })
			return long
		},
		"extensions": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
			ctx := s.Context()
			h := s.lock(c.Mutex("k"), ctx, lockclient.Lease(10*time.Second))
			f.has(hurries)
			beside(func() { assert.NoError(s, h.Extend(ctx, time.Hour)) },
				func() { assert.NoError(s, h.Extend(ctx, 5*time.Second)) })
			return h
		},
		"an extension and a re-entry whose reply is lost": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
			ctx := s.Context()
			h := s.lock(c.Mutex("k"), ctx, lockclient.Lease(10*time.Second))
			f.has(func(script string, _ []string) fate {
				if script == "mutex-acquire" {
					return fate{before: 20 * time.Millisecond, lose: errReset}
				}
				return fate{}
			})
			beside(func() {
				_, err := c.Mutex("k").Lock(h.Context(), lockclient.Lease(time.Second))
				assert.ErrorIs(s, err, lockclient.ErrUnknown)
			}, func() {
				time.Sleep(10 * time.Millisecond)
				assert.NoError(s, h.Extend(ctx, time.Hour))
			})
			assert.Less(s, h.Until(), time.Minute, "the request whose reply was lost may come after the extension")
			return h
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				h := meet(s, c, f)
				f.has(nil)
				for range 4 {
					time.Sleep(3 * time.Second)
					assert.False(s, !isLost(h) && s.takenByAnother("k"), "held by two")
				}
			})
		})
	}
}

// The same of those who read inside one write.
func TestLeasesOfReadersInOneWrite(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		w := s.lock(c.RW("k").W(), ctx, lockclient.Lease(5*time.Second))
		f.has(hurries)
		var long *lockclient.Held
		beside(func() { long = s.lock(c.RW("k").R(), w.In(ctx), lockclient.Lease(time.Hour)) },
			func() { s.lock(c.RW("k").R(), w.In(ctx), lockclient.Lease(time.Second)) })
		f.has(nil)
		require.NoError(s, w.Unlock(ctx))
		time.Sleep(6 * time.Second)
		other, _ := s.client()
		r := s.lock(other.RW("k").R(), ctx)
		require.NoError(s, r.Unlock(ctx))
		_, err := other.RW("k").W().TryLock(ctx)
		assert.ErrorIs(s, err, lockclient.ErrNotAcquired)
		assert.False(s, isLost(long))
	})
}

// An Unlock that arrives when its repetition has been answered does not count again,
// whatever became of other repetitions.
func TestUnlockArrivesAfterItsRepetition(t *testing.T) {
	late := fate{arrives: lockclient.DefaultTimeout + 1500*time.Millisecond}
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex": func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"fair":  func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
		"spin":  func(c *lockclient.Client) *lockclient.Lock { return c.Spin("k") },
		"read":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write": func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	} {
		for _, fates := range [][]fate{{late}, {late, {err: lockclient.ErrNotSent}}} {
			t.Run(name, func(t *testing.T) {
				staged(t, func(s stage) {
					ctx := s.Context()
					c, f := s.client()
					outer := s.lock(lock(c), ctx, lockclient.Lease(time.Hour))
					inner := s.lock(lock(c), outer.Context())
					f.has(func(string, []string) (is fate) {
						if len(fates) > 0 {
							is, fates = fates[0], fates[1:]
						}
						return is
					})
					require.ErrorIs(s, inner.Unlock(ctx), lockclient.ErrUnknown)
					time.Sleep(3 * time.Second)
					n, err := lock(c).HoldCount(ctx, outer.Owner())
					require.NoError(s, err)
					assert.EqualValues(s, 1, n)
					assert.NoError(s, outer.Unlock(ctx))
				})
			})
		}
	}
}

// An Unlock that comes when nobody waits for its answer any more does not end the next
// hold of its owner's name.
func TestUnlockArrivesAfterTheNextHold(t *testing.T) {
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex": func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"fair":  func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
		"write": func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client()
				h := s.lock(lock(c), ctx, me, lockclient.Lease(lockclient.DefaultTimeout))
				late := fate{arrives: lockclient.DefaultTimeout + time.Second}
				f.has(func(string, []string) (is fate) {
					is, late = late, fate{}
					return is
				})
				require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrUnknown)
				h = s.lock(lock(c), ctx, me, hour)
				time.Sleep(5 * time.Second)
				n, err := lock(c).HoldCount(ctx, h.Owner())
				require.NoError(s, err)
				assert.EqualValues(s, 1, n)
				assert.NoError(s, h.Unlock(ctx))
			})
		})
	}
}

// A repetition of an Unlock that comes late has the lease of its time: nobody counts on a
// longer one that was asked for meanwhile.
func TestRepeatedUnlockCutsTheLease(t *testing.T) {
	unsent, late := fate{err: lockclient.ErrNotSent}, fate{arrives: lockclient.DefaultTimeout + 500*time.Millisecond}
	for name, fates := range map[string][]fate{"the first one": {late, unsent, unsent}, "a repetition": {unsent, late}} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client()
				outer := s.lock(c.Mutex("k"), ctx, lockclient.Lease(10*time.Second))
				inner := s.lock(c.Mutex("k"), outer.Context(), lockclient.Lease(10*time.Second))
				f.has(func(script string, _ []string) (is fate) {
					if script == "mutex-release" && len(fates) > 0 {
						is, fates = fates[0], fates[1:]
					}
					return is
				})
				begun := time.Now()
				require.Error(s, inner.Unlock(ctx))
				time.Sleep(lockclient.DefaultTimeout + 100*time.Millisecond - time.Since(begun))
				require.NoError(s, outer.Extend(ctx, time.Hour))
				for range 5 {
					time.Sleep(3 * time.Second)
					assert.False(s, !isLost(outer) && s.takenByAnother("k"), "held by two")
				}
			})
		})
	}
}

// A renewal that comes late does not cut the lease with which its owner has taken the lock
// again.
func TestLateRenewalCutsNothing(t *testing.T) {
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex": func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"read":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write": func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	} {
		for _, options := range [][]lockclient.Option{nil, {lockclient.Compat316()}} {
			t.Run(name, func(t *testing.T) {
				staged(t, func(s stage) {
					ctx := s.Context()
					c, f := s.client(append(options, lockclient.WithWatchdog(9*time.Second))...)
					short := s.lock(lock(c), ctx, lockclient.Lease(20*time.Second))
					renewed := s.lock(lock(c), short.Context())
					f.has(func(script string, _ []string) fate {
						if strings.Contains(script, "-renew") {
							return fate{before: time.Second}
						}
						return fate{}
					})
					time.Sleep(3500 * time.Millisecond)
					require.NoError(s, renewed.Unlock(ctx))
					long := s.lock(lock(c), short.Context(), hour)
					other, _ := s.client(options...)
					time.Sleep(time.Second)
					reader, err := other.RW("k").R().TryLock(ctx) // whose Unlock looks who reads on
					require.Equal(s, name == "read", err == nil)
					time.Sleep(30 * time.Second)
					if err == nil {
						require.NoError(s, reader.Unlock(ctx))
					}
					_, err = other.RW("k").W().TryLock(ctx)
					assert.ErrorIs(s, err, lockclient.ErrNotAcquired)
					assert.False(s, isLost(long))
				})
			})
		}
	}
}

// An acquisition of unknown outcome that comes between a later one and the answer to it
// brings its lease into force.
func TestAcquisitionComesBeforeALateAnswer(t *testing.T) {
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex": func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"fair":  func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client()
				f.has(func(string, []string) fate { return fate{arrives: 5500 * time.Millisecond} })
				_, err := lock(c).TryLock(ctx, me, lockclient.Lease(2*time.Second))
				require.ErrorIs(s, err, lockclient.ErrUnknown)
				time.Sleep(2 * time.Second)
				f.has(func(string, []string) fate { return fate{after: 1500 * time.Millisecond} })
				h, err := lock(c).TryLock(ctx, me, hour)
				f.has(nil)
				for range 3 {
					assert.False(s, err == nil && !isLost(h) && s.takenByAnother("k"), "held by two")
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// A request of unknown outcome that cannot come any more cuts nothing that is asked for
// later.
func TestLeaseOfUnknownOutcomeIsForgotten(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		h := s.lock(c.Mutex("k"), ctx, hour)
		f.has(only("mutex-extend", fate{lose: errReset}))
		require.ErrorIs(s, h.Extend(ctx, 10*time.Second), lockclient.ErrUnknown)
		f.has(nil)
		time.Sleep(5 * time.Second)
		require.NoError(s, h.Extend(ctx, time.Hour))
		time.Sleep(time.Minute)
		assert.False(s, isLost(h))
		assert.NoError(s, h.Unlock(ctx))
	})
}

// A request of unknown outcome that cannot come any more cuts nothing either while another one
// may come that asked for a longer lease: of the same hold, or of the one that follows.
func TestEachLeaseOfUnknownOutcomeIsForgottenInItsTime(t *testing.T) {
	for name, next := range map[string]func(s stage, c *lockclient.Client, h *lockclient.Held) *lockclient.Held{
		"of the same hold": func(s stage, _ *lockclient.Client, h *lockclient.Held) *lockclient.Held {
			time.Sleep(2 * time.Second)
			require.ErrorIs(s, h.Extend(s.Context(), 30*time.Minute), lockclient.ErrUnknown)
			time.Sleep(2 * time.Second)
			return h
		},
		"of the next one": func(s stage, c *lockclient.Client, h *lockclient.Held) *lockclient.Held {
			<-h.Lost()
			_, err := c.Mutex("k").Lock(s.Context(), me, lockclient.Lease(30*time.Minute))
			require.ErrorIs(s, err, lockclient.ErrUnknown)
			return s.lock(c.Mutex("k"), s.Context(), me, hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client()
				h := s.lock(c.Mutex("k"), ctx, me, hour)
				f.has(func(script string, args []string) fate {
					if script == "mutex-extend" || args[0] == "1800000" {
						return fate{lose: errReset}
					}
					return fate{}
				})
				require.ErrorIs(s, h.Extend(ctx, 10*time.Second), lockclient.ErrUnknown)
				h = next(s, c, h)
				f.has(nil)
				require.NoError(s, h.Extend(ctx, time.Hour))
				time.Sleep(time.Minute)
				assert.False(s, isLost(h))
				assert.NoError(s, h.Unlock(ctx))
			})
		})
	}
}

// A re-entry that meets the Unlock of what it re-enters leaves nothing behind, and that
// is not told of a loss.
func TestReentryMeetsUnlock(t *testing.T) {
	for name, late := range map[string]fate{
		"it comes first": {after: 100 * time.Millisecond}, "it comes last": {before: 100 * time.Millisecond},
		"it comes late": {before: 100 * time.Millisecond, lose: errReset},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client()
				outer := s.lock(c.Mutex("k"), ctx, lockclient.Lease(time.Hour))
				f.has(func(script string, _ []string) fate {
					if script == "mutex-acquire" {
						return late
					}
					return fate{}
				})
				beside(func() {
					inner, err := c.Mutex("k").Lock(outer.In(ctx), lockclient.Lease(time.Hour))
					if late.lose != nil {
						assert.ErrorIs(s, err, lockclient.ErrUnknown)
						return
					}
					assert.NoError(s, err)
					assert.NoError(s, inner.Unlock(ctx))
				}, func() {
					_, err := c.Mutex("k").Lock(outer.Context())
					assert.Error(s, err, "what it derives from has ended")
				}, func() {
					time.Sleep(50 * time.Millisecond)
					assert.NoError(s, outer.Unlock(ctx))
				})
				time.Sleep(time.Minute)
				assert.False(s, s.server.Exists("k"))
			})
		})
	}
}

// A re-entry finds out that the lock was lost, and does not take it anew in secret.
func TestReentryFindsLoss(t *testing.T) {
	for name, of := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex":  func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"fenced": func(c *lockclient.Client) *lockclient.Lock { return c.Fenced("k") },
		"spin":   func(c *lockclient.Client) *lockclient.Lock { return c.Spin("k") },
		"fair":   func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
		"read":   func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
	} {
		for generation, options := range map[string][]lockclient.Option{"": nil, ", 3.16": {lockclient.Compat316()}} {
			t.Run(name+generation, func(t *testing.T) {
				staged(t, func(s stage) {
					c, _ := s.client(options...)
					outer := s.lock(of(c), s.Context())
					s.server.Del("k") // as a failover does
					for _, take := range []func(context.Context, ...lockclient.LockOption) (*lockclient.Held, error){
						of(c).Lock, of(c).TryLock,
					} {
						_, err := take(outer.Context())
						assert.ErrorIs(s, err, lockclient.ErrLost)
					}
					assert.True(s, isLost(outer))
					time.Sleep(time.Minute)
					assert.False(s, s.server.Exists("k"))
				})
			})
		}
	}
}

// Who waits for a turn waits no longer for it than with Wait for the lock, or than a
// request may take: where nobody answers each turn lasts so long.
func TestLimitedWaitForATurn(t *testing.T) {
	for name, wait := range map[string]time.Duration{"none": 0, "short": time.Second, "long": 7 * time.Second} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				f.has(only("mutex-acquire", fate{before: time.Hour}))
				begun, longest := time.Now(), lockclient.DefaultTimeout+max(wait, lockclient.DefaultTimeout)
				beside(slices.Repeat([]func(){func() {
					_, err := c.Mutex("k").TryLock(s.Context(), lockclient.As("me"), lockclient.Wait(wait))
					assert.Error(s, err)
					assert.LessOrEqual(s, time.Since(begun), longest)
				}}, 10)...)
				f.has(nil)
				time.Sleep(time.Minute)
				h, err := c.Mutex("k").TryLock(s.Context(), lockclient.As("me"))
				require.NoError(s, err, "no turn was lost")
				require.NoError(s, h.Unlock(s.Context()))
			})
		})
	}
}

// Who waits for a turn in vain is told why, and has asked for nothing.
func TestTurnThatDoesNotCome(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		var asked atomic.Int64
		f.has(func(string, []string) fate {
			asked.Add(1)
			return fate{before: time.Hour}
		})
		var granted atomic.Int64
		for range 3 { // one after the other, 3 s each
			go func() {
				if _, err := c.Mutex("k").TryLock(s.Context(), me, lockclient.Wait(time.Hour)); err == nil {
					granted.Add(1)
				}
			}()
		}
		time.Sleep(time.Second)
		beside(func() {
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			_, err := c.Mutex("k").Lock(ctx, me)
			assert.ErrorIs(s, err, context.DeadlineExceeded)
			assert.NotErrorIs(s, err, lockclient.ErrNotAcquired)
		}, func() {
			_, err := c.Mutex("k").TryLock(s.Context(), me)
			assert.ErrorIs(s, err, lockclient.ErrNotAcquired)
			assert.EqualValues(s, 2, asked.Load())
		})
		f.has(nil)
		time.Sleep(10 * time.Second)
		assert.EqualValues(s, 1, granted.Load(), "the third one waits as long as it is told to")
	})
}

// Nor is an extension asked for before its turn.
func TestExtensionThatDoesNotComeToItsTurn(t *testing.T) {
	staged(t, func(s stage) {
		c, f := s.client()
		h := s.lock(c.Mutex("k"), s.Context(), hour)
		var asked atomic.Int64
		f.has(func(string, []string) fate {
			asked.Add(1)
			return fate{before: 2 * time.Second}
		})
		beside(func() { assert.NoError(s, h.Extend(s.Context(), time.Hour)) }, func() {
			time.Sleep(time.Millisecond)
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			assert.ErrorIs(s, h.Extend(ctx, time.Second), context.DeadlineExceeded)
		})
		assert.EqualValues(s, 1, asked.Load())
		assert.Greater(s, h.Until(), time.Minute)
	})
}
