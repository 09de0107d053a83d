package browser

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
)

// TestEveryScenario: each has a page that can be gone through, and sees an overlap
// of beliefs exactly where the check of exclusion does.
func TestEveryScenario(t *testing.T) {
	v := visit(t, serve(t), 1280)
	lua := sim.NewLua()
	compared := 0
	for _, s := range sim.Library() {
		v.opens(v.home + "run/" + s.Name)
		var shown struct {
			Overlaps, Total int
			Drawn           bool
		}
		v.asks(`(async () => {
			for (const k of [0, total >> 2, total >> 1, total - 1]) {
				go(k);
				await new Promise(requestAnimationFrame);
			}
			return { Overlaps: [...locks.keys()].reduce((sum, lock) => sum + overlapsOf(lock).length, 0), Total: total,
				Drawn: scenery.children.length > 0 && shown === total - 1 };
		})()`, &shown)
		require.True(t, shown.Drawn, s.Name)
		r, err := s.Run(t.Context(), sim.Options{Seed: s.Seed, Lua: lua})
		require.NoError(t, err)
		require.EqualValues(t, r.Events, shown.Total, s.Name)
		for _, result := range r.Results {
			if result.Check == "exclusion" && result.Verdict != check.Unknown {
				require.Equal(t, result.Verdict == check.Violated, shown.Overlaps > 0, "%s: %d overlaps", s.Name, shown.Overlaps)
				compared++
			}
		}
	}
	require.Greater(t, compared, 20)
}
