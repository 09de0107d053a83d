package topology

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
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
	return &client{t: t, node: n, conn: conn, in: newReader(conn)}
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

func TestFaults(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Trace: 100})
	n := top.Node("m1")
	inject := func(words ...string) int {
		f, err := ParseFault(words)
		require.NoError(t, err)
		id, err := top.Inject(f)
		require.NoError(t, err)
		return id
	}
	inject("ON", "set", "KEY", "lock:*", "NTH", "2", "DROPREPLY")
	c := inside(t, n)
	require.Equal(t, "OK", c.do("SET lock:1 a"))
	require.Equal(t, "OK", c.do("SET other a"))
	c.send("SET lock:2 b")
	c.silent()
	c.send("GET lock:2")
	c.silent()
	d := inside(t, n)
	require.Equal(t, `"b"`, d.do("GET lock:2"), "the command ran")
	require.Equal(t, []FaultState{{ID: 1, Seen: 2, Struck: 1,
		Fault: Fault{Command: "set", Key: "lock:*", Nth: 2, DropReply: true}}}, top.Faults())
	top.ClearFaults()

	id := inject("ON", "GET", "CLIENT", "worker", "ERROR", "LOADING wait a moment")
	d.do("CLIENT SETNAME worker")
	require.Equal(t, "(error) LOADING wait a moment", d.do("GET lock:2"))
	require.Equal(t, "(nil)", inside(t, n).do("GET nothing"))
	require.True(t, top.RemoveFault(id))
	require.False(t, top.RemoveFault(id))
	require.Equal(t, `"b"`, d.do("GET lock:2"))

	inject("ON", "INCR", "TIMES", "1", "DROPREPLY", "CLOSE")
	_, err := d.try("INCR n")
	require.Error(t, err)
	e := inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "INCR", "TIMES", "1", "CLOSE")
	_, err = e.try("INCR n")
	require.Error(t, err)
	e = inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "INCR", "TIMES", "1", "DROPREQUEST")
	e.send("INCR n")
	e.silent()
	e = inside(t, n)
	require.Equal(t, `"1"`, e.do("GET n"))
	inject("ON", "GET", "DELAY", "30")
	begun := time.Now()
	require.Equal(t, `"1"`, e.do("GET n"))
	require.GreaterOrEqual(t, time.Since(begun), 30*time.Millisecond)
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

func TestDelayOnVirtualClock(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true})
	_, err := top.Inject(Fault{Command: "INCR", Delay: 10 * time.Second})
	require.NoError(t, err)
	c, d := inside(t, top.Node("m1")), inside(t, top.Node("m1"))
	c.send("INCR n")
	require.Eventually(t, func() bool { return top.Faults()[0].Struck == 1 }, time.Second, time.Millisecond)
	require.Equal(t, "(nil)", d.do("GET n"), "others go on")
	require.Eventually(t, func() bool { _, some := top.clock.nextAlarm(); return some }, time.Second, time.Millisecond)
	require.NoError(t, top.Clock().Advance(10*time.Second))
	require.Equal(t, `"1"`, d.do("GET n"))
}

func TestFaultsAsText(t *testing.T) {
	for text, bad := range map[string]string{
		"ON EVALSHA KEY orders:* NTH 2 DROPREPLY":                   "",
		"ON SET CLIENT 7 NODE m1 TIMES 3 PERCENT 50 DELAY 1s CLOSE": "",
		"KEY a ERROR x DELAY 5ms":                                   "",
		"ON GET":                                                    "DROPREPLY, DUPLICATE or CLOSE",
		"ON":                                                        "ON: expected a value",
		"DROPREPLY DROPREQUEST":                                     "expected DROPREQUEST or DROPREPLY",
		"NTH 0 CLOSE":                                               `NTH "0": expected a number from 1`,
		"PERCENT 101 CLOSE":                                         "101 percent: expected 1 to 100",
		"DELAY soon":                                                `duration "soon": expected milliseconds, or 1m30s`,
		"OFF GET CLOSE":                                             `unknown word "OFF"`,
		"ERROR x DROPREPLY":                                         "an ERROR cannot get lost",
		"ON SET DUPLICATE DROPREPLY CLOSE":                          "",
		"DUPLICATE CLOSE":                                           "a command that does not run is no DUPLICATE",
		"DELAY 99999999999999999":                                   "too long",
		"DELAY -5":                                                  "expected more than 0",
	} {
		f, err := ParseFault(strings.Fields(text))
		if bad != "" {
			require.ErrorContains(t, err, bad, text)
			continue
		}
		require.NoError(t, err)
		again, err := ParseFault(strings.Fields(strings.ReplaceAll(f.String(), `"`, "")))
		require.NoError(t, err)
		require.Equal(t, f, again)
	}
	top := start(t, Config{Plan: alone, InMemory: true})
	_, err := top.Inject(Fault{Node: "m9", Close: true})
	require.ErrorContains(t, err, `unknown node "m9"`)
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
SET gpu 3
SET cache value
HSET user:1 age 7`), "\n") {
		c.do(line)
	}
	now := top.Clock().Now().UnixMilli()
	c.do(fmt.Sprintf("ZADD sem %d holder", now))
	c.do("PEXPIRE sem 5000")
	sub := inside(t, top.Node("m1"))
	sub.do("SUBSCRIBE redisson_sc:{gpu} redisson_lock__channel:{mutex}")
	waitFor(t, top, "mutex", 1)
	var seen []string
	for _, l := range top.Locks() {
		seen = append(seen, fmt.Sprintf("%s %s %s %d %v waiters=%d queue=%v holders=%v", l.Key, l.Kind, l.Owner, l.Count,
			l.TTL, l.Waiters, l.Queue, l.Holders))
	}
	require.Equal(t, []string{
		"fair fair u1:1 1 1s waiters=0 queue=[u2:1 u3:1] holders=[{u1:1 1 1s false}]",
		"gpu semaphore  3 0s waiters=1 queue=[] holders=[]",
		"mutex mutex u1:1 2 2s waiters=1 queue=[] holders=[{u1:1 2 2s false}]",
		"rw read u1:1 1 3s waiters=0 queue=[] holders=[{u1:1 1 2.5s true} {u2:1 1 3s true}]",
		"sem zset holder 1 5s waiters=0 queue=[] holders=[{holder 1 5s true}]",
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
	r.HoldReplication()
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
		`m1  client 1 SET lock a NX PX 30000 → OK`, `lock is held by a until 30.000s`, `m1  is killed`, `r1  is now master`,
	} {
		require.Contains(t, text, want)
	}
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
	held := slices.DeleteFunc(top.Trace().Since(0), func(e Event) bool { return e.Kind != LockHeld })
	require.Len(t, held, 4)
	require.Equal(t, "c", held[3].Owner)
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
