package topology

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// While FAILOVER waits for a replica nobody else becomes one, of the topology or outside of
// it; and a replica that a client asks to, as its master does then, becomes the master.
// Source: what redis-server 7.0.15 answers to the same commands.
func TestNobodySyncsDuringAFailover(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}})
	m, r1, r2 := dial(t, top.Node("m1")), dial(t, top.Node("r1")), dial(t, top.Node("r2"))
	require.NoError(t, top.Node("r1").Freeze())
	require.Equal(t, "OK", m.do("SET a 1"))
	require.Equal(t, "OK", m.do("FAILOVER TO 127.0.0.1 "+port(top.Node("r1"))))
	refused := "(error) NOMASTERLINK Can't SYNC while failing over"
	require.Equal(t, refused, m.do("PSYNC ? -1"))
	require.Equal(t, refused, m.do("SYNC"))
	host, number, err := net.SplitHostPort(top.Node("m1").Address())
	require.NoError(t, err)
	require.Equal(t, "OK", r2.do("REPLICAOF NO ONE"))
	require.Equal(t, "OK", r2.do("REPLICAOF "+host+" "+number))
	m.eventually("INFO replication", "connected_slaves:1")
	r2.never(1500*time.Millisecond, "INFO replication", "link_status:up")
	require.Equal(t, "OK", m.do("FAILOVER ABORT"))
	r2.eventually("INFO replication", "master_link_status:up")

	require.NoError(t, top.Node("r1").Thaw())
	r1.eventually("INFO replication", "master_link_status:up")
	_, history, _ := strings.Cut(m.do("INFO replication"), "master_replid:")
	require.Equal(t, "(error) ERR PSYNC FAILOVER replid must match my replid.", r1.do("PSYNC ? 1 FAILOVER"))
	require.Contains(t, r1.do("ROLE"), "slave")
	outside := dial(t, top.Node("r1"))
	require.Equal(t, "CONTINUE", outside.do("PSYNC "+strings.ToUpper(history[:40])+" 1 FAILOVER"))
	require.Contains(t, r1.do("ROLE"), "master")
}

// never demands that a command's reply does not contain a text for as long. The connection
// is used by nobody else, as require.Never, which leaves its last question behind, would.
func (c *client) never(long time.Duration, line, text string) {
	c.t.Helper()
	for begun := time.Now(); time.Since(begun) < long; time.Sleep(20 * time.Millisecond) {
		require.NotContains(c.t, c.do(line), text)
	}
}

// A master of a cluster that was replaced while it was down is not asked for the slots that
// it takes for its own when it starts again: they are moved away from their owner.
func TestSlotMovesFromItsOwner(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, InMemory: true, Virtual: true})
	const number = 0 // of m1
	top.Node("m1").Kill()
	require.NoError(t, top.Clock().Advance(time.Minute))
	require.NoError(t, top.Node("m1").Restart(true))
	require.Equal(t, "r1", top.SlotOwner(number).Name())
	require.NoError(t, top.Node("m2").OpenSlot(number))
	require.Contains(t, inside(t, top.Node("r1")).do("CLUSTER NODES"), "[0->-")
	require.NotContains(t, inside(t, top.Node("m1")).do("CLUSTER NODES"), "[0->-")
}

// In a cluster one master has a lock, however many there are, and its replica none of its own.
func TestLockInACluster(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true},
		InMemory: true, Virtual: true, Trace: 1000})
	for _, name := range []string{"m1", "m2", "m3"} {
		c := inside(t, top.Node(name))
		if c.do("SET lock a NX PX 30000") != "OK" {
			continue // it is another's
		}
		require.NoError(t, top.Clock().Advance(time.Second))
		require.Len(t, top.Locks(), 1)
		require.Equal(t, name, top.Locks()[0].Node)
		require.Equal(t, "OK", c.do("FLUSHALL"))
		require.Equal(t, "OK", c.do("SET lock b NX PX 30000"))
	}
	require.Equal(t, []string{"lock was held by a and by b from 1.000s to 30.000s"}, lines(top.Trace().Overlaps("lock")))
}
