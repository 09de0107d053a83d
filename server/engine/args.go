package engine

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"minikv/datastore"
	"minikv/luaengine"
)

// parseInt reads a signed 64-bit integer as Redis does: no spaces, no plus
// sign, no leading zeros.
func parseInt(arg []byte) (n int64, ok bool) { return datastore.ParseInteger(arg) }

// parseInt32 reads a signed 32-bit integer. custom is the error text for what is
// none, "" for the usual ones.
func parseInt32(arg []byte, custom string) (n int, bad string) {
	wide, ok := parseInt(arg)
	switch {
	case ok && wide == int64(int32(wide)):
		return int(wide), ""
	case custom != "":
		return 0, custom
	case !ok:
		return 0, errNotInt
	}
	return 0, "ERR value is out of range, value must between -2147483648 and 2147483647"
}

// parseFloat reads a double as Redis does: C's strtod on the whole argument,
// hexadecimal and infinities included, but no space in front, nothing out of
// range and not NaN.
// Source: string2d of Redis 7.0.
func parseFloat(arg []byte) (f float64, ok bool) {
	const exact = 1 << 53
	if n, ok := parseInt(arg); ok && -exact < n && n < exact {
		return float64(n), true
	}
	f, length := luaengine.ScanNumber(string(arg))
	if length == 0 || length != len(arg) || math.IsNaN(f) || overflowed(string(arg), f) {
		return 0, false
	}
	return f, true
}

// atoi is C's: the 32-bit integer that arg begins with, or 0.
func atoi(arg []byte) int {
	text := strings.TrimLeft(string(arg), " \t\n\v\f\r")
	digits := strings.TrimLeft(text, "+-")
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	sign := text[:len(text)-len(strings.TrimLeft(text, "+-"))]
	if len(sign) > 1 {
		return 0
	}
	n, _ := strconv.ParseInt(sign+digits, 10, 64) // the nearest one if it is out of range
	return int(int32(n))
}

// is reports whether arg is the option word, which is given in upper case. As
// in C the argument ends at its first zero byte.
func is(arg []byte, word string) bool {
	if len(arg) != len(word) && (len(arg) < len(word) || arg[len(word)] != 0) {
		return false
	}
	for i, b := range arg[:len(word)] {
		if upper(b) != word[i] {
			return false
		}
	}
	return true
}

// blockTimeout reads the timeout of a blocking command, in seconds with
// fractions, as milliseconds; 0 is for ever. bad is an error text or "".
func blockTimeout(arg []byte) (millis int64, bad string) {
	seconds, ok := parseLongDouble(arg)
	if !ok {
		return 0, errTimeoutFloat
	}
	whole, accuracy := seconds.Mul(seconds, big.NewFloat(1000)).Int64()
	switch {
	case whole < 0 || whole == math.MaxInt64: // too great ones overflow
		return 0, errNegTimeout
	case accuracy == big.Below:
		return whole + 1, ""
	}
	return whole, ""
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b - 'A' + 'a'
	}
	return b
}

// upperASCII and lowerASCII change the letters that C knows, not those of Unicode.
func upperASCII(s string) string { return mapBytes(s, upper) }
func lowerASCII(s string) string { return mapBytes(s, lower) }

func mapBytes(s string, fn func(byte) byte) string {
	i := 0
	for i < len(s) && fn(s[i]) == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		b[i] = fn(b[i])
	}
	return string(b)
}

// equalFold reports whether two texts are the same but for the case of C's letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// cloneArgs copies a command into memory of its own.
func cloneArgs(args [][]byte) [][]byte {
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	buffer := make([]byte, 0, size)
	copies := make([][]byte, len(args))
	for i, arg := range args {
		start := len(buffer)
		buffer = append(buffer, arg...)
		copies[i] = buffer[start:len(buffer):len(buffer)]
	}
	return copies
}
