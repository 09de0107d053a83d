package bubble

import (
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/minikvtest"
)

// once is a test in which a server may end before the benchmark does.
type once struct {
	testing.TB
	after []func()
}

func (o *once) Cleanup(f func()) { o.after = append(o.after, f) }
func (o *once) Failed() bool     { return false }

func (o *once) end() {
	for _, f := range o.after {
		f()
	}
}

func startMinikv(tb testing.TB) {
	o := &once{TB: tb}
	minikvtest.Run(o)
	o.end()
}

func startMiniredis(tb testing.TB) {
	o := &once{TB: tb}
	miniredis.RunT(o)
	o.end()
}

func startCluster(tb testing.TB) {
	o := &once{TB: tb}
	minikvtest.RunCluster(o, 3, 1)
	o.end()
}

func BenchmarkStart(b *testing.B) {
	for name, start := range map[string]func(testing.TB){
		"minikvtest": startMinikv, "miniredis": startMiniredis, "cluster": startCluster,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				start(b)
			}
		})
	}
}

// Starting and closing a node costs no more than miniredis does; a cluster of
// three masters and three replicas takes less than 20 ms. Other programs may disturb
// some rounds, so the two are compared within each, and the median counts; of the
// cluster the best.
func TestStart(t *testing.T) {
	const rounds, each = 401, 20
	took := func(start func(testing.TB)) time.Duration {
		begun := time.Now()
		for range each {
			start(t)
		}
		return time.Since(begun) / each
	}
	var ratios []float64
	cluster := time.Hour
	for range rounds {
		ratios = append(ratios, float64(took(startMinikv))/float64(took(startMiniredis)))
	}
	for range 20 {
		cluster = min(cluster, took(startCluster))
	}
	slices.Sort(ratios)
	t.Logf("start and close: %.2f times miniredis (%.2f to %.2f), a cluster of 3x1 %v",
		ratios[rounds/2], ratios[0], ratios[rounds-1], cluster)
	require.LessOrEqual(t, ratios[rounds/2], 1.0)
	require.Less(t, cluster, 20*time.Millisecond)
}

// BenchmarkLock takes a lock and gives it back, over a socket.
func BenchmarkLock(b *testing.B) {
	for name, address := range map[string]func(b *testing.B) string{
		"minikvtest": func(b *testing.B) string { return minikvtest.Run(b).Addr() },
		"miniredis":  func(b *testing.B) string { return miniredis.RunT(b).Addr() },
	} {
		b.Run(name, func(b *testing.B) {
			c := redis.NewClient(&redis.Options{Addr: address(b)})
			defer func() { _ = c.Close() }()
			locks := redislock.New(c)
			for b.Loop() {
				l, err := locks.Obtain(b.Context(), "orders:42", time.Minute, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Release(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
