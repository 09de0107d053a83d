package lockclient_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// lagging is a Transport to a master whose only replica confirms acquisitions and
// nothing else.
type lagging struct{ wire }

func (l *lagging) EvalReplicated(
	ctx context.Context, script *lockclient.Script, keys, args []string, _ time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	if script.Name == "mutex-acquire" {
		confirmed = 1
	}
	r, err = l.Eval(ctx, script, keys, args)
	return r, 1, confirmed, err
}

// A renewal that no replica has may be lost with the master: the lease before it
// counts, the next period tries again, and Extend says so.
func TestUnconfirmedRenewalIsNotCountedOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &lagging{wire{reply: free, topology: lockclient.Topology{Replicas: true}}}
		var unrenewed atomic.Int64
		c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(30*time.Second),
			lockclient.WithObserver(func(e lockclient.Event) {
				if e.Kind == lockclient.Unrenewed {
					assert.ErrorIs(t, e.Err, lockclient.ErrReplication)
					unrenewed.Add(1)
				}
			}))
		begun := time.Now()
		h, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		until := h.Until()
		require.ErrorIs(t, h.Extend(t.Context(), time.Minute), lockclient.ErrReplication)
		require.Equal(t, until, h.Until())
		<-h.Lost()
		assert.InDelta(t, 30, time.Since(begun).Seconds(), 1)
		assert.Equal(t, int64(2), unrenewed.Load(), "after 10 and 20 s")
	})
}

// Permits that no replica has are withdrawn, as often as it takes: a master that took
// over without having heard of them gives nothing back.
func TestUnconfirmedPermitsAreWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &lagging{wire{topology: lockclient.Topology{Replicas: true}}}
		asked := 0
		w.reply = func(script string, keys []string) (lockclient.Reply, error) {
			if asked++; asked == 2 {
				return lockclient.Reply{}, lockclient.ErrNotSent
			}
			return counted(script, keys)
		}
		c := lockclient.New(w, lockclient.System())
		defer c.Close()
		_, err := c.Semaphore("s").TryAcquire(t.Context(), 1)
		require.ErrorIs(t, err, lockclient.ErrReplication)
		time.Sleep(time.Hour)
		assert.Len(t, w.sent(t, 3), 3, "the acquisition, and twice its withdrawal")
	})
}
