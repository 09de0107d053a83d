//go:build unix

package server

import (
	"net"
	"syscall"
)

// socketWriter writes to a socket without waiting.
type socketWriter struct {
	raw     syscall.RawConn // nil: no socket
	chunk   []byte          // what attempt writes; it then holds what is left
	attempt func(fd uintptr) bool
}

func newSocketWriter(conn net.Conn) *socketWriter {
	w := &socketWriter{}
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	w.attempt = func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), w.chunk); err == nil {
			w.chunk = w.chunk[n:]
		}
		return true
	}
	return w
}

// write returns how many bytes the socket took at once. Errors are left for an
// ordinary write to find.
func (w *socketWriter) write(data []byte) int {
	if w.raw == nil {
		return 0
	}
	w.chunk = data
	_ = w.raw.Write(w.attempt)
	written := len(data) - len(w.chunk)
	w.chunk = nil
	return written
}
