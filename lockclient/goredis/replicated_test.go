package goredis_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// spawn runs a redis-server of this test's own, and returns it and its address.
func spawn(t *testing.T, port int, args ...string) (*os.Process, string) {
	t.Helper()
	cmd := exec.Command("redis-server",
		append([]string{"--port", strconv.Itoa(port), "--save", "", "--dir", t.TempDir()}, args...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process, "127.0.0.1:" + strconv.Itoa(port)
}

// A lock that no replica confirms is given back; one that a replica has, or
// whose master has no replica, is granted.
func TestReplicaConfirms(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil || os.Getenv("REDIS_SERVER") == "" {
		t.Skip("needs redis-server, and REDIS_SERVER to be set")
	}
	_, addr := spawn(t, 27391)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, 10*time.Second, 10*time.Millisecond)
	transport, err := goredis.New(t.Context(), rdb, goredis.WithReplicas())
	require.NoError(t, err)
	c := lockclient.New(transport, lockclient.System())

	h, err := c.Mutex("alone").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))

	replica, _ := spawn(t, 27392, "--replicaof", "127.0.0.1", "27391")
	require.Eventually(t, func() bool {
		n, err := rdb.Do(t.Context(), "WAIT", 1, 100).Int()
		return err == nil && n == 1
	}, 20*time.Second, 10*time.Millisecond)
	h, err = c.Fenced("confirmed").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Unlock(t.Context()))

	require.NoError(t, replica.Signal(syscall.SIGSTOP))
	defer func() { _ = replica.Signal(syscall.SIGCONT) }()
	_, err = c.Mutex("unconfirmed").TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrReplication)
	assert.Eventually(t, func() bool {
		locked, err := c.Mutex("unconfirmed").IsLocked(t.Context())
		return err == nil && !locked
	}, 5*time.Second, 10*time.Millisecond)
}
