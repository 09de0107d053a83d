package lockclient_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// Observers hear of everything that happens to a lock, and how long it took.
func TestEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		var taken, broken atomic.Bool
		w := &wire{}
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			switch {
			case broken.Load():
				return lockclient.Reply{}, errReset
			case script == "mutex-acquire" && taken.Load():
				return integer(60000), nil
			}
			return free(script, keys)
		}
		time.Sleep(time.Minute) // no duration is a date
		c := lockclient.New(w, lockclient.System(), lockclient.WithObserver(func(e lockclient.Event) {
			failed := ""
			if e.Err != nil {
				failed = ", failed"
			}
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf("%v %s %v %d %v%s", e.Kind, e.Key, e.Wait, e.Attempts, e.Held, failed))
		}))
		defer c.Close()
		time.Sleep(time.Minute)
		ctx := t.Context()
		h, err := c.Mutex("a").Lock(ctx)
		require.NoError(t, err)
		time.Sleep(11 * time.Second)
		taken.Store(true)
		_, err = c.Mutex("a").TryLock(ctx, lockclient.Wait(time.Second))
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		taken.Store(false)
		require.NoError(t, h.Unlock(ctx))
		h, err = c.Mutex("a").Lock(ctx)
		require.NoError(t, err)
		broken.Store(true)
		<-h.Lost()
		require.ErrorIs(t, h.Unlock(ctx), lockclient.ErrLost)
		broken.Store(false)
		time.Sleep(5 * time.Second)

		p, err := c.Semaphore("s").Acquire(ctx, 1)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.NoError(t, p.Release(ctx))
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{
			"acquired a 0s 1 0s", "renewed a 0s 0 0s", "failed a 1s 2 0s, failed", "released a 0s 0 12s",
			"acquired a 0s 1 0s", "unrenewed a 0s 0 0s, failed", "unrenewed a 0s 0 0s, failed", "lost a 0s 0 29.698s",
			"released a 0s 0 29.698s, failed", "given back a 0s 0 0s",
			"acquired s 0s 1 0s", "released s 0s 0 1s",
		}, events)
	})
}
