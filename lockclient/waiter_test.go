package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// tardyWire is a wire that confirms a subscription after a second, if it does.
type tardyWire struct {
	*wire
	failures int // first
}

func (w *tardyWire) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(string), lost func(),
) (lockclient.Subscription, error) {
	time.Sleep(time.Second)
	w.failures--
	if w.failures >= 0 {
		return nil, errors.New("connection reset")
	}
	return w.wire.Subscribe(ctx, channel, sharded, deliver, lost)
}

// Who comes before a subscription is confirmed hears its messages, too.
func TestWaitersBeforeTheConfirmation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		refused := func(string, []string) (lockclient.Reply, error) { return integer(60000), nil }
		w := &tardyWire{wire: &wire{reply: refused}}
		c := lockclient.New(w, lockclient.System())
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { _, _ = c.Mutex("a").Lock(ctx) }()
			time.Sleep(100 * time.Millisecond)
		}
		_, err := c.Mutex("a").TryLock(ctx, lockclient.Wait(500*time.Millisecond))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		require.Len(t, w.sent(t, 0), 4, "each has tried")
		time.Sleep(time.Second)
		require.Len(t, w.sent(t, 0), 8, "and again, when they listen")
		w.deliver("1")
		time.Sleep(time.Second)
		assert.Len(t, w.sent(t, 0), 11)
		cancel()
		time.Sleep(time.Second)
		assert.Contains(t, w.sent(t, 0), "unsubscribe")
	})
}

// Where a subscription fails, the next one who waits for it subscribes.
func TestWaitersAfterAFailedSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var attempts, failed atomic.Int64
		w := &tardyWire{&wire{reply: func(script string, _ []string) (lockclient.Reply, error) {
			if script == "mutex-acquire" {
				attempts.Add(1)
			}
			return integer(60000), nil
		}}, 1}
		c := lockclient.New(w, lockclient.System())
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				if _, err := c.Mutex("a").Lock(ctx); ctx.Err() == nil {
					assert.ErrorIs(t, err, lockclient.ErrUnknown)
					failed.Add(1)
				}
			}()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		assert.EqualValues(t, 1, failed.Load())
		assert.EqualValues(t, 3+2, attempts.Load(), "two are subscribed, and have tried again")
		cancel()
		time.Sleep(time.Second)
		assert.Contains(t, w.sent(t, 0), "unsubscribe")
	})
}

// A wake-up of one who gives up, or fails, is the next waiter's.
func TestWakeUpOfOneWhoGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, fifth := range map[string]func(w *wire, cancel func()) error{
			"gives up": func(w *wire, cancel func()) error {
				w.deliver("0")
				cancel()
				return nil
			},
			"fails": func(*wire, func()) error { return errReset },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			var attempts atomic.Int64
			w := &wire{}
			w.reply = func(script string, _ []string) (r lockclient.Reply, err error) {
				if script != "mutex-acquire" {
					return integer(1), nil
				}
				switch attempts.Add(1) {
				case 2: // the first waiter's, who listens, and looks again after a while
					return integer(5000), nil
				case 5:
					if err := fifth(w, cancel); err != nil {
						return r, err
					}
				}
				return integer(60000), nil
			}
			c := lockclient.New(w, lockclient.System())
			go func() { _, _ = c.Mutex("a").Lock(ctx) }()
			time.Sleep(time.Second)
			go func() { _, _ = c.Mutex("a").TryLock(t.Context(), lockclient.Wait(10*time.Second)) }()
			time.Sleep(time.Second)
			require.EqualValues(t, 4, attempts.Load(), name)
			if name == "fails" {
				w.deliver("0")
			}
			time.Sleep(4 * time.Second)
			assert.EqualValues(t, 6, attempts.Load(), name)
			cancel()
			time.Sleep(time.Minute)
		}
	})
}

// A name that was used leaves nothing behind.
func TestNamesAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lockclient.New(forgetful{&wire{reply: free}}, lockclient.System(), lockclient.WithTimeout(10*time.Millisecond))
		use := func(n int) {
			for i := range n {
				me := lockclient.As(fmt.Sprint("worker ", i))
				h, err := c.Mutex("a").Lock(t.Context(), me, lockclient.Lease(20*time.Millisecond))
				require.NoError(t, err)
				if i%2 == 0 {
					<-h.Lost()
				}
				_ = h.Unlock(t.Context())
			}
			_, err := c.Mutex("a").Lock(t.Context(), lockclient.As("last"), lockclient.Lease(time.Millisecond))
			require.ErrorIs(t, err, lockclient.ErrLost)
			time.Sleep(time.Minute)
		}
		var before, after runtime.MemStats
		use(1000)
		runtime.GC()
		runtime.ReadMemStats(&before)
		use(10_000)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(c)
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(10_000*100))
	})
}

// forgetful is a wire that notes nothing.
type forgetful struct{ *wire }

func (f forgetful) Eval(
	_ context.Context, script *lockclient.Script, keys, _ []string,
) (lockclient.Reply, error) {
	return f.reply(script.Name, keys)
}

func (forgetful) Do(context.Context, string, ...string) (lockclient.Reply, error) {
	return lockclient.Reply{}, nil
}

// Who waits where nobody wakes takes what becomes free at any time of the wait, also shortly before its end.
func TestWaitersWhomNobodyWakesLookAtTheEnd(t *testing.T) {
	const wait = 200 * time.Millisecond
	for name, locks := range map[string]func(m *hashMaster, p *master) *lockclient.Lock{
		"Simple": func(_ *hashMaster, p *master) *lockclient.Lock {
			return lockclient.New(p, lockclient.System()).Simple("job")
		},
		"Redlock": func(_ *hashMaster, p *master) *lockclient.Lock { return redlock(p) },
		"Spin": func(m *hashMaster, _ *master) *lockclient.Lock {
			return lockclient.New(m, lockclient.System()).Spin("job")
		},
		"HashRedlock": func(m *hashMaster, _ *master) *lockclient.Lock {
			return lockclient.HashRedlock("job", lockclient.New(m, lockclient.System()))
		},
	} { //tidy:unordered each by itself
		bubble(t, func(t *testing.T) {
			m, p := takenMaster(), &master{value: "other"}
			m.deaf = true
			time.AfterFunc(wait-1, func() { // between the drawn attempts and the end
				m.free(false)
				p.mu.Lock()
				defer p.mu.Unlock()
				p.value = ""
			})
			begun := time.Now()
			_, err := locks(m, p).TryLock(t.Context(), lockclient.Wait(wait))
			require.NoError(t, err, name)
			assert.Equal(t, wait, time.Since(begun), name)
		})
	}
}
