package resp

import (
	"strconv"
	"strings"
)

// Describe returns v as text, in the manner of redis-cli, one line per element:
//
//	OK   (integer) 1   (nil)   "text"   (error) ERR text   (double) 1.5
//	1) "element"   1# "key" => "value"   1~ "member"   1> "push"
//
// Unlike in redis-cli, every kind can be told from every other: a null array is (nil
// array), a verbatim string is (verbatim) "text", a big number is (big number) 12. A
// status that could be taken for something else is quoted behind (status).
func Describe(v Value) string {
	var b strings.Builder
	describe(&b, v, "")
	return b.String()
}

// Quote returns s between double quotes, with the escapes that SplitArgs undoes.
func Quote(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		b = appendQuoted(b, s[i])
	}
	return string(append(b, '"'))
}

// describe writes v; indent stands in front of its lines but the first.
func describe(b *strings.Builder, v Value, indent string) {
	switch v.Kind {
	case None:
		b.WriteString("(none)")
	case Nil:
		b.WriteString("(nil)")
	case NilArray:
		b.WriteString("(nil array)")
	case Status:
		b.WriteString(describeStatus(v.Str))
	case Error:
		b.WriteString("(error) " + v.Str)
	case Integer:
		b.WriteString("(integer) " + strconv.FormatInt(v.Int, 10))
	case Bulk:
		b.WriteString(Quote(v.Str))
	case Double:
		b.WriteString("(double) " + v.number())
	case Bool:
		b.WriteString("(" + strconv.FormatBool(v.Int != 0) + ")")
	case BigNumber:
		b.WriteString("(big number) " + v.Str)
	case Verbatim:
		b.WriteString("(verbatim) " + Quote(v.Str))
	case Array:
		describeList(b, v, indent, ") ", "(empty array)")
	case Set:
		describeList(b, v, indent, "~ ", "(empty set)")
	case Push:
		describeList(b, v, indent, "> ", "(empty push)")
	case Map:
		describePairs(b, v, indent, "# ", "(empty map)")
	case Attribute:
		describePairs(b, v, indent, "| ", "(empty attribute)")
	}
}

func describeStatus(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || strings.IndexByte(`"(`, s[i]) >= 0 {
			return "(status) " + Quote(s)
		}
	}
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return "(status) " + Quote(s)
	}
	return s
}

func describeList(b *strings.Builder, v Value, indent, mark, empty string) {
	if len(v.List) == 0 {
		b.WriteString(empty)
		return
	}
	width := len(strconv.Itoa(len(v.List)))
	inner := indent + strings.Repeat(" ", width+len(mark))
	for i, element := range v.List {
		writeNumber(b, i, width, indent, mark)
		describe(b, element, inner)
	}
}

func describePairs(b *strings.Builder, v Value, indent, mark, empty string) {
	if len(v.List) == 0 {
		b.WriteString(empty)
		return
	}
	width := len(strconv.Itoa(len(v.List) / 2))
	inner := indent + strings.Repeat(" ", width+len(mark))
	for i := 0; i+1 < len(v.List); i += 2 {
		writeNumber(b, i/2, width, indent, mark)
		describe(b, v.List[i], inner)
		b.WriteString(" => ")
		describe(b, v.List[i+1], inner+"    ")
	}
}

// writeNumber starts the line of element i.
func writeNumber(b *strings.Builder, i, width int, indent, mark string) {
	if i > 0 {
		b.WriteString("\n" + indent)
	}
	number := strconv.Itoa(i + 1)
	b.WriteString(strings.Repeat(" ", width-len(number)) + number + mark)
}

func appendQuoted(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '\\', '"':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\a':
		return append(b, '\\', 'a')
	case '\b':
		return append(b, '\\', 'b')
	}
	if c < ' ' || c > '~' {
		return append(b, '\\', 'x', hex[c>>4], hex[c&15])
	}
	return append(b, c)
}

// Inline returns a value as one line for traces: [-1, "a", nil].
func Inline(v Value) string {
	switch v.Kind {
	case Nil, NilArray:
		return "nil"
	case Integer, Bool:
		return strconv.FormatInt(v.Int, 10)
	case Double:
		return v.number()
	case Bulk, Verbatim:
		return Quote(v.Str)
	case Array, Map, Set, Push:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = Inline(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return v.Str
}
