package server_test

import (
	"crypto/tls"
	"encoding/binary"
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

// tapped is a socket that keeps what has come over it.
type tapped struct {
	net.Conn
	came []byte
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.came = append(c.came, b[:n]...)
	return n, err
}

// lastRecord is the type of the last record that has come.
func (c *tapped) lastRecord() (kind byte) {
	const head = 5 // type, version, length
	for rest := c.came; len(rest) >= head; {
		kind = rest[0]
		rest = rest[min(len(rest), head+int(binary.BigEndian.Uint16(rest[3:]))):]
	}
	return kind
}

// A client over TLS is told when the server ends its connection, so that it knows that
// nothing was cut off, but not when the server itself dies. Source: redis-server 7.0.15.
func TestTLSSaysGoodbye(t *testing.T) {
	const alert, data = 21, 23
	for name, c := range map[string]struct {
		ends string
		last byte
	}{
		"quit":       {"QUIT\r\n", alert},
		"killed":     {"CLIENT KILL TYPE normal SKIPME no\r\n", alert},
		"no request": {"*x\r\n", alert},
		"closed":     {"", data},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t)
			address, trusted := listenTLS(t, s)
			trusted.ServerName, trusted.MaxVersion = "localhost", tls.VersionTLS12 // which tells what a record is
			socket, err := net.Dial("tcp", address)
			require.NoError(t, err)
			tap := &tapped{Conn: socket}
			conn := tls.Client(tap, trusted)
			defer func() { _ = conn.Close() }()
			_, err = io.WriteString(conn, "PING\r\n"+c.ends)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
			pong := make([]byte, len("+PONG\r\n"))
			_, err = io.ReadFull(conn, pong)
			require.NoError(t, err)
			require.Equal(t, "+PONG\r\n", string(pong))
			if c.ends == "" {
				s.Close()
			}
			_, err = io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, c.last, tap.lastRecord())
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

// A peer that takes nothing is sent away, and holds up nobody.
func TestTLSPeerTakesNothing(t *testing.T) {
	s, plain := start(t, "client-output-buffer-limit", "normal 1048576 0 0")
	address, trusted := listenTLS(t, s)
	stuck := dialTLS(t, address, trusted)
	stuck.send("SET k " + strings.Repeat("x", 60_000) + "\r\n")
	stuck.expect("+OK\r\n")
	stuck.send(strings.Repeat("GET k\r\n", 500))
	other := dial(t, plain)
	for connected := true; connected; time.Sleep(time.Millisecond) {
		size, err := strconv.Atoi(strings.TrimSpace(other.ask("CLIENT LIST")[1:]))
		require.NoError(t, err)
		list := make([]byte, size+len("\r\n"))
		_, err = io.ReadFull(other.in, list)
		require.NoError(t, err)
		connected = strings.Contains(string(list), "laddr="+address+" ")
	}
}

// Who polls while a script runs for too long is told so every time, as over plain TCP.
func TestTLSWhileBusy(t *testing.T) {
	s, plain := start(t, "busy-reply-threshold", "50")
	address, trusted := listenTLS(t, s)
	poller := dialTLS(t, address, trusted)
	poller.do("PING", "+PONG\r\n")
	runner, other := startScript(t, plain, "while true do end")
	for range 4 {
		poller.do("PING", busyReply)
	}
	other.do("SCRIPT KILL", "+OK\r\n")
	require.Contains(t, runner.until("\r\n"), "Script killed")
	poller.do("PING", "+PONG\r\n")
}

// gathering is a connection that sends what is written only when it is told to.
type gathering struct {
	net.Conn
	gathers bool
	held    []byte
}

func (g *gathering) Write(b []byte) (int, error) {
	if !g.gathers {
		return g.Conn.Write(b)
	}
	g.held = append(g.held, b...)
	return len(b), nil
}

// What comes in one piece with the client's end is still executed and answered.
func TestTLSEndAlongWithCommands(t *testing.T) {
	s, plain := start(t)
	address, trusted := listenTLS(t, s)
	other := dial(t, plain)
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.Dial("tcp", address)
			require.NoError(t, err)
			defer func() { _ = socket.Close() }()
			require.NoError(t, socket.SetDeadline(time.Now().Add(10*time.Second)))
			wire := &gathering{Conn: socket}
			trusted := trusted.Clone()
			trusted.MaxVersion, trusted.ServerName = version, "localhost"
			conn := tls.Client(wire, trusted)
			require.NoError(t, conn.Handshake())
			wire.gathers = true
			_, err = io.WriteString(conn, "SET last "+name+"\r\n")
			require.NoError(t, err)
			require.NoError(t, conn.CloseWrite()) // lets nothing more be written
			require.NoError(t, socket.SetWriteDeadline(time.Time{}))
			_, err = socket.Write(wire.held)
			require.NoError(t, err)
			text, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, "+OK\r\n", string(text))
			other.do("GET last", "$3\r\n"+name+"\r\n")
		})
	}
}
