package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/redisserver"
	"minikv/internal/resp"
)

// realWorld is processes of redis-server.
type realWorld struct {
	t      *testing.T
	binary string
	folder string
	base   int
	procs  map[string]*realProcess
}

type realProcess struct {
	name    string
	args    []string
	port    int
	server  *redisserver.Process // nil: stopped
	control *realConn
	listens *realConn
	events  []event
}

// startReal starts a redis-server that ends with the test, whatever becomes of that.
func startReal(t *testing.T, binary string, args ...string) *redisserver.Process {
	s, err := redisserver.Start(binary, args...)
	require.NoError(t, err)
	t.Cleanup(s.End)
	return s
}

// realConn is a client's connection.
type realConn struct {
	socket net.Conn
	in     []byte
}

const (
	defaultRealPort = 21540
	portsOfASet     = 16
	setsAtOnce      = 60
	afterAllPorts   = 32768 - 10000 // the ports of buses are 10000 higher, and the system hands out those from 32768 on
)

var realSets atomic.Int32

// realPorts is the first of the ports of another set of redis-server's processes.
func realPorts(t *testing.T) int {
	base := defaultRealPort
	if text := os.Getenv("REDIS_PORT"); text != "" {
		var err error
		base, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, base+setsAtOnce*portsOfASet, afterAllPorts, "REDIS_PORT: the system hands out ports of buses")
	return base + int(realSets.Add(1))%setsAtOnce*portsOfASet
}

// newRealWorld starts processes of a redis-server; they end with the test.
func newRealWorld(t *testing.T, binary string, cfg deployment) *realWorld {
	w := &realWorld{t: t, binary: binary, folder: t.TempDir(), base: realPorts(t), procs: map[string]*realProcess{}}
	for i, name := range cfg.names() {
		port := w.base + i
		p := &realProcess{name: name, port: port}
		p.args = []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", w.folder,
			"--dbfilename", name + ".rdb", "--repl-diskless-sync-delay", "0"}
		switch name[0] {
		case 'r':
			p.args = append(p.args, "--replicaof", fmt.Sprintf("127.0.0.1 %d", w.base))
		case 's':
			file := filepath.Join(w.folder, name+".conf")
			text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor mymaster 127.0.0.1 %d %d\n"+
				"sentinel down-after-milliseconds mymaster %d\nsentinel failover-timeout mymaster %d\n",
				port, w.folder, w.base, cfg.quorum, cfg.downAfter.Milliseconds(), cfg.failoverTimeout.Milliseconds())
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			p.args = []string{file, "--sentinel"}
		}
		w.procs[name] = p
		w.start(name)
	}
	return w
}

func (w *realWorld) stopAll() {
	for name := range w.procs {
		w.stop(name)
	}
}

func (w *realWorld) port() int             { return w.base }
func (w *realWorld) sleep(d time.Duration) { time.Sleep(d) }
func (w *realWorld) freeze(name string) {
	require.NoError(w.t, redisserver.Pause(w.procs[name].server.Pid))
}
func (w *realWorld) thaw(name string) {
	require.NoError(w.t, redisserver.Resume(w.procs[name].server.Pid))
}

func (w *realWorld) start(name string) {
	p := w.procs[name]
	p.server = startReal(w.t, w.binary, p.args...)
	p.control = w.connect(p)
	info := w.ask(name, [][]byte{[]byte("INFO"), []byte("server")}).Str
	require.Contains(w.t, info, fmt.Sprintf("process_id:%d\r\n", p.server.Pid), "another listens at port %d", p.port)
	if name[0] == 's' {
		p.listens = w.connect(p)
		p.listens.send(w.t, [][]byte{[]byte("PSUBSCRIBE"), []byte("*")})
		_, ok := p.listens.next(w.t, 10*time.Second)
		require.True(w.t, ok)
	}
}

// connect waits until the process listens.
func (w *realWorld) connect(p *realProcess) *realConn {
	for range 100 {
		socket, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
		if err == nil {
			w.t.Cleanup(func() { _ = socket.Close() })
			return &realConn{socket: socket}
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Fail(w.t, "no connection to "+p.name)
	return nil
}

func (w *realWorld) stop(name string) {
	p := w.procs[name]
	if p.server == nil {
		return
	}
	if p.listens != nil {
		p.events = w.takeEvents(name)
		_ = p.listens.socket.Close()
	}
	_ = p.control.socket.Close()
	p.server.End()
	p.server = nil
}

// ask sends a command to a process and returns its reply. A connection that a
// Sentinel has killed is made anew.
func (w *realWorld) ask(name string, cmd [][]byte) resp.Value {
	p := w.procs[name]
	for range 2 {
		p.control.send(w.t, cmd)
		if v, ok := p.control.next(w.t, 5*time.Second); ok {
			return v
		}
		p.control = w.connect(p)
	}
	require.Fail(w.t, "no reply", "%s: %q", name, cmd)
	return resp.Value{}
}

func (w *realWorld) takeEvents(name string) []event {
	p := w.procs[name]
	for p.server != nil {
		v, ok := p.listens.next(w.t, 200*time.Millisecond)
		if !ok {
			break
		}
		p.events = append(p.events, event{v.List[2].Str, v.List[3].Str})
	}
	taken := p.events
	p.events = nil
	return taken
}

func (c *realConn) send(t *testing.T, cmd [][]byte) {
	words := make([]string, len(cmd))
	for i, word := range cmd {
		words[i] = string(word)
	}
	_, err := c.socket.Write(resp.AppendCommand(nil, words...))
	if err != nil {
		t.Logf("send: %v", err)
	}
}

// next is the next reply or push within a time.
func (c *realConn) next(t *testing.T, wait time.Duration) (resp.Value, bool) {
	_ = c.socket.SetReadDeadline(time.Now().Add(wait))
	for {
		v, n, err := resp.Parse(c.in)
		require.NoError(t, err)
		if n > 0 {
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
