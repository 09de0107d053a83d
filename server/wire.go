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

	dirty []*conn // the connections to flush after the gate; used by the goroutine only
}

// serve runs a connection until its peer leaves or it must be closed.
func (c *conn) serve() {
	defer c.server.forget(c.socket)
	if refusal := c.join(); refusal != "" {
		_, _ = c.socket.Write(resp.Append(nil, resp.Err(refusal), 2))
		return
	}
	defer c.end()
	for {
		_, err := c.reader.Fill(c.socket)
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
	s := c.server
	visiting := s.gate.enter()
	problem := c.run(visiting)
	c.dirty = s.collect(c.dirty[:0])
	if problem != nil {
		c.refuse(problem)
	}
	c.blocked = c.session.Blocked()
	open := !c.failed && !c.session.Closing()
	s.gate.leave(visiting)
	flushAll(c.dirty)
	return open
}

// run executes buffered commands; it returns what the reader or the shell
// cannot accept.
func (c *conn) run(visiting bool) error {
	s := c.server
	for !c.session.Blocked() && !c.session.Closing() && !s.closing.Load() {
		c.reader.Unauthenticated = !c.session.Authenticated()
		cmd, err := c.reader.Next()
		if err != nil || cmd == nil {
			return err
		}
		if isForgedHTTP(cmd[0]) {
			return errForgedHTTP
		}
		if !visiting {
			s.busy.command++
		}
		s.machine.Do(c.session, cmd)
	}
	return nil
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
	if len(c.session.Out) > 0 {
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

// end takes leave of the client. What it was sent before is still written.
func (c *conn) end() {
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
