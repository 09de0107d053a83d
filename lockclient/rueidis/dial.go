package rueidis

import (
	"context"
	"crypto/tls"
	"net"

	"minikv/lockclient/internal/adapter"
)

// Dial is for ClientOption.DialCtxFn: connections that drop, when they are closed, what has
// not arrived.
func Dial(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	dial := dialer.DialContext
	if config != nil {
		dial = (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err == nil {
		adapter.AbortOnClose(conn)
	}
	return conn, err
}
