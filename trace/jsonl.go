package trace

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends e as one line of JSON without its newline. names are the run's
// actors. Zero fields are left out, except n, t, actor and kind; t is in nanoseconds.
func (e *Event) AppendJSON(dst []byte, names []string) []byte {
	dst = append(dst, `{"n":`...)
	dst = strconv.AppendUint(dst, e.N, 10)
	dst = append(dst, `,"t":`...)
	dst = strconv.AppendInt(dst, int64(e.At), 10)
	dst = append(dst, `,"actor":`...)
	dst = AppendQuoted(dst, names[e.Actor])
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, e.Kind.String()...)
	dst = append(dst, '"')
	dst = appendNumber(dst, "cause", int64(e.Cause))
	if e.Peer != 0 {
		dst = appendText(dst, "peer", names[e.Peer])
	}
	dst = appendNumber(dst, "lock", int64(e.Lock))
	dst = appendNumber(dst, "a", e.A)
	dst = appendNumber(dst, "b", e.B)
	dst = appendText(dst, "key", e.Key)
	dst = appendText(dst, "text", e.Text)
	dst = appendDetails(dst, e.Details)
	return append(dst, '}')
}

func appendDetails(dst []byte, details []Detail) []byte {
	if len(details) == 0 {
		return dst
	}
	dst = append(dst, `,"details":[`...)
	for i, d := range details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"what":"`...)
		dst = append(dst, d.What.String()...)
		dst = append(dst, '"')
		dst = appendText(dst, "key", d.Key)
		dst = appendText(dst, "text", d.Text)
		dst = appendText(dst, "reply", d.Reply)
		dst = appendNumber(dst, "line", int64(d.Line))
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendNumber(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return strconv.AppendInt(dst, n, 10)
}

func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return AppendQuoted(dst, text)
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD: a
// trace is for people and tools, and keys are told apart by the number of their lock.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = appendASCII(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return append(dst, '"')
}

func appendASCII(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c < 0x20 || c == 0x7f:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, c)
}
