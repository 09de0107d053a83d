package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal ends a start that takes long.
func TestSignalDuringTheStart(t *testing.T) {
	p := launch(t, "--bind", "127.0.0.1", "--cluster", "50x2", "--port", strconv.Itoa(freePorts(t, 150)))
	p.expectLine("minikv is starting")
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	p.expectLine("Received SIGINT before the start was complete")
	p.expectExit(0)
}
