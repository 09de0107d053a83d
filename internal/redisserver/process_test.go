//go:build unix

package redisserver

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEndLeavesNothing(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("there is no program to start: ", err)
	}
	p, err := Start("sleep", "1000") // any program will do
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.Pid, syscall.SIGSTOP))
	p.End()
	p.End()
	require.Equal(t, syscall.ESRCH, syscall.Kill(p.Pid, 0))
}
