package server

import (
	"crypto/tls"
	"time"
)

// secure is a connection over TLS, of a listener that tls.NewListener has made. Close
// does not wait: tls.Conn's would for up to five seconds, to tell a peer that takes
// nothing of the end.
type secure struct{ *tls.Conn }

// Close implements net.Conn.
func (s secure) Close() error { return s.NetConn().Close() }

// goodbyeTime is how long the peer may take to take what tells it of the end.
const goodbyeTime = time.Second

// sayGoodbye tells the peer that nothing more comes, so that it knows that nothing was cut off.
func (s secure) sayGoodbye() {
	limit := time.AfterFunc(goodbyeTime, func() { _ = s.Close() })
	defer limit.Stop()
	_ = s.CloseWrite()
}
