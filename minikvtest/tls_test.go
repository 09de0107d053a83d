package minikvtest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	byrueidis "minikv/lockclient/rueidis"
)

// Sentinels name masters whose ports speak TLS, also after a failover and a restart.
func TestTLSOfSentinels(t *testing.T) {
	ctx := t.Context()
	s := RunSentinel(t, 1, TLS(), Param("requirepass", "secret"))
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: s.Addrs(),
		Password: "secret", SentinelPassword: "secret", TLSConfig: s.TLSConfig()})
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Set(ctx, "a", "1", 0).Err())
	master := s.Node("m1").Failover()
	require.Eventually(t, func() bool { return c.Set(ctx, "a", "2", 0).Err() == nil }, time.Minute, time.Millisecond)
	master.CheckGet(t, "a", "2")
	master.Restart()
	require.Eventually(t, func() bool { return c.Get(ctx, "a").Val() == "2" }, time.Minute, time.Millisecond)
	require.Equal(t, "rediss://default:secret@"+s.Node("m1").Addr(), s.Node("m1").URL())
}

// A lock is taken, waited for and freed over TLS, by both transports.
func TestTLSOfLocks(t *testing.T) {
	ctx := t.Context()
	s := RunCluster(t, 3, 0, TLS())
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs(), TLSConfig: s.TLSConfig()})
	defer func() { _ = c.Close() }()
	one, err := goredis.New(ctx, c)
	require.NoError(t, err)
	other, err := byrueidis.NewClient(rueidis.ClientOption{InitAddress: s.Addrs(), TLSConfig: s.TLSConfig()})
	require.NoError(t, err)
	defer other.Close()
	two, err := byrueidis.New(ctx, other)
	require.NoError(t, err)
	first, err := lockclient.New(one, lockclient.System()).Mutex("orders:42").Lock(ctx)
	require.NoError(t, err)
	granted := make(chan error, 1)
	go func() {
		second, err := lockclient.New(two, lockclient.System()).Mutex("orders:42").Lock(ctx)
		if err == nil {
			err = second.Unlock(ctx)
		}
		granted <- err
	}()
	s.WaitBlocked(t, "orders:42", 1)
	require.NoError(t, first.Unlock(ctx))
	require.NoError(t, <-granted)
	require.Empty(t, s.Overlaps("orders:42"))
}

// In memory there is no port that could speak it.
func TestTLSInMemory(t *testing.T) {
	require.Equal(t, "minikvtest: topology: TLS in memory: expected ports, as nothing else speaks it",
		watch(t, func(tb testing.TB) { Run(tb, InMemory(), TLS()) }))
	require.Nil(t, Run(t).TLSConfig())
}

// Whoever connects in memory, as replicas do, is listed as come to the port that there is.
func TestTLSPortInClientList(t *testing.T) {
	s := RunReplicated(t, 1, TLS())
	c := redis.NewClient(&redis.Options{Addr: s.Node("m1").Addr(), Dialer: s.DialContext})
	defer func() { _ = c.Close() }()
	list, err := c.ClientList(t.Context()).Result()
	require.NoError(t, err)
	require.Contains(t, list, " flags=S ")
	require.NotContains(t, list, " laddr=127.0.0.1:0 ")
}
