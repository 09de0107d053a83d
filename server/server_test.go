package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// start serves an empty node with the given redis.conf parameters (name, value,
// …) and returns its address.
func start(t *testing.T, parameters ...string) (s *server.Server, address string) {
	t.Helper()
	s = withoutListeners(t, parameters...)
	listening, err := s.Listen("127.0.0.1:0")
	require.NoError(t, err)
	return s, listening.String()
}

// withoutListeners is the server of start, which listens nowhere yet.
func withoutListeners(t *testing.T, parameters ...string) (s *server.Server) {
	t.Helper()
	values := map[string]string{}
	for i := 0; i < len(parameters); i += 2 {
		values[parameters[i]] = parameters[i+1]
	}
	s = server.New(server.Config{Machine: func(limit func() string) server.Machine {
		return engine.New(engine.Config{
			Clock: server.NewWallClock(), Random: rand.Uint64, Lua: luaengine.New(engine.Resolve),
			Limit: limit, Parameters: values,
			Dial: func(host string, port int, timeout time.Duration) (engine.Peer, error) {
				return s.Reach(host, port, timeout)
			},
		})
	}})
	t.Cleanup(s.Close)
	return s
}

// client is a bare connection.
type client struct {
	t      *testing.T
	socket net.Conn
	in     *bufio.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	socket, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	return newClient(t, socket)
}

func newClient(t *testing.T, socket net.Conn) *client {
	return &client{t: t, socket: socket, in: bufio.NewReader(socket)}
}

func (c *client) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.socket, text)
	require.NoError(c.t, err)
}

// expect reads exactly text.
func (c *client) expect(text string) {
	c.t.Helper()
	require.NoError(c.t, c.socket.SetReadDeadline(time.Now().Add(time.Minute)))
	got := make([]byte, len(text))
	n, err := io.ReadFull(c.in, got)
	require.Equal(c.t, text, string(got[:n]))
	require.NoError(c.t, err)
}

// expectNothing checks that nothing comes for a while.
func (c *client) expectNothing() {
	c.t.Helper()
	require.NoError(c.t, c.socket.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	b, err := c.in.ReadByte()
	require.ErrorContains(c.t, err, "timeout", "got %q", b)
}

func (c *client) expectClosed() {
	c.t.Helper()
	require.NoError(c.t, c.socket.SetReadDeadline(time.Now().Add(time.Minute)))
	b, err := c.in.ReadByte()
	require.Error(c.t, err, "got %q", b)
	require.NotContains(c.t, err.Error(), "timeout")
}

// do sends an inline command and expects its reply.
func (c *client) do(command, reply string) {
	c.t.Helper()
	c.send(command + "\r\n")
	c.expect(reply)
}

// ask sends an inline command and returns its reply, a line.
func (c *client) ask(command string) string {
	c.t.Helper()
	c.send(command + "\r\n")
	require.NoError(c.t, c.socket.SetReadDeadline(time.Now().Add(time.Minute)))
	line, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	return line
}

func TestPipeline(t *testing.T) {
	_, address := start(t)
	c := dial(t, address)
	var commands, replies strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&commands, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%d\r\nGET k\r\n", len(fmt.Sprint(i)), i)
		fmt.Fprintf(&replies, "+OK\r\n$%d\r\n%d\r\n", len(fmt.Sprint(i)), i)
	}
	go c.send(commands.String())
	c.expect(replies.String())
}

func TestByteAtATime(t *testing.T) {
	_, address := start(t)
	c := dial(t, address)
	for _, b := range []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n\r\n*0\r\nGET k\r\n") {
		c.send(string(b))
		time.Sleep(time.Millisecond)
	}
	c.expect("+OK\r\n$4\r\na\r\nb\r\n")
}

// A client may close its sending side and still read its replies.
func TestHalfClosedClient(t *testing.T) {
	_, address := start(t)
	c := dial(t, address)
	c.send("SET k v\r\nGET k\r\n")
	require.NoError(t, c.socket.(*net.TCPConn).CloseWrite())
	c.expect("+OK\r\n$1\r\nv\r\n")
	c.expectClosed()
}

// The replies are those of redis-server 7.0.15.
func TestProtocolErrors(t *testing.T) {
	_, address := start(t)
	for in, want := range map[string]string{
		"*x\r\n":                        "-ERR Protocol error: invalid multibulk length\r\n",
		"PING\r\n*1\r\nPING\r\n":        "+PONG\r\n-ERR Protocol error: expected '$', got 'P'\r\n",
		"*1\r\n$536870913\r\n":          "-ERR Protocol error: invalid bulk length\r\n",
		"PING 'a\r\nPING\r\n":           "-ERR Protocol error: unbalanced quotes in request\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n": "", // the reply to GET is not yet written
		"POST / HTTP/1.1\r\n":           "",
	} {
		c := dial(t, address)
		c.send(in)
		c.expect(want)
		c.expectClosed()
	}
}

// What CONFIG SET allows counts for clients that are there, from their next request on.
func TestLimitsOfRequestsChange(t *testing.T) {
	_, address := start(t)
	talker, sender := dial(t, address), dial(t, address)
	talker.do("CONFIG SET proto-max-bulk-len 1mb", "+OK\r\n")
	talker.do("CONFIG SET client-query-buffer-limit 2mb", "+OK\r\n")
	talker.do("*2\r\n$4\r\nECHO\r\n$1048577", "-ERR Protocol error: invalid bulk length\r\n")
	talker.expectClosed()
	sender.do("CONFIG SET proto-max-bulk-len 1gb", "+OK\r\n")
	sender.do("*2\r\n$6\r\nSTRLEN\r\n$1048577\r\n"+strings.Repeat("k", 1<<20+1), ":0\r\n")
	sender.send("*2\r\n$6\r\nSTRLEN\r\n$536870913\r\n" + strings.Repeat("k", 2<<20+1))
	sender.expectClosed()
}

func TestUnauthenticatedClients(t *testing.T) {
	_, address := start(t, "requirepass", "secret")
	c := dial(t, address)
	c.do("GET k", "-NOAUTH Authentication required.\r\n")
	c.do("AUTH secret", "+OK\r\n")
	c.do("*11\r\n"+strings.Repeat("$6\r\nEXISTS\r\n", 10)+"$1\r\nk", ":0\r\n")
	stranger := dial(t, address)
	stranger.send("*11\r\n")
	stranger.expect("-ERR Protocol error: unauthenticated multibulk length\r\n")
	stranger.expectClosed()
}

// A blocked client's later commands wait; others do not.
func TestBlockedSession(t *testing.T) {
	clock := &steppedClock{} // the wait must not end before the test has looked
	overEach(t, clock, untreated, func(t *testing.T, _ *server.Server, dial func() *client) {
		c, other := dial(), dial()
		c.send("SET k 1\r\nWAIT 1 300\r\nINCR k\r\n")
		c.expect("+OK\r\n")
		c.expectNothing()
		other.do("GET k", "$1\r\n1\r\n")
		c.send("GET k\r\n")
		clock.mono.Add(int64(300 * time.Millisecond))
		c.expect(":0\r\n:2\r\n$1\r\n2\r\n")
	})
}

// A client that leaves while it is blocked is noticed at once.
func TestBlockedClientLeaves(t *testing.T) {
	s, address := start(t)
	c := dial(t, address)
	c.do("PING", "+PONG\r\n")
	c.send("WAIT 1 0\r\n")
	c.expectNothing()
	require.NoError(t, c.socket.Close())
	assert.Eventually(t, func() bool { return sessions(s) == 0 }, 5*time.Second, time.Millisecond)
}

// expectGoroutines waits until no more goroutines run than before.
func expectGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 5000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d goroutines are left, %d were there before", runtime.NumGoroutine(), before)
}

// sessions is how many clients the node has.
func sessions(s *server.Server) (count int) {
	s.Do(func(m server.Machine) {
		session := m.NewSession("test")
		m.Do(session, [][]byte{[]byte("CLIENT"), []byte("LIST")})
		count = strings.Count(string(session.Out), " addr=") - 1
		m.Close(session)
	})
	return count
}

// The timer expires keys that nobody reads.
func TestActiveExpiry(t *testing.T) {
	_, address := start(t, "notify-keyspace-events", "Ex")
	c := dial(t, address)
	c.do("SUBSCRIBE __keyevent@0__:expired", "*3\r\n$9\r\nsubscribe\r\n$22\r\n__keyevent@0__:expired\r\n:1\r\n")
	dial(t, address).do("SET lock:a c1-1 PX 30", "+OK\r\n")
	c.expect("*3\r\n$7\r\nmessage\r\n$22\r\n__keyevent@0__:expired\r\n$6\r\nlock:a\r\n")
}

func TestClientsThatLeaveLeakNothing(t *testing.T) {
	s, address := start(t)
	dial(t, address).do("QUIT", "+OK\r\n") // by then the server runs
	before := runtime.NumGoroutine()
	for range 50 {
		for _, last := range []string{"MULTI\r\nSET k v\r\n", "SUBSCRIBE ch\r\n", "PSUBSCRIBE c*\r\n", "WATCH k\r\n",
			"*3\r\n$3\r\nSET\r\n$100\r\nab", "WAIT 1 0\r\n", "QUIT\r\n", "*x\r\n"} {
			c := dial(t, address)
			c.do("PING\r\n"+last, "+PONG\r\n")
			require.NoError(t, c.socket.Close())
		}
	}
	assert.Eventually(t, func() bool { return sessions(s) == 0 }, 5*time.Second, time.Millisecond)
	expectGoroutines(t, before)
	c := dial(t, address)
	c.do("EXISTS k", ":0\r\n")
	c.do("PUBSUB CHANNELS", "*0\r\n")
	c.do("PUBSUB NUMPAT", ":0\r\n")
	c.do("PUBLISH ch x", ":0\r\n")
}

func TestCloseLeaksNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	s, address := start(t)
	var clients []*client
	for range 10 {
		c := dial(t, address)
		c.do("SUBSCRIBE ch", "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
		clients = append(clients, c)
	}
	endless := dial(t, address)
	endless.send("EVAL 'while true do end' 0\r\n")
	time.Sleep(20 * time.Millisecond)
	s.Close()
	s.Close()
	for _, c := range clients {
		c.expectClosed()
	}
	expectGoroutines(t, before)
	_, err := s.Listen("127.0.0.1:0")
	assert.ErrorIs(t, err, server.ErrClosed)
}

// A subscriber that reads nothing is sent away; the publisher never waits for it.
func TestSlowReader(t *testing.T) {
	_, address := start(t, "client-output-buffer-limit", "pubsub 4194304 0 0")
	slow, publisher := dial(t, address), dial(t, address)
	slow.do("SUBSCRIBE ch", "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	message := strings.Repeat("x", 100_000)
	gone := false
	for range 1000 {
		publisher.send("*3\r\n$7\r\nPUBLISH\r\n$2\r\nch\r\n$100000\r\n" + message + "\r\n")
		line, err := publisher.in.ReadString('\n')
		require.NoError(t, err)
		if gone = line == ":0\r\n"; gone {
			break
		}
	}
	assert.True(t, gone, "the subscriber was not sent away")
}

// A client may send requests for ever before it reads the first reply.
func TestRepliesPileUp(t *testing.T) {
	_, address := start(t)
	c := dial(t, address)
	require.NoError(t, c.socket.(*net.TCPConn).SetReadBuffer(1<<20)) // a fraction of the replies
	value := strings.Repeat("v", 100_000)
	c.send("SET k " + value[:60_000] + "\r\n")
	c.expect("+OK\r\n")
	const gets = 500
	c.send(strings.Repeat("GET k\r\n", gets))
	dial(t, address).do("PING", "+PONG\r\n")
	for range gets {
		c.expect("$60000\r\n" + value[:60_000] + "\r\n")
	}
}

func TestMaxClients(t *testing.T) {
	_, address := start(t, "maxclients", "2")
	first := dial(t, address)
	first.do("PING", "+PONG\r\n")
	dial(t, address).do("PING", "+PONG\r\n")
	refused := dial(t, address)
	refused.expect("-ERR max number of clients reached\r\n")
	refused.expectClosed()
	first.do("QUIT", "+OK\r\n")
	first.expectClosed()
	assert.Eventually(t, func() bool {
		c := dial(t, address)
		c.send("PING\r\n")
		line, _ := c.in.ReadString('\n')
		return line == "+PONG\r\n"
	}, 5*time.Second, 10*time.Millisecond)
}

// Nothing is left of a listener that its server has closed, be it the first, but its clients.
func TestUnlisten(t *testing.T) {
	s := withoutListeners(t)
	for range 2 {
		listener, err := server.Bind("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- s.Serve(listener) }()
		c := dial(t, listener.Addr().String())
		c.do("PING", "+PONG\r\n")
		s.Do(func(server.Machine) { s.Unlisten(listener) })
		select {
		case err := <-served:
			require.ErrorIs(t, err, net.ErrClosed)
		case <-time.After(10 * time.Second):
			t.Fatal("Serve has not returned")
		}
		c.do("PING", "+PONG\r\n")
		_, err = net.Dial("tcp", listener.Addr().String())
		require.Error(t, err)
	}
}

func TestSeveralNodes(t *testing.T) {
	_, a := start(t)
	_, b := start(t)
	dial(t, a).do("SET k a", "+OK\r\n")
	dial(t, b).do("SET k b", "+OK\r\n")
	dial(t, a).do("GET k", "$1\r\na\r\n")
}

func TestClientKill(t *testing.T) {
	_, address := start(t)
	victim := dial(t, address)
	victim.do("CLIENT ID", ":1\r\n") // before another client can get that
	killer := dial(t, address)
	killer.do("CLIENT KILL ID 1", ":1\r\n")
	victim.expectClosed()
}

func TestShutdown(t *testing.T) {
	s, address := start(t)
	c := dial(t, address)
	c.do("SHUTDOWN ABORT", "-ERR No shutdown in progress.\r\n")
	c.send("SHUTDOWN NOSAVE\r\n")
	select {
	case <-s.ShutdownRequested():
	case <-time.After(5 * time.Second):
		t.Fatal("SHUTDOWN was not reported")
	}
	s.Close()
	c.expectClosed()
}

// The fuzz target of the wire: whatever comes, the server lives, and another
// client is served.
func FuzzWire(f *testing.F) {
	f.Add([]byte("*1\r\n$4\r\nPING\r\nSET a \"b\r\n"))
	f.Add(resp.AppendCommand(nil, "EVAL", "return redis.call('PING')", "0"))
	s := server.New(server.Config{Machine: func(limit func() string) server.Machine {
		return engine.New(engine.Config{
			Clock: server.NewWallClock(), Random: rand.Uint64, Lua: luaengine.New(engine.Resolve), Limit: limit,
		})
	}})
	f.Cleanup(s.Close)
	address, err := s.Listen("127.0.0.1:0")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Contains(strings.ToUpper(string(in)), "SHUTDOWN") {
			return
		}
		c := dial(t, address.String())
		_, _ = c.socket.Write(in)
		require.NoError(t, c.socket.Close())
		witness := dial(t, address.String())
		witness.send("ECHO a\r\n")
		_, err := witness.in.ReadString('\n')
		require.NoError(t, err)
	})
}
