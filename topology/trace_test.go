package topology

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// Keys and owners may be any bytes, and values long; an event is one line all the same.
func TestEventIsOneLine(t *testing.T) {
	held := Event{Kind: LockHeld, Node: "m1", Client: 1, Key: "lock a", Owner: "\xa4\n"}
	require.Equal(t, `    0.000s m1  client 1 "lock a" is held by "\xa4\n"`, held.String())
	freed := Event{Kind: LockFreed, Node: "m1", Client: 1, Key: "lock", Owner: "\r"}
	require.Equal(t, `    0.000s m1  client 1 lock is held by "\r" no more`, freed.String())
	long := Event{Kind: Commanded, Node: "m1", Client: 1, Reply: "OK"}
	long.Command = []string{"SET", "k", strings.Repeat("a b", 30)}
	require.Equal(t, `    0.000s m1  client 1 SET k "`+strings.Repeat("a b", 20)+`"… → OK`, long.String())
}

// A command without words is nothing: it is answered by nothing, and told of by no event.
func TestNoWords(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}, Trace: 10})
	conn, err := net.Dial("tcp", top.Nodes()[0].Address())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("*0\r\n*1\r\n$4\r\nPING\r\n"))
	require.NoError(t, err)
	reply := make([]byte, 7)
	_, err = io.ReadFull(conn, reply)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", string(reply))
	require.Equal(t, []string{"PING"}, top.Trace().Since(0)[0].Command)
}

// That a node is killed is told of, but not that the topology ends.
func TestEndIsNoKill(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true, Virtual: true, Trace: 10})
	top.Node("m2").Kill()
	top.Close()
	events := top.Trace().Since(0)
	require.Len(t, events, 1)
	require.Equal(t, "    0.000s m2  is killed", events[0].String())
}

// To look at the locks that a command may change does nothing to them: keys that have expired
// are there until a command uses them, and to be read is no use.
func TestTraceOnlyLooks(t *testing.T) {
	for _, trace := range []int{0, 10} {
		top := start(t, Config{
			Plan: cluster.Plan{Masters: 1}, Trace: trace, Virtual: true,
			Node: engine.Config{Parameters: map[string]string{
				"enable-debug-command": "yes", "maxmemory-policy": "allkeys-lfu", "lfu-log-factor": "0",
			}},
		})
		c := dial(t, top.Node("m1"))
		require.Equal(t, "OK", c.do("DEBUG SET-ACTIVE-EXPIRE 0"))
		require.Equal(t, "OK", c.do("SET used 1"))
		require.Equal(t, "OK", c.do("SET lock 1 PX 3"))
		top.Clock().Advance(20 * time.Millisecond)
		require.Equal(t, "(error) ERR syntax error", c.do("SET lock 1 NX XX"))
		require.Equal(t, "(error) ERR syntax error", c.do("SET used 1 NX XX"))
		require.Equal(t, "(integer) 2", c.do("DBSIZE"))
		require.Equal(t, "(integer) 5", c.do("OBJECT FREQ used"))
		require.Empty(t, top.Locks())
		require.Equal(t, "(integer) 2", c.do("DBSIZE"))
		require.Equal(t, "(nil)", c.do("GET lock"))
		require.Equal(t, "(integer) 1", c.do("DBSIZE"))
	}
}

// What a command costs a trace does not grow with data that is no lock, or is not used as one.
func TestTraceOfLargeData(t *testing.T) {
	const many, some, commands, most = 20_000, 1000, 10, 64 << 10
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 1000})
	n := top.Node("m1")
	fill := func(key, add string, entries int) {
		script := "for i = 1, ARGV[1] do redis.call(" + add + ") end return redis.call('expire', KEYS[1], 1000)"
		_, err := n.Command("EVAL", script, "1", key, strconv.Itoa(entries))
		require.NoError(t, err)
	}
	const dates = "'zadd', KEYS[1], 2e12, i"
	const readers = "'hset', KEYS[1], i > 1 and i or 'mode', i > 1 and i % 2 + 1 or 'read'"
	fill("texts", "'hset', KEYS[1], i, 'text'", many)
	fill("counts", "'hset', KEYS[1], i, i", many)
	fill("dates", dates, many)
	fill("readers", readers, many)
	fill("few dates", dates, some)
	fill("few readers", readers, some/2)
	c := inside(t, n)
	const add = "redis.call('zadd', KEYS[1], 3e12, 1)"
	for _, command := range [][]string{
		{"HSET", "texts", "1", "other"}, {"HSET", "counts", "1", "7"}, {"ZADD", "dates", "2.5e12", "1"},
		{"HSET", "readers", "2", "7"}, {"ZADD", "few dates", "2.5e12", "1"}, {"HSET", "few readers", "2", "7"},
		{"HSETNX", "texts", "new", "text"}, {"HSETNX", "counts", "new", "7"}, {"HSETNX", "readers", "new", "7"},
		{"EVAL", add, "1", "dates"}, {"EVAL", add, "1", "few dates"},
	} {
		before := allocated()
		for range commands {
			_, err := c.conn.Write(resp.AppendCommand(nil, command...))
			require.NoError(t, err)
			_, err = c.read()
			require.NoError(t, err)
			c.do("PING")
		}
		require.Less(t, (allocated()-before)/commands, uint64(most), command)
	}
	require.False(t, slices.ContainsFunc(top.Trace().Since(0), func(e Event) bool { return e.Kind == LockHeld }))
	require.Equal(t, 2, len(top.Locks()), "those with few")
}

// What only resembles a lock is held by nobody, even if a script has made it.
func TestTraceOfDataLikeALock(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 10})
	c := inside(t, top.Node("m1"))
	all := []string{"'a','text'", "'a','0'", "'a','1','b','1'", "'mode','other','a','1'"}
	for i, fields := range all {
		c.do(fmt.Sprintf("EVAL redis.call('hset',KEYS[1],%s);redis.call('expire',KEYS[1],9) 1 data%d", fields, i))
	}
	require.Equal(t, len(all), len(top.Trace().Since(0)), "%v", top.Trace().Since(0))
}

// allocated is how many bytes this process has ever allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// However long a command is, an event keeps little of it.
func TestLongCommand(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 10})
	c := inside(t, top.Node("m1"))
	pairs := strings.Repeat(" key "+strings.Repeat("v", 3000), 100)
	require.Equal(t, "OK", c.do("MSET"+pairs))
	require.Equal(t, "OK", c.do("MSET"+strings.Repeat(" k v", 50_000)))
	require.Equal(t, "OK", c.do("SET lock "+strings.Repeat("o", 3000)+" NX PX 1000"))
	require.Equal(t, "OK", c.do("SET "+strings.Repeat("l", 3000)+" owner NX PX 1000"))
	events := top.Trace().Since(0)
	require.Equal(t, 4, len(events), "what has a long name, or is one's whose name is long, is no lock")
	long := events[0].Command
	require.Equal(t, []string{"MSET", "key", strings.Repeat("v", 2048) + "…", "key"}, long[:4])
	require.Equal(t, "…", long[len(long)-1])
	for _, e := range events {
		size := 0
		for _, arg := range e.Command {
			size += len(arg) + 16
		}
		require.Less(t, size, 32<<10)
	}
	require.Empty(t, top.Locks())
}
