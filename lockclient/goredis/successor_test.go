package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Constant: how an owner's next hold is asked for.
var (
	me   = lockclient.As("me")
	hour = lockclient.Lease(time.Hour)
)

// only has a script meet a fate, and no other.
func only(script string, f fate) func(string, []string) fate {
	return func(name string, _ []string) fate {
		if name == script {
			return f
		}
		return fate{}
	}
}

// successions have a hold of "me" follow another one of which something is still under way.
var successions = map[string]func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held{
	"an Unlock that is under way": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(time.Second))
		f.has(only("mutex-release", fate{before: 200 * time.Millisecond}))
		go func() { assert.NoError(s, h.Unlock(s.Context())) }()
		time.Sleep(50 * time.Millisecond)
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
	"an Unlock that is repeated": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(10*time.Second))
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
		time.Sleep(500 * time.Millisecond)
		f.has(only("mutex-release", fate{before: 200 * time.Millisecond}))
		time.Sleep(550 * time.Millisecond)
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
	"an Unlock that gives back one after the other": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		short := lockclient.Lease(6 * time.Second)
		h := s.lock(c.Mutex("k"), s.Context(), me, short)
		f.has(only("mutex-acquire", fate{lose: errReset}))
		for range 3 {
			_, err := c.Mutex("k").Lock(s.Context(), me, short)
			require.ErrorIs(s, err, lockclient.ErrUnknown)
		}
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
		f.has(only("mutex-release", fate{before: 2900 * time.Millisecond}))
		time.Sleep(10 * time.Second) // longer than any lease lasts, but it is not done
		s.lose()
		<-s.lock(c.Mutex("other"), s.Context(), lockclient.As("other"), lockclient.Lease(time.Second)).Lost()
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
	"an Unlock of an owner that was named later": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		short := lockclient.Lease(10 * time.Second)
		h := s.lock(c.Mutex("k"), s.Context(), short)
		named := lockclient.As(h.Owner())
		require.NoError(s, s.lock(c.Mutex("k"), s.Context(), named, short).Unlock(s.Context()))
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrNotSent)
		time.Sleep(11 * time.Second)
		f.has(nil)
		return s.lock(c.Mutex("k"), s.Context(), named, hour)
	},
	"an inner Unlock that is to be repeated": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		outer, next := s.oneAndNext(c)
		inner := s.lock(c.Mutex("k"), s.Context(), me)
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, inner.Unlock(s.Context()), lockclient.ErrNotSent)
		time.Sleep(500 * time.Millisecond)
		f.has(nil)
		require.NoError(s, outer.Unlock(s.Context()))
		return <-next
	},
	"a renewal": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h, next := s.oneAndNext(c)
		f.has(func(script string, _ []string) fate {
			switch script {
			case "mutex-renew":
				return fate{before: 200 * time.Millisecond, after: 400 * time.Millisecond}
			case "mutex-acquire":
				return fate{before: 300 * time.Millisecond}
			}
			return fate{}
		})
		time.Sleep(10*time.Second + time.Millisecond)
		require.NoError(s, h.Unlock(s.Context()))
		return <-next
	},
	"a ForceUnlock": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h, next := s.oneAndNext(c)
		f.has(func(script string, _ []string) fate {
			switch script {
			case "mutex-force":
				return fate{before: 200 * time.Millisecond, after: 400 * time.Millisecond}
			case "mutex-acquire":
				return fate{before: 300 * time.Millisecond}
			}
			return fate{}
		})
		go func() { _, _ = c.Mutex("k").ForceUnlock(s.Context()) }()
		time.Sleep(100 * time.Millisecond)
		require.NoError(s, h.Unlock(s.Context()))
		other, _ := s.client()
		s.lock(other.Mutex("k"), s.Context())
		return <-next
	},
	"a re-entry": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(time.Second))
		f.has(only("mutex-acquire", fate{before: 1200 * time.Millisecond}))
		go func() {
			_, err := c.Mutex("k").Lock(h.In(s.Context()), lockclient.Lease(time.Second))
			assert.ErrorIs(s, err, lockclient.ErrLost)
		}()
		<-h.Lost()
		f.has(nil)
		time.Sleep(100 * time.Millisecond)
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
	"a re-entry that waits for its turn": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(time.Second))
		f.has(only("mutex-extend", fate{before: 1200 * time.Millisecond}))
		go func() { assert.ErrorIs(s, h.Extend(s.Context(), time.Second), lockclient.ErrLost) }()
		time.Sleep(50 * time.Millisecond)
		_, err := c.Mutex("k").Lock(h.In(s.Context()))
		require.ErrorIs(s, err, lockclient.ErrLost)
		f.has(nil)
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
	"an Extend": func(s stage, c *lockclient.Client, f *fateful) *lockclient.Held {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(time.Second))
		f.has(only("mutex-extend", fate{before: time.Second}))
		go func() { assert.ErrorIs(s, h.Extend(s.Context(), time.Second), lockclient.ErrLost) }()
		<-h.Lost()
		f.has(nil)
		time.Sleep(5 * time.Millisecond)
		return s.lock(c.Mutex("k"), s.Context(), me, hour)
	},
}

// Holds of one name that follow each other are not taken for each other, whatever of an
// earlier one is still under way.
func TestHoldsOfOneNameThatFollowEachOther(t *testing.T) {
	for name, meet := range successions {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				c, f := s.client()
				h := meet(s, c, f)
				for range 4 {
					time.Sleep(3 * time.Second)
					assert.False(s, isLost(h), "the server has it")
					assert.False(s, !isLost(h) && s.takenByAnother("k"), "held by two")
				}
				f.has(nil)
				require.NoError(s, h.Unlock(s.Context()))
				assert.False(s, s.server.Exists("k"))
			})
		})
	}
}

// oneAndNext has two wait for one lock in the same name. The first has it now, the other
// one when that is unlocked.
func (s stage) oneAndNext(c *lockclient.Client) (one *lockclient.Held, next <-chan *lockclient.Held) {
	other, _ := s.client()
	held := s.lock(other.Mutex("k"), s.Context())
	granted := make(chan *lockclient.Held, 2)
	for range 2 {
		go func() { granted <- s.lock(c.Mutex("k"), s.Context(), me) }()
	}
	time.Sleep(time.Second)
	require.NoError(s, held.Unlock(s.Context()))
	return <-granted, granted
}

// lately is the fate of a request that arrives after it was given up.
var lately = fate{arrives: 3100 * time.Millisecond}

// lateRequests have a request of "me" arrive when it was given up.
var lateRequests = map[string]func(s stage, c *lockclient.Client, f *fateful){
	"an acquisition": func(s stage, c *lockclient.Client, f *fateful) {
		f.has(only("mutex-acquire", lately))
		_, err := c.Mutex("k").Lock(s.Context(), me, lockclient.Lease(3*time.Second))
		require.ErrorIs(s, err, lockclient.ErrUnknown)
	},
	"an acquisition before an Unlock that is repeated": func(s stage, c *lockclient.Client, f *fateful) {
		f.has(only("mutex-acquire", lately))
		limited, cancel := context.WithTimeout(s.Context(), 2*time.Second)
		defer cancel()
		_, err := c.Mutex("k").Lock(limited, me, lockclient.Lease(3*time.Second))
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		h := s.lock(c.Mutex("k"), s.Context(), me, hour)
		f.has(only("mutex-release", fate{lose: errReset}))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrUnknown)
		f.has(nil)
		time.Sleep(time.Second)
	},
	"an acquisition before another one": func(s stage, c *lockclient.Client, f *fateful) {
		f.has(only("mutex-acquire", lately))
		limited, cancel := context.WithTimeout(s.Context(), 2*time.Second)
		defer cancel()
		_, err := c.Mutex("k").Lock(limited, me, lockclient.Lease(3*time.Second))
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		require.NoError(s, s.lock(c.Mutex("k"), s.Context(), me, hour).Unlock(s.Context()))
		f.has(only("mutex-acquire", fate{lose: errReset}))
		_, err = c.Mutex("k").Lock(s.Context(), me, hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
	},
	"an Extend": func(s stage, c *lockclient.Client, f *fateful) {
		h := s.lock(c.Mutex("k"), s.Context(), me, hour)
		f.has(only("mutex-extend", lately))
		require.ErrorIs(s, h.Extend(s.Context(), 4*time.Second), lockclient.ErrUnknown)
		require.NoError(s, h.Unlock(s.Context()))
	},
	"an Unlock": func(s stage, c *lockclient.Client, f *fateful) {
		h := s.lock(c.Mutex("k"), s.Context(), me, lockclient.Lease(4*time.Second))
		f.has(only("mutex-release", lately))
		require.ErrorIs(s, h.Unlock(s.Context()), lockclient.ErrUnknown)
	},
}

// What arrives after its request was given up may cut the lease of the owner's next hold,
// which does not count on more then; the one after that does.
func TestLateRequestsInAName(t *testing.T) {
	ctx := context.Background()
	for name, ask := range lateRequests {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				begun := time.Now()
				c, f := s.client()
				ask(s, c, f)
				f.has(nil)
				h := s.lock(c.Mutex("k"), ctx, me, hour)
				for range 50 {
					time.Sleep(200 * time.Millisecond)
					assert.False(s, !isLost(h) && s.takenByAnother("k"), "held by two")
				}
				_ = h.Unlock(ctx)
				time.Sleep(time.Minute) // no other request can be late by so much
				s.server.Del("k")
				h = s.lock(c.Mutex("k"), ctx, me)
				assert.Greater(s, h.Until()-time.Since(begun), 29*time.Second)
				require.NoError(s, h.Unlock(ctx))
				assert.False(s, s.server.Exists("k"))
			})
		})
	}
}

// A write side of which its owner's reading keeps the key alive when its own lease is over
// is not in the way of anybody for longer than a later hold of that name.
func TestWriteSideThatWasLostAndKeptAlive(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, _ := s.client()
		other, _ := s.client()
		w := s.lock(c.RW("k").W(), ctx, me, lockclient.Lease(time.Minute))
		r := s.lock(c.RW("k").R(), w.In(ctx))
		require.NoError(s, w.Extend(ctx, time.Second))
		<-w.Lost()
		require.NoError(s, r.Unlock(ctx))
		require.ErrorIs(s, w.Unlock(ctx), lockclient.ErrLost)

		w = s.lock(c.RW("k").W(), ctx, me, hour)
		require.NoError(s, w.Unlock(ctx))
		h, err := other.RW("k").W().TryLock(ctx)
		if assert.NoError(s, err) {
			require.NoError(s, h.Unlock(ctx))
		}
	})
}

// What is not known of a hold that was asked for in vain is not forgotten with the last
// acquisition that waits, which had a place in an earlier one.
func TestDoubtOutlivesAWaiterOfAnEarlierHold(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		other, _ := s.client()
		theirs := s.lock(other.Mutex("k"), ctx, hour)
		granted := make(chan *lockclient.Held, 2)
		for range 2 {
			go func() { granted <- s.lock(c.Mutex("k"), ctx, me, hour) }()
		}
		time.Sleep(time.Second)
		require.NoError(s, theirs.Unlock(ctx))
		first := <-granted
		f.has(func(script string, args []string) (is fate) {
			switch {
			case script == "mutex-release":
				is.before = time.Second
			case args[0] == "2000":
				is.arrives = lockclient.DefaultTimeout + 2*time.Second
			}
			return is
		})
		go func() {
			time.Sleep(500 * time.Millisecond) // the second one sleeps, and nothing is held
			_, err := c.Mutex("k").TryLock(ctx, me, lockclient.Lease(2*time.Second))
			assert.ErrorIs(s, err, lockclient.ErrUnknown)
		}()
		require.NoError(s, first.Unlock(ctx))
		second := <-granted
		for range 8 {
			assert.False(s, !isLost(second) && s.takenByAnother("k"), "held by two")
			time.Sleep(time.Second)
		}
	})
}

// What is not known of two holds of one name is not forgotten when the lease of one has
// ended and that of the other has not.
func TestDoubtLastsAsLongAsTheLongerLease(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		<-s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(10*time.Second)).Lost() // the server has it yet
		f.has(only("mutex-acquire", fate{lose: errReset}))
		_, err := c.Mutex("k").Lock(ctx, me, hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		f.has(nil)
		time.Sleep(time.Minute)
		assert.True(s, s.server.Exists("k"))
		<-s.lock(c.Mutex("other"), ctx, lockclient.As("other"), lockclient.Lease(time.Second)).Lost()

		require.NoError(s, s.lock(c.Mutex("k"), ctx, me).Unlock(ctx))
		assert.False(s, s.server.Exists("k"))
	})
}

// An Unlock that was refused until it was too late to repeat it has left what it should have
// given back with the server until the lease ends there: the last Unlock of a hold that
// follows before gives that back, too. Under Compat316 one of unknown outcome is never repeated.
func TestUnlockThatIsNotRepeatedAnyMoreIsSettledByTheNextHold(t *testing.T) {
	for name, test := range map[string]struct {
		script  string
		fails   error
		options []lockclient.Option
	}{
		"refused":       {"mutex-release", lockclient.ErrNotSent, nil},
		"unknown, 3.16": {"mutex-release-316", errReset, []lockclient.Option{lockclient.Compat316()}},
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				ctx := s.Context()
				c, f := s.client(test.options...)
				h := s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(10*time.Second))
				f.has(only(test.script, fate{err: test.fails}))
				require.Error(s, h.Unlock(ctx))
				time.Sleep(8500 * time.Millisecond) // it is repeated until 3 s before the lease ends
				f.has(nil)

				require.NoError(s, s.lock(c.Mutex("k"), ctx, me, hour).Unlock(ctx))
				assert.False(s, s.server.Exists("k"))
			})
		})
	}
}

// What is unlocked after its loss, while a later hold of its owner's name is there, leaves
// the Unlock of that one to itself: it is repeated if it fails.
func TestUnlockOfWhatWasLostMeetsALaterHold(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		lost := s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(10*time.Second))
		f.has(only("mutex-extend", fate{lose: errReset}))
		require.ErrorIs(s, lost.Extend(ctx, 9*time.Second), lockclient.ErrUnknown)
		f.has(nil)
		_, err := c.Mutex("k").ForceUnlock(ctx)
		require.NoError(s, err)

		h := s.lock(c.Mutex("k"), ctx, me, hour)
		require.ErrorIs(s, lost.Unlock(ctx), lockclient.ErrLost)
		f.has(only("mutex-release", fate{err: lockclient.ErrNotSent}))
		require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
		f.has(nil)
		time.Sleep(2 * time.Second)
		assert.False(s, s.server.Exists("k"))
	})
}

// An acquisition that comes between a repetition of an Unlock and the late answer to that is
// settled by the next hold.
func TestAcquisitionComesBeforeTheLateAnswerToAnUnlock(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		h := s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(10*time.Second))
		f.has(func(script string, _ []string) fate {
			if script == "mutex-release" {
				return fate{err: lockclient.ErrNotSent}
			}
			return fate{arrives: 3 * time.Second}
		})
		require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
		limited, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
		defer cancel()
		_, err := c.Mutex("k").Lock(limited, me, hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		time.Sleep(500 * time.Millisecond)
		f.has(only("mutex-release", fate{after: 2800 * time.Millisecond}))
		time.Sleep(6 * time.Second)
		f.has(nil)
		assert.True(s, s.server.Exists("k"), "the acquisition has come")

		require.NoError(s, s.lock(c.Mutex("k"), ctx, me, hour).Unlock(ctx))
		assert.False(s, s.server.Exists("k"))
	})
}

// A repetition of an Unlock gives back what was taken, without anybody's knowing, since the
// first attempt.
func TestRepeatedUnlockSettlesWhatWasTakenSince(t *testing.T) {
	staged(t, func(s stage) {
		ctx := s.Context()
		c, f := s.client()
		h := s.lock(c.Mutex("k"), ctx, me, lockclient.Lease(time.Minute))
		f.has(func(script string, _ []string) fate {
			if script == "mutex-release" {
				return fate{err: lockclient.ErrNotSent}
			}
			return fate{lose: errReset}
		})
		require.ErrorIs(s, h.Unlock(ctx), lockclient.ErrNotSent)
		_, err := c.Mutex("k").Lock(ctx, me, hour)
		require.ErrorIs(s, err, lockclient.ErrUnknown)
		time.Sleep(5 * time.Second)
		f.has(nil)
		time.Sleep(2 * time.Second)
		assert.False(s, s.server.Exists("k"))
	})
}
