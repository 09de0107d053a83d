package engine

import (
	"math"
	"math/big"
	"strings"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// strtod reads the number that text begins with as C does: spaces may stand
// before it, and the text ends at its first zero byte. rest is what stands
// behind the number, or the whole text if there is none; no number is 0.
func strtod(text string) (f float64, rest string) {
	text = resp.CString(text)
	body := strings.TrimLeft(text, " \t\n\v\f\r")
	f, length := luaengine.ScanNumber(body)
	if length == 0 {
		return 0, text
	}
	return f, body[length:]
}

// overflowed reports whether f is infinite, or 0, although text, which was read
// as f, says a number that is not.
func overflowed(text string, f float64) bool {
	text = strings.ToLower(text)
	switch {
	case math.IsInf(f, 0):
		return !strings.Contains(text, "inf")
	case f != 0:
		return false
	}
	digits, exponent := "123456789", "e"
	if strings.Contains(text, "x") {
		digits, exponent = "123456789abcdef", "p"
	}
	mantissa, _, _ := strings.Cut(text, exponent)
	return strings.ContainsAny(mantissa, digits)
}

// The range of exponents of the 80-bit floating point numbers in which Redis
// computes INCRBYFLOAT and HINCRBYFLOAT, as big.Float counts them.
const (
	longDoubleBits   = 64
	longDoubleMinExp = -16444
	longDoubleMaxExp = 16384
)

// addLongDoubles adds two numbers given as text, as INCRBYFLOAT does. badOld
// is the error for an old value that is no number.
func addLongDoubles(old string, increment []byte, badOld string) (sum string, bad string) {
	a, ok := parseLongDouble([]byte(old))
	if !ok {
		return "", badOld
	}
	b, ok := parseLongDouble(increment)
	if !ok {
		return "", errNotFloat
	}
	if a.IsInf() || b.IsInf() {
		return "", errNaNOrInfinity
	}
	a.Add(a, b)
	if a.MantExp(nil) > longDoubleMaxExp {
		return "", errNaNOrInfinity
	}
	return formatLongDouble(a), ""
}

// parseLongDouble reads a number as C's strtold does: decimal, hexadecimal or
// infinite, in range, without spaces around it. What is not zero and rounds to zero is
// out of range, and so is a text that Redis's buffer does not hold.
// Source: string2ld of Redis 7.0.
func parseLongDouble(text []byte) (*big.Float, bool) {
	const longest = 5119
	number := string(text)
	near, length := luaengine.ScanNumber(number)
	if length == 0 || length != len(number) || length > longest || math.IsNaN(near) {
		return nil, false
	}
	f := new(big.Float).SetPrec(longDoubleBits)
	if beyond := overflowed(number, near); near == 0 && !beyond {
		return f, true // whatever its exponent
	} else if math.IsInf(near, 0) && !beyond {
		return f.SetInf(near < 0), true
	}
	base := 10
	if strings.ContainsAny(number, "xX") {
		base = 0 // by prefix; decimal ones must not be taken for octal
	}
	if _, _, err := f.Parse(number, base); err != nil || f.IsInf() {
		return nil, false
	}
	exp := f.MantExp(nil)
	roundsUp := exp == longDoubleMinExp-1 && f.MinPrec() > 1 // to the least number; one half of it is even
	return f, exp <= longDoubleMaxExp && (exp >= longDoubleMinExp || roundsUp)
}

// formatLongDouble prints at most 17 digits behind the point, as the %.17Lf of
// Redis without its trailing zeros.
func formatLongDouble(f *big.Float) string {
	text := strings.TrimRight(strings.TrimRight(f.Text('f', 17), "0"), ".")
	if text == "-0" || text == "" {
		return "0"
	}
	return text
}
