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

// Who monitors a replica sees what its master sends, from the master's address, in the
// words of redis-server 7.0.15.
func TestMonitorAtReplica(t *testing.T) {
	top := start(t, Config{
		Plan: cluster.Plan{Masters: 1, Replicas: 1},
		Node: engine.Config{Parameters: map[string]string{"repl-ping-replica-period": "1"}},
	})
	m1, monitor := dial(t, top.Node("m1")), dial(t, top.Node("r1"))
	require.Equal(t, "OK", monitor.do("MONITOR"))
	for _, line := range []string{
		"SELECT 2", "SET a 1 PX 100000", "SADD s 1", "SPOP s", "EVAL redis.call('incr',KEYS[1])redis.call('del',KEYS[1]) 1 k",
		"PUBLISH ch m",
	} {
		m1.do(line)
	}
	require.NoError(t, monitor.conn.SetDeadline(time.Now().Add(30*time.Second)))
	next := func() string {
		line, err := monitor.read()
		require.NoError(t, err)
		return line
	}
	const ping = `\"ping\"`
	from := `^\(status\) "\d+\.\d{6} \[2 ` + top.Node("m1").Address() + `\] `
	for _, want := range []string{
		`"SELECT" "2"`, `"SET" "a" "1" "PXAT" "\d+"`, `"SADD" "s" "1"`, `"SREM" "s" "1"`,
		`"MULTI"`, `"incr" "k"`, `"del" "k"`, `"EXEC"`, `"PUBLISH" "ch" "m"`, `"ping"`,
	} {
		line := next()
		for want != `"ping"` && strings.Contains(line, ping) {
			line = next()
		}
		require.Regexp(t, from+strings.ReplaceAll(want, `"`, `\\"`)+`"$`, line)
	}
}

// A replica outside of the process that is silent for repl-timeout is sent away, like
// one of the topology.
func TestSilentReplicaOutsideIsSentAway(t *testing.T) {
	top := start(t, Config{
		Plan: cluster.Plan{Masters: 1, Replicas: 1},
		Node: engine.Config{Parameters: map[string]string{"repl-timeout": "1"}},
	})
	outside := dial(t, top.Node("m1"))
	outside.send("PSYNC ? -1")
	require.NoError(t, outside.conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err := io.Copy(io.Discard, outside.conn)
	require.NoError(t, err)
	require.Equal(t, "PONG", dial(t, top.Node("m1")).do("PING"))
}

// A replica outside of the process is sent away, like those of the topology, when its master
// gets another history: it becomes a replica, or the master in place of its own.
func TestReplicasOutsideLeaveWithTheHistory(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}})
	m1, m2 := dial(t, top.Node("m1")), dial(t, top.Node("m2"))
	require.Equal(t, "OK", m1.do("SET a 1"))
	require.Equal(t, "OK", m2.do("SET a 2"))
	leaves := func(command string) {
		t.Helper()
		outside := dial(t, top.Node("m1"))
		outside.send("PSYNC ? -1")
		m1.eventually("INFO replication", "connected_slaves:1")
		require.Equal(t, "OK", m1.do(command))
		require.NoError(t, outside.conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err := io.Copy(io.Discard, outside.conn)
		require.NoError(t, err)
		m1.eventually("INFO replication", "connected_slaves:0")
	}
	host, number, err := net.SplitHostPort(top.Node("m2").Address())
	require.NoError(t, err)
	leaves("REPLICAOF " + host + " " + number)
	m1.eventually("GET a", "2")
	m1.eventually("INFO replication", "master_link_status:up")
	leaves("REPLICAOF NO ONE")
	require.Equal(t, "OK", m1.do("SET b 1"))
}
