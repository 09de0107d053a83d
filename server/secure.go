package server

import (
	"crypto/tls"
	"strings"
	"time"
)

// secure is a connection over TLS, of a listener that tls.NewListener has made.
type secure struct{ *tls.Conn }

// Close implements net.Conn. As when a process dies, the peer is told nothing, and nobody
// waits for it.
func (s secure) Close() error { return s.NetConn().Close() }

// explainHandshake is what to log of a handshake that has failed.
func explainHandshake(err error) string {
	text := err.Error()
	if strings.Contains(text, "bad record MAC") { // what clients send who do not trust the certificate is not understood
		text += " (most likely the client does not trust the server's certificate)"
	}
	return text
}

// goodbyeTime is how long the peer may take to take what tells it of the end.
const goodbyeTime = time.Second

// sayGoodbye tells the peer that nothing more comes, so that it knows that nothing was cut off.
func (s secure) sayGoodbye() {
	limit := time.AfterFunc(goodbyeTime, func() { _ = s.Close() })
	defer limit.Stop()
	_ = s.CloseWrite()
}
