package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Limits of requests, in bytes. In Redis they can be set: proto-max-bulk-len and
// client-query-buffer-limit.
const (
	DefaultMaxBulk  = 512 << 20
	DefaultMaxQuery = 1 << 30
	leastLimit      = 1 << 20 // that can be set
	maxInline       = 64 << 10
	minRoom         = 4 << 10
	maxRoom         = 64 << 10 // a larger empty buffer is given back
)

// ProtocolError is what Redis answers to bytes that are no request before it closes the
// connection: "Protocol error: …", without the code ERR.
type ProtocolError string

// Error returns the text of the reply behind "ERR ".
func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// ErrQueryBuffer says that more unread requests have piled up than MaxQuery allows. Redis
// closes such a connection without a reply.
var ErrQueryBuffer = errors.New("resp: query buffer limit reached")

// CommandReader cuts a client's bytes into commands as they arrive. It keeps its place
// between reads, so the cost of a command does not depend on how it was cut into packets.
// It holds memory only for bytes that have arrived.
//
// In Redis the answer to an over-long inline line or length line depends on how the
// network cut it. The reader always takes the strict reading.
type CommandReader struct {
	// MaxBulk returns how long a bulk string may be, MaxQuery how much may be held that is
	// not yet cut into arguments, in bytes. They are asked about more than leastLimit.
	MaxBulk, MaxQuery func() int64
	// Unauthenticated clients may not send more than 10 arguments, or more than 16384 bytes
	// in one.
	Unauthenticated bool

	buf   []byte
	start int // of the current command
	pos   int // of the first byte not yet understood
	scan  int // bytes from pos on known to hold no end of line
	left  int // arguments of the current multibulk still to come
	bulk  int // length of the argument being read, or -1
	spans []span
	args  [][]byte
}

// span is where an argument lies, counted from the command's start, which
// stays true when the buffer moves.
type span struct{ from, to int }

// NewCommandReader returns a reader with Redis's default limits.
func NewCommandReader() *CommandReader {
	return &CommandReader{
		MaxBulk:  func() int64 { return DefaultMaxBulk },
		MaxQuery: func() int64 { return DefaultMaxQuery },
		bulk:     -1,
	}
}

// Fill reads from src once, and returns what Read returned. Commands taken so far become
// invalid.
func (r *CommandReader) Fill(src io.Reader) (int, error) {
	n, err := src.Read(r.Room())
	if full := r.Took(n); full != nil {
		return n, full
	}
	return n, err
}

// Room returns the memory into which the next bytes may be read; Took then says how many
// there are. In between, commands that have already arrived may be taken, even while
// somebody reads. Commands taken so far become invalid.
func (r *CommandReader) Room() []byte {
	r.makeRoom()
	return r.buf[len(r.buf):cap(r.buf)]
}

// Took says how many bytes have been read into Room.
func (r *CommandReader) Took(n int) error {
	r.buf = r.buf[:len(r.buf)+n]
	return r.checkHeld()
}

// Feed takes bytes that are already there, where Fill reads from a source.
func (r *CommandReader) Feed(p []byte) error {
	r.compact()
	r.buf = append(r.buf, p...)
	return r.checkHeld()
}

func (r *CommandReader) checkHeld() error {
	if held := len(r.buf) - r.pos; held > leastLimit && int64(held) > r.MaxQuery() {
		return ErrQueryBuffer
	}
	return nil
}

// Buffered returns the number of bytes held that belong to no command taken so far.
func (r *CommandReader) Buffered() int { return len(r.buf) - r.start }

// Next returns the next whole command, or nil if more bytes are needed. A request without
// arguments, such as an empty line, is an empty slice. The slice and the arguments, which
// are views into the reader's buffer, are valid until the next call of Next or Fill. An
// error is always a ProtocolError; after it the reader must not be used again.
func (r *CommandReader) Next() ([][]byte, error) {
	for r.pos < len(r.buf) {
		if r.left == 0 {
			if r.buf[r.pos] != '*' {
				return r.inline()
			}
			if done, err := r.multibulkHeader(); !done || err != nil {
				return nil, err
			}
			if r.left == 0 {
				return noArgs, nil
			}
			continue
		}
		if done, err := r.argument(); !done || err != nil {
			return nil, err
		}
		if r.left == 0 {
			return r.finish(), nil
		}
	}
	return nil, nil
}

func (r *CommandReader) makeRoom() {
	if r.start == len(r.buf) || cap(r.buf)-len(r.buf) < minRoom {
		r.compact()
	}
	if cap(r.buf)-len(r.buf) < minRoom {
		grown := make([]byte, len(r.buf), max(2*cap(r.buf), 4*minRoom))
		copy(grown, r.buf)
		r.buf = grown
	}
}

// compact moves what is held to the buffer's beginning.
func (r *CommandReader) compact() {
	if r.start == 0 {
		return
	}
	held := r.buf[r.start:]
	if len(held) == 0 && cap(r.buf) > maxRoom {
		r.buf = nil
	}
	r.buf = append(r.buf[:0], held...)
	r.pos -= r.start
	r.start = 0
}

// finish hands out the arguments of the current command and starts the next.
func (r *CommandReader) finish() [][]byte {
	r.args = r.args[:0]
	for _, s := range r.spans {
		from, to := r.start+s.from, r.start+s.to
		r.args = append(r.args, r.buf[from:to:to])
	}
	r.spans = r.spans[:0]
	r.start = r.pos
	return r.args
}

// advance moves pos to the given offset.
func (r *CommandReader) advance(to int) {
	r.pos = to
	r.scan = 0
}

// lineEnd finds the line terminator from pos on, with the bytes behind it
// that must be there too. As in Redis, whose search is that of a C string, a
// zero byte hides everything behind it. A line over 64 KiB is an error.
func (r *CommandReader) lineEnd(terminator byte, behind int, tooBig ProtocolError) (end int, ok bool, err error) {
	line := r.buf[r.pos+r.scan:]
	found := bytes.IndexByte(line, terminator)
	if found >= 0 {
		line = line[:found]
	}
	if zero := bytes.IndexByte(line, 0); zero >= 0 {
		line, found = line[:zero], -1
	}
	r.scan += len(line)
	if r.scan > maxInline || found < 0 && len(r.buf)-r.pos > maxInline {
		return 0, false, tooBig
	}
	end = r.pos + r.scan
	return end, found >= 0 && end+behind < len(r.buf), nil
}

// inline reads a command typed as a line.
func (r *CommandReader) inline() ([][]byte, error) {
	end, ok, err := r.lineEnd('\n', 0, "too big inline request")
	if !ok || err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(r.buf[r.pos:end], []byte("\r"))
	args, ok := SplitArgs(line)
	if !ok {
		return nil, ProtocolError("unbalanced quotes in request")
	}
	r.advance(end + 1)
	r.start = r.pos
	if len(args) == 0 {
		return noArgs, nil
	}
	return args, nil
}

// noArgs is a request without arguments.
var noArgs = [][]byte{}

// multibulkHeader reads *N. Counts of zero and less are a request without arguments.
func (r *CommandReader) multibulkHeader() (done bool, err error) {
	end, ok, err := r.lineEnd('\r', 1, "too big mbulk count string")
	if !ok || err != nil {
		return false, err
	}
	n, ok := parseLength(r.buf[r.pos+1 : end])
	switch {
	case !ok || n > math.MaxInt32:
		return false, ProtocolError("invalid multibulk length")
	case n > 10 && r.Unauthenticated:
		return false, ProtocolError("unauthenticated multibulk length")
	}
	r.advance(end + 2)
	if n <= 0 {
		r.start = r.pos
		return true, nil
	}
	r.left = int(n)
	return true, nil
}

// argument reads $N and N bytes with the two behind them, whatever these are.
func (r *CommandReader) argument() (done bool, err error) {
	if r.bulk < 0 {
		if done, err := r.bulkHeader(); !done || err != nil {
			return false, err
		}
	}
	end := r.pos + r.bulk
	if len(r.buf) < end+2 {
		return false, nil
	}
	r.spans = append(r.spans, span{r.pos - r.start, end - r.start})
	r.bulk = -1
	r.left--
	r.advance(end + 2)
	return true, nil
}

func (r *CommandReader) bulkHeader() (done bool, err error) {
	end, ok, err := r.lineEnd('\r', 1, "too big bulk count string")
	if !ok || err != nil {
		return false, err
	}
	if c := r.buf[r.pos]; c != '$' {
		return false, ProtocolError(fmt.Sprintf("expected '$', got '%s'", []byte{c}))
	}
	n, ok := parseLength(r.buf[r.pos+1 : end])
	switch {
	case !ok || n < 0 || n > leastLimit && n > r.MaxBulk():
		return false, ProtocolError("invalid bulk length")
	case n > 16384 && r.Unauthenticated:
		return false, ProtocolError("unauthenticated bulk length")
	}
	r.bulk = int(n)
	r.advance(end + 2)
	return true, nil
}

// parseLength reads an integer in its one canonical form: no plus sign, no
// leading zero, no blank.
func parseLength(text []byte) (int64, bool) {
	if len(text) == 1 && text[0] >= '0' && text[0] <= '9' {
		return int64(text[0] - '0'), true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(text) {
		return 0, false
	}
	return n, true
}
