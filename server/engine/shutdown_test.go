package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// SHUTDOWN waits until all replicas have all that there is; meanwhile writes do not run.
func TestShutdownWaitsForReplicas(t *testing.T) {
	f := newFixture(t)
	admin, other, writer, reader := f.session(), f.session(), f.session(), f.session()
	f.node.AddReplica(1)
	f.do(writer, "SET a 1")
	f.do(admin, "SHUTDOWN NOSAVE")
	f.do(other, "SHUTDOWN NOW")
	f.do(writer, "SET a 2")
	require.Nil(t, f.node.ShutdownRequested())
	require.True(t, admin.Blocked() && other.Blocked() && writer.Blocked())
	require.Contains(t, f.do(reader, "INFO server"), "shutdown_in_milliseconds:10000")
	f.expect(reader,
		"GET a", `"1"`,
		"SHUTDOWN ABORT NOW", "(error) ERR syntax error",
		"SHUTDOWN ABORT", "OK",
		"SHUTDOWN ABORT", "(error) ERR No shutdown in progress.",
		"GET a", `"2"`)
	require.Equal(t, "(error) ERR Errors trying to SHUTDOWN. Check logs.", f.got(admin))
	require.Equal(t, "(error) ERR Errors trying to SHUTDOWN. Check logs.", f.got(other))
	require.Equal(t, "OK", f.got(writer))

	f.do(admin, "SHUTDOWN NOSAVE")
	require.Nil(t, f.node.ShutdownRequested())
	f.node.Ack(1, f.node.Offset())
	require.Equal(t, &Shutdown{NoSave: true}, f.node.ShutdownRequested())
}

// It waits no longer than shutdown-timeout, and not at all with NOW or without replicas.
func TestShutdownWaitsNoLonger(t *testing.T) {
	f := newFixture(t)
	f.node.AddReplica(1)
	s := f.session()
	f.expect(s, "CONFIG SET shutdown-timeout 2", "OK", "SET a 1", "OK")
	f.do(s, "SHUTDOWN")
	wait, _ := f.node.NextDeadline()
	require.Equal(t, 2*time.Second, wait)
	f.clock.advance(wait - time.Millisecond)
	f.tick()
	require.Nil(t, f.node.ShutdownRequested())
	f.clock.advance(time.Millisecond)
	f.tick()
	require.NotNil(t, f.node.ShutdownRequested())

	f.node.Restart(true)
	require.Nil(t, f.node.ShutdownRequested())
	s = f.session()
	f.do(s, "SET a 2")
	f.do(s, "SHUTDOWN NOW SAVE FORCE")
	require.Equal(t, &Shutdown{Now: true, Save: true, Force: true}, f.node.ShutdownRequested())
}
