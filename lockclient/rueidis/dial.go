package rueidis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"minikv/lockclient/internal/adapter"
)

// silence is for how long nothing may come over a connection before rueidis closes it.
const silence = 5 * time.Second

// NewClient is rueidis.NewClient for locks. Its connections drop what has not arrived
// when they are closed, unless o has a DialCtxFn or a DialFn. They are closed when
// nothing has come for 5 s, or for the ConnWriteTimeout that o has. It refuses a
// ConnLifetime, and ReplicaOnly: see the package comment.
func NewClient(o rueidis.ClientOption) (rueidis.Client, error) {
	if o.ConnLifetime > 0 {
		return nil, errors.New("rueidis: a client with a ConnLifetime cannot keep locks: " +
			"what a connection has not answered a second after its end is sent again")
	}
	if o.ReplicaOnly {
		return nil, errors.New("rueidis: a client that reads from replicas cannot keep locks: " +
			"they may not have heard of a lock, or of a latch, which counts as open then")
	}
	if o.DialCtxFn == nil && o.DialFn == nil {
		o.DialCtxFn = dial
	}
	if o.ConnWriteTimeout == 0 {
		o.ConnWriteTimeout = silence
	}
	if o.AuthCredentialsFn != nil {
		o.AuthCredentialsFn = credentials(o.AuthCredentialsFn)
	}
	return rueidis.NewClient(o)
}

// authFn is the type of rueidis.ClientOption.AuthCredentialsFn.
type authFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error)

// credentials is f with errors that are no more than texts. When credentials are not renewed rueidis
// closes the connection and gives the error to all requests under way there: as one of dialing to
// whoever issues credentials, it would say that these were not sent.
func credentials(f authFn) authFn {
	return func(of rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		c, err := f(of)
		if err != nil {
			err = fmt.Errorf("rueidis: credentials: %v", err)
		}
		return c, err
	}
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
