package server

import (
	"bytes"
	"errors"
	"net"
	"time"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// conn is one client's connection: how its bytes become commands, and what the
// machine has for it becomes bytes. Its carrier brings and takes them.
type conn struct {
	server  *Server
	carrier carrier
	address net.Addr // of the peer
	path    string   // of the socket in the file system; "": there is none
	local   string   // the address to which a peer over TCP came, or ""
	reader  *resp.CommandReader
	out     outbox
	session *engine.Session

	// Under the gate:
	failed    bool     // nothing more is executed: a protocol error was answered, or the connection is cut
	softSince int64    // Unix seconds: since when more waits than the soft limit allows; 0: it does not
	treated   *treated // a command that needs more than the machine; nil: none
	dead      bool     // nothing passes any more, in either direction
	leaving   bool     // to be closed as soon as the session is not blocked

	read int // bytes that the session has not been told of

	abandoned bool   // the server was closed while the command was elsewhere
	room      []byte // to read into, while others execute; its carrier's
}

// carrier is what a connection needs of what carries it: a socket of the
// server's loop, or a stream with a goroutine of its own. The methods are
// called under the gate and do not wait.
type carrier interface {
	// keepAlive has the system ask a silent peer, after period and again, whether
	// it is still there; 0: never.
	keepAlive(period time.Duration)
	// wake has the connection do what only its own goroutine can: treat a command
	// apart, or end, as the session is to be closed.
	wake()
	// goOn has what was sent while the session was blocked be executed.
	goOn(t *turn)
	// cut has the connection end without its last replies.
	cut()
}

// newConn makes the connection of a peer that has come to one of our addresses.
func newConn(s *Server, peer, own net.Addr) *conn {
	c := &conn{server: s, address: peer, reader: resp.NewCommandReader()}
	switch local := own.(type) {
	case *net.UnixAddr:
		c.path = local.Name
	case *net.TCPAddr:
		c.local = local.String()
	}
	return c
}

// join makes the session, under the gate, unless there is a reason to send the
// client away.
func (c *conn) join() (refusal []byte) {
	s := c.server
	if full := s.machine.Full(); full != "" {
		return resp.Append(nil, resp.Err(full), 2)
	}
	c.reader.MaxBulk = func() int64 { return s.number("proto-max-bulk-len", resp.DefaultMaxBulk) }
	c.reader.MaxQuery = func() int64 { return s.number("client-query-buffer-limit", resp.DefaultMaxQuery) }
	c.carrier.keepAlive(time.Duration(s.number("tcp-keepalive", 300)) * time.Second)
	c.session = s.machine.NewSession(c.address.String())
	if c.local != "" {
		c.session.LocalAddr = c.local
	}
	if c.path != "" { // its clients are known by it
		c.session.Addr = c.path + ":0"
		c.session.LocalAddr = c.session.Addr
	}
	c.session.Waiting = c.out.waiting
	if s.isProtected(c.session) && !isLoopback(c.address) {
		s.machine.Close(c.session)
		return resp.Append(nil, resp.Err(errProtected), 2)
	}
	s.conns[c.session] = c
	return nil
}

// part ends the session, under the gate.
func (c *conn) part() {
	c.server.machine.Close(c.session)
	delete(c.server.conns, c.session)
}

// turn is one stay inside the gate: of one connection, or of all that have
// something to read. What it leaves is sent behind the gate.
type turn struct {
	server   *Server
	visiting bool
	dirty    []*conn  // whose output is to be written
	done     []func() // to be called when it was
}

func (t *turn) begin(s *Server) {
	t.server = s
	t.visiting = s.gate.enter()
	t.dirty, t.done = t.dirty[:0], t.done[:0]
}

// collect has those go on who are not blocked any more, and takes what the machine
// has left for its sessions, with which waits may end as well.
func (t *turn) collect() {
	t.goOn()
	for again := true; again; again = t.goOn() {
		t.dirty = t.server.collect(t.dirty)
	}
}

// goOn has the connections that were blocked execute what they have been sent
// meanwhile, one after the other. It reports whether there were any.
func (t *turn) goOn() (any bool) {
	for t.server.machine.ShutdownRequested() == nil {
		session := t.server.machine.Unblocked()
		if session == nil {
			break
		}
		any = true
		if c := t.server.conns[session]; c != nil {
			c.carrier.goOn(t)
		}
	}
	return any
}

// leave is for who has collected.
func (t *turn) leave() {
	t.server.gate.leave(t.visiting)
	t.send()
}

func (t *turn) end() {
	t.collect()
	t.leave()
}

// send writes what the turn has left so far.
func (t *turn) send() {
	flushAll(t.dirty)
	for _, done := range t.done {
		done()
	}
	t.dirty, t.done = t.dirty[:0], t.done[:0]
}

// execute runs the commands that have arrived, as far as the session is not
// blocked, in a turn that has begun, which it ends, and in others. It reports
// whether to go on reading, into room.
func (c *conn) execute(t *turn) (open bool) {
	for {
		open = c.step(t)
		treated := c.treated
		if treated == nil {
			c.room = c.reader.Room()
		}
		t.end()
		if treated == nil || !open {
			return open
		}
		if !c.outside(treated) {
			return false
		}
		t.begin(c.server)
		c.treat(t)
	}
}

// step runs the commands that have arrived up to the first one that needs a
// treatment outside of the turn. It reports whether to go on reading.
func (c *conn) step(t *turn) (open bool) {
	if c.read > 0 {
		c.session.Received(c.read)
		c.read = 0
	}
	if problem := c.run(t); problem != nil {
		c.refuse(t, problem)
	}
	return !c.failed && !c.session.Closing() && (!c.leaving || c.session.Blocked())
}

// run executes buffered commands; it returns what the reader or the shell
// cannot accept.
func (c *conn) run(t *turn) error {
	s := c.server
	for c.treated == nil && !c.failed && !c.leaving && !c.session.Blocked() && !c.session.Closing() && !s.closing.Load() {
		c.reader.Unauthenticated = !c.session.Authenticated()
		cmd, err := c.reader.Next()
		if err != nil || cmd == nil {
			return err
		}
		if len(cmd) > 0 && isForgedHTTP(cmd[0]) {
			return errForgedHTTP
		}
		if c.dead {
			continue
		}
		if s.cfg.Before != nil && len(cmd) > 0 {
			if treatment, some := s.cfg.Before(c.session, cmd); some {
				c.treated = &treated{Treatment: treatment, cmd: cmd}
				return nil
			}
		}
		c.run1(cmd, t.visiting)
		if len(c.session.Out) > chunkBytes {
			t.dirty = s.collect(t.dirty) // so that what follows need not move it
		}
	}
	return nil
}

// run1 lets the machine run one command.
func (c *conn) run1(cmd [][]byte, visiting bool) {
	if !visiting {
		c.server.busy.command++
	}
	c.server.machine.Do(c.session, cmd)
}

// refuse answers a protocol error, as the last reply of the connection; what the shell
// cannot accept ends it without those that have not been written.
// Source: setProtocolError and securityWarningCommand of Redis 7.0.
func (c *conn) refuse(t *turn, problem error) {
	c.failed = true
	var protocol resp.ProtocolError
	if !errors.As(problem, &protocol) {
		c.server.cfg.Log(LevelWarning, problem.Error())
		c.session.Out = c.session.Out[:0]
		c.out.drop()
		return
	}
	c.session.Reply(resp.Err("ERR " + protocol.Error()))
	c.take()
	t.dirty = append(t.dirty, c)
}

// answer puts a reply that is not the machine's behind those that are.
func (c *conn) answer(t *turn, reply []byte) {
	c.take()
	c.out.add(&reply)
	t.dirty = append(t.dirty, c)
}

// take moves the session's output to the outbox. It runs under the gate, on
// whatever goroutine caused the output.
func (c *conn) take() {
	if c.dead {
		c.session.Out = c.session.Out[:0]
	}
	over := c.session.Overflowed() && !c.failed
	if len(c.session.Out) > 0 {
		c.session.Sent(len(c.session.Out))
		waiting := c.out.add(&c.session.Out)
		over = over || waiting > checkedOutput && c.overLimit(waiting)
	}
	if over {
		c.server.cfg.Log(LevelWarning, "Client addr="+c.session.Addr+
			" closed for overcoming of output buffer limits.")
		c.failed = true
		c.out.drop()
		c.carrier.cut()
	}
	if c.session.Closing() {
		c.carrier.wake()
	}
}

func flushAll(conns []*conn) {
	for _, c := range conns {
		c.out.flush()
	}
}

// errForgedHTTP is Redis's guard against web pages that make a browser send
// commands in the body of a POST: the connection is closed without a reply.
var errForgedHTTP = errors.New("Possible SECURITY ATTACK detected. It looks like somebody is sending POST or " +
	"Host: commands to Redis. This is likely due to an attacker attempting to use Cross Protocol Scripting " +
	"to compromise your Redis instance. Connection aborted.")

func isForgedHTTP(name []byte) bool {
	return bytes.EqualFold(name, postHeader) || bytes.EqualFold(name, hostHeader)
}

var (
	postHeader = []byte("post")
	hostHeader = []byte("host:")
)
