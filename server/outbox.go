package server

import (
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
// tried at once; what the peer does not take is left to the connection's
// carrier, so that neither add nor flush ever waits for a peer.
type outbox struct {
	write func([]byte) int // writes what the peer takes at once
	later func()           // sees to it that the rest is written; called under the lock

	mu      sync.Mutex
	pending []byte // not yet written, from sent on
	sent    int
	taken   int  // bytes that the carrier writes, taken out of pending
	stuck   bool // later was called
	closed  bool // nothing is written any more
}

// add takes all bytes out of *out. It returns how many wait to be written.
func (o *outbox) add(out *[]byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		*out = (*out)[:0]
		return 0
	}
	if len(o.pending) == 0 {
		o.pending, *out = *out, o.pending[:0]
	} else {
		o.compact()
		o.pending = append(o.pending, *out...)
		*out = (*out)[:0]
	}
	if cap(*out) > maxIdleBuffer {
		*out = nil
	}
	return len(o.pending) - o.sent + o.taken
}

// compact gives up what was sent when it is most of the buffer.
func (o *outbox) compact() {
	if 2*o.sent > len(o.pending) {
		o.pending = append(o.pending[:0], o.pending[o.sent:]...)
		o.sent = 0
	}
}

// flush writes what the peer takes now and has the rest written later.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeOut()
}

// writeOut is flush for who holds the lock. It returns how many bytes the peer took.
func (o *outbox) writeOut() int {
	if len(o.pending) == 0 || o.stuck || o.closed {
		return 0
	}
	written := o.write(o.pending[o.sent:])
	if o.sent += written; o.sent < len(o.pending) {
		o.stuck = true
		o.later()
		return written
	}
	o.empty()
	return written
}

// empty makes room for the next replies, when all is sent.
func (o *outbox) empty() {
	o.pending, o.sent = o.pending[:0], 0
	if cap(o.pending) > maxIdleBuffer {
		o.pending = nil
	}
}

// resume is flush for the carrier, once the peer takes more. It reports whether the
// peer did.
func (o *outbox) resume() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stuck = false
	return o.writeOut() > 0
}

// take moves some of what is left to the carrier's room. The carrier writes it before
// it asks again; with nothing left the outbox writes by itself again.
func (o *outbox) take(room []byte) (chunk []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = copy(room, o.pending[o.sent:])
	o.stuck = o.taken > 0
	if o.sent += o.taken; o.sent == len(o.pending) {
		o.empty()
	}
	return room[:o.taken]
}

// isStuck reports whether the carrier has yet to write something.
func (o *outbox) isStuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stuck
}

// drop has nothing be written any more, what waits included.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.pending, o.sent = true, nil, 0
}

// waiting is how many bytes the peer has not taken yet.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) - o.sent + o.taken
}

// close has carrier close what carries the bytes, and nothing be written any
// more. It is called under the lock, so that nobody writes to what is closed.
func (o *outbox) close(carrier func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	carrier()
	o.closed, o.pending, o.sent = true, nil, 0
}
