package goredis_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/slot"
	"minikv/lockclient"
	"minikv/lockclient/goredis"
	adapter "minikv/lockclient/rueidis"
	"minikv/topology"
)

// onEachCluster runs a test over each adapter in cluster mode.
func onEachCluster(
	t *testing.T, test func(t *testing.T, top *topology.Topology, transport lockclient.Transport),
) {
	top, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	address := []string{top.Node("m1").Address()}
	t.Run("go-redis", func(t *testing.T) {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: address})
		t.Cleanup(func() { client.Close() })
		transport, err := goredis.New(t.Context(), client)
		require.NoError(t, err)
		test(t, top, transport)
	})
	t.Run("rueidis", func(t *testing.T) {
		client, err := adapter.NewClient(rueidis.ClientOption{InitAddress: address})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		transport, err := adapter.New(t.Context(), client)
		require.NoError(t, err)
		test(t, top, transport)
	})
}

// asking is a transport that tells of each acquisition that was answered.
type asking struct {
	lockclient.Transport
	lockclient.Replicated
	answered chan struct{}
}

func (a asking) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, limit time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	r, known, confirmed, err = a.Replicated.EvalReplicated(ctx, s, keys, args, limit)
	a.answered <- struct{}{}
	return r, known, confirmed, err
}

// wakeTime is how long after the unlock of one client a waiting other one gets the
// lock. Without being woken it would take what is left of the lease then.
func wakeTime(
	t *testing.T, transport lockclient.Transport, lease time.Duration, holder, waiter []lockclient.Option,
) (took, left time.Duration) {
	key := uniqueKey(t)
	answered := make(chan struct{}, 100)
	a := lockclient.New(transport, lockclient.System(), holder...)
	b := lockclient.New(asking{transport, transport.(lockclient.Replicated), answered}, lockclient.System(), waiter...)
	begun := time.Now()
	held, err := a.Mutex(key).Lock(t.Context(), lockclient.Lease(lease))
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() {
		h, err := b.Mutex(key).Lock(t.Context(), lockclient.Lease(lease))
		if err == nil {
			err = h.Unlock(context.Background())
		}
		got <- err
	}()
	for range 2 { // the second time it listens
		select {
		case <-answered:
		case err := <-got:
			require.Fail(t, "it does not wait", err)
		}
	}
	unlocked := time.Now()
	require.NoError(t, held.Unlock(t.Context()))
	require.NoError(t, <-got)
	return time.Since(unlocked), lease - unlocked.Sub(begun)
}

// isWoken demands that the waiter is woken. A machine that holds it up takes less than
// a third of such a lease.
func isWoken(t *testing.T, transport lockclient.Transport, holder, waiter []lockclient.Option) {
	t.Helper()
	const lease = time.Minute
	took, _ := wakeTime(t, transport, lease, holder, waiter)
	require.Less(t, took, lease/3)
}

// In a cluster clients of one generation wake each other, by SPUBLISH, or by
// PUBLISH if both are told to. Those of Redisson 3.16 and of today do not: the
// waiter comes when the lease would have ended.
func TestGenerationsInACluster(t *testing.T) {
	t.Parallel() // most of the time it waits
	old := []lockclient.Option{lockclient.Compat316()}
	plain := []lockclient.Option{lockclient.WithPublish(lockclient.PublishPlain)}
	onEachCluster(t, func(t *testing.T, _ *topology.Topology, transport lockclient.Transport) {
		isWoken(t, transport, nil, nil)
		isWoken(t, transport, old, old)
		isWoken(t, transport, old, plain)
		took, left := wakeTime(t, transport, 6*time.Second, old, nil)
		require.Greater(t, took, left-10*time.Millisecond, "it is not woken")
	})
}

// The channel of a latch has braces of its own around the whole name, as
// Redisson's has: in a cluster a name with braces is refused.
func TestLatchNamesInACluster(t *testing.T) {
	onEachCluster(t, func(t *testing.T, _ *topology.Topology, transport lockclient.Transport) {
		client := lockclient.New(transport, lockclient.System())
		latch := client.Latch(uniqueKey(t))
		set, err := latch.TrySetCount(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, set)
		left, err := latch.CountDown(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		_, err = client.Latch("{orders}:"+uniqueKey(t)).TrySetCount(t.Context(), 1)
		require.ErrorContains(t, err, "CROSSSLOT")
	})
}

// A request for a slot of which rueidis knows no node is not sent. go-redis sends it to
// any, which refuses it.
func TestSlotOfNobodyIsNotSent(t *testing.T) {
	top, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 1, Cluster: true}})
	require.NoError(t, err)
	defer top.Close()
	_, err = top.Node("m1").Command("CLUSTER", "DELSLOTS", strconv.Itoa(slot.OfString("k")))
	require.NoError(t, err)
	transport, err := newRueidis(t, top.Node("m1").Address(), 0)
	require.NoError(t, err)
	_, err = transport.Do(t.Context(), "k", "GET", "k")
	require.ErrorIs(t, err, lockclient.ErrNotSent)
}

// A waiter whose slot moves is subscribed at the new master, asks there, and is
// woken there, also when the unlock comes while the slot is on its way.
func TestWaiterFollowsItsSlot(t *testing.T) {
	t.Parallel() // most of the time it waits
	onEachCluster(t, func(t *testing.T, top *topology.Topology, transport lockclient.Transport) {
		for _, when := range []string{"during", "after"} {
			key := uniqueKey(t)
			holder := lockclient.New(transport, lockclient.System())
			waiter := lockclient.New(transport, lockclient.System())
			held, err := holder.Mutex(key).Lock(t.Context(), lockclient.Lease(time.Minute))
			require.NoError(t, err)
			got := make(chan error, 1)
			go func() {
				h, err := waiter.Mutex(key).Lock(t.Context(), lockclient.Lease(time.Minute))
				if err == nil {
					err = h.Unlock(context.Background())
				}
				got <- err
			}()
			moveSlot(t, top, slot.OfString(key), func() {
				if when == "during" {
					_ = held.Unlock(t.Context()) // if it is refused it is repeated
				}
			})
			if when == "after" {
				_ = held.Unlock(t.Context())
			}
			select {
			case err := <-got:
				require.NoError(t, err, when)
			case <-time.After(20 * time.Second):
				require.Fail(t, "the waiter sleeps on", when)
			}
		}
	})
}

// A script that replicas confirm is run where its slot is, also while that is on its
// way, and once the client was sent on it knows the way.
func TestConfirmedScriptsFollowTheirSlots(t *testing.T) {
	onEachCluster(t, func(t *testing.T, top *topology.Topology, transport lockclient.Transport) {
		key, runs := uniqueKey(t), int64(0)
		script := lockclient.NewScript("count", "return redis.call('incr', KEYS[1])")
		run := func(when string) {
			runs++
			reply, known, confirmed, err := transport.(lockclient.Replicated).EvalReplicated(
				t.Context(), script, []string{key}, nil, 10*time.Second)
			require.NoError(t, err, when)
			require.Equal(t, lockclient.Reply{Kind: lockclient.IntReply, Int: runs}, reply, when)
			require.EqualValues(t, 1, known, when)
			require.EqualValues(t, 1, confirmed, when)
		}
		run("before")
		number := slot.OfString(key)
		to := top.Node("m1")
		if to.OpenSlot(number) != nil { // it has the slot
			to = top.Node("m2")
			require.NoError(t, to.OpenSlot(number))
		}
		_, err := to.MoveKeys(number, 100)
		require.NoError(t, err)
		run("on its way")
		require.NoError(t, to.CloseSlot(number))
		run("moved")
		require.Eventually(t, func() bool {
			before := redirects(t, top)
			run("later")
			return redirects(t, top) == before
		}, 10*time.Second, 10*time.Millisecond)
	})
}

// A script that replicas confirm is also run at a master that has no slot yet, while its
// first one is on its way there.
func TestConfirmedScriptsFollowTheFirstSlotOfAMaster(t *testing.T) {
	onEachCluster(t, func(t *testing.T, top *topology.Topology, transport lockclient.Transport) {
		key := uniqueKey(t)
		for slot.OfString(key) > 5460 {
			key += "."
		}
		m1, m3 := top.Node("m1"), top.Node("m3")
		command := func(n *topology.Node, args ...string) string {
			reply, err := n.Command(args...)
			require.NoError(t, err)
			return reply.Str
		}
		require.Equal(t, "OK", command(m3, "FLUSHALL")) // of what was moved there before
		require.Equal(t, "OK", command(m3, "CLUSTER", "FLUSHSLOTS"))
		command(m1, "CLUSTER", "BUMPEPOCH") // m3's last claims may still be on their way
		require.Eventually(t, func() bool {
			_, _ = m1.Command("CLUSTER", "DELSLOTSRANGE", "10923", "16383") // if they are not free
			_, err := m1.Command("CLUSTER", "ADDSLOTSRANGE", "10923", "16383")
			return err == nil
		}, 20*time.Second, 10*time.Millisecond)
		require.Eventually(t, func() bool {
			return strings.Contains(command(m3, "CLUSTER", "INFO"), "cluster_state:ok")
		}, 20*time.Second, 10*time.Millisecond)
		c := lockclient.New(transport, lockclient.System(), lockclient.WithTimeout(time.Minute))
		held := confirmed(t, c.Mutex(key))
		require.NoError(t, m3.OpenSlot(slot.OfString(key)))
		_, err := m3.MoveKeys(slot.OfString(key), 100)
		require.NoError(t, err)
		require.NoError(t, held.Extend(t.Context(), time.Hour))
	})
}

// redirects is how many requests were answered with MOVED.
func redirects(t *testing.T, top *topology.Topology) (sum int) {
	for _, n := range top.Nodes() {
		info, err := n.Command("INFO", "errorstats")
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(info.Str, "errorstat_MOVED:count="); ok {
			count, _, _ := strings.Cut(rest, "\r\n")
			one, err := strconv.Atoi(count)
			require.NoError(t, err)
			sum += one
		}
	}
	return sum
}

// moveSlot moves a slot to a master that does not have it, when somebody waits
// there for a lock. during is called when all its keys have gone.
func moveSlot(t *testing.T, top *topology.Topology, number int, during func()) {
	for _, name := range []string{"m1", "m2"} {
		to := top.Node(name)
		if to.OpenSlot(number) != nil {
			continue // it has the slot
		}
		require.Eventually(t, func() bool {
			subscribed := 0
			for _, n := range top.Nodes() {
				channels, err := n.Command("PUBSUB", "SHARDCHANNELS")
				require.NoError(t, err)
				subscribed += len(channels.List)
			}
			return subscribed > 0
		}, 20*time.Second, 10*time.Millisecond)
		_, err := to.MoveKeys(number, 100)
		require.NoError(t, err)
		during()
		_, err = to.MoveKeys(number, 100)
		require.NoError(t, err)
		require.NoError(t, to.CloseSlot(number))
		return
	}
}

// Clients that were given slots talk to a sentinel set, or to single servers, or to a
// cluster: sharded pub/sub is a cluster's.
func TestSlotsOfTheCallers(t *testing.T) {
	given := func(addr string) lockclient.Topology {
		client := redis.NewClusterClient(&redis.ClusterOptions{
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				nodes := []redis.ClusterNode{{Addr: addr}}
				return []redis.ClusterSlot{{Start: 0, End: slot.Count - 1, Nodes: nodes}}, nil
			},
		})
		t.Cleanup(func() { client.Close() })
		transport, err := goredis.New(t.Context(), client)
		require.NoError(t, err)
		return transport.Topology()
	}
	for _, s := range servers(t) {
		assert.False(t, given(s.addr).Sharded, s.name)
	}
	top, err := topology.Start(topology.Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}})
	require.NoError(t, err)
	t.Cleanup(top.Close)
	assert.True(t, given(top.Node("m1").Address()).Sharded)
	other, err := newRueidis(t, top.Node("m1").Address(), 0)
	require.NoError(t, err)
	assert.Equal(t, lockclient.Topology{Cluster: true, Replicas: true, Sharded: true}, other.Topology())
}
