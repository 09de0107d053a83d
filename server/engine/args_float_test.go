package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sums are what redis-server 7.0.15 replies to SET f OLD, INCRBYFLOAT f INCREMENT.
func TestAddLongDoubles(t *testing.T) {
	for _, test := range []struct{ old, increment, sum string }{
		{"0.1", "0.2", "0.3"},
		{"3.0e3", "200", "3200"},
		{"10.50", "0.1", "10.6"},
		{"1e19", "1", "10000000000000000001"},
		{"1e20", "1", "100000000000000000000"},
		{"0", "0x1p3", "8"},
		{"0", "-0", "0"},
		{"0", "1.", "1"},
		{"0", ".5", "0.5"},
		{"1e-10", "1e-19", "0.0000000001"},
		{"1", "0e-99999999999999999999", "1"},
		{"1", "0x0p99999999999999999999", "1"},
		{"1", "1.9e-4951", "1"}, // rounds to the least number
		{"1", "-0x1.1p-16446", "1"},
		{"1." + strings.Repeat("0", 5116) + "1", "1", "2"},
	} {
		sum, bad := addLongDoubles(test.old, []byte(test.increment), errNotFloat)
		require.Empty(t, bad, test)
		require.Equal(t, test.sum, sum, test)
	}
	for _, text := range []string{
		"", "x", " 1", "1 ", "1_0", "0b1", "1e", ".", "--inf", "nan", "1e4933", "1e999999999", "1e-4960",
		"5p3", "0x", "0x1p", "1\x00", "0x1p-16446", "1.8e-4951", "1." + strings.Repeat("0", 5117) + "1",
	} {
		_, bad := addLongDoubles("0", []byte(text), errNotFloat)
		require.Equal(t, errNotFloat, bad, text)
		_, bad = addLongDoubles(text, []byte("0"), errHashNotFloat)
		require.Equal(t, errHashNotFloat, bad, text)
	}
	for _, text := range []string{"inf", "-Infinity", "+INF"} {
		_, bad := addLongDoubles("0", []byte(text), errNotFloat)
		require.Equal(t, errNaNOrInfinity, bad, text)
	}
	_, bad := addLongDoubles("1e4932", []byte("1e4932"), errNotFloat)
	require.Equal(t, errNaNOrInfinity, bad)
}
