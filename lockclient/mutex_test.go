package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// wire is a Transport that notes what is sent and replies from a function.
type wire struct {
	topology lockclient.Topology
	reply    func(script string, keys []string) (lockclient.Reply, error)

	mu      sync.Mutex
	asked   context.Context // of the latest script
	lines   []string
	deliver func(string)
}

func (w *wire) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *wire) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	w.mu.Lock()
	w.asked = ctx
	w.mu.Unlock()
	w.note("%s %s | %s", script.Name, strings.Join(keys, " "), strings.Join(args, " "))
	return w.reply(script.Name, keys)
}

func (w *wire) Do(_ context.Context, key string, args ...string) (lockclient.Reply, error) {
	w.note("%s", strings.Join(args, " "))
	return lockclient.Reply{}, nil
}

func (w *wire) Subscribe(
	_ context.Context, channel string, sharded bool, deliver func(string), _ func(),
) (lockclient.Subscription, error) {
	w.note("subscribe %s %v", channel, sharded)
	w.mu.Lock()
	w.deliver = deliver
	w.mu.Unlock()
	return w, nil
}

func (w *wire) Close() { w.note("unsubscribe") }

func (w *wire) Topology() lockclient.Topology { return w.topology }

// sent returns what was sent so far, when it is at least n lines.
func (w *wire) sent(t *testing.T, n int) []string {
	t.Helper()
	var lines []string
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		lines = append([]string(nil), w.lines...)
		return len(lines) >= n
	}, 5*time.Second, time.Millisecond)
	return lines
}

func integer(n int64) lockclient.Reply { return lockclient.Reply{Kind: lockclient.IntReply, Int: n} }

// free replies as a server does on which every lock is free.
func free(script string, keys []string) (lockclient.Reply, error) {
	switch script {
	case "mutex-acquire", "nonreentrant-acquire":
		return lockclient.Reply{}, nil
	case "fenced-acquire":
		return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{integer(-1), integer(7)}}, nil
	case "mutex-renew":
		list := make([]lockclient.Reply, len(keys))
		for i := range list {
			list[i] = integer(1)
		}
		return lockclient.Reply{Kind: lockclient.ListReply, List: list}, nil
	}
	return integer(1), nil
}

// masked replaces the random request id of an unlock.
func masked(lines []string) []string {
	for i, line := range lines {
		if at := strings.Index(line, "redisson_unlock_latch:"); at >= 0 {
			from := at + strings.Index(line[at:], "}:") + 2
			lines[i] = line[:from] + "ID" + line[from+32:]
		}
	}
	return lines
}

// Keys, channels and the order of arguments are Redisson's; an uncontended lock
// and unlock is two scripts and the deletion of the latch, nothing else.
func TestWireOfMutex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: free}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"))
		h, err := c.Mutex("orders").Lock(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "uuid:1", h.Owner())
		require.NoError(t, h.Unlock(t.Context()))
		w.sent(t, 3)
		time.Sleep(50 * time.Millisecond) // nothing more comes
		assert.Equal(t, []string{
			"mutex-acquire orders | 30000 uuid:1",
			"mutex-release orders redisson_lock__channel:{orders} redisson_unlock_latch:{orders}:ID" +
				" | 0 30000 uuid:1 PUBLISH 20000",
			"DEL redisson_unlock_latch:{orders}:ID",
		}, masked(w.sent(t, 3)))
	})
}

func TestWireOfFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: free, topology: lockclient.Topology{Cluster: true, Sharded: true}}
		c := lockclient.New(w, lockclient.System(), lockclient.WithID("uuid"))
		h, err := c.Fenced("a{b}").TryLock(t.Context(), lockclient.Lease(1500*time.Millisecond), lockclient.As("me:3"))
		require.NoError(t, err)
		token, ok := h.Token()
		assert.True(t, ok)
		assert.EqualValues(t, 7, token)
		require.NoError(t, h.Unlock(t.Context()))
		assert.Equal(t, []string{
			"fenced-acquire a{b} redisson_lock_token:a{b} | 1500 me:3",
			"mutex-release a{b} redisson_lock__channel:a{b} redisson_unlock_latch:a{b}:ID | 0 1500 me:3 SPUBLISH 20000",
		}, masked(w.sent(t, 2)[:2]))
	})
}

// A fenced lock without TTL is no success, although its reply begins with -1.
func TestFencedWithoutTTLIsTaken(t *testing.T) {
	w := &wire{reply: func(string, []string) (lockclient.Reply, error) {
		return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{integer(-1), integer(-1)}}, nil
	}}
	_, err := lockclient.New(w, lockclient.System()).Fenced("a").TryLock(t.Context())
	assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
}

// A thousand idle locks cost one script per 100 and period, and in a cluster no
// script spans two slots.
func TestRenewalIsBatched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, cluster := range []bool{false, true} {
			w := &wire{reply: free, topology: lockclient.Topology{Cluster: cluster}}
			c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(3*time.Second))
			for i := range 1000 {
				key := fmt.Sprintf("{%d}:%d", i%4, i)
				_, err := c.Mutex(key).Lock(t.Context())
				require.NoError(t, err)
			}
			want := slices.Repeat([]int{100}, 10)
			if cluster { // 250 locks in each of four slots
				want = slices.Repeat([]int{100, 100, 50}, 4)
			}
			assert.ElementsMatch(t, want, renewals(w.sent(t, 1000+len(want))[1000:1000+len(want)]))
			c.Close()
		}
	})
}

// renewals returns how many locks each renewal names.
func renewals(lines []string) (locks []int) {
	for _, line := range lines {
		keys, _, _ := strings.Cut(line, " | ")
		locks = append(locks, len(strings.Fields(keys))-1)
	}
	return locks
}

// Many waiters of one process share one subscription, which ends with the last.
func TestOneSubscriptionPerChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) { return integer(60000), nil }}
		c := lockclient.New(w, lockclient.System())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				_, err := c.Mutex("a").TryLock(t.Context(), lockclient.Wait(200*time.Millisecond))
				assert.ErrorIs(t, err, lockclient.ErrNotAcquired)
			})
		}
		wg.Wait()
		var pubsub []string
		for _, line := range w.sent(t, 0) {
			if strings.Contains(line, "subscribe") {
				pubsub = append(pubsub, line)
			}
		}
		assert.Equal(t, []string{"subscribe redisson_lock__channel:{a} false", "unsubscribe"}, pubsub)
	})
}

// Message 0 wakes one waiter and message 1 all of them.
func TestMessageWakesOneOrAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }}
		c := lockclient.New(w, lockclient.System())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := c.Mutex("a").Lock(ctx)
				assert.ErrorIs(t, err, context.Canceled)
			})
		}
		w.sent(t, 7) // each has tried, subscribed together, tried again
		w.deliver("0")
		w.sent(t, 8)
		time.Sleep(50 * time.Millisecond)
		assert.Len(t, w.sent(t, 8), 8, "one waiter tries again")
		w.deliver("not a number")
		w.deliver("1")
		w.sent(t, 11)
		time.Sleep(50 * time.Millisecond)
		assert.Len(t, w.sent(t, 11), 11, "every waiter tries again")
		cancel()
		wg.Wait()
	})
}

// A client that holds nothing runs nothing.
func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	c := lockclient.New(&wire{reply: free}, lockclient.System())
	for range 10 {
		h, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, // the poll's own
		5*time.Second, time.Millisecond)
}

func TestPanicReleases(t *testing.T) {
	w := &wire{reply: free}
	c := lockclient.New(w, lockclient.System())
	assert.Panics(t, func() {
		_ = c.Mutex("a").Do(t.Context(), func(context.Context, *lockclient.Held) error { panic("work") })
	})
	assert.Contains(t, w.sent(t, 2)[1], "mutex-release")
}

// A loss closes Lost and ends the context once, with its cause, and is told.
func TestLossIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-renew" {
				return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{integer(0)}}, nil
			}
			return free(script, keys)
		}}
		events := make(chan lockclient.Event, 10)
		c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(150*time.Millisecond),
			lockclient.WithObserver(func(e lockclient.Event) { events <- e }))
		h, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		assert.Equal(t, lockclient.Acquired, (<-events).Kind)
		<-h.Lost()
		<-h.Context().Done()
		assert.Equal(t, lockclient.Lost, (<-events).Kind)
		assert.Equal(t, lockclient.ErrLost, context.Cause(h.Context()))
		c.Close()
		assert.ErrorIs(t, h.Unlock(t.Context()), lockclient.ErrLost)
		assert.Equal(t, lockclient.Released, (<-events).Kind)
		assert.Empty(t, events)
	})
}

// A grant whose reply comes after the lease is no grant.
func TestGrantThatComesTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" {
				time.Sleep(30 * time.Millisecond)
			}
			return free(script, keys)
		}}
		c := lockclient.New(w, lockclient.System())
		_, err := c.Mutex("a").TryLock(t.Context(), lockclient.Lease(20*time.Millisecond))
		assert.ErrorIs(t, err, lockclient.ErrLost)
		assert.Contains(t, w.sent(t, 2)[1], "mutex-release")
	})
}

// A time limit of the client's own is no deadline of the caller's.
func TestOwnTimeoutIsUnknownOutcome(t *testing.T) {
	w := &wire{reply: func(string, []string) (lockclient.Reply, error) {
		return lockclient.Reply{}, context.DeadlineExceeded
	}}
	_, err := lockclient.New(w, lockclient.System()).Mutex("a").TryLock(t.Context())
	assert.ErrorIs(t, err, lockclient.ErrUnknown)
	assert.NotErrorIs(t, err, context.DeadlineExceeded)
}

// What the server refused was not executed, and is returned as it came.
func TestServerErrorIsReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(string, []string) (lockclient.Reply, error) {
			return lockclient.Reply{}, &lockclient.ServerError{Text: "WRONGTYPE Operation"}
		}}
		_, err := lockclient.New(w, lockclient.System()).Mutex("a").TryLock(t.Context())
		var refused *lockclient.ServerError
		require.True(t, errors.As(err, &refused))
		assert.Equal(t, `lockclient: lock "a": WRONGTYPE Operation`, err.Error())
		time.Sleep(20 * time.Millisecond)
		assert.Len(t, w.sent(t, 1), 1, "nothing is given back")
	})
}

// A lock that was forced open may have a new holder before the reply is there:
// only the old one has lost it. What was not freed, nobody has lost.
func TestForceUnlockEndsWhatWasHeld(t *testing.T) {
	var c *lockclient.Client
	var next *lockclient.Held
	w := &wire{reply: func(script string, keys []string) (reply lockclient.Reply, err error) {
		if script == "mutex-force" {
			next, err = c.Mutex("a").TryLock(context.Background())
			return integer(1), err
		}
		if script == "rw-force" {
			return integer(0), nil
		}
		return free(script, keys)
	}}
	c = lockclient.New(w, lockclient.System())
	last, err := c.Mutex("a").TryLock(t.Context())
	require.NoError(t, err)
	freed, err := c.Mutex("a").ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.True(t, freed)
	assert.Equal(t, lockclient.ErrLost, context.Cause(last.Context()))
	assert.NoError(t, next.Context().Err())

	freed, err = c.RW("a").R().ForceUnlock(t.Context()) // somebody writes
	require.NoError(t, err)
	assert.False(t, freed)
	assert.NoError(t, next.Context().Err())
}
