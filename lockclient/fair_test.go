package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// unixMillis is a date on the wire, in a bubble, whose time begins in the year 2000.
var unixMillis = regexp.MustCompile(`\b9466848\d{5}\b`)

// dated replaces the date in what was sent.
func dated(lines []string) []string {
	for i, line := range lines {
		lines[i] = unixMillis.ReplaceAllString(line, "NOW")
	}
	return masked(lines)
}

// queueFull replies as a server does on which a fair lock is taken.
func queueFull(script string, _ []string) (lockclient.Reply, error) {
	if strings.HasPrefix(script, "fair-acquire") || script == "fair-try" {
		return integer(60000), nil
	}
	return lockclient.Reply{}, nil
}

// Keys, channels and the order of arguments are Redisson's. A waiter subscribes
// to its own channel, and leaves the queue when it gives up.
func TestWireOfFair(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: queueFull}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"))
		_, err := c.Fair("a").TryLock(t.Context())
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		_, err = c.Fair("a").TryLock(t.Context(), lockclient.Wait(20*time.Millisecond), lockclient.Lease(time.Second))
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		w.sent(t, 7)
		_, err = c.Fair("a").ForceUnlock(t.Context())
		require.NoError(t, err)
		const keys = "a redisson_lock_queue:{a} redisson_lock_timeout:{a}"
		assert.Equal(t, []string{
			"fair-try " + keys + " | 30000 uuid:1 NOW 300000",
			"fair-acquire " + keys + " | 1000 uuid:2 20 NOW",
			"subscribe redisson_lock__channel:{a}:uuid:2 false",
			"fair-acquire " + keys + " | 1000 uuid:2 20 NOW",
			"unsubscribe",
			"fair-withdraw redisson_lock_queue:{a} redisson_lock_timeout:{a} | uuid:2 20",
			"fair-release " + keys + " redisson_lock__channel:{a} redisson_unlock_latch:{a}:ID" +
				" | 0 1000 uuid:2 NOW PUBLISH 20000",
			"fair-force " + keys + " redisson_lock__channel:{a} | 0 NOW PUBLISH",
		}, dated(w.sent(t, 8)))
	})
}

func TestWireOfFair316(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if strings.HasPrefix(script, "fair-acquire") {
				return lockclient.Reply{}, nil
			}
			return integer(1), nil
		}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"), lockclient.Compat316())
		h, err := c.Fair("a").Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Extend(t.Context(), time.Minute))
		require.NoError(t, h.Unlock(t.Context()))
		freed, err := c.Fair("a").ForceUnlock(t.Context())
		require.NoError(t, err)
		assert.True(t, freed)
		const keys = "a redisson_lock_queue:{a} redisson_lock_timeout:{a}"
		assert.Equal(t, []string{
			"fair-acquire-316 " + keys + " | 30000 uuid:1 300000 NOW",
			"mutex-extend a | 60000 uuid:1",
			"fair-release-316 " + keys + " redisson_lock__channel:{a} | 0 60000 uuid:1 NOW",
			"fair-force-316 " + keys + " redisson_lock__channel:{a} | 0 NOW",
		}, dated(w.sent(t, 4)))
	})
}

// A waiter that is told to ask again at once, as the lock is free but not for
// it, does not ask in a loop.
func TestFairWaiterPauses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(0), nil }}
		c := lockclient.New(w, lockclient.System())
		_, err := c.Fair("a").TryLock(t.Context(), lockclient.Wait(250*time.Millisecond))
		assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		asked := strings.Count(strings.Join(w.sent(t, 0), "\n"), "fair-acquire")
		assert.LessOrEqual(t, asked, 5)
		assert.GreaterOrEqual(t, asked, 3)
	})
}

// A hint that lies far away, or under Compat316 is over, does not keep a waiter
// from asking again: places get lost, and so do messages.
func TestFairWaiterAsksAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, hint := range []int64{-5, 3_600_000} {
			w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(hint), nil }}
			c := lockclient.New(w, lockclient.System(), lockclient.Compat316(), lockclient.WithFairWait(100*time.Millisecond))
			_, err := c.Fair("a").TryLock(t.Context(), lockclient.Wait(250*time.Millisecond))
			assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
			sent := strings.Join(w.sent(t, 0), "\n")
			assert.Greater(t, strings.Count(sent, "fair-acquire-316"), 2)
			assert.Equal(t, hint < 0, strings.Contains(sent, "PTTL a"), "the lock's TTL stands in for a hint that is over")
		}
	})
}

// A waiter of whom the server may know leaves the queue also when its context
// ends, and when a reply is lost; if it may have the lock, it gives it back.
func TestFairWaiterLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
		cancel()
		return queueFull(script, keys)
	}}
	_, err := lockclient.New(w, lockclient.System()).Fair("a").Lock(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	sent := strings.Join(w.sent(t, 4), "\n")
	assert.Contains(t, sent, "fair-withdraw")

	w = &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
		if script == "fair-acquire" {
			return lockclient.Reply{}, errors.New("connection reset")
		}
		return queueFull(script, keys)
	}}
	_, err = lockclient.New(w, lockclient.System()).Fair("a").Lock(t.Context())
	assert.ErrorIs(t, err, lockclient.ErrUnknown)
	names := w.sent(t, 3)
	assert.True(t, strings.HasPrefix(names[1], "fair-withdraw"), names)
	assert.True(t, strings.HasPrefix(names[2], "fair-release"), names)
}

// A waiter has left the queue when its Lock returns, as its process may end then. A server that
// does not answer delays that for a quarter of the time of a request.
func TestFairWaiterLeavesFirst(t *testing.T) {
	for _, silent := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			w := &wire{}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				if silent && script == "fair-withdraw" {
					w.mu.Lock()
					ctx := w.asked
					w.mu.Unlock()
					<-ctx.Done()
					return lockclient.Reply{}, ctx.Err()
				}
				return queueFull(script, keys)
			}
			begun := time.Now()
			_, err := lockclient.New(w, lockclient.System()).Fair("a").TryLock(t.Context(), lockclient.Wait(time.Second))
			assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
			delay := time.Since(begun) - time.Second
			w.mu.Lock()
			defer w.mu.Unlock()
			assert.Contains(t, strings.Join(w.lines, "\n"), "fair-withdraw")
			if silent {
				assert.Equal(t, lockclient.DefaultTimeout/4, delay)
			} else {
				assert.Zero(t, delay)
			}
		})
	}
}

// Whose requests were never sent has no place in a queue, and one that was refused for good
// leaves it once: that may be refused, too.
func TestFairWaiterThatWasRefused(t *testing.T) {
	for failure, withdrawals := range map[error]int{
		fmt.Errorf("%w: connection refused", lockclient.ErrNotSent): 0,
		&lockclient.ServerError{Text: "NOPERM this key"}:            1,
	} {
		bubble(t, func(t *testing.T) {
			w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return lockclient.Reply{}, failure }}
			_, err := lockclient.New(w, lockclient.System()).Fair("a").Lock(t.Context())
			require.Error(t, err)
			time.Sleep(time.Hour)
			assert.Equal(t, withdrawals, strings.Count(strings.Join(w.sent(t, 0), "\n"), "fair-withdraw"))
		})
	}
}

// The release of a fair lock that has vanished is a loss, as it is for others.
func TestVanishedFairLockIsLost(t *testing.T) {
	w := &wire{reply: func(script string, _ []string) (lockclient.Reply, error) { return lockclient.Reply{}, nil }}
	h, err := lockclient.New(w, lockclient.System()).Fair("a").Lock(t.Context())
	require.NoError(t, err)
	assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
}

// Who waits for a lock of another kind in an owner's name has no place in the queue: the last one that
// waits for the fair lock in that name leaves it.
func TestFairWaiterLeavesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(10_000), nil }}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		waits := func(l *lockclient.Lock, d time.Duration) {
			_, err := l.TryLock(t.Context(), lockclient.As("me"), lockclient.Wait(d))
			assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
		}
		go waits(c.Mutex("a"), time.Second)
		waits(c.Fair("a"), 250*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		assert.Contains(t, strings.Join(w.sent(t, 0), "\n"), "fair-withdraw")
		time.Sleep(time.Minute)
	})
}

// Who waits in the queue and then re-enters the lock, as another one took it in the owner's name,
// leaves the queue, unless the other one had the place.
func TestFairWaiterThatReentersLeavesTheQueue(t *testing.T) {
	for _, kind := range []string{"mutex", "fair"} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &wire{}
				var free atomic.Bool
				w.reply = func(script string, keys []string) (lockclient.Reply, error) {
					if script == "fair-acquire" && !free.Load() {
						return integer(1000), nil
					}
					return lockclient.Reply{}, nil
				}
				c := lockclient.New(w, lockclient.System())
				defer c.Close()
				others := map[string]*lockclient.Lock{"mutex": c.Mutex("a"), "fair": c.Fair("a")}
				go func() {
					time.Sleep(500 * time.Millisecond)
					free.Store(true)
					_, err := others[kind].TryLock(t.Context(), lockclient.As("me"))
					assert.NoError(t, err)
				}()
				_, err := c.Fair("a").Lock(t.Context(), lockclient.As("me"))
				require.NoError(t, err)
				time.Sleep(time.Second)
				sent := strings.Join(w.sent(t, 0), "\n")
				assert.Contains(t, sent, "again")
				assert.Equal(t, kind == "mutex", strings.Contains(sent, "fair-withdraw"), sent)
			})
		})
	}
}

// So does who gets what the server still counts of a lock of another kind, as its Unlock failed.
func TestFairWaiterThatGetsWhatIsLeftLeavesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{}
		var free atomic.Bool
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case script == "mutex-release":
				return lockclient.Reply{}, errLoading
			case script == "fair-acquire" && !free.Load():
				return integer(1000), nil
			}
			return lockclient.Reply{}, nil
		}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		time.AfterFunc(500*time.Millisecond, func() {
			free.Store(true)
			h, err := c.Mutex("a").TryLock(t.Context(), lockclient.As("me"))
			if assert.NoError(t, err) {
				assert.Error(t, h.Unlock(t.Context()))
			}
		})
		_, err := c.Fair("a").Lock(t.Context(), lockclient.As("me"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		sent := strings.Join(w.sent(t, 0), "\n")
		assert.NotContains(t, sent, "again")
		assert.Contains(t, sent, "fair-withdraw")
	})
}
