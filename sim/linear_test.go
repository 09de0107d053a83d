package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
)

// Porcupine, which knows nothing of beliefs, says of every run what the check of
// exclusion says.
func TestLinearAgreesWithExclusion(t *testing.T) {
	lua := NewLua()
	verdicts := map[check.Verdict]int{}
	for _, s := range append(planned(t), Library()...) {
		judged := *s
		judged.Expect = []Expectation{{"exclusion", "holds"}, {"linear", "holds"}}
		if judged.World.Clients > 100 {
			continue
		}
		for seed := uint64(1); seed <= 3; seed++ {
			r, err := judged.Run(context.Background(), Options{Seed: seed, Lua: lua})
			require.NoError(t, err)
			if r.Results[1].Verdict == check.Unknown {
				continue
			}
			require.Equal(t, r.Results[0].Verdict, r.Results[1].Verdict, "%s seed %d: %v", s.Name, seed, r.Results)
			verdicts[r.Results[1].Verdict]++
		}
	}
	require.Greater(t, verdicts[check.Holds], 30)
	require.Greater(t, verdicts[check.Violated], 5)
}
