package topology

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
	"minikv/server/engine"
)

// The backlog is for replicas that come back. Those that are there get a write that is larger
// than it as they get others, and a past does not lose what came before it.
func TestWritesLargerThanTheBacklog(t *testing.T) {
	top := start(t, Config{
		Plan: cluster.Plan{Masters: 1, Replicas: 1}, Remember: true, Virtual: true,
		Node: engine.Config{Parameters: map[string]string{"repl-backlog-size": "16384"}},
	})
	m, r := dial(t, top.Node("m1")), dial(t, top.Node("r1"))
	require.Contains(t, dial(t, top.Node("m1")).do("PSYNC ? -1"), "FULLRESYNC")
	syncs := func() []string {
		return regexp.MustCompile(`sync_\w+:\d+|connected_slaves:\d+`).FindAllString(m.do("INFO"), -1)
	}
	before := syncs()
	require.Contains(t, before, "connected_slaves:2")
	require.Equal(t, "OK", m.do("SET old 1"))
	require.NoError(t, top.Clock().Advance(2*time.Second))
	value := strings.Repeat("x", 100_000)
	require.Equal(t, "OK", m.do("SET big "+value))
	m.do("MULTI")
	m.do("SET b1 " + value)
	m.do("SET b2 " + value)
	require.Equal(t, "1) OK\n2) OK", m.do("EXEC"))
	r.eventually("DBSIZE", "(integer) 4")
	require.Equal(t, "(integer) 100000", r.do("STRLEN big"))
	require.Equal(t, before, syncs())

	require.NoError(t, top.Node("m1").RestartLosing(time.Second))
	require.Equal(t, "(integer) 1", dial(t, top.Node("m1")).do("DBSIZE"))
}
