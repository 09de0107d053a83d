package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// failing replies as free does, but to unlocks with what the function says.
func failing(unlock func() error) func(script string, keys []string) (lockclient.Reply, error) {
	return func(script string, keys []string) (lockclient.Reply, error) {
		if script == "mutex-release" || script == "mutex-release-316" {
			if err := unlock(); err != nil {
				return lockclient.Reply{}, err
			}
		}
		return free(script, keys)
	}
}

var (
	errLoading = &lockclient.ServerError{Text: "LOADING Redis is loading the dataset in memory"}
	errReset   = errors.New("connection reset")
)

// repetitions locks with opts, unlocks while error is what unlocks meet, until
// heal has passed, and returns for how long it was repeated and how that ended.
func repetitions(
	t *testing.T, unlocks error, heal time.Duration, named bool, opts ...lockclient.Option,
) (lasted time.Duration, end lockclient.Event) {
	synctest.Test(t, func(t *testing.T) {
		begun, last := time.Now(), time.Now()
		w := &wire{reply: failing(func() error {
			last = time.Now()
			if last.Sub(begun) < heal {
				return unlocks
			}
			return nil
		})}
		var mu sync.Mutex
		events := map[lockclient.EventKind]lockclient.Event{}
		opts = append(opts, lockclient.WithObserver(func(e lockclient.Event) {
			mu.Lock()
			defer mu.Unlock()
			events[e.Kind] = e
		}))
		c := lockclient.New(w, lockclient.System(), opts...)
		lock := []lockclient.LockOption{lockclient.Lease(10 * time.Minute)}
		if named {
			lock = append(lock, lockclient.As("worker"))
		}
		h, err := c.Mutex("a").TryLock(t.Context(), lock...)
		require.NoError(t, err)
		require.Error(t, h.Unlock(t.Context()))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, events, 3)
		require.Contains(t, events, lockclient.Acquired)
		require.Error(t, events[lockclient.Released].Err)
		lasted, end = last.Sub(begun), events[lockclient.GivenBack]
	})
	require.Equal(t, lockclient.GivenBack, end.Kind)
	return lasted, end
}

// What a server has not done may be asked for as long as the lease lasts; what
// it may have done only while the latch tells, unless the name is alone.
func TestHowLongAnUnlockIsRepeated(t *testing.T) {
	const latch = 17 * time.Second // 4 time limits of 3 s and 8 s, less one limit
	for _, test := range []struct {
		name     string
		err      error
		named    bool
		compat   bool
		from, to time.Duration
	}{
		{"refused, fresh name", errLoading, false, false, 9 * time.Minute, 10 * time.Minute},
		{"refused, chosen name", errLoading, true, false, 9 * time.Minute, 10 * time.Minute},
		{"refused, chosen name, 3.16", errLoading, true, true, 9 * time.Minute, 10 * time.Minute},
		{"unknown, fresh name", errReset, false, false, 9 * time.Minute, 10 * time.Minute},
		{"unknown, fresh name, 3.16", errReset, false, true, 9 * time.Minute, 10 * time.Minute},
		{"unknown, chosen name", errReset, true, false, latch - 2*time.Second, latch},
		{"unknown, chosen name, 3.16", errReset, true, true, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var opts []lockclient.Option
			if test.compat {
				opts = append(opts, lockclient.Compat316())
			}
			lasted, end := repetitions(t, test.err, time.Hour, test.named, opts...)
			assert.GreaterOrEqual(t, lasted, test.from)
			assert.LessOrEqual(t, lasted, test.to)
			require.Error(t, end.Err)
		})
	}
	lasted, end := repetitions(t, errLoading, 5*time.Minute, false)
	assert.InDelta(t, 5*time.Minute, lasted, float64(2*time.Second))
	assert.NoError(t, end.Err)
	assert.Equal(t, "a", end.Key)
}

// An inner unlock is repeated while its hold lasts, and never cuts a lease that
// was extended meanwhile.
func TestInnerUnlockIsRepeatedWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, refuse := 0, true
		w := &wire{reply: failing(func() error {
			tries++
			if refuse {
				return errLoading
			}
			return nil
		})}
		c := lockclient.New(w, lockclient.System())
		outer, err := c.Mutex("a").TryLock(t.Context(), lockclient.Lease(time.Minute))
		require.NoError(t, err)
		inner, err := c.Mutex("a").TryLock(outer.Context(), lockclient.Lease(time.Minute))
		require.NoError(t, err)
		require.Error(t, inner.Unlock(t.Context()))
		require.NoError(t, outer.Extend(t.Context(), time.Hour))
		time.Sleep(30*time.Minute + time.Second/2)
		synctest.Wait()
		assert.Greater(t, tries, 1700)
		lines := w.sent(t, tries)
		assert.Contains(t, lines[len(lines)-1], " | 0 3600000 ", "the lease that it leaves")
		refuse = false
		require.NoError(t, outer.Unlock(context.Background()))
		before := tries
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, before, tries, "nothing is left to repeat")
	})
}

// Who asks again in the name of an Unlock that is repeated in vain waits no longer than it
// wants to, or than two requests may take, although the Unlock is in doubt for longer.
func TestWaitBehindAnUnlockThatIsRepeated(t *testing.T) {
	const limit = 3 * time.Second // of a request
	for wait, atMost := range map[time.Duration]time.Duration{0: 2 * limit, 8 * time.Second: 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{reply: failing(func() error {
				time.Sleep(limit)
				return context.DeadlineExceeded
			})}
			c := lockclient.New(w, lockclient.System())
			h, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("worker"), lockclient.Lease(10*time.Minute))
			require.NoError(t, err)
			require.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrUnknown)
			begun := time.Now()
			_, err = c.Mutex("a").TryLock(t.Context(), lockclient.As("worker"), lockclient.Wait(wait))
			require.ErrorIs(t, err, lockclient.ErrNotAcquired)
			assert.LessOrEqual(t, time.Since(begun), atMost+time.Millisecond)
			time.Sleep(time.Hour)
		})
	}
}

// A renewal that was sent before an unlock is of no effect when it is answered
// after it, in whichever order the server had the two: the hold is neither
// renewed again nor told lost.
func TestRenewalOvertakenByUnlock(t *testing.T) {
	for _, first := range []string{"renewal", "unlock"} {
		t.Run(first+" first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				renewals := 0
				w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
					if script != "mutex-renew" {
						return free(script, keys)
					}
					renewals++
					time.Sleep(2 * time.Second) // the unlock comes and goes
					known := integer(0)
					if first == "renewal" {
						known = integer(1)
					}
					return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{known}}, nil
				}}
				var kinds []lockclient.EventKind
				c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(30*time.Second),
					lockclient.WithObserver(func(e lockclient.Event) { kinds = append(kinds, e.Kind) }))
				h, err := c.Mutex("a").TryLock(t.Context())
				require.NoError(t, err)
				time.Sleep(11 * time.Second)
				synctest.Wait()
				require.Equal(t, 1, renewals)
				require.NoError(t, h.Unlock(t.Context()))
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, 1, renewals)
				assert.Equal(t, []lockclient.EventKind{lockclient.Acquired, lockclient.Released}, kinds)
			})
		})
	}
}

// The server may still count a hold that its client has lost. Where somebody takes the lock again in the name
// of its owner, one of the Unlocks gives both back, whichever comes first.
func TestLostHoldOfWhichTheNameIsTakenAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, order := range []string{"old first", "new first", "old while the new one is asked for"} {
			s := newCounter()
			count := s.reply
			s.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if script == "mutex-acquire" {
					time.Sleep(100 * time.Millisecond)
				}
				return count(script, keys)
			}
			c := lockclient.New(s, lockclient.System())
			old, err := c.Mutex("a").Lock(t.Context(), lockclient.Lease(10*time.Second))
			require.NoError(t, err)
			<-old.Lost()
			unlockOld := func() { assert.ErrorIs(t, old.Unlock(t.Context()), lockclient.ErrLost) }
			if order == "old while the new one is asked for" {
				time.AfterFunc(50*time.Millisecond, unlockOld)
			}
			again, err := c.Mutex("a").TryLock(t.Context(), lockclient.As(old.Owner()))
			require.NoError(t, err)
			time.Sleep(time.Second)
			if order == "old first" {
				unlockOld()
			}
			assert.NoError(t, again.Unlock(t.Context()))
			if order == "new first" {
				unlockOld()
			}
			assert.Zero(t, s.count, order)
			c.Close()
		}
	})
}

// What renewals without an answer may have prolonged is in doubt as long as that lasts, however many others are
// lost meanwhile: who has the name then gives it back.
func TestLostHoldWhoseRenewalsWereNotAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newCounter()
		count := s.reply
		s.reply = func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case keys[0] != "a":
				return free(script, keys)
			case script == "mutex-renew":
				return lockclient.Reply{}, errReset
			}
			return count(script, keys)
		}
		c := lockclient.New(s, lockclient.System())
		defer c.Close()
		old, err := c.Mutex("a").Lock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		<-old.Lost()
		time.Sleep(time.Second)
		for i := range 20 {
			other, err := c.Mutex(fmt.Sprint(i)).Lock(t.Context(), lockclient.As("me"), lockclient.Lease(10*time.Millisecond))
			require.NoError(t, err)
			<-other.Lost()
		}
		again, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		require.NoError(t, again.Unlock(t.Context()))
		assert.Zero(t, s.count)
	})
}
