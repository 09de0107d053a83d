package adapter

import "net"

// AbortOnClose has a connection drop, when it is closed, what its server has not taken
// yet. Else the kernel sends it again by itself: behind a partition a request arrives
// that was given up minutes ago, when the lock may be another's. TLS is looked through; of
// what is no TCP connection nothing is changed.
func AbortOnClose(conn net.Conn) {
	switch c := conn.(type) {
	case interface{ SetLinger(sec int) error }:
		_ = c.SetLinger(0) // a connection that is closed by now drops nothing
	case interface{ NetConn() net.Conn }:
		AbortOnClose(c.NetConn())
	}
}
