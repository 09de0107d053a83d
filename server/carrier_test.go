package server_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// overEach runs a test over a socket, over a connection in memory and over TLS, which are
// carried differently, on a server that treats the commands that before wants.
func overEach(t *testing.T, clock engine.Clock, before func(cmd [][]byte) (server.Treatment, bool),
	test func(t *testing.T, s *server.Server, dial func() *client)) {
	t.Helper()
	for _, carrier := range []string{"socket", "memory", "tls"} {
		t.Run(carrier, func(t *testing.T) {
			s := server.New(server.Config{
				Machine: func(limit func() string) server.Machine {
					return engine.New(engine.Config{Clock: clock, Random: rand.Uint64,
						Lua: luaengine.New(engine.Resolve), Limit: limit})
				},
				Before: func(_ *engine.Session, cmd [][]byte) (server.Treatment, bool) { return before(cmd) },
			})
			t.Cleanup(s.Close)
			address, err := s.Listen("127.0.0.1:0")
			require.NoError(t, err)
			secure, trusted := listenTLS(t, s)
			test(t, s, func() *client {
				switch carrier {
				case "socket":
					return dial(t, address.String())
				case "tls":
					return dialTLS(t, secure, trusted)
				}
				end, err := s.Dial(address, address)
				require.NoError(t, err)
				t.Cleanup(func() { _ = end.Close() })
				return newClient(t, end)
			})
		})
	}
}

// treat is the treatment of ECHO with one of these words.
func treat(treatments map[string]server.Treatment) func(cmd [][]byte) (server.Treatment, bool) {
	return func(cmd [][]byte) (t server.Treatment, some bool) {
		if len(cmd) == 2 && strings.EqualFold(string(cmd[0]), "ECHO") {
			t, some = treatments[string(cmd[1])]
		}
		return t, some
	}
}

// A command that waits for its treatment holds up those behind it, and nobody else.
func TestTreatmentWaits(t *testing.T) {
	var asked, release, done chan struct{}
	waiting := treat(map[string]server.Treatment{
		"wait": {Wait: func(closed <-chan struct{}) func() {
			close(asked)
			select {
			case <-release:
			case <-closed:
			}
			return func() { close(done) }
		}},
		"answer": {Answer: func() []byte { return []byte("+mine\r\n") }},
	})
	overEach(t, server.NewWallClock(), waiting, func(t *testing.T, s *server.Server, dial func() *client) {
		asked, release, done = make(chan struct{}), make(chan struct{}), make(chan struct{})
		slow, other := dial(), dial()
		slow.send("SET k 1\r\nECHO wait\r\nECHO answer\r\nINCR k\r\n")
		slow.expect("+OK\r\n")
		<-asked
		other.do("INCR k", ":2\r\n")
		slow.send("INCR k\r\n")
		slow.expectNothing()
		close(release)
		slow.expect("$4\r\nwait\r\n+mine\r\n:3\r\n:4\r\n")
		<-done
		asked, release, done = make(chan struct{}), make(chan struct{}), make(chan struct{})
		slow.send("ECHO wait\r\n")
		<-asked
		s.Close() // does not wait for it either
		<-done
		slow.expectClosed()
	})
}

func TestTreatments(t *testing.T) {
	all := treat(map[string]server.Treatment{
		"request":   {Lose: server.LoseRequest},
		"reply":     {Lose: server.LoseReply},
		"twice":     {Twice: true},
		"close":     {Close: true},
		"unheard":   {Lose: server.LoseRequest, Close: true},
		"goodbye":   {Answer: func() []byte { return []byte("+bye\r\n") }, Close: true},
		"impatient": {Wait: func(<-chan struct{}) func() { return nil }, Lose: server.LoseReply, Close: true},
	})
	overEach(t, server.NewWallClock(), all, func(t *testing.T, s *server.Server, dial func() *client) {
		for _, word := range []string{"request", "reply"} {
			c := dial()
			c.send("INCR n\r\nECHO " + word + "\r\nINCR n\r\n")
			c.expect(":1\r\n")
			c.expectNothing()
			dial().do("GETDEL n", "$1\r\n1\r\n")
		}
		dial().do("ECHO twice", "$5\r\ntwice\r\n")
		for word, want := range map[string]string{"close": "$5\r\nclose\r\n", "unheard": "", "goodbye": "+bye\r\n",
			"impatient": ""} {
			c := dial()
			c.send("PING\r\nECHO " + word + "\r\nPING\r\n")
			c.expect("+PONG\r\n" + want)
			c.expectClosed()
		}
		before := sessions(s)
		for _, word := range []string{"request", "reply"} {
			c := dial()
			c.send("PING\r\nECHO " + word + "\r\n")
			c.expect("+PONG\r\n")
			require.NoError(t, c.socket.Close())
		}
		require.Eventually(t, func() bool { return sessions(s) == before }, 10*time.Second, time.Millisecond)
	})
}

// untreated treats nothing.
func untreated([][]byte) (t server.Treatment, some bool) { return t, false }

// Whoever has sent QUIT is still sent all replies, however slowly it reads.
func TestLastRepliesAreWritten(t *testing.T) {
	overEach(t, server.NewWallClock(), untreated, func(t *testing.T, s *server.Server, dial func() *client) {
		const gets, size = 300, 100_000
		value := strings.Repeat("v", size)
		c := dial()
		go c.send(command("SET", "k", value) + strings.Repeat("GET k\r\n", gets) + "QUIT\r\n")
		require.Eventually(t, func() bool { return sessions(s) == 0 && entries(s) == 1 }, time.Minute, time.Millisecond)
		c.expect("+OK\r\n")
		for range gets {
			c.expect("$100000\r\n" + value + "\r\n")
		}
		c.expect("+OK\r\n")
		c.expectClosed()
	})
}

// entries is how many keys the node has.
func entries(s *server.Server) (count int) {
	s.Do(func(m server.Machine) {
		session := m.NewSession("test")
		m.Do(session, [][]byte{[]byte("DBSIZE")})
		count = int(session.Out[1] - '0')
		m.Close(session)
	})
	return count
}

// serveLocal serves s at a socket of the file system as well, and returns its path. What
// is written there has arrived when the write returns, on a busy machine too.
func serveLocal(t *testing.T, s *server.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	go func() { _ = s.Serve(listener) }()
	return path
}

func dialPath(t *testing.T, path string) *client {
	t.Helper()
	socket, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	return newClient(t, socket)
}

// Those whose commands came together with a script that does not end are told so.
func TestBusyTogether(t *testing.T) {
	s, _ := start(t, "busy-reply-threshold", "50")
	path := serveLocal(t, s)
	for range 10 {
		var clients []*client
		for range 4 {
			clients = append(clients, dialPath(t, path))
			clients[len(clients)-1].do("PING", "+PONG\r\n")
		}
		s.Freeze() // so that all of it is there at once
		clients[0].send("EVAL 'while true do end' 0\r\nECHO behind\r\n")
		time.Sleep(time.Millisecond)
		clients[1].send("GET k\r\nGET k\r\n")
		clients[2].send("GET k\r\n")
		require.NoError(t, clients[2].socket.(*net.UnixConn).CloseWrite())
		s.Thaw()
		clients[1].expect(busyReply + busyReply)
		clients[2].expect(busyReply)
		clients[2].expectClosed()
		require.NoError(t, clients[3].socket.Close())
		clients[1].do("SCRIPT KILL", "+OK\r\n")
		line, err := clients[0].in.ReadBytes('\n')
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(line, []byte("-ERR Script killed by user")), "%q", line)
		clients[0].expect("$6\r\nbehind\r\n")
	}
}

// A listener that somebody else closes leaves its descriptor to the next client.
func TestListenerClosedByOthers(t *testing.T) {
	s, address := start(t)
	second, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(second) }()
	dial(t, second.Addr().String()).do("PING", "+PONG\r\n")
	require.NoError(t, second.Close())
	for range 5 {
		dial(t, address).do("PING", "+PONG\r\n")
	}
}

// More clients than are let in at once.
func TestManyClientsAtOnce(t *testing.T) {
	s, address := start(t)
	s.Freeze()
	var clients []*client
	for range 300 {
		c := dial(t, address)
		c.send("PING\r\n")
		clients = append(clients, c)
	}
	s.Thaw()
	for _, c := range clients {
		c.expect("+PONG\r\n")
	}
}

// steppedClock goes on when a test says so.
type steppedClock struct{ mono atomic.Int64 }

func (c *steppedClock) Wall() time.Time     { return time.UnixMilli(1_700_000_000_000).Add(c.Mono()) }
func (c *steppedClock) Mono() time.Duration { return time.Duration(c.mono.Load()) }

// A client is not silent, as the parameter timeout has it, while it takes a large reply.
// One that does not go on with that is, and is sent away without what it has not taken.
func TestTimeoutSeesReplyTaken(t *testing.T) {
	const size, most, piece = 64 << 20, 12 << 20, 64 << 10 // most is more than the system's buffers hold
	clock := &steppedClock{}
	overEach(t, clock, untreated, func(t *testing.T, s *server.Server, dial func() *client) {
		reads, looks := dial(), dial()
		if socket, is := reads.socket.(*net.TCPConn); is {
			require.NoError(t, socket.SetReadBuffer(1<<20)) // else it grows to 32 MiB on some machines
		}
		looks.do("CONFIG SET timeout 2", "+OK\r\n")
		looks.do(fmt.Sprintf("SETRANGE big %d x", size-1), fmt.Sprintf(":%d\r\n", size))
		reads.do("CLIENT SETNAME reads", "+OK\r\n")
		defer func() {
			if t.Failed() {
				t.Log("CLIENT LIST:", infoOf(s, "reads"))
			}
		}()
		reads.send("GET big\r\n")
		for range 4 {
			clock.mono.Add(int64(2 * time.Second))
			taken := 0 // one write may last for long beside who reads
			for ; !strings.Contains(infoOf(s, "reads"), " idle=0 "); taken += piece {
				require.Less(t, taken, most)
				_, err := io.CopyN(io.Discard, reads.in, piece)
				require.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
			s.Do(func(m server.Machine) { m.Tick() })
		}
		require.Eventually(t, func() bool { // what buffers had room for may still be on its way
			clock.mono.Add(int64(3 * time.Second))
			s.Do(func(m server.Machine) { m.Tick() })
			return infoOf(s, "reads") == ""
		}, 10*time.Second, 10*time.Millisecond)
	})
}

// infoOf is the line of CLIENT LIST about the client of that name, empty if there is none.
func infoOf(s *server.Server, name string) (line string) {
	s.Do(func(m server.Machine) {
		session := m.NewSession("test")
		m.Do(session, [][]byte{[]byte("CLIENT"), []byte("LIST")})
		for one := range strings.Lines(string(session.Out)) {
			if strings.Contains(one, " name="+name+" ") {
				line = one
			}
		}
		m.Close(session)
	})
	return line
}
