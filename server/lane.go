package server

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// lane is the carrier of a connection that is no socket of the loop: any
// net.Conn, served by a goroutine of its own, which reads, executes and writes.
type lane struct {
	*conn
	socket  net.Conn
	drained chan struct{} // closed when the goroutine that writes the rest ends; under the outbox's lock
}

// welcome makes a connection of what a client has dialed, and serves it.
func (s *Server) welcome(socket net.Conn) {
	if encrypted, ok := socket.(*tls.Conn); ok {
		socket = secure{encrypted}
	}
	if !s.remember(socket) {
		return
	}
	c := &lane{conn: newConn(s, socket.RemoteAddr(), socket.LocalAddr()), socket: socket}
	c.carrier = c
	c.out.later = c.drainLater
	if pipe, ok := socket.(*pipeEnd); ok {
		c.out.write = pipe.writeNow
	} else {
		c.out.write = atOnce(socket)
	}
	go c.serve()
}

// serve runs a connection until its peer leaves or it must be closed.
func (c *lane) serve() {
	defer c.leave()
	var t turn
	t.begin(c.server)
	refusal := c.join()
	c.room = c.reader.Room()
	t.end()
	encrypted, isSecure := c.socket.(secure)
	if refusal != nil {
		if !isSecure || c.session != nil { // as with Redis, who is one too many is told nothing before a handshake
			_ = c.socket.SetDeadline(now().Add(lingerTime))
			_, _ = c.socket.Write(refusal)
		}
		return
	}
	defer c.end()
	if isSecure && !c.shakeHands(encrypted) {
		return
	}
	for {
		n, err := c.socket.Read(c.room) // outside of the gate: others may execute what came before
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = c.socket.SetReadDeadline(time.Time{}) // somebody woke us
		}
		if n > 0 {
			err = nil // over TLS the end may come along with the last commands; the next Read tells it again
		}
		t.begin(c.server)
		c.read += n
		err = errors.Join(err, c.reader.Took(n))
		if err != nil {
			t.end()
			return
		}
		if !c.execute(&t) {
			return
		}
	}
}

// shakeHands reports whether the client speaks TLS, as the server does.
func (c *lane) shakeHands(socket secure) bool {
	err := socket.Handshake()
	if err == nil {
		return true
	}
	var t turn
	t.begin(c.server)
	ended := c.session.Closing() || c.server.closing.Load() // by us: the client has done nothing wrong
	t.end()
	if !ended {
		c.server.cfg.Log(LevelWarning, "Error accepting a client connection: "+explainHandshake(err))
	}
	return false
}

// leave is the last thing that a connection's goroutine does.
func (c *lane) leave() {
	if c.abandoned {
		_ = c.socket.Close()
		return
	}
	c.server.forget(c.socket)
}

// end takes leave of the client. What it was sent before is still written.
func (c *lane) end() {
	if c.abandoned {
		return
	}
	var t turn
	t.begin(c.server)
	c.part()
	t.end()
	c.out.flush() // what another goroutine's turn has left us is perhaps not yet written
	c.out.mu.Lock()
	drained := c.drained
	c.out.mu.Unlock()
	if drained != nil {
		_ = c.socket.SetWriteDeadline(now().Add(lingerTime))
		<-drained
	}
	if encrypted, ok := c.socket.(secure); ok {
		encrypted.sayGoodbye()
	}
	_ = c.socket.Close()
}

// keepAlive implements carrier.
func (c *lane) keepAlive(period time.Duration) {
	socket := c.socket
	if encrypted, ok := socket.(secure); ok {
		socket = encrypted.NetConn()
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: period > 0, Idle: period, Interval: period / 3, Count: 3,
		})
	}
}

// wake implements carrier.
func (c *lane) wake() {
	if c.session.Closing() { // over TLS a Read may have to wait for a Write
		_ = c.socket.SetWriteDeadline(now().Add(lingerTime))
	}
	_ = c.socket.SetReadDeadline(now())
}

// goOn implements carrier.
func (c *lane) goOn(t *turn) {
	if open := c.step(t); !open || c.treated != nil {
		c.wake()
	}
}

// cut implements carrier.
func (c *lane) cut() { _ = c.socket.Close() }

// drainLater has a goroutine write what the peer did not take at once. It is
// called under the outbox's lock.
func (c *lane) drainLater() {
	drained := make(chan struct{})
	c.drained = drained
	room := make([]byte, min(c.out.size, writtenAtOnce)) // over TLS every reply comes by here
	go func() {
		defer close(drained)
		for chunk := c.out.take(room); len(chunk) > 0; chunk = c.out.take(room) {
			if _, err := c.socket.Write(chunk); err != nil {
				c.out.close(c.cut) // wakes the reader, which ends the connection
				continue
			}
			c.took()
		}
	}()
}

// took tells the session that its client has taken more, unless the server is closed.
func (c *lane) took() {
	if c.server.rejoin() {
		c.server.Visit(func(Machine) { c.session.Took() })
		c.server.running.Done()
	}
}
