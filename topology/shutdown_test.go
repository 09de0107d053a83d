package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// What a client was told before SHUTDOWN is at the replicas when the master has ended.
func TestShutdownLosesNoWrite(t *testing.T) {
	plan := cluster.Plan{Masters: 1, Replicas: 1}
	top := start(t, Config{Plan: plan, InMemory: true, Virtual: true, Lag: 3 * time.Second})
	m, r := inside(t, top.Node("m1")), inside(t, top.Node("r1"))
	require.NoError(t, top.Clock().Advance(10*time.Second))
	m.do("SET lock a")
	m.send("SHUTDOWN NOSAVE")
	m.silent()
	require.False(t, top.Node("m1").Down())
	require.NoError(t, top.Clock().Advance(8*time.Second))
	require.Eventually(t, top.Node("m1").Down, 10*time.Second, time.Millisecond)
	require.Equal(t, `"a"`, r.do("GET lock"))
}
