//go:build unix

package redisserver

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that stands still, and would not end by itself, is gone as well.
func TestEndLeavesNothing(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	p, err := Start("sh", "-c", `trap "" TERM; : >"$0"; exec sleep 1000`, ready) // any program will do
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(ready)
		return err == nil
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(p.Pid, syscall.SIGSTOP))
	p.End()
	p.End()
	require.Equal(t, syscall.ESRCH, syscall.Kill(p.Pid, 0))
}
