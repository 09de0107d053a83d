package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// A timer that comes due in a pause, and is set anew as the client goes on, fires at its new time alone.
func TestTimersThatAreSetAnewAfterAPause(t *testing.T) {
	for _, c := range []struct {
		pause string
		fired time.Duration
	}{{"", 1100 * time.Millisecond}, {"at 50ms pause c1 for=450ms\n", 1500 * time.Millisecond}} {
		s := parsed(t, "world clients=1 lock=own\nexpect exclusion=holds\nat 0s start c1\n"+c.pause+"run for=5s seed=1\n")
		var fired []time.Duration
		_, err := s.Run(t.Context(), Options{Own: &Own{Run: func(ctx context.Context, c *Client) {
			rt := c.Runtime()
			var again lockclient.Timer
			first := rt.NewTimer(func() { again.Set(rt.Mono() + time.Second) })
			again = rt.NewTimer(func() { fired = append(fired, rt.Mono()) })
			first.Set(100 * time.Millisecond)
			again.Set(200 * time.Millisecond)
			_ = c.Sleep(ctx, 10*time.Second)
		}}})
		require.NoError(t, err)
		require.Equal(t, []time.Duration{c.fired}, fired, c.pause)
	}
}
