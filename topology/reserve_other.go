//go:build !linux

package topology

import (
	"net"
	"os"
)

// reserve keeps a port only where a socket that does not listen can share it with one that
// does: on Linux.
func reserve(*net.TCPAddr) *os.File { return nil }
