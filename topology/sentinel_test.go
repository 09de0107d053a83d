package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/redisserver"
)

// quick is a master with two replicas and Sentinels that notice a crash soon.
func quick(sentinels int) Config {
	return Config{Plan: cluster.Plan{
		Masters: 1, Replicas: 2, Sentinels: sentinels,
		DownAfter: 1500 * time.Millisecond, FailoverTimeout: 10 * time.Second,
	}}
}

// Each node says by INFO where it listens, whatever port all were started with.
func TestNodesKnowTheirPorts(t *testing.T) {
	cfg := quick(1)
	cfg.Node.Parameters = map[string]string{"port": "1"}
	top := start(t, cfg)
	for _, n := range top.Nodes() {
		_, port := cluster.Directory{n.Address()}.Endpoint(1)
		require.Contains(t, dial(t, n).do("INFO server"), fmt.Sprintf(`tcp_port:%d\r\n`, port))
	}
}

// go-redis finds the master through Sentinels and follows it when it crashes.
func TestClientFollowsSentinels(t *testing.T) {
	top := start(t, quick(3))
	var addresses []string
	for _, name := range []string{"s1", "s2", "s3"} {
		addresses = append(addresses, top.Node(name).Address())
	}
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "mymaster", SentinelAddrs: addresses, MaxRetries: -1,
	})
	defer func() { require.NoError(t, client.Close()) }()
	ctx := context.Background()
	require.NoError(t, client.Set(ctx, "lock:a", "c1-1", 0).Err())
	require.NoError(t, client.Wait(ctx, 2, time.Second).Err())
	top.Node("m1").Kill()
	require.Eventually(t, func() bool {
		value, err := client.Get(ctx, "lock:a").Result()
		return err == nil && value == "c1-1" && client.Set(ctx, "lock:b", "c2-1", 0).Err() == nil
	}, 30*time.Second, 100*time.Millisecond)
}

// redis-server's own Sentinels take these nodes for Redis: they find the
// replicas, promote one when the master crashes, and make the old master a
// replica when it comes back. Needs REDIS_BINARY, the path of a redis-server.
func TestRealSentinelsWatchNodes(t *testing.T) {
	binary := redisserver.Binary(t)
	top := start(t, quick(0))
	master := top.Node("m1").Address()
	sentinels := realSentinels(t, binary, master)
	ctx := context.Background()
	ask := func(i int) string {
		address, err := sentinels[i].GetMasterAddrByName(ctx, "mymaster").Result()
		require.NoError(t, err)
		return address[0] + ":" + address[1]
	}
	require.Eventually(t, func() bool {
		m, err := sentinels[0].Master(ctx, "mymaster").Result()
		require.NoError(t, err)
		return m["num-slaves"] == "2" && m["num-other-sentinels"] == "2"
	}, 30*time.Second, 100*time.Millisecond)
	top.Node("m1").Kill()
	require.Eventually(t, func() bool {
		return ask(0) != master && ask(0) == ask(1) && ask(1) == ask(2)
	}, 60*time.Second, 100*time.Millisecond)
	require.NoError(t, top.Node("m1").Restart(true))
	old := redis.NewClient(&redis.Options{Addr: master})
	defer func() { require.NoError(t, old.Close()) }()
	require.Eventually(t, func() bool {
		role, err := old.Do(ctx, "ROLE").Slice()
		return err == nil && role[0] == "slave"
	}, 60*time.Second, 200*time.Millisecond)
}

// realSentinels starts three Sentinels of redis-server; they end with the test.
func realSentinels(t *testing.T, binary, master string) []*redis.SentinelClient {
	var clients []*redis.SentinelClient
	addresses, err := listen(Config{Host: "127.0.0.1"}, 3)
	require.NoError(t, err)
	t.Cleanup(func() { releaseAll(addresses) })
	folder := t.TempDir()
	host, port := cluster.Directory{master}.Endpoint(1)
	for i := range addresses {
		addresses[i].close()
		address := addresses[i].String()
		_, own := cluster.Directory{address}.Endpoint(1)
		file := filepath.Join(folder, fmt.Sprintf("s%d.conf", i+1))
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor mymaster %s %d 2\n"+
			"sentinel down-after-milliseconds mymaster 1500\nsentinel failover-timeout mymaster 10000\n",
			own, folder, host, port)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		startServer(t, binary, file, "--sentinel")
		client := redis.NewSentinelClient(&redis.Options{Addr: address})
		t.Cleanup(func() { _ = client.Close() })
		require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil },
			10*time.Second, 50*time.Millisecond)
		clients = append(clients, client)
	}
	return clients
}
