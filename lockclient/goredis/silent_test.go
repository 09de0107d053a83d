package goredis_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// A request whose context ends frees its caller, whatever the client's options.
func TestContextFreesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := askSilent(t, func(request string) bool { return strings.Contains(request, "GET") })
		assert.NotErrorIs(t, err, lockclient.ErrNotSent)
	})
}

// What has not been written when the context ends was not sent: here because the server does
// not answer what a connection begins with, which is where most of the time goes where many
// share few connections.
func TestNothingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := askSilent(t, func(string) bool { return true })
		assert.ErrorIs(t, err, lockclient.ErrNotSent)
	})
}

// askSilent asks a server for 50 ms that knows no command, and says nothing any more from one
// request on.
func askSilent(t *testing.T, silentFrom func(request string) bool) error {
	server, conn := net.Pipe()
	defer server.Close()
	go func() {
		request := make([]byte, 1<<16)
		for silent := false; ; {
			n, err := server.Read(request)
			if err != nil {
				return
			}
			silent = silent || silentFrom(string(request[:n]))
			for range strings.Count(string(request[:n]), "*") {
				if !silent {
					_, _ = io.WriteString(server, "-ERR unknown command\r\n")
				}
			}
		}
	}()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: time.Minute, DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return conn, nil }})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err = transport.Do(ctx, "k", "GET", "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, 50*time.Millisecond, time.Since(begun))
	return err
}
