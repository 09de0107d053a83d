package server

import (
	"net"
	"sync"
	"time"
)

const (
	// maxIdleBuffer is the largest buffer kept for the next replies.
	maxIdleBuffer = 64 << 10
	// lingerTime is how long the last replies to a client that has left, or was
	// sent away, may take to be written.
	lingerTime = 10 * time.Second
)

// outbox holds the bytes for one peer and writes them in order. Writing is
// tried at once; what the peer does not take is left to a goroutine, so that
// neither add nor flush ever waits for a peer.
type outbox struct {
	conn net.Conn
	now  func([]byte) int // writes what the peer takes at once

	mu      sync.Mutex
	pending []byte        // not yet written
	writing int           // bytes that the goroutine has taken out of pending
	drained chan struct{} // closed when the goroutine ends; nil: there is none
}

func newOutbox(conn net.Conn) *outbox {
	if pipe, ok := conn.(*pipeEnd); ok {
		return &outbox{conn: conn, now: pipe.writeNow}
	}
	socket := newSocketWriter(conn)
	return &outbox{conn: conn, now: socket.write}
}

// add takes all bytes out of *out. It returns how many wait to be written.
func (o *outbox) add(out *[]byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 {
		o.pending, *out = *out, o.pending[:0]
	} else {
		o.pending = append(o.pending, *out...)
		*out = (*out)[:0]
	}
	if cap(*out) > maxIdleBuffer {
		*out = nil
	}
	return len(o.pending) + o.writing
}

// flush writes what the peer takes now and has the rest written later.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 || o.drained != nil {
		return
	}
	n := o.now(o.pending)
	if n == len(o.pending) {
		o.pending = o.pending[:0]
		if cap(o.pending) > maxIdleBuffer {
			o.pending = nil
		}
		return
	}
	rest := o.pending[n:]
	o.pending, o.writing = nil, len(rest)
	o.drained = make(chan struct{})
	go o.drain(rest)
}

// drain writes chunk and then whatever has come in the meantime.
func (o *outbox) drain(chunk []byte) {
	for {
		_, err := o.conn.Write(chunk)
		o.mu.Lock()
		chunk, o.pending = o.pending, nil
		if err != nil {
			chunk = nil
			_ = o.conn.Close() // wakes the reader, which ends the connection
		}
		o.writing = len(chunk)
		if len(chunk) == 0 {
			close(o.drained)
			o.drained = nil
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// finish waits, for a limited time, until everything is written, and closes.
func (o *outbox) finish() {
	o.mu.Lock()
	drained := o.drained
	o.mu.Unlock()
	if drained != nil {
		_ = o.conn.SetWriteDeadline(now().Add(lingerTime))
		<-drained
	}
	_ = o.conn.Close()
}
