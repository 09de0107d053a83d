package server

import (
	"bytes"
	"errors"
	"net"
	"os"
	"time"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// conn is one client's connection. Its goroutine reads, executes and writes.
type conn struct {
	server  *Server
	socket  net.Conn
	reader  *resp.CommandReader
	out     *outbox
	session *engine.Session

	// Under the gate:
	blocked   bool // the goroutine reads on, but must be woken to execute
	failed    bool // a protocol error was answered; nothing more is executed
	softSince time.Time
	treated   *treated // a command that needs more than the machine; nil: none
	dead      bool     // nothing passes any more, in either direction
	leaving   bool     // to be closed as soon as the session is not blocked

	abandoned bool // the server was closed while the goroutine was elsewhere

	read  int     // bytes that the session has not been told of
	dirty []*conn // the connections to flush after the gate; used by the goroutine only
}

// serve runs a connection until its peer leaves or it must be closed.
func (c *conn) serve() {
	defer c.leave()
	if refusal := c.join(); refusal != "" {
		_, _ = c.socket.Write(resp.Append(nil, resp.Err(refusal), 2))
		return
	}
	defer c.end()
	for {
		read, err := c.reader.Fill(c.socket)
		c.read += read
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Somebody woke us: the session is unblocked, or to be closed.
			err = c.socket.SetReadDeadline(time.Time{})
		}
		if err != nil || !c.execute() {
			return
		}
	}
}

// join makes the session, unless there is a reason to send the client away.
func (c *conn) join() (refusal string) {
	s := c.server
	visiting := s.gate.enter()
	defer s.gate.leave(visiting)
	if int64(len(s.conns)) >= s.number("maxclients", 10000) {
		return "ERR max number of clients reached"
	}
	if s.isProtected() && !isLoopback(c.socket.RemoteAddr()) {
		return errProtected
	}
	c.reader.MaxBulk = s.number("proto-max-bulk-len", resp.DefaultMaxBulk)
	c.reader.MaxQuery = int(s.number("client-query-buffer-limit", resp.DefaultMaxQuery))
	c.keepAlive(time.Duration(s.number("tcp-keepalive", 300)) * time.Second)
	c.session = s.machine.NewSession(c.socket.RemoteAddr().String())
	s.conns[c.session] = c
	return ""
}

func (c *conn) keepAlive(period time.Duration) {
	if tcp, ok := c.socket.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: period > 0, Idle: period, Interval: period / 3, Count: 3,
		})
	}
}

// execute runs the commands that have arrived, as far as the session is not
// blocked. It reports whether to go on reading.
func (c *conn) execute() bool {
	for {
		open := c.turn()
		if c.treated == nil || !open {
			return open
		}
		if !c.outside() {
			return false
		}
	}
}

// turn is execute up to the first command that needs a treatment outside of the gate.
func (c *conn) turn() (open bool) {
	s := c.server
	var done func()
	visiting := s.gate.enter()
	c.session.Received(c.read)
	c.read = 0
	c.dirty = c.dirty[:0]
	if c.treated != nil {
		done = c.treat(visiting)
	}
	problem := c.run(visiting)
	c.dirty = s.collect(c.dirty)
	if problem != nil {
		c.refuse(problem)
	}
	c.blocked = c.session.Blocked()
	open = !c.failed && !c.session.Closing() && (!c.leaving || c.blocked)
	s.gate.leave(visiting)
	flushAll(c.dirty)
	if done != nil {
		done()
	}
	return open
}

// run executes buffered commands; it returns what the reader or the shell
// cannot accept.
func (c *conn) run(visiting bool) error {
	s := c.server
	for !c.session.Blocked() && !c.session.Closing() && !s.closing.Load() && !c.leaving {
		c.reader.Unauthenticated = !c.session.Authenticated()
		cmd, err := c.reader.Next()
		if err != nil || cmd == nil {
			return err
		}
		if isForgedHTTP(cmd[0]) {
			return errForgedHTTP
		}
		if c.dead {
			continue
		}
		if s.cfg.Before != nil {
			if t, some := s.cfg.Before(c.session, cmd); some {
				c.treated = &treated{Treatment: t, cmd: cmd}
				return nil
			}
		}
		c.run1(cmd, visiting)
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

// refuse answers a protocol error, as the last reply of the connection.
func (c *conn) refuse(problem error) {
	c.failed = true
	var protocol resp.ProtocolError
	if !errors.As(problem, &protocol) {
		c.server.cfg.Log(LevelWarning, problem.Error())
		return
	}
	reply := resp.Append(nil, resp.Err("ERR "+protocol.Error()), c.session.Proto)
	c.out.add(&reply)
	c.dirty = append(c.dirty, c)
}

// take moves the session's output to the outbox. It runs under the gate, on
// whatever goroutine caused the output.
func (c *conn) take() {
	if c.dead {
		c.session.Out = c.session.Out[:0]
	}
	if len(c.session.Out) > 0 {
		c.session.Sent(len(c.session.Out))
		if waiting := c.out.add(&c.session.Out); waiting > checkedOutput && c.overLimit(waiting) {
			c.server.cfg.Log(LevelWarning, "Client addr="+c.session.Addr+
				" closed for overcoming of output buffer limits.")
			_ = c.socket.Close()
		}
	}
	if c.session.Closing() || c.blocked && !c.session.Blocked() {
		c.blocked = false
		_ = c.socket.SetReadDeadline(now()) // wakes the goroutine
	}
}

// leave is the last thing that a connection's goroutine does.
func (c *conn) leave() {
	if c.abandoned {
		_ = c.socket.Close()
		return
	}
	c.server.forget(c.socket)
}

// end takes leave of the client. What it was sent before is still written.
func (c *conn) end() {
	if c.abandoned {
		return
	}
	s := c.server
	visiting := s.gate.enter()
	s.machine.Close(c.session)
	delete(s.conns, c.session)
	c.dirty = s.collect(c.dirty[:0])
	s.gate.leave(visiting)
	flushAll(c.dirty)
	c.out.finish()
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
