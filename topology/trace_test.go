package topology

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
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
