package luaengine

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// parseNumber reads a number as Lua 5.1 does: C's strtod with hexadecimal
// integers, and spaces around.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	body := strings.TrimLeft(s, "+-")
	if body == "" || len(s)-len(body) > 1 || strings.Contains(s, "_") {
		return 0, false
	}
	if len(body) > 2 && body[0] == '0' && (body[1] == 'x' || body[1] == 'X') {
		return parseHex(s, body)
	}
	switch lower := strings.ToLower(body); {
	case lower[0] == 'i' || lower[0] == 'n':
		if lower != "inf" && lower != "infinity" && lower != "nan" {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func parseHex(s, body string) (float64, bool) {
	if !strings.ContainsAny(body, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
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
	s = strings.ToLower(strings.Trim(s, " \t\n\v\f\r"))
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	if base == 16 {
		s = strings.TrimPrefix(s, "0x")
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	if negative {
		n = -n
	}
	return float64(n), true
}

// formatNumber writes f as C's "%.<digits>g" does.
func formatNumber(dst []byte, f float64, digits int) []byte {
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
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && (f != 0 || !math.Signbit(f)):
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

func luaPow(a, b float64) float64 { return math.Pow(a, b) }

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

// sortedKeys are the keys of m in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m { //tidy:unordered sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// toBits rounds a number to the nearest integer, ties to even, modulo 2^32.
func toBits(f float64) uint32 {
	f = math.RoundToEven(f)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return uint32(int64(math.Mod(f, 1<<32)))
}
