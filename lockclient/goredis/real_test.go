package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/redisserver"
	"minikv/internal/slot"
	"minikv/lockclient"
)

// realTime is how long processes of redis-server may take to find each other.
const realTime = 30 * time.Second

// real is a topology of redis-server's own processes.
type real struct {
	mode  mode
	start func(t *testing.T) (nodes []string)
	// failover has the master hand over to a replica.
	failover func(t *testing.T, nodes []string)
}

// Over a real cluster and real Sentinels each adapter's locks exclude, ask the
// replicas, wake their waiters, and are held after a failover that loses nothing.
// It takes a while, so it wants REDIS_BINARY to be set.
func TestRealTopologies(t *testing.T) {
	if os.Getenv("REDIS_BINARY") == "" || !redisserver.Installed() {
		t.Skip("REDIS_BINARY is not set, or redis-server " + redisserver.Version + " is not installed")
	}
	for _, r := range []real{
		{mode{name: "cluster", plan: cluster.Plan{Cluster: true}, goRedis: toCluster}, realCluster, failoverOfCluster},
		{mode{name: "sentinel", plan: cluster.Plan{Sentinels: 1}, goRedis: toSentinels}, realSentinel, failoverOfSentinel},
	} {
		t.Run(r.mode.name, func(t *testing.T) {
			t.Parallel() // most of the time it waits
			nodes := r.start(t)
			t.Run("go-redis", func(t *testing.T) { r.run(t, nodes, r.mode.overGoRedis(t, nodes)) })
			t.Run("rueidis", func(t *testing.T) { r.run(t, nodes, r.mode.overRueidis(t, nodes)) })
		})
	}
}

func (r real) run(t *testing.T, nodes []string, transport lockclient.Transport) {
	isWoken(t, transport, nil, nil)

	key := uniqueKey(t)
	client := lockclient.New(transport, lockclient.System())
	held, err := client.Fenced(key).Lock(t.Context(), lockclient.Lease(time.Minute))
	require.NoError(t, err)
	first, _ := held.Token()
	r.failover(t, nodes)

	other := client.Fenced(key)
	refused := func() bool {
		_, err := other.TryLock(t.Context(), lockclient.Lease(time.Minute))
		return errors.Is(err, lockclient.ErrNotAcquired)
	}
	require.Eventually(t, refused, realTime, 10*time.Millisecond, "the new master has the lock")
	require.NoError(t, held.Unlock(t.Context()))
	next, err := other.Lock(t.Context(), lockclient.Lease(time.Minute))
	require.NoError(t, err)
	second, _ := next.Token()
	require.Greater(t, second, first, "the new master has the counter")
	require.NoError(t, next.Unlock(t.Context()))
}

// realNode starts a redis-server that takes part in a topology, and returns its
// address.
func realNode(t *testing.T, options ...string) string {
	address, end := startRedis(t.TempDir(), options...)
	t.Cleanup(end)
	return address
}

// to is a connection to one node.
func to(t *testing.T, address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: address, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// eventually waits until a node's answer to a command contains all of the texts.
func eventually(t *testing.T, node *redis.Client, command string, texts ...string) {
	var answer string
	require.Eventually(t, func() bool {
		var arguments []any
		for word := range strings.FieldsSeq(command) {
			arguments = append(arguments, word)
		}
		answer = fmt.Sprint(node.Do(context.Background(), arguments...).Val())
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				return false
			}
		}
		return true
	}, realTime, 20*time.Millisecond, "%s: wanted %q", command, texts)
}

// realCluster has a master with all slots, one with none, and a replica of the
// first.
func realCluster(t *testing.T) []string {
	var nodes []string
	var first *redis.Client
	for i := range 3 {
		free, err := redisserver.FreeAddress()
		require.NoError(t, err)
		_, bus, err := net.SplitHostPort(free)
		require.NoError(t, err)
		node := realNode(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", bus)
		nodes = append(nodes, node)
		if i == 0 {
			first = to(t, node)
			continue
		}
		host, port, err := net.SplitHostPort(node)
		require.NoError(t, err)
		require.NoError(t, first.Do(t.Context(), "CLUSTER", "MEET", host, port, bus).Err())
	}
	require.NoError(t, first.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, slot.Count-1).Err())
	for _, node := range nodes {
		eventually(t, to(t, node), "CLUSTER INFO", "cluster_state:ok", "cluster_known_nodes:3")
	}
	id, err := first.Do(t.Context(), "CLUSTER", "MYID").Text()
	require.NoError(t, err)
	require.NoError(t, to(t, nodes[2]).Do(t.Context(), "CLUSTER", "REPLICATE", id).Err())
	for _, node := range nodes {
		eventually(t, to(t, node), "CLUSTER NODES", "slave "+id)
	}
	eventually(t, first, "INFO replication", "connected_slaves:1", "state=online")
	return nodes
}

func failoverOfCluster(t *testing.T, nodes []string) {
	for _, node := range nodes {
		replica := to(t, node)
		role, err := replica.Do(t.Context(), "ROLE").Slice()
		require.NoError(t, err)
		if role[0] != "slave" {
			continue
		}
		id, err := replica.Do(t.Context(), "CLUSTER", "MYID").Text()
		require.NoError(t, err)
		for _, other := range nodes { // a master that takes it for a master drops its request
			require.Eventually(t, func() bool {
				for line := range strings.Lines(to(t, other).ClusterNodes(t.Context()).Val()) {
					if strings.HasPrefix(line, id) && strings.Contains(line, "slave ") {
						return true
					}
				}
				return false
			}, realTime, 20*time.Millisecond)
		}
		eventually(t, replica, "INFO replication", "master_link_status:up")
		require.NoError(t, replica.Do(t.Context(), "CLUSTER", "FAILOVER").Err())
		eventually(t, replica, "ROLE", "master")
		eventually(t, replica, "INFO replication", "state=online") // a lock asks for one that confirms it
		return
	}
	require.Fail(t, "the cluster has no replica")
}

// realSentinel has a master with two replicas, and a Sentinel, whose address it
// returns.
func realSentinel(t *testing.T) []string {
	master := realNode(t)
	host, port, err := net.SplitHostPort(master)
	require.NoError(t, err)
	for range 2 {
		eventually(t, to(t, realNode(t, "--replicaof", host+" "+port)), "INFO replication", "master_link_status:up")
	}
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "sentinel monitor mymaster %s %s 1\n", host, port), 0o600))
	sentinel, end := startProcess(func(host, port string) []string {
		return []string{file, "--sentinel", "--bind", host, "--port", port}
	})
	t.Cleanup(end)
	eventually(t, to(t, sentinel), "SENTINEL MASTER mymaster", "num-slaves:2")
	return []string{sentinel}
}

func failoverOfSentinel(t *testing.T, nodes []string) {
	sentinel := to(t, nodes[0])
	master := func() string {
		at, err := sentinel.Do(t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").StringSlice()
		require.NoError(t, err)
		return net.JoinHostPort(at[0], at[1])
	}
	before := master()
	require.Eventually(t, func() bool {
		return sentinel.Do(t.Context(), "SENTINEL", "FAILOVER", "mymaster").Err() == nil
	}, realTime, 50*time.Millisecond, "a failover goes on")
	require.Eventually(t, func() bool { return master() != before }, realTime, 20*time.Millisecond)
	eventually(t, to(t, master()), "INFO replication", "state=online")
}
