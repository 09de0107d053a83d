package engine

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// engineTarget runs a golden file against a node of its own, in virtual time.
type engineTarget struct {
	node    *Node
	clock   *manualClock
	clients map[string]*Session
	sent    map[*Session][][][]byte // what clients have sent while they were blocked
	got     map[*Session][]byte     // what clients were sent and have not looked at
	raw     []byte                  // the bytes of the latest reply or push
}

// manualClock goes forward when it is told to.
type manualClock struct{ wall time.Time }

func (c *manualClock) Wall() time.Time     { return c.wall }
func (c *manualClock) Mono() time.Duration { return c.wall.Sub(goldenStart) }

var goldenStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newEngineTarget() *engineTarget {
	clock := &manualClock{wall: goldenStart}
	random := uint64(1)
	node := New(Config{
		Clock: clock,
		Lua:   luaengine.New(Resolve),
		Random: func() uint64 {
			random = random*6364136223846793005 + 1442695040888963407
			return random
		},
		Port:       6379,
		Sleep:      func(d time.Duration) { clock.wall = clock.wall.Add(d) },
		Parameters: map[string]string{"enable-debug-command": "yes"},
	})
	return &engineTarget{
		node: node, clock: clock, clients: map[string]*Session{}, sent: map[*Session][][][]byte{}, got: map[*Session][]byte{},
	}
}

func (e *engineTarget) isReal() bool { return false }

func (e *engineTarget) settle() {}

func (e *engineTarget) connect(client string, proto int) {
	e.clients[client] = e.node.NewSession("127.0.0.1:50000")
	if proto == 3 {
		e.send(client, [][]byte{[]byte("HELLO"), []byte("3")})
		delete(e.got, e.clients[client])
	}
}

func (e *engineTarget) id(client string) string { return strconv.FormatInt(e.clients[client].ID, 10) }

func (e *engineTarget) leave(client string) {
	e.node.Close(e.clients[client])
	delete(e.sent, e.clients[client])
	delete(e.got, e.clients[client])
	delete(e.clients, client)
}

func (e *engineTarget) send(client string, commands ...[][]byte) {
	s := e.clients[client]
	e.sent[s] = append(e.sent[s], commands...)
	e.run(s)
	e.goOn()
}

// run executes what a client has sent, as far as it is not blocked.
func (e *engineTarget) run(s *Session) {
	for len(e.sent[s]) > 0 && !s.Blocked() {
		cmd := e.sent[s][0]
		e.sent[s] = e.sent[s][1:]
		e.node.Do(s, cmd)
	}
}

// goOn ends a turn.
func (e *engineTarget) goOn() {
	for s := e.node.Unblocked(); s != nil; s = e.node.Unblocked() {
		e.run(s)
	}
	for _, s := range e.node.Dirty() {
		e.got[s] = append(e.got[s], s.Out...)
		s.Out = s.Out[:0]
	}
}

func (e *engineTarget) next(client string, patient bool) (resp.Value, bool) {
	s := e.clients[client]
	if patient {
		e.awaken(s)
	}
	v, n, err := resp.Parse(e.got[s])
	if n == 0 || err != nil {
		return resp.Value{}, false
	}
	e.raw = append(e.raw[:0], e.got[s][:n]...)
	e.got[s] = e.got[s][n:]
	return v, true
}

// awaken lets the time pass that a blocked client waits.
func (e *engineTarget) awaken(s *Session) { e.passWhile(s.Blocked) }

// wait lets the time pass for which a pause holds a client's command back, and reports
// whether one does.
func (e *engineTarget) wait(s *Session) (paused bool) {
	held := func() bool { return s.block != nil && s.block.postponed }
	paused = held()
	e.passWhile(held)
	return paused
}

// endPauses ends the pauses that are over by now.
func (e *engineTarget) endPauses() {
	e.clock.wall = time.Now()
	for reason, pause := range e.node.blocking.pauses {
		if pause.until != 0 && pause.until <= e.clock.wall.UnixMilli() {
			e.node.Unpause(PauseReason(reason))
		}
	}
	e.goOn()
}

func (e *engineTarget) passWhile(waits func() bool) {
	for waits() {
		wait, ok := e.node.NextDeadline()
		if !ok || wait > time.Hour {
			break // some key's deadline, far away: nobody waits for that
		}
		e.sleep(wait)
	}
}

func (e *engineTarget) sleep(d time.Duration) {
	e.clock.wall = e.clock.wall.Add(d)
	for {
		e.node.Tick()
		e.goOn()
		if wait, ok := e.node.NextDeadline(); !ok || wait > 0 {
			return
		}
	}
}

// realTarget runs a golden file against a server.
type realTarget struct {
	t       *testing.T
	address string
	clients map[string]*realClient
	raw     []byte // the bytes of the latest reply or push
}

type realClient struct {
	socket net.Conn
	in     []byte
}

// control is the client that looks after the test itself.
const control = "(control)"

// newRealTarget returns a target for the server at address. The server must be
// empty, for golden files flush it, and let DEBUG in.
func newRealTarget(t *testing.T, address string) *realTarget {
	r := &realTarget{t: t, address: address, clients: map[string]*realClient{}}
	r.connect(control, 2)
	keyspace := r.ask(control, "INFO", "keyspace")
	require.NotContains(t, keyspace.Str, "db", "REDIS_SERVER must be an empty server")
	debug := r.ask(control, "CONFIG", "GET", "enable-debug-command")
	require.Equal(t, "yes", debug.List[1].Str, "REDIS_SERVER must have been started with --enable-debug-command yes")
	t.Cleanup(func() {
		r.ask(control, "FLUSHALL")
		r.ask(control, "SCRIPT", "FLUSH")
		for _, c := range r.clients {
			_ = c.socket.Close()
		}
	})
	r.ask(control, "CONFIG", "RESETSTAT")
	return r
}

func (r *realTarget) isReal() bool { return true }

// settle asks the server something, twice. What all sockets held before the
// first question is done in the same turn of the server's event loop at the
// latest, and the answer to the second one shows that this turn has written its
// replies. The question does not show in MONITOR. A server that is paused does
// not answer before paused: so long it had to do what came before.
func (r *realTarget) settle() {
	const paused = 200 * time.Millisecond
	for range 2 {
		r.send(control, bytesOf([]string{"SLOWLOG", "LEN"}))
		if _, ok := r.read(control, paused); !ok {
			require.NoError(r.t, r.clients[control].socket.Close())
			r.connect(control, 2)
			return
		}
	}
}

func (r *realTarget) connect(client string, proto int) {
	socket, err := net.Dial("tcp", r.address)
	require.NoError(r.t, err)
	r.clients[client] = &realClient{socket: socket}
	if proto == 3 {
		r.ask(client, "HELLO", "3")
	}
}

func (r *realTarget) ask(client string, words ...string) resp.Value {
	_, err := r.clients[client].socket.Write(resp.AppendCommand(nil, words...))
	require.NoError(r.t, err)
	v, ok := r.next(client, true)
	require.True(r.t, ok, "no reply to %v", words)
	return v
}

func (r *realTarget) id(client string) string {
	list := r.ask(control, "CLIENT", "LIST").Str
	address := regexp.QuoteMeta(r.clients[client].socket.LocalAddr().String())
	found := regexp.MustCompile(`(?m)^id=(\d+) addr=` + address + " ").FindStringSubmatch(list)
	require.NotNil(r.t, found)
	return found[1]
}

func (r *realTarget) leave(client string) {
	require.NoError(r.t, r.clients[client].socket.Close())
	delete(r.clients, client)
	r.settle()
}

func (r *realTarget) send(client string, commands ...[][]byte) {
	var text []byte
	for _, cmd := range commands {
		text = resp.AppendCommand(text, cmd...)
	}
	_, err := r.clients[client].socket.Write(text)
	require.NoError(r.t, err)
}

func (r *realTarget) next(client string, patient bool) (resp.Value, bool) {
	if patient {
		return r.read(client, time.Minute)
	}
	// What is there. A busy machine may let one deadline pass before the socket
	// is looked at.
	for range 3 {
		if v, ok := r.read(client, 5*time.Millisecond); ok {
			return v, true
		}
	}
	return resp.Value{}, false
}

// read is the client's next reply or push, if it comes within wait.
func (r *realTarget) read(client string, wait time.Duration) (resp.Value, bool) {
	c := r.clients[client]
	require.NoError(r.t, c.socket.SetReadDeadline(time.Now().Add(wait)))
	for {
		v, n, err := resp.Parse(c.in)
		require.NoError(r.t, err)
		if n > 0 {
			r.raw = append(r.raw[:0], c.in[:n]...)
			c.in = c.in[n:]
			return v, true
		}
		chunk := make([]byte, 64<<10)
		n, err = c.socket.Read(chunk)
		if err != nil {
			return resp.Value{}, false
		}
		c.in = append(c.in, chunk[:n]...)
	}
}

// isClosed reports whether the server has closed a client's connection, of which
// everything was read.
func (r *realTarget) isClosed(client string) bool {
	socket := r.clients[client].socket
	require.NoError(r.t, socket.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := socket.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func (r *realTarget) sleep(d time.Duration) { time.Sleep(d) }
