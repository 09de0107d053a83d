package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/server/engine"
)

// endless is a script without an end, in one word.
const endless = "while(true)do--[[]]end"

// A master whose script runs for longer than the node timeout says BUSY to clients and
// answers on the bus: the others do not take it for one that is down.
func TestBusyMasterStaysMaster(t *testing.T) {
	top := start(t, Config{
		Plan: cluster.Plan{Masters: 3, Replicas: 1, Cluster: true},
		Node: engine.Config{Parameters: map[string]string{
			"busy-reply-threshold": "100", "cluster-node-timeout": "2000",
		}},
	})
	busy, m1, m2 := dial(t, top.Node("m1")), dial(t, top.Node("m1")), dial(t, top.Node("m2"))
	busy.send("EVAL " + endless + " 0")
	m1.eventually("PING", "BUSY")
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		require.NotContains(t, m2.do("CLUSTER NODES"), "fail")
	}
	require.Contains(t, m1.do("PING"), "BUSY")
	require.Contains(t, m1.do("GET b"), "BUSY")
	require.Contains(t, m1.do("GET foo"), "MOVED") // of another slot: who asks needs not wait here
	require.Equal(t, "OK", m1.do("SCRIPT KILL"))
	require.Contains(t, m1.do("ROLE"), "master")
	require.Contains(t, dial(t, top.Node("r1")).do("ROLE"), "slave")
}

// What a master's replicas send it while its script runs for too long, and that one of
// them has died and come back, is taken afterwards.
func TestBusyMasterHearsReplicasLater(t *testing.T) {
	top := start(t, Config{
		Plan: cluster.Plan{Masters: 1, Replicas: 1},
		Node: engine.Config{Parameters: map[string]string{"busy-reply-threshold": "50"}},
	})
	busy, m1 := dial(t, top.Node("m1")), dial(t, top.Node("m1"))
	m1.do("SET lock:a c1-1")
	busy.send("EVAL " + endless + " 0")
	m1.eventually("PING", "BUSY")
	top.Node("r1").Kill()
	require.NoError(t, top.Node("r1").Restart(false))
	r1 := dial(t, top.Node("r1"))
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		require.Equal(t, "(nil)", r1.do("GET lock:a"))
	}
	require.Equal(t, "OK", m1.do("SCRIPT KILL"))
	r1.eventually("GET lock:a", "c1-1")
	require.Equal(t, "OK", m1.do("SET lock:a c2-1"))
	require.Equal(t, "(integer) 1", m1.do("WAIT 1 5000"))
}

// Sentinels take a master that says BUSY for one that is down, and end its script.
func TestSentinelsEndBusyScript(t *testing.T) {
	cfg := quick(3)
	cfg.Node.Parameters = map[string]string{"busy-reply-threshold": "100"}
	top := start(t, cfg)
	for _, s := range []string{"s1", "s2", "s3"} {
		// After a hold-up of two seconds they would do nothing for 30 (TILT).
		_, err := top.Node(s).Command("SENTINEL", "DEBUG", "TILT-TRIGGER", "30000")
		require.NoError(t, err)
	}
	busy := dial(t, top.Node("m1"))
	busy.send("EVAL " + endless + " 0")
	require.NoError(t, busy.conn.SetDeadline(time.Now().Add(30*time.Second)))
	reply, err := busy.read()
	require.NoError(t, err)
	require.Contains(t, reply, "Script killed by user with SCRIPT KILL")
}
