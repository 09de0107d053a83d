package lockclient_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// starved is a Runtime whose timers come so late that they never do.
type starved struct{ lockclient.Runtime }

func (starved) NewTimer(func()) lockclient.Timer { return never{} }

type never struct{}

func (never) Set(time.Duration) {}

func (never) Stop() {}

// A hold whose time is over is not entered again, also if its timer is late: who
// got it from the server then got another one, and the first may have been
// somebody else's in between.
func TestWhatHasEndedIsNotReentered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lockclient.New(&wire{reply: free}, starved{lockclient.System()})
		lock := c.Mutex("a")
		h, err := lock.Lock(t.Context(), lockclient.Lease(time.Second))
		require.NoError(t, err)
		_, err = lock.Lock(h.Context(), lockclient.Lease(2*time.Second))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = lock.Lock(h.Context(), lockclient.Lease(time.Second))
		require.ErrorIs(t, err, lockclient.ErrLost)
	})
}

// Nor is it extended by an answer that comes when it is over.
func TestWhatHasEndedIsNotExtended(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-extend" {
				time.Sleep(2 * time.Second)
			}
			return free(script, keys)
		}}
		c := lockclient.New(w, starved{lockclient.System()})
		h, err := c.Mutex("a").Lock(t.Context(), lockclient.Lease(time.Second))
		require.NoError(t, err)
		require.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrLost)
		assert.Equal(t, lockclient.ErrLost, context.Cause(h.Context()))
	})
}

// Who unlocks and locks again, time after time, has no more renewals for it.
func TestRenewalsOfAHotLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		renewals := 0
		c := lockclient.New(&wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
			if script == "mutex-renew" {
				renewals++
			}
			return free(script, keys)
		}}, lockclient.System(), lockclient.WithWatchdog(3*time.Second))
		for range 600 { // a minute
			h, err := c.Mutex("a").Lock(t.Context())
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, h.Unlock(t.Context()))
		}
		assert.LessOrEqual(t, renewals, 60)
		c.Close()
	})
}

// A key that somebody has overwritten, or one whose slot is on its way, costs no
// lock but its own.
func TestOneKeySpoilsNoOther(t *testing.T) {
	for _, refusal := range []string{
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"TRYAGAIN Multiple keys request during rehashing of slot",
	} {
		bubble(t, func(t *testing.T) {
			c := lockclient.New(&wire{reply: func(script string, keys []string) (lockclient.Reply, error) {
				if script == "mutex-renew" && slices.Contains(keys, "bad") {
					return lockclient.Reply{}, &lockclient.ServerError{Text: refusal}
				}
				return free(script, keys)
			}}, lockclient.System())
			good, err := c.Mutex("good").Lock(t.Context())
			require.NoError(t, err)
			bad, err := c.Mutex("bad").Lock(t.Context())
			require.NoError(t, err)
			time.Sleep(5 * time.Minute)
			assert.NoError(t, good.Context().Err())
			assert.Error(t, bad.Context().Err())
			c.Close()
		})
	}
}
