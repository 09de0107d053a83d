package goredis_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/redisserver"
	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
	"minikv/topology"
)

// mode is a way to connect to a topology.
type mode struct {
	name    string
	plan    cluster.Plan
	waits   bool // a lock is checked with WAIT
	nodes   []string
	goRedis func(nodes []string) redis.UniversalClient
	options []goredis.Option
	others  []adapter.Option // those of rueidis
}

func toServer(nodes []string) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: nodes[0], DisableIdentity: true})
}

func toSentinels(nodes []string) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "mymaster", SentinelAddrs: nodes, DisableIdentity: true})
}

func toCluster(nodes []string) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes, DisableIdentity: true})
}

// Each lock of a master that has replicas asks them, by WAIT; a master that has
// none is not asked. WAITAOF, which not every server knows and which a slow disk
// holds up, is sent to none.
func TestWhatReplicasAreAsked(t *testing.T) {
	some, none := []goredis.Option{goredis.WithReplicas()}, []goredis.Option{goredis.WithoutReplicas()}
	someOthers, noOthers := []adapter.Option{adapter.WithReplicas()}, []adapter.Option{adapter.WithoutReplicas()}
	shards := cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}
	for _, m := range []mode{
		{"single", cluster.Plan{Masters: 1}, false, []string{"m1"}, toServer, some, someOthers},
		{"replicas", cluster.Plan{Masters: 1, Replicas: 2}, true, []string{"m1"}, toServer, some, someOthers},
		{"sentinel", cluster.Plan{Masters: 1, Replicas: 2, Sentinels: 3}, true,
			[]string{"s1", "s2", "s3"}, toSentinels, nil, nil},
		{"cluster", shards, true, []string{"m1"}, toCluster, nil, nil},
		{"cluster, not checked", shards, false, []string{"m1"}, toCluster, none, noOthers},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Run("go-redis", func(t *testing.T) { m.run(t, m.overGoRedis) })
			t.Run("rueidis", func(t *testing.T) { m.run(t, m.overRueidis) })
		})
	}
}

func (m mode) overGoRedis(t *testing.T, nodes []string) lockclient.Transport {
	client := m.goRedis(nodes)
	t.Cleanup(func() { client.Close() })
	transport, err := goredis.New(t.Context(), client, m.options...)
	require.NoError(t, err)
	return transport
}

func (m mode) overRueidis(t *testing.T, nodes []string) lockclient.Transport {
	options := rueidis.ClientOption{InitAddress: nodes, ClientSetInfo: rueidis.DisableClientSetInfo}
	if m.plan.Sentinels > 0 {
		options.Sentinel = rueidis.SentinelOption{MasterSet: "mymaster"}
	}
	client, err := adapter.NewClient(options)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	transport, err := adapter.New(t.Context(), client, m.others...)
	require.NoError(t, err)
	return transport
}

func (m mode) run(t *testing.T, connect func(t *testing.T, nodes []string) lockclient.Transport) {
	top, err := topology.Start(topology.Config{Plan: m.plan})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	var nodes []string
	for _, name := range m.nodes {
		nodes = append(nodes, top.Node(name).Address())
	}
	p := newProxy(t, nodes[0])
	direct := !m.plan.Cluster && m.plan.Sentinels == 0 // others tell clients where to go, past a proxy
	if direct {
		nodes[0] = p.addr()
	}
	c := lockclient.New(connect(t, nodes), lockclient.System())
	before := waits(t, top)
	h, err := c.Fenced("a").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))
	wanted := before
	if m.waits {
		wanted++
	}
	assert.Equal(t, wanted, waits(t, top))
	assert.Equal(t, direct, p.count("EVALSHA") > 0)
	assert.Zero(t, p.count("WAITAOF"))
}

// waits is how often the nodes of a topology have executed WAIT.
func waits(t *testing.T, top *topology.Topology) (n int) {
	for _, node := range top.Nodes() {
		client := redis.NewClient(&redis.Options{Addr: node.Address()})
		info, err := client.Do(t.Context(), "INFO", "commandstats").Text()
		require.NoError(t, err)
		require.NoError(t, client.Close())
		if found := regexp.MustCompile(`cmdstat_wait:calls=(\d+)`).FindStringSubmatch(info); found != nil {
			calls, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			n += calls
		}
	}
	return n
}

// A service may refuse WAIT. No lock is granted there that should be checked, and
// what was taken is given back; one that need not be checked is.
func TestServerWithoutWait(t *testing.T) {
	if !redisserver.Installed() {
		t.Skip("needs redis-server " + redisserver.Version)
	}
	spawn := func(options ...string) string {
		addr, end := startRedis(t.TempDir(), options...)
		t.Cleanup(end)
		return addr
	}
	addr := spawn("--rename-command", "WAIT", "", "--repl-diskless-sync-delay", "0")
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	spawn("--replicaof", "127.0.0.1", addr[len("127.0.0.1:"):])
	require.Eventually(t, func() bool {
		info, err := rdb.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "connected_slaves:1")
	}, 20*time.Second, 10*time.Millisecond)
	m := mode{goRedis: toServer}
	for name, connect := range map[string]func(t *testing.T, checked bool) lockclient.Transport{
		"go-redis": func(t *testing.T, checked bool) lockclient.Transport {
			m.options = []goredis.Option{goredis.WithReplicas()}
			if !checked {
				m.options = append(m.options, goredis.WithoutReplicas())
			}
			return m.overGoRedis(t, []string{addr})
		},
		"rueidis": func(t *testing.T, checked bool) lockclient.Transport {
			m.others = []adapter.Option{adapter.WithReplicas()}
			if !checked {
				m.others = append(m.others, adapter.WithoutReplicas())
			}
			return m.overRueidis(t, []string{addr})
		},
	} {
		t.Run(name, func(t *testing.T) {
			lock := lockclient.New(connect(t, true), lockclient.System()).Mutex(uniqueKey(t))
			_, err := lock.TryLock(t.Context())
			require.ErrorIs(t, err, lockclient.ErrUnknown)
			require.ErrorContains(t, err, "unknown command 'WAIT'")
			require.Eventually(t, func() bool {
				locked, err := lock.IsLocked(t.Context())
				return err == nil && !locked
			}, realTime, 10*time.Millisecond)
			lock = lockclient.New(connect(t, false), lockclient.System()).Mutex(lock.Key())
			h, err := lock.TryLock(t.Context(), lockclient.Wait(realTime)) // it is still being given back
			require.NoError(t, err)
			require.NoError(t, h.Unlock(t.Context()))
		})
	}
}
