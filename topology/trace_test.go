package topology

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
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
