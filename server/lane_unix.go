//go:build unix

package server

import (
	"net"
	"syscall"
)

// atOnce returns what writes as much to a socket as that takes without waiting, and
// tells how many bytes these were: none if it is no socket. Errors are left for an
// ordinary write to find.
func atOnce(conn net.Conn) func([]byte) int {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return func([]byte) int { return 0 }
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return func([]byte) int { return 0 }
	}
	var data []byte
	written := 0
	attempt := func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), data); err == nil {
			written = n
		}
		return true
	}
	return func(b []byte) int {
		data, written = b, 0
		_ = raw.Write(attempt)
		data = nil
		return written
	}
}
