package server

import (
	"sync"
	"time"
)

const (
	// maxIdleBuffer is the largest buffer kept for the next replies.
	maxIdleBuffer = 64 << 10
	// chunkBytes is how large the pieces are in which small replies wait.
	chunkBytes = 64 << 10
	// lingerTime is how long the last replies to a client that has left, or was
	// sent away, may take to be written.
	lingerTime = 10 * time.Second
)

// outbox holds the bytes for one peer and writes them in order. Writing is
// tried at once; what the peer does not take is left to the connection's
// carrier, so that neither add nor flush ever waits for a peer. What waits is
// kept in pieces: it may be much, and is then neither moved nor kept twice.
type outbox struct {
	write func([]byte) int // writes what the peer takes at once
	later func()           // sees to it that the rest is written; called under the lock

	mu     sync.Mutex
	chunks [][]byte // not yet written, the first from sent on; none is empty
	sent   int
	size   int    // bytes in chunks that are not yet written
	spare  []byte // for the next replies
	taken  int    // bytes that the carrier writes, taken out of chunks
	stuck  bool   // later was called
	closed bool   // nothing is written any more
}

// add takes all bytes out of *out. It returns how many wait to be written.
func (o *outbox) add(out *[]byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	bytes := *out
	if o.closed {
		bytes = nil
	}
	o.size += len(bytes)
	switch last := len(o.chunks) - 1; {
	case len(bytes) == 0:
		*out = (*out)[:0]
	case last < 0:
		o.chunks = append(o.chunks, bytes)
		*out, o.spare = o.spare, nil
	case len(o.chunks[last])+len(bytes) <= max(chunkBytes, cap(o.chunks[last])):
		o.chunks[last] = append(o.chunks[last], bytes...)
		*out = bytes[:0]
	case len(o.chunks[last]) < 2*chunkBytes && len(bytes) < chunkBytes: // more small ones are likely
		o.chunks = append(o.chunks, append(make([]byte, 0, chunkBytes), bytes...))
		*out = bytes[:0]
	default:
		o.chunks = append(o.chunks, bytes)
		*out = nil
	}
	if cap(*out) > maxIdleBuffer {
		*out = nil
	}
	return o.size + o.taken
}

// advance gives up the first n bytes, which are written or taken.
func (o *outbox) advance(n int) {
	o.sent += n
	o.size -= n
	for len(o.chunks) > 0 && o.sent >= len(o.chunks[0]) {
		o.sent -= len(o.chunks[0])
		if cap(o.chunks[0]) <= maxIdleBuffer {
			o.spare = o.chunks[0][:0]
		}
		o.chunks[0] = nil
		if len(o.chunks) == 1 {
			o.chunks = o.chunks[:0] // with its place for the next
		} else {
			o.chunks = o.chunks[1:]
		}
	}
}

// flush writes what the peer takes now and has the rest written later.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeOut()
}

// writeOut is flush for who holds the lock. It returns how many bytes the peer took.
func (o *outbox) writeOut() (written int) {
	for len(o.chunks) > 0 && !o.stuck && !o.closed {
		next := o.chunks[0][o.sent:]
		n := o.write(next)
		o.advance(n)
		written += n
		if n < len(next) {
			o.stuck = true
			o.later()
		}
	}
	return written
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
	o.taken = 0
	for len(o.chunks) > 0 && o.taken < len(room) {
		n := copy(room[o.taken:], o.chunks[0][o.sent:])
		o.taken += n
		o.advance(n)
	}
	o.stuck = o.taken > 0
	return room[:o.taken]
}

// isStuck reports whether the carrier has yet to write something.
func (o *outbox) isStuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stuck
}

// drop has nothing be written any more, what waits included.
func (o *outbox) drop() { o.close(func() {}) }

// waiting is how many bytes the peer has not taken yet.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size + o.taken
}

// close is drop, and has carrier close what carries the bytes. It is called under the
// lock, so that nobody writes to what is closed.
func (o *outbox) close(carrier func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	carrier()
	o.closed, o.chunks, o.sent, o.size = true, nil, 0, 0
}
