package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/certificates"
	"minikv/server"
)

// listenTLS has a server listen for clients that speak TLS, too.
func listenTLS(t *testing.T, s *server.Server) (address string, trusted *tls.Config) {
	t.Helper()
	set, err := certificates.Make()
	require.NoError(t, err)
	own, err := set.Serve()
	require.NoError(t, err)
	trusted, err = set.Dial()
	require.NoError(t, err)
	listener, err := server.Bind("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(tls.NewListener(listener, own)) }()
	return listener.Addr().String(), trusted
}

func dialTLS(t *testing.T, address string, trusted *tls.Config) *client {
	t.Helper()
	conn, err := tls.Dial("tcp", address, trusted)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return newClient(t, conn)
}

// A client over TLS is told when its connection ends, so that it knows that nothing was
// cut off: after QUIT, and when it is killed.
func TestTLSSaysGoodbye(t *testing.T) {
	s, _ := start(t)
	address, trusted := listenTLS(t, s)
	for name, ends := range map[string]string{
		"quit": "QUIT\r\n", "killed": "CLIENT KILL TYPE normal SKIPME no\r\n", "no request": "*x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := tls.Dial("tcp", address, trusted)
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			_, err = io.WriteString(conn, "PING\r\n"+ends)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
			text, err := io.ReadAll(conn) // fails where the end was not told
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(text), "+PONG\r\n"), "%q", text)
		})
	}
}

// Who does not speak TLS is not served, and holds up nobody, however long it stays.
func TestTLSOfStrangers(t *testing.T) {
	s, _ := start(t)
	address, trusted := listenTLS(t, s)
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	plain, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { _ = plain.Close() }()
	_, err = io.WriteString(plain, "SET stranger 1\r\n")
	require.NoError(t, err)
	require.NoError(t, plain.SetReadDeadline(time.Now().Add(10*time.Second)))
	answer, _ := io.ReadAll(plain)
	require.NotContains(t, string(answer), "OK")

	c := dialTLS(t, address, trusted)
	c.send("EXISTS stranger\r\n")
	c.expect(":0\r\n")
	_, err = tls.Dial("tcp", address, &tls.Config{ServerName: "localhost"}) // does not trust the server
	require.Error(t, err)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.Close()
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("a client that says nothing keeps the server from its end")
	}
}

// Of those who are too many nobody is told why before the handshake, as on redis-server.
func TestTLSIsFull(t *testing.T) {
	s, address := start(t, "maxclients", "1")
	secure, trusted := listenTLS(t, s)
	first := dial(t, address)
	first.send("PING\r\n")
	first.expect("+PONG\r\n")
	_, err := tls.Dial("tcp", secure, trusted)
	require.Error(t, err)
}

// A peer that takes nothing does not hold up the node when it is sent away, as tls.Conn
// does for five seconds.
func TestTLSPeerTakesNothing(t *testing.T) {
	const tries = 3 // a machine may stand still for as long
	shortest := time.Minute
	for range tries {
		shortest = min(shortest, sendAway(t))
	}
	require.Less(t, shortest, 4*time.Second)
}

// sendAway returns how long it takes until a client over TLS that takes nothing has gone.
func sendAway(t *testing.T) time.Duration {
	t.Helper()
	s, plain := start(t, "client-output-buffer-limit", "normal 1048576 0 0")
	address, trusted := listenTLS(t, s)
	stuck := dialTLS(t, address, trusted)
	stuck.send("SET k " + strings.Repeat("x", 60_000) + "\r\n")
	stuck.expect("+OK\r\n")
	stuck.send(strings.Repeat("GET k\r\n", 500))
	other := dial(t, plain)
	began := time.Now()
	for connected := true; connected; time.Sleep(time.Millisecond) {
		size, err := strconv.Atoi(strings.TrimSpace(other.ask("CLIENT LIST")[1:]))
		require.NoError(t, err)
		list := make([]byte, size+len("\r\n"))
		_, err = io.ReadFull(other.in, list)
		require.NoError(t, err)
		connected = strings.Contains(string(list), "laddr="+address+" ")
	}
	return time.Since(began)
}
