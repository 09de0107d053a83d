package slot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected slots were read from CLUSTER KEYSLOT of redis-server 7.0.15.
func TestOf(t *testing.T) {
	for key, want := range map[string]int{
		"":                   0,
		"foo":                12182,
		"123456789":          12739,
		"{user1000}.a":       3443,
		"user1000":           3443,
		"foo{}{bar}":         8363,
		"foo{{bar}}zap":      4015,
		"foo{bar}{zap}":      5061,
		"a}b{c}":             7365,
		"{":                  4092,
		"redisson_lock:{a}b": 15495,
	} {
		require.Equal(t, want, OfString(key), "slot of %q", key)
	}
}

// BenchmarkOf is the slot of a lock's channel, whose name has a hash tag.
func BenchmarkOf(b *testing.B) {
	key := []byte("redisson_lock__channel:{orders:42}")
	b.ReportAllocs()
	for b.Loop() {
		Of(key)
	}
}
