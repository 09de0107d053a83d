package server

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeBuffer is how many bytes each direction of a Pipe holds, as much as a
// socket might.
const pipeBuffer = 256 << 10

// Pipe returns the two ends of a connection in memory. As with a socket, and unlike
// net.Pipe, each direction has a buffer, and what was written before Close can still be
// read. Its waits are those of sync.Cond, so in a bubble of testing/synctest they let
// time pass.
func Pipe(client, server net.Addr) (clientEnd, serverEnd net.Conn) {
	up, down := newStream(), newStream()
	return &pipeEnd{in: down, out: up, local: client, remote: server},
		&pipeEnd{in: up, out: down, local: server, remote: client}
}

// pipeEnd is one end of a pipe.
type pipeEnd struct {
	in, out       *stream
	local, remote net.Addr
}

func (p *pipeEnd) LocalAddr() net.Addr  { return p.local }
func (p *pipeEnd) RemoteAddr() net.Addr { return p.remote }

func (p *pipeEnd) Read(b []byte) (int, error) {
	n, err := p.in.read(b)
	return n, p.explain("read", err)
}

func (p *pipeEnd) Write(b []byte) (int, error) {
	n, err := p.out.write(b)
	return n, p.explain("write", err)
}

// writeNow writes what fits into the buffer.
func (p *pipeEnd) writeNow(b []byte) int {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	return p.out.add(b)
}

// explain makes an error look like a socket's.
func (p *pipeEnd) explain(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: p.local.Network(), Source: p.local, Addr: p.remote, Err: err}
}

func (p *pipeEnd) Close() error {
	p.in.leave(func(s *stream) { s.readerGone = true })
	p.out.leave(func(s *stream) { s.writerGone = true })
	return nil
}

func (p *pipeEnd) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.in.readLimit.set(p.in, t)
	return nil
}

func (p *pipeEnd) SetWriteDeadline(t time.Time) error {
	p.out.writeLimit.set(p.out, t)
	return nil
}

// stream is one direction of a pipe.
type stream struct {
	mu     sync.Mutex
	change *sync.Cond // anything below has changed
	data   []byte
	start  int // of what was not read yet

	readerGone, writerGone bool
	readLimit, writeLimit  timeLimit
}

func newStream() *stream {
	s := &stream{}
	s.change = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerGone:
			return 0, net.ErrClosed
		case s.readLimit.passed():
			return 0, os.ErrDeadlineExceeded
		case s.start < len(s.data) || len(b) == 0:
			n := copy(b, s.data[s.start:])
			if s.start += n; s.start == len(s.data) {
				s.data, s.start = s.data[:0], 0
			}
			s.change.Broadcast()
			return n, nil
		case s.writerGone:
			return 0, io.EOF
		}
		s.change.Wait()
	}
}

func (s *stream) write(b []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writerGone:
			return written, net.ErrClosed
		case s.readerGone:
			return written, syscall.EPIPE
		case s.writeLimit.passed():
			return written, os.ErrDeadlineExceeded
		}
		if written += s.add(b[written:]); written == len(b) {
			return written, nil
		}
		s.change.Wait()
	}
}

// add takes what there is room for. It is called with the lock held.
func (s *stream) add(b []byte) int {
	if s.writerGone || s.readerGone {
		return 0
	}
	n := min(len(b), pipeBuffer-(len(s.data)-s.start))
	if n <= 0 {
		return 0
	}
	if s.start > 0 && len(s.data)+n > cap(s.data) {
		s.data = append(s.data[:0], s.data[s.start:]...)
		s.start = 0
	}
	s.data = append(s.data, b[:n]...)
	s.change.Broadcast()
	return n
}

func (s *stream) leave(note func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note(s)
	s.readLimit.stop()
	s.writeLimit.stop()
	s.change.Broadcast()
}

// timeLimit is a deadline of one end of a stream, under the stream's lock.
type timeLimit struct {
	at    time.Time   // zero: none
	timer *time.Timer // wakes who waits; made for the first deadline, used for all
}

// passed reports whether the deadline is over.
func (l *timeLimit) passed() bool { return !l.at.IsZero() && !now().Before(l.at) }

func (l *timeLimit) set(s *stream, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.at = at; at.IsZero() {
		l.stop()
		return
	}
	present := now()
	wait := at.Sub(present)
	l.at = present.Add(wait) // on the monotonic clock, as the timer's
	switch {
	case wait <= 0:
		l.stop()
		s.change.Broadcast()
	case l.timer == nil:
		l.timer = time.AfterFunc(wait, func() { // what it wakes looks at the time itself
			s.mu.Lock()
			defer s.mu.Unlock()
			s.change.Broadcast()
		})
	default:
		l.timer.Reset(wait)
	}
}

func (l *timeLimit) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}
