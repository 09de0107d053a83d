package topology

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// client is one connection to a node.
type client struct {
	t    *testing.T
	node *Node
	conn net.Conn
	buf  []byte
}

func dial(t *testing.T, n *Node) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", n.Address(), 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, node: n, conn: conn}
}

const patience = 20 * time.Second // a machine can be busy with something else

// try sends a command and returns what the reply says, or why there is none.
func (c *client) try(line string) (string, error) {
	_ = c.conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.conn.Write(resp.AppendCommand(nil, strings.Fields(line)...)); err != nil {
		return "", err
	}
	return c.read()
}

func (c *client) read() (string, error) {
	for {
		v, n, err := resp.Parse(c.buf)
		if err != nil {
			return "", err
		}
		if n > 0 {
			c.buf = c.buf[n:]
			return resp.Describe(v), nil
		}
		part := make([]byte, 4096)
		got, err := c.conn.Read(part)
		if err != nil {
			return "", err
		}
		c.buf = append(c.buf, part[:got]...)
	}
}

func (c *client) do(line string) string {
	c.t.Helper()
	reply, err := c.try(line)
	require.NoError(c.t, err, line)
	return reply
}

// eventually waits until a command's reply contains a text. It connects anew when the node has broken off.
func (c *client) eventually(line, text string) {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		last, err := c.try(line)
		if strings.Contains(last, text) {
			return
		}
		if time.Since(begun) > patience {
			require.FailNow(c.t, "never seen", "%s: no %q in %q, %v", line, text, last, err)
		}
		if err != nil {
			if conn, err := net.Dial("tcp", c.node.Address()); err == nil {
				c.t.Cleanup(func() { _ = conn.Close() })
				c.conn, c.buf = conn, nil
			}
		}
	}
}

func start(t *testing.T, cfg Config) *Topology {
	t.Helper()
	topology, err := Start(cfg)
	require.NoError(t, err)
	t.Cleanup(topology.Close)
	return topology
}

func TestReplicasFollow(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}})
	m, r2 := dial(t, top.Node("m1")), dial(t, top.Node("r2"))
	require.Contains(t, m.do("INFO replication"), "connected_slaves:2")
	require.Contains(t, r2.do("INFO replication"), "master_link_status:up")
	require.Equal(t, "OK", m.do("SET a 1"))
	require.Equal(t, "(integer) 2", m.do("WAIT 2 5000"))
	require.Equal(t, `"1"`, r2.do("GET a"))
	require.Equal(t, "(error) READONLY You can't write against a read only replica.", r2.do("SET a 2"))
}

func TestCrashAndRestart(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}})
	master := top.Node("m1")
	m, r := dial(t, master), dial(t, top.Node("r1"))
	m.do("SET a 1")
	m.do("WAIT 1 0")
	master.Kill()
	require.True(t, master.Down())
	_, err := m.try("PING")
	require.Error(t, err)
	_, err = net.DialTimeout("tcp", master.Address(), time.Second)
	require.Error(t, err)
	r.eventually("INFO replication", "master_link_status:down")
	require.Equal(t, `"1"`, r.do("GET a"))
	require.NoError(t, master.Restart(true))
	m = dial(t, master)
	require.Equal(t, `"1"`, m.do("GET a"))
	r.eventually("INFO replication", "master_link_status:up")
	m.do("SET a 2")
	require.Equal(t, "(integer) 1", m.do("WAIT 1 5000"))
	require.Equal(t, `"2"`, r.do("GET a"))
	require.NoError(t, master.Restart(false))
	r.eventually("GET a", "(nil)")
}

func TestFailoverByCommand(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}})
	m, r1 := dial(t, top.Node("m1")), dial(t, top.Node("r1"))
	for i := range 100 {
		m.do(fmt.Sprintf("SET k%d v", i))
	}
	both := resp.AppendCommand(nil, "FAILOVER", "TO", "127.0.0.1", port(top.Node("r1")))
	_, err := m.conn.Write(resp.AppendCommand(both, "INFO", "replication")) // before the replica can have caught up
	require.NoError(t, err)
	for _, want := range []string{"OK", "master_failover_state:waiting-for-sync"} {
		reply, err := m.read()
		require.NoError(t, err)
		require.Contains(t, reply, want)
	}
	m.eventually("ROLE", "slave")
	m.eventually("INFO replication", "master_link_status:up")
	require.Contains(t, m.do("INFO replication"), "master_failover_state:no-failover")
	require.Contains(t, r1.do("ROLE"), "master")
	require.Equal(t, "(integer) 100", r1.do("DBSIZE"))
	require.Contains(t, r1.do("INFO replication"), "connected_slaves:1")
	require.Equal(t, "OK", r1.do("SET x 1"))
	require.Equal(t, "(integer) 1", r1.do("WAIT 1 5000"))
	require.Equal(t, `"1"`, m.do("GET x"))
}

func port(n *Node) string {
	_, p, _ := net.SplitHostPort(n.Address())
	return p
}

func TestFrozenNodeAnswersLater(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}})
	n := top.Node("m1")
	c := dial(t, n)
	c.do("SET a 1")
	require.NoError(t, n.Freeze())
	_, err := c.conn.Write(resp.AppendCommand(nil, "INCR", "a"))
	require.NoError(t, err)
	_ = c.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err = c.read()
	require.ErrorContains(t, err, "timeout")
	require.NoError(t, n.Thaw())
	_ = c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	reply, err := c.read()
	require.NoError(t, err)
	require.Equal(t, "(integer) 2", reply)
}

// What a frozen process was asked to do is not done when it is killed.
func TestFrozenNodeCanBeKilled(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}})
	n := top.Node("m1")
	c := dial(t, n)
	c.do("SET a 1")
	require.NoError(t, n.Freeze())
	_, err := c.conn.Write(resp.AppendCommand(nil, "INCR", "a"))
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, n.Restart(true))
	require.Equal(t, `"1"`, dial(t, n).do("GET a"))
}

// What a master has answered it has sent to its replicas, also when it is killed
// in between.
func TestKilledMasterHasSentWhatItAnswered(t *testing.T) {
	for range 40 {
		top, err := Start(Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}})
		require.NoError(t, err)
		var most atomic.Int64
		var clients sync.WaitGroup
		for range 8 {
			c := dial(t, top.Node("m1"))
			clients.Go(func() {
				for {
					reply, err := c.try("INCR n")
					if err != nil {
						return
					}
					n, _ := strconv.ParseInt(strings.TrimPrefix(reply, "(integer) "), 10, 64)
					for seen := most.Load(); seen < n && !most.CompareAndSwap(seen, n); seen = most.Load() {
					}
				}
			})
		}
		for most.Load() < 100 {
			time.Sleep(time.Millisecond)
		}
		top.Node("m1").Kill()
		clients.Wait()
		r := dial(t, top.Node("r1"))
		r.eventually("INFO replication", "master_link_status:down")
		has, err := strconv.ParseInt(strings.Trim(r.do("GET n"), `"`), 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, has, most.Load())
		top.Close()
	}
}

func TestPartitionAndHold(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2}})
	m, r1, r2 := dial(t, top.Node("m1")), dial(t, top.Node("r1")), dial(t, top.Node("r2"))
	require.NoError(t, top.Partition([]string{"m1"}, []string{"r1"}))
	require.NoError(t, top.Node("r2").HoldReplication())
	m.do("SET a 1")
	require.Equal(t, "(integer) 0", m.do("WAIT 2 50"))
	require.Equal(t, "(nil)", r1.do("GET a"))
	top.Heal()
	require.Equal(t, "(integer) 1", m.do("WAIT 1 5000"))
	require.Equal(t, `"1"`, r1.do("GET a"))
	require.Equal(t, "(nil)", r2.do("GET a"))
	top.Node("r2").ReleaseReplication()
	require.Equal(t, "(integer) 2", m.do("WAIT 2 5000"))
}

func TestBadVerbs(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}})
	require.EqualError(t, top.Partition([]string{"m1"}, []string{"m3"}),
		`topology: unknown node "m3": the nodes are m1 to m2`)
	require.EqualError(t, start(t, Config{Plan: cluster.Plan{Masters: 1}}).Partition([]string{"m1"}, []string{"m3"}),
		`topology: unknown node "m3": the only one is m1`)
	require.EqualError(t, top.Partition([]string{"m1"}, []string{"m1"}), "topology: partition: m1 is on both sides")
	require.EqualError(t, top.Partition([]string{"m1"}, nil), "topology: partition: expected names on both sides")
	require.EqualError(t, top.Drop("m1", "m2", 0), "topology: 0 messages: expected at least 1")
	require.EqualError(t, top.Drop("m1", "m1", 1), "topology: expected two nodes: m1 sends itself no messages")
	require.EqualError(t, top.Node("m1").HoldReplication(), "topology: hold m1: expected a replica")
	top.Node("m2").Kill()
	require.EqualError(t, top.Node("m2").Freeze(), "topology: m2 is down")
	require.EqualError(t, top.Node("m2").Thaw(), "topology: m2 is down")
	require.EqualError(t, top.Node("m1").SetClockRate(0), "topology: clock rate 0: expected more than 0")
}

func TestBadPlans(t *testing.T) {
	for want, plan := range map[string]cluster.Plan{
		"cluster: quorum 5: there are 3 sentinels": {Masters: 1, Replicas: 2, Sentinels: 3, Quorum: 5},
		"cluster: 0 masters: expected at least 1":  {Replicas: 2},
	} {
		_, err := Start(Config{Plan: plan})
		require.EqualError(t, err, want)
	}
}

func TestShutdownEndsOneNode(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}})
	_, err := dial(t, top.Node("m1")).try("SHUTDOWN NOSAVE")
	require.Error(t, err)
	require.Eventually(t, top.Node("m1").Down, 5*time.Second, time.Millisecond)
	require.Equal(t, "PONG", dial(t, top.Node("m2")).do("PING"))
	_, _ = dial(t, top.Node("m2")).try("SHUTDOWN NOSAVE")
	select {
	case <-top.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("not done")
	}
}

// plans are one topology of each sort.
var plans = map[string]cluster.Plan{
	"nodes":    {Masters: 3},
	"replicas": {Masters: 1, Replicas: 2},
	"sentinel": {Masters: 1, Replicas: 2, Sentinels: 3},
	"cluster":  {Masters: 3, Replicas: 1, Cluster: true},
}

// 100 topologies that were started and stopped leave no goroutine, socket or file.
func TestNothingIsLeftBehind(t *testing.T) {
	startAll := func() {
		for _, plan := range plans {
			top, err := Start(Config{Plan: plan})
			require.NoError(t, err)
			c, err := net.Dial("tcp", top.Nodes()[0].Address())
			require.NoError(t, err)
			top.Close()
			require.NoError(t, c.Close())
		}
	}
	startAll() // what is opened once for the whole process is open then
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 25 {
		startAll()
	}
	for range 1000 {
		if runtime.NumGoroutine() <= goroutines && openFiles(t) <= files {
			return
		}
		time.Sleep(time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Fatalf("%d files, before %d; %d goroutines, before %d:\n%s", openFiles(t), files, runtime.NumGoroutine(),
		goroutines, stacks[:runtime.Stack(stacks, true)])
}

// openFiles counts the process's file descriptors, sockets among them.
func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list open files")
	}
	return len(entries)
}

// A 3x1 cluster starts in less than 20 ms, and a node takes less than 2 MiB.
func TestStartingIsCheap(t *testing.T) {
	const limit, tries = 20 * time.Millisecond, 200 // a busy machine needs more than one
	best := time.Hour
	for i := 0; i < tries && best >= limit; i++ {
		began := time.Now()
		top, err := Start(Config{Plan: plans["cluster"]})
		best = min(best, time.Since(began))
		require.NoError(t, err)
		top.Close()
	}
	t.Log("a 3x1 cluster starts in", best)
	require.Less(t, best, limit)

	before := heapInUse()
	top := start(t, Config{Plan: plans["cluster"]})
	for _, n := range top.Nodes() {
		dial(t, n).do("EVAL return(1) 0")
	}
	each := (heapInUse() - before) / int64(len(top.Nodes()))
	t.Logf("a node that has run a script takes %d KiB", each>>10)
	require.Less(t, each, int64(2<<20))
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestClusterStartsWhole(t *testing.T) {
	top := start(t, Config{Plan: plans["cluster"]})
	for _, n := range top.Nodes() {
		c := dial(t, n)
		require.Contains(t, c.do("CLUSTER INFO"), "cluster_state:ok")
		if n.Name()[0] == 'r' {
			require.Contains(t, c.do("INFO replication"), "master_link_status:up", n.Name())
		} else {
			require.Contains(t, c.do("INFO replication"), "connected_slaves:1", n.Name())
		}
	}
	require.Contains(t, dial(t, top.Node("m1")).do("SET a 1"), "MOVED 15495 "+top.Node("m3").Address())
	require.Equal(t, "OK", dial(t, top.Node("m3")).do("SET a 1"))
}

func TestClusterElects(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true},
		Node: engine.Config{Parameters: map[string]string{"cluster-node-timeout": "200"}}})
	top.Node("m1").Kill()
	r1 := dial(t, top.Node("r1"))
	r1.eventually("ROLE", "master")
	r1.eventually("CLUSTER INFO", "cluster_state:ok")
	require.NoError(t, top.Node("m1").Restart(true))
	m1 := dial(t, top.Node("m1"))
	m1.eventually("ROLE", "slave")
	m1.eventually("INFO replication", "master_link_status:up")
}

func TestSentinelsFailOver(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 2, Sentinels: 3, DownAfter: 200 * time.Millisecond,
		FailoverTimeout: 2 * time.Second}})
	s1 := dial(t, top.Node("s1"))
	require.Contains(t, s1.do("SENTINEL CKQUORUM mymaster"), "OK 3 usable Sentinels")
	time.Sleep(1200 * time.Millisecond)
	top.Node("m1").Kill()
	require.Eventually(t, func() bool {
		return !strings.Contains(s1.do("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"), port(top.Node("m1")))
	}, 10*time.Second, 10*time.Millisecond)
	promoted := s1.do("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster")
	for _, name := range []string{"r1", "r2"} {
		n := top.Node(name)
		role := "slave"
		if strings.Contains(promoted, port(n)) {
			role = "master"
		}
		dial(t, n).eventually("ROLE", role)
		dial(t, n).eventually("INFO replication", "connected_slaves:"+map[string]string{"master": "1", "slave": "0"}[role])
	}
}

func TestRestartLosesTheLatest(t *testing.T) {
	t.Parallel() // it waits
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}, Remember: true})
	n := top.Node("m1")
	c := dial(t, n)
	c.do("SELECT 3")
	c.do("SET old 1")
	time.Sleep(2 * time.Second)
	begun := time.Now()
	c.do("SET new 1")
	c.do("WAIT 1 1000")
	require.NoError(t, n.RestartLosing(time.Since(begun)+time.Second))
	c = dial(t, n)
	c.do("SELECT 3")
	require.Equal(t, `"1"`, c.do("GET old"))
	require.Equal(t, "(nil)", c.do("GET new"))
	r := dial(t, top.Node("r1"))
	r.do("SELECT 3")
	r.eventually("GET new", "(nil)")
	require.Equal(t, `"1"`, r.do("GET old"))
	require.NoError(t, n.RestartLosing(0))
	c = dial(t, n)
	c.do("SELECT 3")
	require.Equal(t, `"1"`, c.do("GET old"))
}

// A past that is written while the clock stands still does not grow for ever.
func TestPastIsBounded(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}, Remember: true, Virtual: true})
	n := top.Node("m1")
	c := dial(t, n)
	c.do("SET old 1")
	value := strings.Repeat("x", 1<<16)
	for range 2000 {
		c.do("SET k " + value)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapAlloc, uint64(80<<20))
	require.NoError(t, n.RestartLosing(0))
	c = dial(t, n)
	require.Equal(t, `"1"`, c.do("GET old"))
	require.Equal(t, "(integer) 65536", c.do("STRLEN k"))
}

func TestTakeOver(t *testing.T) {
	for _, name := range []string{"replicas", "cluster"} {
		top := start(t, Config{Plan: plans[name]})
		require.NoError(t, top.Node("r1").TakeOver())
		dial(t, top.Node("r1")).eventually("ROLE", "master")
		dial(t, top.Node("m1")).eventually("ROLE", "slave")
	}
	top := start(t, Config{Plan: plans["nodes"]})
	require.EqualError(t, top.Node("m1").TakeOver(), "topology: m1 is not a replica")
}

func TestSlotMovesStepByStep(t *testing.T) {
	top := start(t, Config{Plan: plans["cluster"]})
	m1, m3 := top.Node("m1"), top.Node("m3")
	from, to := dial(t, m3), dial(t, m1)
	from.do("SET a 1") // in slot 15495
	require.NoError(t, m1.OpenSlot(15495))
	require.Equal(t, `"1"`, from.do("GET a"))
	require.Equal(t, "(error) ASK 15495 "+m1.Address(), from.do("GET {a}b"))
	moved, err := m1.MoveKeys(15495, 10)
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	require.Equal(t, "(error) ASK 15495 "+m1.Address(), from.do("GET a"))
	to.do("ASKING")
	require.Equal(t, `"1"`, to.do("GET a"))
	require.NoError(t, m1.CloseSlot(15495))
	require.Equal(t, `"1"`, to.do("GET a"))
	require.Equal(t, "(error) MOVED 15495 "+m1.Address(), from.do("GET a"))
	require.EqualError(t, m1.OpenSlot(15495), "topology: no other node owns slot 15495")
	require.EqualError(t, m1.OpenSlot(-1), "topology: there is no slot -1")
}
