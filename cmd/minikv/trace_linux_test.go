package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A trace that its file has no room for is told of, and does not change the exit code.
func TestTraceWithoutRoom(t *testing.T) {
	t.Setenv(asSender, "1")
	code, _, stderr := runExec("--trace", "/dev/full", "--clock", "virtual", "--", os.Args[0], "-send", "PING")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stderr, "minikv: the trace ends at event 1: ")

	file := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(heldTwice), 0o600))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	for _, args := range [][]string{{"trace", file}, {"--help"}, {"--version"}, {"help", "exec"}, {"exec", "-h"}} {
		var bad bytes.Buffer
		require.Equal(t, exitUsage, run(args, strings.NewReader(""), full, &bad), args)
		require.Contains(t, bad.String(), "no space left on device")
	}
}
