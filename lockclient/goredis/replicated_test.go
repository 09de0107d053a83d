package goredis_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
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
	"minikv/minikvtest"
	"minikv/topology"
)

// A lock that no replica confirms is given back; one that a replica has, or
// whose master has no replica, is granted.
func TestReplicaConfirms(t *testing.T) {
	if !redisserver.Installed() {
		t.Skip("needs redis-server " + redisserver.Version)
	}
	t.Run("go-redis", func(t *testing.T) {
		replicaConfirms(t, func(rdb *redis.Client) lockclient.Transport {
			transport, err := goredis.New(t.Context(), rdb, goredis.WithReplicas())
			require.NoError(t, err)
			return transport
		})
	})
	t.Run("rueidis", func(t *testing.T) {
		replicaConfirms(t, func(rdb *redis.Client) lockclient.Transport {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{rdb.Options().Addr},
				ConnWriteTimeout: rdb.Options().ReadTimeout})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			transport, err := adapter.New(t.Context(), client, adapter.WithReplicas())
			require.NoError(t, err)
			return transport
		})
	})
}

func replicaConfirms(t *testing.T, connect func(rdb *redis.Client) lockclient.Transport) {
	t.Parallel()
	spawn := func(options ...string) (addr string, client *redis.Client) {
		addr, end := startRedis(t.TempDir(), options...)
		client = redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Minute})
		t.Cleanup(func() {
			client.Close()
			end()
		})
		return addr, client
	}
	addr, rdb := spawn("--repl-diskless-sync-delay", "0")
	// A loaded machine is no reason for an unknown outcome.
	c := lockclient.New(connect(rdb), lockclient.System(), lockclient.WithTimeout(time.Minute))

	h, err := c.Mutex("alone").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))

	_, replica := spawn("--replicaof", "127.0.0.1", addr[len("127.0.0.1:"):])
	require.Eventually(t, func() bool {
		n, err := rdb.Do(t.Context(), "WAIT", 1, 100).Int()
		return err == nil && n == 1
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, confirmed(t, c.Fenced("confirmed")).Unlock(t.Context()))

	pid := processID(t, replica)
	require.NoError(t, redisserver.Pause(pid))
	defer func() { _ = redisserver.Resume(pid) }()
	_, err = c.Mutex("unconfirmed").TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrReplication)
	assert.Eventually(t, func() bool {
		locked, err := c.Mutex("unconfirmed").IsLocked(t.Context())
		return err == nil && !locked
	}, 20*time.Second, 10*time.Millisecond)
}

// confirmed takes a lock, for whose confirmation a busy machine may need more than the
// second there is.
func confirmed(t *testing.T, l *lockclient.Lock) (h *lockclient.Held) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool {
		h, err = l.Lock(t.Context())
		return !errors.Is(err, lockclient.ErrReplication)
	}, realTime, 10*time.Millisecond)
	require.NoError(t, err)
	return h
}

// A replica that leaves its master while a lock is asked for, as one that is promoted
// does, has not confirmed it.
func TestReplicaLeavesMeanwhile(t *testing.T) {
	m := mode{"replicas", cluster.Plan{Masters: 1, Replicas: 1}, true, nil, toServer,
		[]goredis.Option{goredis.WithReplicas()}, []adapter.Option{adapter.WithReplicas()}}
	t.Run("go-redis", func(t *testing.T) { replicaLeavesMeanwhile(t, m.plan, m.overGoRedis) })
	t.Run("rueidis", func(t *testing.T) { replicaLeavesMeanwhile(t, m.plan, m.overRueidis) })
}

func replicaLeavesMeanwhile(
	t *testing.T, plan cluster.Plan, connect func(t *testing.T, nodes []string) lockclient.Transport,
) {
	top, err := topology.Start(topology.Config{Plan: plan})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	master := top.Node("m1").Address()
	p := newProxy(t, master)
	c := lockclient.New(connect(t, []string{p.addr()}), lockclient.System(), lockclient.WithTimeout(time.Minute))
	known := confirmed(t, c.Mutex("known to both"))
	require.NoError(t, known.Unlock(t.Context()))

	require.NoError(t, top.Partition([]string{"m1"}, []string{"r1"}))
	p.meanwhile("EVALSHA", func() {
		assert.NoError(t, to(t, master).Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err())
		eventually(t, to(t, master), "INFO replication", "connected_slaves:0")
	})
	_, err = c.Mutex("known to one").TryLock(t.Context())
	assert.ErrorIs(t, err, lockclient.ErrReplication)
}

// One of two replicas is promoted, and the other still follows the old master, as for a while after
// SENTINEL FAILOVER. If one confirmation is enough both masters grant the lock; if two are required
// the old one grants nothing, and renews nothing.
func TestPromotedOfTwoReplicas(t *testing.T) {
	m := mode{"replicas", cluster.Plan{Masters: 1, Replicas: 2}, true, nil, toServer,
		[]goredis.Option{goredis.WithReplicas()}, []adapter.Option{adapter.WithReplicas()}}
	t.Run("go-redis", func(t *testing.T) { promotedOfTwoReplicas(t, m.plan, m.overGoRedis) })
	t.Run("rueidis", func(t *testing.T) { promotedOfTwoReplicas(t, m.plan, m.overRueidis) })
}

func promotedOfTwoReplicas(
	t *testing.T, plan cluster.Plan, connect func(t *testing.T, nodes []string) lockclient.Transport,
) {
	top, err := topology.Start(topology.Config{Plan: plan})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	master, promoted := top.Node("m1").Address(), top.Node("r1").Address()
	old := func(n int) *lockclient.Client {
		return lockclient.New(connect(t, []string{master}), lockclient.System(), lockclient.RequireReplicas(n),
			lockclient.WithTimeout(time.Minute))
	}
	held := confirmed(t, old(2).Mutex("by both"))
	require.NoError(t, to(t, promoted).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	eventually(t, to(t, master), "INFO replication", "connected_slaves:1")

	_ = confirmed(t, old(1).Mutex("by one"))
	_, err = old(2).Mutex("by all that are left").TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrReplication)
	require.ErrorIs(t, held.Extend(t.Context(), time.Hour), lockclient.ErrReplication)

	c := lockclient.New(connect(t, []string{promoted}), lockclient.System())
	_, err = c.Mutex("by both").TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrNotAcquired)
	_, err = c.Mutex("by one").TryLock(t.Context())
	require.NoError(t, err, "which two have now")
}

// All replicas are waited for, not just the first.
func TestAllReplicasAreAsked(t *testing.T) {
	top, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	script := lockclient.NewScript("write", "return redis.call('incr', KEYS[1])")
	for name, connect := range map[string]func(addr string) (lockclient.Transport, error){
		"go-redis": func(addr string) (lockclient.Transport, error) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			t.Cleanup(func() { client.Close() })
			return goredis.New(t.Context(), client, goredis.WithReplicas())
		},
		"rueidis": func(addr string) (lockclient.Transport, error) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			return adapter.New(t.Context(), client, adapter.WithReplicas())
		},
	} {
		p := newProxy(t, top.Node("m1").Address())
		transport, err := connect(p.addr())
		require.NoError(t, err)
		_, known, confirmed, err := transport.(lockclient.Replicated).EvalReplicated(
			t.Context(), script, []string{"k"}, nil, 10*time.Second)
		require.NoError(t, err, name)
		require.EqualValues(t, 2, known, name)
		require.EqualValues(t, 2, confirmed, name)
		require.Equal(t, 1, p.count("WAIT\r\n$1\r\n2\r\n$5\r\n10000"), name)
	}
}

// What its caller has given up while the master was asked for its replicas is not sent
// any more: it would come late.
func TestGivenUpBeforeTheScript(t *testing.T) {
	staged(t, func(s stage) {
		rdb := redis.NewClient(&redis.Options{Addr: s.server.Addr(), Dialer: s.server.DialContext})
		defer rdb.Close()
		first, err := goredis.New(s.Context(), rdb, goredis.WithReplicas())
		require.NoError(s, err)
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{s.server.Addr()}, DialCtxFn: s.server.DialRueidis})
		require.NoError(s, err)
		defer client.Close()
		second, err := adapter.New(s.Context(), client, adapter.WithReplicas())
		require.NoError(s, err)
		s.server.Inject(minikvtest.On("INFO").Delay(4 * time.Second))
		for i, transport := range []lockclient.Transport{first, second} {
			c := s.over(transport, lockclient.WithTimeout(time.Second))
			_, err := c.Mutex("k").TryLock(s.Context(), me, hour)
			if !errors.Is(err, lockclient.ErrNotSent) { // known if INFO fails at the same instant
				require.ErrorIs(s, err, lockclient.ErrUnknown)
			}
			time.Sleep(10 * time.Second)
			assert.False(s, s.server.Exists("k"), i)
		}
	})
}

// What its caller has given up while the client connected is not sent any more, either.
func TestGivenUpWhileConnecting(t *testing.T) {
	staged(t, func(s stage) {
		rdb := redis.NewClient(&redis.Options{Addr: s.server.Addr(), Dialer: s.server.DialContext})
		defer rdb.Close()
		first, err := goredis.New(s.Context(), rdb)
		require.NoError(s, err)
		_, second := s.rueidis()
		breaks := s.server.Inject(minikvtest.On("PING").Close())
		_, _ = second.Do(s.Context(), "", "PING") // the next request connects
		breaks.Remove()
		script := lockclient.NewScript("set", "return redis.call('SET', KEYS[1], 'late')")
		s.server.Do("SCRIPT", "LOAD", script.Text)
		s.server.Inject(minikvtest.On("HELLO").Delay(4 * time.Second))
		for i, transport := range []lockclient.Transport{first, second} {
			ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
			defer cancel()
			_, err := transport.Eval(ctx, script, []string{"k"}, nil)
			require.ErrorIs(s, err, context.DeadlineExceeded, i)
			time.Sleep(10 * time.Second)
			assert.False(s, s.server.Exists("k"), i)
		}
	})
}

// processID is that of a server.
func processID(t *testing.T, server *redis.Client) int {
	info, err := server.Info(t.Context(), "server").Result()
	require.NoError(t, err)
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	require.NotNil(t, found, info)
	pid, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return pid
}
