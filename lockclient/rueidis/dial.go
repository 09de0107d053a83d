package rueidis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"

	"minikv/lockclient/internal/adapter"
)

// silence is for how long nothing may come over a connection before rueidis closes it.
const silence = 5 * time.Second

// NewClient is rueidis.NewClient for locks: its connections drop, when they are closed, what
// has not arrived, and are closed when nothing has come for 5 s, unless the options have
// a DialCtxFn, a DialFn or a ConnWriteTimeout of their own.
func NewClient(o rueidis.ClientOption) (rueidis.Client, error) {
	if o.DialCtxFn == nil && o.DialFn == nil {
		o.DialCtxFn = dial
	}
	if o.ConnWriteTimeout == 0 {
		o.ConnWriteTimeout = silence
	}
	return rueidis.NewClient(o)
}

// dial makes a connection that drops, when it is closed, what has not arrived.
func dial(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	connect := dialer.DialContext
	if config != nil {
		connect = (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext
	}
	conn, err := connect(ctx, "tcp", address)
	if err == nil {
		adapter.AbortOnClose(conn)
	}
	return conn, err
}
