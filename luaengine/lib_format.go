package luaengine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// longString is from where on %s without a precision takes a string as it is.
const longString = 100

// stringFormat is string.format with C's conversions.
// Source: Lua 5.1, lstrlib.c, str_format.
func (e *Engine) stringFormat(L *lua.LState) int {
	format := e.checkString(L, 1)
	var b strings.Builder
	arg := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		arg++
		if arg > L.GetTop() {
			e.argError(L, arg, "no value")
		}
		spec, end := e.formatSpec(L, format, i)
		i = end
		e.grow(L, &b, e.convert(L, arg, spec))
	}
	return e.pushString(L, b.String())
}

// formatSpec reads one conversion after its '%' and returns where it ends.
func (e *Engine) formatSpec(L *lua.LState, format string, i int) (spec formatSpec, end int) {
	start := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	if i-start > 5 {
		e.fail(L, "invalid format (repeated flags)")
	}
	spec.flags = format[start:i]
	spec.width, i = e.formatDigits(L, format, i)
	spec.precision = -1
	if i < len(format) && format[i] == '.' {
		spec.precision, i = e.formatDigits(L, format, i+1)
	}
	if i < len(format) {
		spec.verb = format[i]
	}
	return spec, i
}

// formatDigits reads at most two digits.
func (e *Engine) formatDigits(L *lua.LState, format string, i int) (n, end int) {
	start := i
	for i < len(format) && i < start+2 && '0' <= format[i] && format[i] <= '9' {
		n = n*10 + int(format[i]-'0')
		i++
	}
	if i < len(format) && '0' <= format[i] && format[i] <= '9' {
		e.fail(L, "invalid format (width or precision too long)")
	}
	return n, i
}

// formatSpec is one conversion: %[flags][width][.precision]verb.
type formatSpec struct {
	flags            string
	width, precision int // precision -1: none given
	verb             byte
}

func (f formatSpec) has(flag string) bool { return strings.Contains(f.flags, flag) }

func (e *Engine) convert(L *lua.LState, arg int, f formatSpec) string {
	switch f.verb {
	case 'c':
		return cString(f.pad(string([]byte{charOf(e.checkNumber(L, arg))})))
	case 'd', 'i':
		n := toInteger(e.checkNumber(L, arg))
		return f.integer(f.sign(n < 0), strconv.FormatUint(magnitude(n), 10))
	case 'u':
		return f.integer("", strconv.FormatUint(toUnsigned(e.checkNumber(L, arg)), 10))
	case 'o', 'x', 'X':
		return f.unsigned(toUnsigned(e.checkNumber(L, arg)))
	case 'e', 'E', 'f', 'g', 'G':
		return f.float(e.checkNumber(L, arg))
	case 'q':
		return quoted(e.checkString(L, arg))
	case 's':
		s := e.checkString(L, arg)
		if f.precision >= 0 || len(s) < longString {
			s = cString(s)
		}
		if f.precision >= 0 && f.precision < len(s) {
			s = s[:f.precision]
		}
		return f.pad(s)
	}
	verb := string(f.verb)
	if f.verb == 0 {
		verb = ""
	}
	e.fail(L, "invalid option '%%%s' to 'format'", verb)
	return ""
}

// toUnsigned is C's conversion to an unsigned 64-bit integer.
func toUnsigned(f float64) uint64 {
	if f >= 1<<63 && f < 1<<64 {
		return uint64(f)
	}
	if f >= 1<<64 {
		return 0
	}
	return uint64(toInteger(f))
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// pad fills a text up to the width, in bytes.
func (f formatSpec) pad(s string) string {
	n := f.width - len(s)
	switch {
	case n <= 0:
		return s
	case f.has("-"):
		return s + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + s
}

// sign is what stands before a number that may be negative.
func (f formatSpec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.has("+"):
		return "+"
	case f.has(" "):
		return " "
	}
	return ""
}

// integer fills an integer's digits up to the precision, without which it is filled up to
// the width like any number. The mark of an octal number is that its first digit is 0.
func (f formatSpec) integer(before, digits string) string {
	if f.precision == 0 && digits == "0" {
		digits = ""
	}
	digits = strings.Repeat("0", max(0, f.precision-len(digits))) + digits
	if f.verb == 'o' && f.has("#") && !strings.HasPrefix(digits, "0") {
		digits = "0" + digits
	}
	if f.precision >= 0 {
		return f.pad(before + digits)
	}
	return f.fill(before, digits)
}

// fill fills a number up to the width, with zeros behind its sign or mark if asked for.
func (f formatSpec) fill(before, digits string) string {
	if n := f.width - len(before) - len(digits); n > 0 && f.has("0") && !f.has("-") {
		digits = strings.Repeat("0", n) + digits
	}
	return f.pad(before + digits)
}

// charOf is a number cast to int as C does on x86-64, where what does not fit
// becomes the smallest int, as a char.
func charOf(n float64) byte {
	if n != n || n <= math.MinInt32-1 || n >= math.MaxInt32+1 {
		return 0
	}
	return byte(int32(n))
}

func (f formatSpec) unsigned(n uint64) string {
	if f.verb == 'o' {
		return f.integer("", strconv.FormatUint(n, 8))
	}
	mark, digits := "", strconv.FormatUint(n, 16)
	if f.has("#") && n != 0 {
		mark = "0x"
	}
	if f.verb == 'X' {
		mark, digits = strings.ToUpper(mark), strings.ToUpper(digits)
	}
	return f.integer(mark, digits)
}

func (f formatSpec) float(x float64) string {
	precision := f.precision
	if precision < 0 {
		precision = 6
	}
	verb := f.verb | 0x20
	finite := true
	var s string
	switch {
	case math.IsInf(x, 0):
		s, finite = "inf", false
	case math.IsNaN(x):
		s, finite = "nan", false
	case f.has("#"):
		s = fmt.Sprintf("%#.*"+string(rune(verb)), precision, math.Abs(x))
	default:
		s = strconv.FormatFloat(math.Abs(x), verb, max(precision, boolInt(verb == 'g')), 64)
	}
	if f.verb < 'a' {
		s = strings.ToUpper(s)
	}
	sign := f.sign(math.Signbit(x))
	if !finite {
		return f.pad(sign + s)
	}
	return f.fill(sign, s)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// quoted is a string that Lua reads back: %q.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
