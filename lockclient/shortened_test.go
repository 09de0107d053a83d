package lockclient_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// A waiter that was told of a long lease looks again before it ends: the lease may have
// been made shorter, of which nobody is told, and its holder have died.
func TestWaiterLooksAgainBeforeALongLeaseEnds(t *testing.T) {
	for name, lock := range map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex":  func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("a") },
		"fenced": func(c *lockclient.Client) *lockclient.Lock { return c.Fenced("a") },
		"write":  func(c *lockclient.Client) *lockclient.Lock { return c.RW("a").W() },
	} {
		bubble(t, func(t *testing.T) {
			begun := time.Now()
			w := &wire{}
			w.reply = func(script string, keys []string) (lockclient.Reply, error) {
				left := integer((time.Hour - time.Since(begun)).Milliseconds())
				switch {
				case time.Since(begun) >= time.Second && script == "write-acquire":
					return lockclient.Reply{}, nil
				case time.Since(begun) >= time.Second || script != "fenced-acquire" && script != "mutex-acquire" &&
					script != "write-acquire":
					return free(script, keys)
				case script == "fenced-acquire":
					return lockclient.Reply{Kind: lockclient.ListReply, List: []lockclient.Reply{left, integer(-1)}}, nil
				}
				return left, nil
			}
			c := lockclient.New(w, lockclient.System(), lockclient.WithWatchdog(20*time.Second))
			defer c.Close()
			h, err := lock(c).Lock(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			assert.Equal(t, 20*time.Second, time.Since(begun), name)
			_ = h.Unlock(t.Context())
		})
	}
}
