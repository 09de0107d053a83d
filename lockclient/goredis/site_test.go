package goredis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/minikvtest"
)

// The master falls silent, and with it the Sentinel that the client asks, as when they share a machine.
// Requests end long before go-redis gives that Sentinel up, but the client finds the promoted replica.
func TestSilentSite(t *testing.T) {
	for name, limits := range map[string]bool{"": false, "ContextTimeoutEnabled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silentSite(t, limits)
		})
	}
}

func silentSite(t *testing.T, limits bool) {
	s := minikvtest.RunSentinel(t, 1)
	for _, name := range []string{"s1", "s2", "s3"} {
		node := to(t, s.Node(name).Addr())
		require.NoError(t, node.Do(t.Context(), "SENTINEL", "DEBUG", "TILT-TRIGGER", "60000").Err())
		require.NoError(t, node.Do(t.Context(), "SENTINEL", "SET", "mymaster", "down-after-milliseconds", "500").Err())
		eventually(t, node, "SENTINEL MASTER mymaster", "num-other-sentinels:2")
	}
	sentinel := s.Node("s1")
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{sentinel.Addr()},
		ReadTimeout: 2 * time.Second, DialTimeout: time.Second, ContextTimeoutEnabled: limits})
	t.Cleanup(func() { _ = rdb.Close() })
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	c := lockclient.New(transport, lockclient.System(), lockclient.WithTimeout(300*time.Millisecond))
	t.Cleanup(c.Close)
	h, err := c.Mutex("before").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))

	s.Node("m1").Freeze()
	sentinel.Freeze()
	defer s.Node("m1").Thaw()
	defer sentinel.Thaw()
	refused := 0
	require.Eventually(t, func() bool {
		_, err := c.Mutex("after").TryLock(t.Context())
		if errors.Is(err, lockclient.ErrNotSent) {
			refused++
		}
		return err == nil
	}, realTime, 100*time.Millisecond)
	assert.Positive(t, refused, "else nothing was waited for")
}
