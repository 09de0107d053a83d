package topology

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/resp"
)

var alone = cluster.Plan{Masters: 1}

// inside is a client in memory.
func inside(t *testing.T, n *Node) *client {
	t.Helper()
	conn, err := n.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, node: n, conn: conn}
}

// send sends a command without waiting for a reply.
func (c *client) send(line string) {
	_, err := c.conn.Write(resp.AppendCommand(nil, strings.Fields(line)...))
	require.NoError(c.t, err)
}

// silent checks that nothing comes for a moment.
func (c *client) silent() {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, err := c.read()
	var timeout net.Error
	require.ErrorAs(c.t, err, &timeout)
	require.True(c.t, timeout.Timeout())
	_ = c.conn.SetReadDeadline(time.Time{})
}

func waitFor(t *testing.T, top *Topology, key string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	require.NoError(t, top.WaitBlocked(ctx, key, n))
}

func TestVirtualClock(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true})
	c, waiter := inside(t, top.Node("m1")), inside(t, top.Node("m1"))
	c.do("SET lock a PX 30000")
	waiter.send("BLPOP list 5")
	waitFor(t, top, "list", 1)
	require.NoError(t, top.Clock().Advance(4999*time.Millisecond))
	waiter.silent()
	require.NoError(t, top.Clock().Advance(time.Millisecond))
	reply, err := waiter.read()
	require.NoError(t, err)
	require.Equal(t, "(nil array)", reply)
	require.Equal(t, "(integer) 25000", c.do("PTTL lock"))
	passed, ok, err := top.Clock().Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 25001*time.Millisecond, passed)
	require.Equal(t, "(nil)", c.do("GET lock"))
	_, ok, err = top.Clock().Next()
	require.NoError(t, err)
	require.False(t, ok)

	c.do("SET lock b PX 30000")
	before := top.Clock().Now()
	top.Clock().Jump(time.Minute)
	require.Equal(t, "(nil)", c.do("GET lock"))
	require.Equal(t, before, top.Clock().Now())
	require.ErrorContains(t, top.Clock().Advance(-1), "time does not go back")

	real := start(t, Config{Plan: alone, InMemory: true})
	require.ErrorContains(t, real.Clock().Advance(1), "the clock is the computer's")
}

func TestVirtualClockMovesElections(t *testing.T) {
	for _, plan := range []cluster.Plan{
		{Masters: 3, Replicas: 1, Cluster: true}, {Masters: 1, Replicas: 2, Sentinels: 3},
	} {
		top := start(t, Config{Plan: plan, InMemory: true, Virtual: true, Seed: 7, Trace: 1000})
		require.NoError(t, top.Clock().Advance(2*time.Second))
		top.Node("m1").Kill()
		require.NoError(t, top.Clock().Advance(60*time.Second))
		masters := 0
		for _, n := range top.Nodes() {
			n.Do(func(p cluster.Process) {
				if m, ok := p.(*cluster.Member); ok && !m.Node().IsReplica() {
					masters++
				}
			})
		}
		require.Equal(t, plan.Masters, masters, "%v", top.Trace().Since(0))
	}
}

func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := start(t, Config{Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, InMemory: true})
		c := inside(t, top.Node("m3"))
		require.Equal(t, "OK", c.do("SET a v PX 30000"))
		time.Sleep(29 * time.Second)
		require.Equal(t, "(integer) 1000", c.do("PTTL a"))
		time.Sleep(2 * time.Second)
		require.Equal(t, "(nil)", c.do("GET a"))
		begun := time.Now()
		c.send("BLPOP a 60")
		_ = c.conn.SetDeadline(time.Time{})
		reply, err := c.read()
		require.NoError(t, err)
		require.Equal(t, "(nil array)", reply)
		require.Equal(t, time.Minute, time.Since(begun).Round(time.Millisecond))
	})
}

func TestDuplicates(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true})
	for _, f := range []Fault{{Command: "INCR", Times: 1}, {Command: "BLPOP", Times: 1}} {
		f.Duplicate = true
		_, err := top.Inject(f)
		require.NoError(t, err)
	}
	c, d := inside(t, top.Node("m1")), inside(t, top.Node("m1"))
	require.Equal(t, "(integer) 1", c.do("INCR n"))
	require.Equal(t, `"2"`, c.do("GET n"), "it ran twice")
	c.send("BLPOP list 0")
	require.NoError(t, top.WaitBlocked(t.Context(), "list", 1))
	require.Equal(t, "(integer) 2", d.do("RPUSH list a b"))
	reply, err := c.read()
	require.NoError(t, err)
	require.Contains(t, reply, "list")
	require.Equal(t, "(integer) 1", c.do("LLEN list"), "what blocks runs once")
}

func TestWaitersOfEverySort(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true})
	n := top.Node("m1")
	for i, line := range []string{
		"SUBSCRIBE redisson_lock__channel:{reg:a} redisson_rwlock:{reg:a}",
		"SSUBSCRIBE redisson_sc:{reg:a}",
		"SUBSCRIBE redisson_lock__channel:{reg:a}:owner:1",
		"SUBSCRIBE redisson_countdownlatch__channel__{reg:a}",
		"PSUBSCRIBE redisson_rwlock:*",
		"SUBSCRIBE __keyspace@0__:reg:a",
		"SUBSCRIBE reg-channel",
		"BLPOP reg:a 0",
		"SUBSCRIBE reg:a",
	} {
		inside(t, n).send(line)
		waitFor(t, top, "reg:a", i+1)
	}
	tracker := inside(t, n)
	tracker.do("HELLO 3")
	tracker.do("CLIENT TRACKING ON")
	require.Equal(t, 9, top.Waiters("reg:a"))
	tracker.do("GET reg:a")
	require.Equal(t, 10, top.Waiters("reg:a"))
	prefixes := inside(t, n)
	prefixes.do("HELLO 3")
	prefixes.do("CLIENT TRACKING ON BCAST PREFIX reg:")
	require.Equal(t, 11, top.Waiters("reg:a"))
	require.Equal(t, 3, top.Waiters("reg:b"), "the channel of the registry, the pattern, the prefix")
	require.Equal(t, 1, top.Waiters("other"), "the pattern")
	inside(t, n).send("BLPOP lock-signal:x 0")
	waitFor(t, top, "lock:x", 2)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.EqualError(t, top.WaitBlocked(ctx, "reg:a", 99),
		`topology: clients that wait for "reg:a": 11, not 99: context deadline exceeded`)
}

func TestOverlapsOfHolds(t *testing.T) {
	held := func(at, until int, owner string, shared bool) Event {
		return Event{Kind: LockHeld, Key: "k", Owner: owner, Shared: shared,
			At: time.Duration(at) * time.Second, Until: time.Duration(until) * time.Second}
	}
	freed := func(at int, owner string) Event {
		return Event{Kind: LockFreed, Key: "k", Owner: owner, At: time.Duration(at) * time.Second}
	}
	for what, one := range map[string]struct {
		events []Event
		want   []string
	}{
		"in turn":    {[]Event{held(0, 9, "a", false), freed(2, "a"), held(2, 9, "b", false)}, nil},
		"lease over": {[]Event{held(0, 3, "a", false), held(3, 9, "b", false), freed(4, "a")}, nil},
		"renewed": {[]Event{held(0, 3, "a", false), held(2, 6, "a", false), held(4, 9, "b", false)},
			[]string{"k was held by a and by b from 4.000s to 6.000s"}},
		"readers": {[]Event{held(0, 9, "a", true), held(1, 9, "b", true)}, nil},
		"reader and writer": {[]Event{held(0, 9, "a", true), held(1, 5, "b:write", false)},
			[]string{"k was held by a and by b:write from 1.000s to 5.000s"}},
		"writer and reader": {[]Event{held(0, 9, "a:write", false), held(1, 5, "b", true)},
			[]string{"k was held by a:write and by b from 1.000s to 5.000s"}},
		"writer that reads": {[]Event{held(0, 9, "a:write", false), held(1, 9, "a", true)}, nil},
		"no lease": {[]Event{held(0, 0, "a", false), held(1, 0, "b", false)},
			[]string{"k was held by a and by b from 1.000s for ever"}},
		"again": {[]Event{held(0, 2, "a", false), held(3, 5, "a", false), held(2, 4, "b", false)},
			[]string{"k was held by b and by a from 3.000s to 4.000s"}},
		"other key": {[]Event{held(0, 9, "a", false), {Kind: LockHeld, Key: "x", Owner: "b"}}, nil},
	} {
		var have []string
		for _, o := range Overlaps(one.events, "k") {
			have = append(have, o.String())
		}
		require.Equal(t, one.want, have, what)
	}
}

// Ports are there for all nodes, also where they are but names.
func TestPorts(t *testing.T) {
	for _, port := range []int{-1, 65534, 70000} {
		for _, inMemory := range []bool{false, true} {
			_, err := Start(Config{Plan: cluster.Plan{Masters: 3}, Port: port, InMemory: inMemory})
			require.EqualError(t, err, fmt.Sprintf("topology: port %d of 3 nodes: expected 0 to 65533", port))
		}
	}
	top := start(t, Config{Plan: cluster.Plan{Masters: 3}, Port: 65533, InMemory: true})
	require.Equal(t, "127.0.0.1:65535", top.Node("m3").Address())
}

// The same seed gives the same names, and virtual time begins where it is told to.
func TestSeedAndBegin(t *testing.T) {
	begin := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	var seen []string
	for range 2 {
		top := start(t, Config{Plan: plans["cluster"], InMemory: true, Virtual: true, Seed: 5, Begin: begin})
		c := inside(t, top.Node("m1"))
		seen = append(seen, c.do("CLUSTER MYID")+c.do("TIME")+c.do("INFO server"))
	}
	require.Equal(t, seen[0], seen[1])
	require.Contains(t, seen[0], strconv.FormatInt(begin.Unix(), 10))
}

func TestControl(t *testing.T) {
	var top *Topology
	top = start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true,
		Control: func(n *Node, args []string) resp.Value {
			if args[1] == "kill" {
				top.Node(args[2]).Kill()
			}
			return resp.Str(n.Name() + " " + strings.Join(args, " "))
		}})
	c := inside(t, top.Node("m1"))
	require.Equal(t, `"m1 minikv hello"`, c.do("minikv hello"))
	require.Equal(t, `"m1 MINIKV kill m2"`, c.do("MINIKV kill m2"))
	require.True(t, top.Node("m2").Down())
	_, err := top.Node("m2").Dial()
	require.ErrorContains(t, err, "connection refused")
	_, err = c.try("MINIKV kill m1") // the node that carries the question
	require.Error(t, err)
	require.True(t, top.Node("m1").Down())
}

func TestLocks(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 100})
	c := inside(t, top.Node("m1"))
	for _, line := range strings.Split(strings.TrimSpace(`
SET token abc PX 1000
HSET mutex u1:1 2
PEXPIRE mutex 2000
HSET rw mode read u1:1 1 u2:1 1
PEXPIRE rw 3000
SET {rw}:u1:1:rwlock_timeout:1 1 PX 2500
HSET fair u1:1 1
PEXPIRE fair 1000
RPUSH redisson_lock_queue:{fair} u2:1 u3:1
HSET calm u1:1 1
PEXPIRE calm 1000
ZADD redisson_lock_timeout:{calm} 5 u2:1
HSET fenced u1:1 1
PEXPIRE fenced 1000
SET redisson_lock_token:{fenced} 7
HSET rw2 mode write u1:1:write 1 u1:1 2
PEXPIRE rw2 3000
SET {rw2}:u1:1:rwlock_timeout:1 1 PX 500
SET {rw2}:u1:1:rwlock_timeout:2 1 PX 1500
SET permits 2
ZADD {permits}:timeout 922337203685477 forever
SET {other}:timeout 1 PX 1000
SET gate 1
SET gpu 3
SET cache value
HSET user:1 age 7
HSET often mode read u1:1 20000000
PEXPIRE often 3000
HSET none mode read
PEXPIRE none 1000
HSET two u1:1 1 u2:1 1
PEXPIRE two 1000
HSET moded mode other u1:1 1
PEXPIRE moded 1000
HSET zero u1:1 0
PEXPIRE zero 1000
ZADD scores 7 a
PEXPIRE scores 1000
ZADD lasting 1e12 a`), "\n") {
		c.do(line)
	}
	now := top.Clock().Now().UnixMilli()
	c.do(fmt.Sprintf("ZADD sem %d holder", now))
	c.do(fmt.Sprintf("ZADD sem %d until", now+2000))
	c.do("PEXPIRE sem 5000")
	c.do(fmt.Sprintf("ZADD {permits}:timeout %d over %d held", now, now+2000))
	sub := inside(t, top.Node("m1"))
	sub.do("SUBSCRIBE redisson_sc:{gpu} redisson_lock__channel:{mutex} redisson_countdownlatch__channel__{gate}")
	waitFor(t, top, "mutex", 1)
	var seen []string
	for _, l := range top.Locks() {
		seen = append(seen, fmt.Sprintf("%s %s %s %d %v waiters=%d queue=%v holders=%v", l.Key, l.Kind, l.Owner, l.Count,
			l.TTL, l.Waiters, l.Queue, l.Holders))
	}
	require.Equal(t, []string{
		"calm fair u1:1 1 1s waiters=0 queue=[] holders=[{u1:1 1 1s false}]",
		"fair fair u1:1 1 1s waiters=0 queue=[u2:1 u3:1] holders=[{u1:1 1 1s false}]",
		"fenced fenced u1:1 1 1s waiters=0 queue=[] holders=[{u1:1 1 1s false}]",
		"gate latch  1 0s waiters=1 queue=[] holders=[]",
		"gpu semaphore  3 0s waiters=1 queue=[] holders=[]",
		"mutex mutex u1:1 2 2s waiters=1 queue=[] holders=[{u1:1 2 2s false}]",
		"permits permits held 1 0s waiters=0 queue=[] holders=[{held 1 2s true} {forever 1 0s true}]",
		"rw read u1:1 1 3s waiters=0 queue=[] holders=[{u1:1 1 2.5s true} {u2:1 1 3s true}]",
		"rw2 write u1:1 2 3s waiters=0 queue=[] holders=[{u1:1 2 1.5s true} {u1:1:write 1 3s false}]",
		"sem zset holder 1 5s waiters=0 queue=[] holders=[{holder 1 5s true} {until 1 2s true}]",
		"token token abc 1 1s waiters=0 queue=[] holders=[{abc 1 1s false}]",
	}, seen)
	l, ok := top.Lock("token")
	require.True(t, ok)
	require.Equal(t, "abc", l.Owner)
	_, ok = top.Lock("nothing")
	require.False(t, ok)
}

func TestOverlapAfterFailover(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}, InMemory: true, Virtual: true, Trace: 1000})
	m, r := top.Node("m1"), top.Node("r1")
	a := inside(t, m)
	require.NoError(t, r.HoldReplication())
	require.Equal(t, "OK", a.do("SET lock a NX PX 30000"))
	m.Kill()
	_, err := r.Command("REPLICAOF", "NO", "ONE")
	require.NoError(t, err)
	require.NoError(t, top.Clock().Advance(time.Second))
	require.Equal(t, "OK", inside(t, r).do("SET lock b NX PX 30000"))
	require.NoError(t, top.Clock().Advance(time.Second))
	overlaps := top.Trace().Overlaps("lock")
	require.Len(t, overlaps, 1)
	require.Equal(t, "lock was held by a and by b from 1.000s to 30.000s", overlaps[0].String())
	var lines []string
	for _, e := range top.Trace().Since(0) {
		lines = append(lines, e.String())
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		`m1  client 2 SET lock a NX PX 30000 → OK`, `lock is held by a until 30.000s`, `m1  is killed`, `r1  is now master`,
	} {
		require.Contains(t, text, want)
	}
}

// A lock that is made without a TTL, and given one afterwards or never, is one as well.
func TestOverlapOfLocksWithoutTTL(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 1000})
	m := top.Node("m1")
	c := inside(t, m)
	c.do("SET config 1")
	c.do("SETNX config 2")
	require.Equal(t, "(integer) 1", c.do("SETNX lock 1"))
	l, ok := top.Lock("lock")
	require.True(t, ok)
	require.Equal(t, []Holder{{Owner: "1", Count: 1}}, l.Holders)
	require.Len(t, top.Locks(), 1)
	require.NoError(t, top.Clock().Advance(time.Second))
	c.do("EXPIRE lock 30")
	require.NoError(t, m.Restart(false))
	c = inside(t, m)
	require.Equal(t, "OK", c.do("SET lock 2 NX"))
	require.NoError(t, m.Restart(false))
	c = inside(t, m)
	c.do("SETNX lock 3")
	require.NoError(t, top.Clock().Advance(time.Second))
	c.do("DEL lock")
	c.do("SETNX lock 4")
	var have []string
	for _, o := range top.Trace().Overlaps("lock") {
		have = append(have, o.String())
	}
	require.Equal(t, []string{
		"lock was held by 1 and by 2 from 1.000s to 31.000s", "lock was held by 1 and by 3 from 1.000s to 2.000s",
		"lock was held by 1 and by 4 from 2.000s to 31.000s", "lock was held by 2 and by 3 from 1.000s to 2.000s",
		"lock was held by 2 and by 4 from 2.000s for ever",
	}, have)
	require.Empty(t, top.Trace().Overlaps("config"))
}

func TestNoOverlap(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 1000})
	c := inside(t, top.Node("m1"))
	c.do("SET lock a NX PX 1000")
	c.do("PEXPIRE lock 5000")
	require.NoError(t, top.Clock().Advance(4*time.Second))
	c.do("DEL lock")
	c.do("SET lock b NX PX 1000")
	require.NoError(t, top.Clock().Advance(2*time.Second))
	c.do("MULTI")
	c.do("SET lock c NX PX 1000")
	c.do("EXEC")
	c.do("SET cache x PX 1000")
	c.do("SET cache y PX 1000")
	require.Empty(t, top.Trace().Overlaps("lock"))
	require.Empty(t, top.Trace().Overlaps("cache"))
	c.do("SELECT 3")
	c.do("SET lock elsewhere NX PX 1000")
	require.Empty(t, top.Trace().Overlaps("lock"), "a key of another database")
	held := slices.DeleteFunc(top.Trace().Since(0), func(e Event) bool { return e.Kind != LockHeld })
	require.Len(t, held, 5)
	require.Equal(t, "c", held[3].Owner)
	require.Equal(t, 3, held[4].DB)
	const take = "EVAL redis.call('decrby',KEYS[1],1);redis.call('zadd',KEYS[2],ARGV[1],ARGV[2]) 2 sem {sem}:timeout "
	c.do("SET sem 2")
	c.do(fmt.Sprintf("%s %d a", take, top.Clock().Now().UnixMilli()+5000))
	c.do(fmt.Sprintf("%s %d b", take, top.Clock().Now().UnixMilli()+5000))
	require.Empty(t, top.Trace().Overlaps("sem"), "who has permits of one semaphore shares it")
	l, _ := top.Lock("sem")
	require.Len(t, l.Holders, 2)
}

func TestQuorumOfIndependentMasters(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 3}, InMemory: true, Virtual: true, Trace: 1000})
	take := func(node, owner string) {
		require.Equal(t, "OK", inside(t, top.Node(node)).do("SET lock "+owner+" NX PX 30000"))
	}
	take("m1", "a")
	take("m2", "a")
	take("m3", "b") // b has the minority, and fails
	require.Empty(t, top.Trace().Overlaps("lock"))
	require.NoError(t, top.Node("m2").Restart(false))
	take("m2", "b")
	require.Len(t, top.Trace().Overlaps("lock"), 1)
}

func TestDialContext(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true})
	conn, err := top.DialContext(t.Context(), "tcp", top.Node("m2").Address())
	require.NoError(t, err)
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", line)
	require.NoError(t, conn.Close())
	_, err = top.DialContext(t.Context(), "tcp", "127.0.0.1:9")
	require.ErrorContains(t, err, "unknown node")
}

// A key moves to a server that is no node of the topology, and its replica hears of
// that. In memory nobody outside can be reached.
func TestMigrateToAnotherTopology(t *testing.T) {
	target := start(t, Config{Plan: cluster.Plan{Masters: 1}}).Node("m1")
	host, port, err := net.SplitHostPort(target.Address())
	require.NoError(t, err)
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}})
	m, r := dial(t, top.Node("m1")), dial(t, top.Node("r1"))
	m.do("SET a 1")
	require.Equal(t, "(integer) 1", m.do("WAIT 1 5000"))
	require.Equal(t, "OK", m.do("MIGRATE "+host+" "+port+" a 0 5000"))
	r.eventually("GET a", "(nil)")
	require.Equal(t, `"1"`, dial(t, target).do("GET a"))

	inMemory := start(t, Config{Plan: cluster.Plan{Masters: 1}, InMemory: true}).Node("m1")
	_, err = inMemory.Command("SET", "b", "2")
	require.NoError(t, err)
	_, err = inMemory.Command("MIGRATE", host, port, "b", "0", "5000")
	require.ErrorContains(t, err, "IOERR error or timeout writing to target instance")
}
