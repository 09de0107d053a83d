package matrix

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// BenchmarkCell is one seed of a cell of the matrix.
func BenchmarkCell(b *testing.B) {
	for _, name := range []string{
		"matrix:2/redisson/mutex", "matrix:2/lockclient/fenced", "matrix:7/lockclient/mutex",
		"matrix:4/lockclient/redlock/quorum", "matrix:20/lockclient/latch/counts/liveness", "matrix:7/redisson/multi",
	} {
		b.Run(name, func(b *testing.B) {
			s, _, err := Find(name)
			require.NoError(b, err)
			lua, events := sim.NewLua(), uint64(0)
			for i := range b.N {
				r, err := s.Run(context.Background(), sim.Options{Seed: uint64(i), Lua: lua})
				require.NoError(b, err)
				events += r.Events
			}
			b.ReportMetric(float64(events)/float64(b.N), "events/op")
		})
	}
}
