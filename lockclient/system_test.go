package lockclient_test

import (
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

// Nothing looks after what a closed client takes: it is lost at once.
func TestClosedClientHoldsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lockclient.New(&wire{reply: free}, lockclient.System())
		c.Close()
		held, err := c.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		<-held.Lost()
		assert.ErrorIs(t, held.Unlock(t.Context()), lockclient.ErrLost)
	})
}
