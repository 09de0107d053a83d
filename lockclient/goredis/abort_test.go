package goredis

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	rueidisadapter "minikv/lockclient/rueidis"
)

// What no connection was there for was not sent; of what a connection broke on nobody knows.
func TestOutcome(t *testing.T) {
	for _, notSent := range []error{redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted} {
		require.ErrorIs(t, outcome(notSent), lockclient.ErrNotSent)
		require.ErrorIs(t, outcome(notSent), notSent)
	}
	require.Equal(t, io.EOF, outcome(io.EOF))

	nowhere := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, DialerRetries: 1})
	defer nowhere.Close()
	_, _, _, err := (&Transport{client: nowhere}).EvalReplicated(t.Context(), nil, []string{"k"}, nil, time.Second)
	require.ErrorIs(t, err, lockclient.ErrNotSent)
}

// A connection over which an answer does not come in time is closed with a reset: what the
// kernel still had to send is gone with it.
func TestGivenUpConnectionsAreReset(t *testing.T) {
	config := &tls.Config{InsecureSkipVerify: true}
	for name, c := range map[string]struct {
		secure bool
		ask    func(t *testing.T, address string)
	}{
		"go-redis": {false, func(t *testing.T, address string) {
			askGoRedis(t, redis.NewClient(&redis.Options{Addr: address, ReadTimeout: 50 * time.Millisecond}))
		}},
		"go-redis with TLS": {true, func(t *testing.T, address string) {
			askGoRedis(t, redis.NewClient(&redis.Options{Addr: address, ReadTimeout: 50 * time.Millisecond, TLSConfig: config}))
		}},
		"go-redis in a cluster": {false, func(t *testing.T, address string) {
			askGoRedis(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address},
				ReadTimeout: 50 * time.Millisecond}))
		}},
		"rueidis": {false, func(t *testing.T, address string) {
			askRueidis(t, rueidis.ClientOption{InitAddress: []string{address}})
		}},
		"rueidis with TLS": {true, func(t *testing.T, address string) {
			askRueidis(t, rueidis.ClientOption{InitAddress: []string{address}, TLSConfig: config})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			ends := make(chan error, 1)
			go func() {
				conn, err := listener.Accept()
				if err == nil {
					ends <- neverAnswer(conn, c.secure)
				}
			}()
			go c.ask(t, listener.Addr().String())
			select {
			case err := <-ends:
				require.ErrorIs(t, err, syscall.ECONNRESET)
			case <-time.After(20 * time.Second):
				t.Fatal("the connection was not closed")
			}
		})
	}
}

func askGoRedis(t *testing.T, client redis.UniversalClient) {
	defer client.Close()
	transport, err := New(t.Context(), client)
	if err == nil {
		_, err = transport.Do(t.Context(), "", "PING")
	}
	if err == nil {
		t.Error("PING was answered")
	}
}

func askRueidis(t *testing.T, o rueidis.ClientOption) {
	o.ConnWriteTimeout = 50 * time.Millisecond
	client, err := rueidisadapter.NewClient(o)
	if err == nil {
		client.Close()
		t.Error("the handshake was answered")
	}
}

// neverAnswer reads what comes, and returns how the connection ends.
func neverAnswer(conn net.Conn, secure bool) error {
	defer conn.Close()
	below := conn
	if secure {
		server := httptest.NewUnstartedServer(nil)
		server.StartTLS()
		defer server.Close()
		conn = tls.Server(conn, server.TLS)
	}
	_, err := io.Copy(io.Discard, bufio.NewReader(conn))
	if err == nil { // TLS says that it ends
		_, err = below.Read(make([]byte, 1))
	}
	return err
}
