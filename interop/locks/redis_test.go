package locks

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minikv/internal/redisserver"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// redisWorld is two processes, found by their sockets.
type redisWorld struct {
	sockets     []string // of the master, of the replica
	replication *front   // through which the replica follows
	end         func()   // of the master
}

func startRedis(t *testing.T, _ bool) world {
	folder, err := os.MkdirTemp("", "locks") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	w := &redisWorld{sockets: []string{filepath.Join(folder, "m1"), filepath.Join(folder, "r1")}}
	w.end = startProcess(t, w.sockets[0])
	w.replication = startFront(t, w.sockets[0], nil)
	host, port, _ := strings.Cut(w.replication.address, ":")
	startProcess(t, w.sockets[1], "--replicaof", host+" "+port)
	return w
}

// startProcess returns when the server answers. end ends it at once, as does the
// end of the test, or of this process however it ends.
func startProcess(t *testing.T, socket string, options ...string) (end func()) {
	process, err := redisserver.Start("redis-server", append([]string{"--port", "0", "--unixsocket", socket,
		"--save", "", "--dir", filepath.Dir(socket), "--repl-diskless-sync-delay", "0"}, options...)...)
	require.NoError(t, err)
	t.Cleanup(process.End)
	client := connect(t, socket)
	require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil }, soon, 5*time.Millisecond)
	return process.End
}

func (w *redisWorld) master() string { return w.sockets[0] }

func (w *redisWorld) loseReply(_ *testing.T, a *front, name string) { a.loseReply(name) }

func (w *redisWorld) hasLost(_ *testing.T, a *front) bool { return a.hasLost() }

// pass ends the leases on the server: its clock cannot be moved.
func (w *redisWorld) pass(t *testing.T) { endLeases(t, w) }

func (w *redisWorld) hold(t *testing.T) {
	replica := connect(t, w.sockets[1])
	require.Eventually(t, func() bool {
		return strings.Contains(replica.Info(t.Context(), "replication").Val(), "master_link_status:up")
	}, soon, 20*time.Millisecond)
	w.replication.cut()
}

func (w *redisWorld) promote(t *testing.T) {
	w.end()
	w.sockets = w.sockets[1:]
	require.NoError(t, connect(t, w.master()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

// judge cannot tell.
func (w *redisWorld) judge(*testing.T, string, bool) {}
