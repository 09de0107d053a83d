package resp

import (
	"fmt"
	"math"
	"strconv"
)

// maxDepth is how deep replies may nest. Scripts can return deeper tables
// than any command does; past this a reply is refused, so that hostile bytes
// cannot exhaust the stack.
const maxDepth = 1024

// maxPrealloc bounds the elements allocated on the word of a length alone.
const maxPrealloc = 64

// SyntaxError says that bytes are not RESP.
type SyntaxError struct {
	Offset int // of the value's line, from the start of the buffer
	Reason string
}

// Error describes what is wrong and where.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("resp: offset %d: %s", e.Offset, e.Reason)
}

// Parse reads the first reply in buf, of either protocol version, and returns it with its
// length in bytes. If buf ends before the reply does, n is 0 and err is nil; bytes that
// can never become a reply give a *SyntaxError. The value shares no memory with buf. An
// attribute inside an aggregate is an element of its List, in front of the one that it
// describes.
func Parse(buf []byte) (v Value, n int, err error) {
	p := parser{buf: buf}
	v, ok := p.value(0)
	if p.err != nil {
		return Value{}, 0, p.err
	}
	if !ok {
		return Value{}, 0, nil
	}
	return v, p.pos, nil
}

// parser reads one reply from buf. Its methods return false when the buffer
// ends too early or, with err set, when it is malformed.
type parser struct {
	buf []byte
	pos int
	err error
}

func (p *parser) fail(offset int, reason string) bool {
	p.err = &SyntaxError{Offset: offset, Reason: reason}
	return false
}

func (p *parser) value(depth int) (Value, bool) {
	start := p.pos
	line, ok := p.line()
	if !ok {
		return Value{}, false
	}
	if len(line) == 0 {
		return Value{}, p.fail(start, "empty line")
	}
	prefix, rest := line[0], line[1:]
	switch prefix {
	case '+':
		if string(rest) == "OK" {
			return OK, true
		}
		return Simple(string(rest)), true
	case '-':
		return Err(string(rest)), true
	case '(':
		return Value{Kind: BigNumber, Str: string(rest)}, true
	case ':':
		n, ok := p.integer(start, rest)
		return Int(n), ok
	case ',':
		return p.double(start, rest)
	case '#':
		if len(rest) != 1 || rest[0] != 't' && rest[0] != 'f' {
			return Value{}, p.fail(start, "invalid boolean")
		}
		return Flag(rest[0] == 't'), true
	case '_':
		return Null, true
	case '$', '=':
		return p.bulk(start, prefix, rest)
	case '*', '%', '~', '>', '|':
		return p.aggregate(start, prefix, rest, depth)
	}
	return Value{}, p.fail(start, fmt.Sprintf("unknown type %q", prefix))
}

// line takes the bytes up to the next CRLF.
func (p *parser) line() ([]byte, bool) {
	rest := p.buf[p.pos:]
	for i := 1; i < len(rest); i++ { // few lines have more than three bytes
		if rest[i] == '\n' && rest[i-1] == '\r' {
			p.pos += i + 1
			return rest[:i-1], true
		}
	}
	return nil, false
}

func (p *parser) integer(start int, text []byte) (int64, bool) {
	if len(text) == 1 && text[0]-'0' <= 9 { // most are one digit
		return int64(text[0] - '0'), true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, p.fail(start, "invalid integer")
	}
	return n, true
}

func (p *parser) double(start int, text []byte) (Value, bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, p.fail(start, "invalid double")
	}
	return Number(f, string(text)), true
}

// length reads a size; -1, for RESP2's null forms, only where null is allowed.
func (p *parser) length(start int, text []byte, null bool) (int, bool) {
	n, ok := p.integer(start, text)
	if !ok {
		return 0, false
	}
	if n < -1 || n == -1 && !null || n > math.MaxInt32 {
		return 0, p.fail(start, "invalid length")
	}
	return int(n), true
}

func (p *parser) bulk(start int, prefix byte, text []byte) (Value, bool) {
	n, ok := p.length(start, text, prefix == '$')
	if !ok {
		return Value{}, false
	}
	if n < 0 {
		return Null, true
	}
	if len(p.buf)-p.pos < n+2 {
		return Value{}, false
	}
	body := p.buf[p.pos : p.pos+n]
	if p.buf[p.pos+n] != '\r' || p.buf[p.pos+n+1] != '\n' {
		return Value{}, p.fail(start, "bulk string without its CRLF")
	}
	p.pos += n + 2
	if prefix == '$' {
		return Str(string(body)), true
	}
	if n <= formatLength || body[formatLength] != ':' {
		return Value{}, p.fail(start, "verbatim string without its format")
	}
	return VerbatimText(string(body[:formatLength]), string(body[formatLength+1:])), true
}

func (p *parser) aggregate(start int, prefix byte, text []byte, depth int) (Value, bool) {
	if depth == maxDepth {
		return Value{}, p.fail(start, "nested too deep")
	}
	n, ok := p.length(start, text, prefix == '*')
	if !ok {
		return Value{}, false
	}
	v := Value{Kind: aggregateKind(prefix)}
	if n < 0 {
		return NullList, true
	}
	if v.Kind == Map || v.Kind == Attribute {
		n *= 2
	}
	v.List = make([]Value, 0, min(n, maxPrealloc))
	for n > 0 {
		element, ok := p.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		v.List = append(v.List, element)
		if element.Kind != Attribute {
			n--
		}
	}
	return v, true
}

func aggregateKind(prefix byte) Kind {
	switch prefix {
	case '%':
		return Map
	case '~':
		return Set
	case '>':
		return Push
	case '|':
		return Attribute
	}
	return Array
}
