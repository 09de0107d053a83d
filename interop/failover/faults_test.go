package failover

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/internal/slot"
	"minikv/topology"
)

// faultLimit is how long a fault may take to be over for the nodes.
const faultLimit = 30 * time.Second

var sentinelFaults = []fault{
	{"clean failover", func(t *testing.T, top *topology.Topology) {
		master := agreed(t, top, watched)
		// Until Sentinel tells it, an old master would go on granting. So it pauses.
		do(t, master, "CLIENT", "PAUSE", faultLimit.Milliseconds(), "WRITE")
		eventually(t, func() bool { return inStep(t, master) })
		do(t, top.Node("s1"), "SENTINEL", "FAILOVER", "mymaster")
		eventually(t, func() bool { return replaced(watched(t, top), master) })
		// What Sentinel tells it waits behind what it publishes there, which pauses too. So it is told here.
		host, port, err := net.SplitHostPort(watched(t, top).Address())
		require.NoError(t, err)
		do(t, master, "REPLICAOF", host, port)
		do(t, master, "CLIENT", "KILL", "TYPE", "normal")
		do(t, master, "CLIENT", "UNPAUSE")
	}},
	{"crash of the master", func(t *testing.T, top *topology.Topology) {
		master := agreed(t, top, watched)
		master.Kill()
		eventually(t, func() bool { return replaced(watched(t, top), master) })
	}},
	{"restart of the crashed", restartCrashed},
	{"restart of the master", func(t *testing.T, top *topology.Topology) {
		require.NoError(t, agreed(t, top, watched).Restart(true))
	}},
}

var clusterFaults = []fault{
	{"clean failover", func(t *testing.T, top *topology.Topology) {
		master, replica := agreed(t, top, owner), (*topology.Node)(nil)
		for _, n := range top.Nodes() {
			if follows(t, n, master) {
				replica = n
			}
		}
		do(t, replica, "CLUSTER", "FAILOVER")
		eventually(t, func() bool { return owner(t, top) == replica })
	}},
	{"crash of the master", func(t *testing.T, top *topology.Topology) {
		master := agreed(t, top, owner)
		master.Kill()
		eventually(t, func() bool { return replaced(owner(t, top), master) })
	}},
	{"restart of the crashed", restartCrashed},
	{"restart of the master", func(t *testing.T, top *topology.Topology) {
		require.NoError(t, agreed(t, top, owner).Restart(true))
		agreed(t, top, owner)
	}},
	{"move of the slot", moveSlot},
	{"move of the slot back", moveSlot},
}

var replicaFaults = []fault{
	{"restart of the master", func(t *testing.T, top *topology.Topology) {
		require.NoError(t, top.Node("m1").Restart(true))
	}},
	// Redisson 3 counts the replicas that it was told of, and grants nothing while one is away.
	{"restart of a replica", func(t *testing.T, top *topology.Topology) {
		top.Node("r1").Kill()
		restartCrashed(t, top)
	}},
}

// restartCrashed starts the node that is down, and waits until it follows.
func restartCrashed(t *testing.T, top *topology.Topology) {
	for _, n := range top.Nodes() {
		if n.Down() {
			require.NoError(t, n.Restart(true))
			eventually(t, func() bool {
				info := do(t, n, "ROLE").([]any)
				return info[0] == "slave" && info[3] == "connected"
			})
		}
	}
}

// lockSlot is the slot of all locks of the workload.
var lockSlot = slot.OfString("{lock}")

// moveSlot moves the slot of the locks, key by key, from the master that has it
// to another, as redis-cli does.
func moveSlot(t *testing.T, top *topology.Topology) {
	from, to := agreed(t, top, owner), (*topology.Node)(nil)
	for _, n := range top.Nodes() {
		if n != from && role(t, n) == "master" {
			to = n
		}
	}
	source, target := do(t, from, "CLUSTER", "MYID"), do(t, to, "CLUSTER", "MYID")
	host, port, err := net.SplitHostPort(to.Address())
	require.NoError(t, err)
	do(t, to, "CLUSTER", "SETSLOT", lockSlot, "IMPORTING", source)
	do(t, from, "CLUSTER", "SETSLOT", lockSlot, "MIGRATING", target)
	for {
		keys := do(t, from, "CLUSTER", "GETKEYSINSLOT", lockSlot, 1).([]any)
		if len(keys) == 0 {
			break
		}
		do(t, from, "MIGRATE", host, port, keys[0], 0, 5000)
	}
	do(t, to, "CLUSTER", "SETSLOT", lockSlot, "NODE", target)
	do(t, from, "CLUSTER", "SETSLOT", lockSlot, "NODE", target)
	eventually(t, func() bool { return owner(t, top) == to })
}

// watched is the node that all Sentinels take for the master; nil if they do not agree.
func watched(t *testing.T, top *topology.Topology) (master *topology.Node) {
	for i := 1; i <= 3; i++ {
		reply := do(t, top.Node("s"+strconv.Itoa(i)), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").([]any)
		n := top.Node(reply[0].(string) + ":" + reply[1].(string))
		if i > 1 && n != master {
			return nil
		}
		master = n
	}
	return master
}

// owner is the node that all masters that are up say has the slot of the locks;
// nil if they do not agree.
func owner(t *testing.T, top *topology.Topology) (found *topology.Node) {
	for _, n := range top.Nodes() {
		if n.Down() || role(t, n) != "master" {
			continue
		}
		for _, line := range do(t, n, "CLUSTER", "SLOTS").([]any) {
			r := line.([]any)
			if int64(lockSlot) < r[0].(int64) || int64(lockSlot) > r[1].(int64) {
				continue
			}
			node := r[2].([]any)
			named := top.Node(net.JoinHostPort(node[0].(string), strconv.FormatInt(node[1].(int64), 10)))
			if found != nil && named != found {
				return nil
			}
			found = named
		}
	}
	return found
}

// agreed waits until all say the same.
func agreed(
	t *testing.T, top *topology.Topology, ask func(*testing.T, *topology.Topology) *topology.Node,
) (found *topology.Node) {
	eventually(t, func() bool {
		found = ask(t, top)
		return found != nil
	})
	return found
}

// replaced tells whether all say that another node is the master.
func replaced(now, before *topology.Node) bool { return now != nil && now != before }

// inStep tells whether all who follow master have all that it has written.
func inStep(t *testing.T, master *topology.Node) bool {
	info := do(t, master, "ROLE").([]any)
	for _, replica := range info[2].([]any) {
		if replica.([]any)[2] != strconv.FormatInt(info[1].(int64), 10) {
			return false
		}
	}
	return true
}

// follows tells whether n is a replica of master.
func follows(t *testing.T, n, master *topology.Node) bool {
	info := do(t, n, "ROLE").([]any)
	return info[0] == "slave" &&
		net.JoinHostPort(info[1].(string), strconv.FormatInt(info[2].(int64), 10)) == master.Address()
}

func role(t *testing.T, n *topology.Node) string { return do(t, n, "ROLE").([]any)[0].(string) }

// do asks a node that is up.
func do(t *testing.T, n *topology.Node, command ...any) any {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: n.Address(), Protocol: 2})
	defer func() { _ = c.Close() }()
	reply, err := c.Do(context.Background(), command...).Result()
	require.NoError(t, err, "%s: %v", n.Name(), command)
	return reply
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(faultLimit); !done(); time.Sleep(pollPeriod) {
		require.True(t, time.Now().Before(end), "not over after %v", faultLimit)
	}
}
