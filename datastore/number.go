package datastore

import (
	"cmp"
	"math"
	"strconv"
)

const (
	internedMin    = -1
	internedMax    = 1023
	maxInternedLen = 4 // digits of internedMax
)

// interned holds the texts of small integers: lock counts, scores and flags.
var interned = func() (texts [internedMax - internedMin + 1]string) {
	for i := range texts {
		texts[i] = strconv.Itoa(i + internedMin)
	}
	return texts
}()

// FormatInteger returns the decimal text of n; for small numbers it allocates nothing.
func FormatInteger(n int64) string {
	if n >= internedMin && n <= internedMax {
		return interned[n-internedMin]
	}
	return strconv.FormatInt(n, 10)
}

// ParseInteger reads s as Redis reads a 64-bit integer: decimal digits with an
// optional minus sign, no plus sign, no leading zeros, no spaces.
// Source: string2ll of Redis 7.0.
func ParseInteger[T ~string | ~[]byte](s T) (int64, bool) {
	if len(s) == 0 || len(s) > 20 {
		return 0, false
	}
	if len(s) == 1 {
		d := s[0] - '0'
		return int64(d), d <= 9
	}
	digits, negative := s, s[0] == '-'
	if negative {
		digits = s[1:]
	}
	if len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	const mostFit = 18 // so many digits are always in range
	var n uint64
	for i := 0; i < min(len(digits), mostFit); i++ {
		d := uint64(digits[i] - '0')
		if d > 9 {
			return 0, false
		}
		n = n*10 + d
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	for i := mostFit; i < len(digits); i++ {
		d := uint64(digits[i] - '0')
		if d > 9 || n > (limit-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if negative {
		return int64(-n), true
	}
	return int64(n), true
}

// CompareIntegers compares two texts of integers by value: it is negative, 0 or positive.
func CompareIntegers(a, b string) int {
	x, _ := ParseInteger(a)
	y, _ := ParseInteger(b)
	return cmp.Compare(x, y)
}

// addInteger adds delta to n and reports whether the sum fits 64 bits.
func addInteger(n, delta int64) (int64, bool) {
	sum := n + delta
	return sum, (sum > n) == (delta > 0)
}
