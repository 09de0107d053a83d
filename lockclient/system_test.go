package lockclient_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// A timer calls once for each time that it was set to, unless it is set anew or
// stopped before.
func TestSystemTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rt := lockclient.System()
		calls := make(chan time.Duration, 10)
		timer := rt.NewTimer(func() { calls <- rt.Mono() })
		time.Sleep(2 * time.Hour)
		assert.Empty(t, calls, "it begins stopped")
		timer.Set(3 * time.Hour)
		timer.Set(4 * time.Hour)
		time.Sleep(5 * time.Hour)
		timer.Set(8 * time.Hour)
		timer.Stop()
		timer.Stop()
		time.Sleep(5 * time.Hour)
		timer.Set(time.Hour) // has passed
		time.Sleep(time.Second)
		assert.Equal(t, []time.Duration{4 * time.Hour, 12 * time.Hour}, []time.Duration{<-calls, <-calls})
		assert.Empty(t, calls)
	})
}

// Nothing looks after what a closed client takes: it takes nothing.
func TestClosedClientTakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: free}
		c := lockclient.New(w, lockclient.System())
		c.Close()
		_, err := c.Mutex("a").Lock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrClosed)
		_, err = lockclient.Multi(c.Mutex("a"), c.Fair("b")).TryLock(t.Context())
		require.ErrorIs(t, err, lockclient.ErrClosed)
		_, err = c.Semaphore("a").Acquire(t.Context(), 1)
		require.ErrorIs(t, err, lockclient.ErrClosed)
		require.ErrorIs(t, c.Latch("a").Wait(t.Context()), lockclient.ErrClosed)
		assert.Empty(t, w.sent(t, 0))
	})
}

// What is granted, or may be, to a client that was closed meanwhile is given back.
func TestGrantToClosedClientIsGivenBack(t *testing.T) {
	for _, lost := range []error{nil, errReset} {
		bubble(t, func(t *testing.T) {
			w := &wire{}
			c := lockclient.New(strictWire{w}, lockclient.System(), lockclient.WithID("uuid"))
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				c.Close()
				reply, err := free(script, keys)
				return reply, errors.Join(err, lost)
			}
			_, err := c.Mutex("a").Lock(t.Context())
			if lost == nil {
				require.ErrorIs(t, err, lockclient.ErrClosed)
			} else {
				require.ErrorIs(t, err, lockclient.ErrUnknown)
			}
			time.Sleep(time.Second)
			sent := w.sent(t, 2)
			assert.Contains(t, sent[0], "mutex-acquire a | 30000 uuid:1")
			assert.Contains(t, sent[1], "mutex-release a ")
		})
	}
}

// Who waits when the client is closed is told at once, and leaves the queue.
func TestCloseEndsWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: queueFull}
		c := lockclient.New(w, lockclient.System())
		waited := make(chan error)
		go func() {
			_, err := c.Fair("a").Lock(t.Context())
			waited <- err
		}()
		time.Sleep(time.Second)
		begun := time.Now()
		c.Close()
		require.ErrorIs(t, <-waited, lockclient.ErrClosed)
		assert.Zero(t, time.Since(begun))
		time.Sleep(time.Minute)
		sent := w.sent(t, 0)
		assert.Contains(t, sent[len(sent)-2], "fair-withdraw ")
		assert.Contains(t, sent[len(sent)-1], "fair-release ", "which wakes the next one")
	})
}
