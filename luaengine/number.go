package luaengine

import (
	"errors"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/precise"
)

// parseNumber reads a text that is one number, spaces around it, up to its
// first zero byte; 0 if it is none.
// Source: Lua 5.1, luaO_str2d.
func parseNumber(s string) (float64, bool) {
	if n, ok := plainInteger(s); ok {
		return float64(n), true
	}
	s = strings.Trim(cString(s), spaces)
	f, length := ScanNumber(s)
	if length == 0 || length != len(s) {
		return 0, false
	}
	return f, true
}

// plainInteger reads the numbers that most texts are: a few digits, which a
// float64 can count, and a sign in front of them if they are not 0.
func plainInteger(s string) (n int64, ok bool) {
	const mostDigits = 15
	digits := s
	if len(s) > 1 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > mostDigits {
		return 0, false
	}
	for i := 0; i < len(digits); i++ {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = 10*n + int64(d)
	}
	if len(digits) < len(s) {
		return -n, n != 0
	}
	return n, true
}

// spaces are what C's isspace knows.
const spaces = " \t\n\v\f\r"

// ScanNumber reads the number with which s begins, as C's strtod does, and returns it
// with its length; the length is 0 if there is none.
func ScanNumber(s string) (float64, int) {
	if n, ok := plainInteger(s); ok {
		return float64(n), len(s)
	}
	body := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		body = s[1:]
	}
	sign := len(s) - len(body)
	f, length := scanWord(body)
	if length == 0 {
		f, length = scanDigits(body)
	}
	if length == 0 {
		return 0, 0
	}
	if s[0] == '-' {
		f = math.Copysign(f, -1)
	}
	return f, sign + length
}

// plainNaN is C's nan, without the mark that Go's has.
const plainNaN = 0x7FF8 << 48

// scanWord reads inf, infinity, nan and nan(…), in any case.
func scanWord(s string) (float64, int) {
	word := lowerASCII(s[:min(len(s), len("infinity"))])
	switch {
	case word == "infinity":
		return math.Inf(1), len(word)
	case strings.HasPrefix(word, "inf"):
		return math.Inf(1), len("inf")
	case strings.HasPrefix(word, "nan"):
		return math.Float64frombits(plainNaN), len("nan") + payloadLength(s[len("nan"):])
	}
	return 0, 0
}

// payloadLength is the length of the "(letters, digits and _)" after a nan, or 0.
func payloadLength(s string) int {
	inside, _, ok := strings.Cut(s, ")")
	if !ok || !strings.HasPrefix(inside, "(") {
		return 0
	}
	for i := 1; i < len(inside); i++ {
		if c := inside[i]; c != '_' && !inClass(c, 'w') {
			return 0
		}
	}
	return len(inside) + 1
}

// scanDigits reads a decimal or hexadecimal number without a sign.
func scanDigits(s string) (float64, int) {
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		if n := mantissaLength(s[2:], 'x'); n > 0 {
			n += len("0x")
			length := n + exponentLength(s[n:], 'p')
			text := s[:length]
			if length == n {
				text += "p0"
			}
			f, _ := strconv.ParseFloat(text, 64) // beyond the range it is infinite, as in C
			return f, length
		}
	}
	n := mantissaLength(s, 'd')
	if n == 0 {
		return 0, 0
	}
	n += exponentLength(s[n:], 'e')
	f, _ := strconv.ParseFloat(s[:n], 64)
	return f, n
}

// mantissaLength is the length of the digits that s begins with, one point
// among them; 0 if there is no digit. digits is the class of its digits.
func mantissaLength(s string, digits byte) int {
	i, point := 0, false
	for i < len(s) && (inClass(s[i], digits) || s[i] == '.' && !point) {
		point = point || s[i] == '.'
		i++
	}
	if s[:i] == "." {
		return 0
	}
	return i
}

// exponentLength is the length of the exponent that s begins with, or 0.
func exponentLength(s string, letter byte) int {
	if s == "" || s[0]|0x20 != letter {
		return 0
	}
	first := 1
	if len(s) > 1 && (s[1] == '-' || s[1] == '+') {
		first = 2
	}
	i := first
	for i < len(s) && inClass(s[i], 'd') {
		i++
	}
	if i == first {
		return 0
	}
	return i
}

// toNumber converts a number or a text that is one.
func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// parseBase reads an integer in a base from 2 to 36, as strtoul does: a sign
// and, in base 16, a 0x prefix may stand before it.
func parseBase(s string, base int) (float64, bool) {
	s = lowerASCII(strings.Trim(cString(s), spaces))
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 {
		s = strings.TrimPrefix(s, "0x")
	}
	n, err := strconv.ParseUint(s, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.MaxUint64, true
	case err != nil:
		return 0, false
	case negative:
		n = -n
	}
	return float64(n), true
}

// formatNumber writes f as C's "%.<digits>g" does.
func formatNumber(dst []byte, f float64, digits int) []byte {
	const plain = 1e14 // below it both numbers of digits that are in use show an integer as it is
	if n := int64(f); float64(n) == f && digits >= 14 && n != 0 && n < plain && n > -plain {
		return strconv.AppendInt(dst, n, 10)
	}
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			return append(dst, "-nan"...)
		}
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == math.Trunc(f) && math.Abs(f) < math.Pow10(min(digits, 14)) && (f != 0 || !math.Signbit(f)):
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', digits, 64)
}

// numberText is a number as tostring and concatenation show it.
func numberText(f float64) string { return string(formatNumber(nil, f, 14)) }

// toInteger truncates toward zero; what does not fit is the smallest integer,
// as on the processors that Redis runs on.
func toInteger(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// luaMod is a%b: a-floor(a/b)*b.
func luaMod(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

// luaPow is C's pow, which takes the sign of a base that is no number to an odd
// power as that of any other base: it is gone.
func luaPow(a, b float64) float64 {
	f := signNaN(precise.Pow(a, b), true, a, b)
	if math.IsNaN(a) && math.Signbit(a) && math.Abs(math.Mod(b, 2)) == 1 {
		return -f
	}
	return f
}

// isText reports whether v is a string or converts to one.
func isText(v lua.LValue) bool {
	switch v.(type) {
	case lua.LString, lua.LNumber:
		return true
	}
	return false
}

// typeName is the name that the function type gives.
func typeName(v lua.LValue) string { return v.Type().String() }

// toBits rounds a number to the nearest integer, ties to even, modulo 2^32: the
// low bits of the sum with a number so great that it has no fraction.
// Source: Lua BitOp, barg.
func toBits(f float64) uint32 { return uint32(math.Float64bits(f + (1<<52 + 1<<51))) }
