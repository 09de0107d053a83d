package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// A fault is one of 4, 8, 16 or 32 actions, by the walk; where nothing else is possible
// it is one all the same. Half of the walks prefer one of the other actions to the rest.
func TestDraw(t *testing.T) {
	const many = 1 << 12
	faults := []sim.Action{{Verb: sim.Pause, To: 1}, {Verb: sim.Lose, From: 1, To: 2}}
	others := []sim.Action{{Verb: sim.Deliver, From: 1, To: 2}, {Verb: sim.Fire, To: 1}, {Verb: sim.Elapse}}
	for walk := range uint64(8) {
		drawn := map[sim.Action]int{}
		for n := range uint64(many) {
			a, ok := draw(append(others[:3:3], faults...), mix(n), walk)
			require.True(t, ok)
			drawn[a]++
			a, ok = draw(faults, mix(n), walk)
			require.True(t, ok && a.Fault())
		}
		strike := drawn[faults[0]] + drawn[faults[1]]
		require.InEpsilon(t, many/(4<<(walk%4)), strike, 0.25, walk)
		require.NotZero(t, drawn[faults[0]]*drawn[faults[1]])
		rest := len(drawn) - len(faults)
		require.Equal(t, walk < 4, rest == len(others), "%d: %v", walk, drawn)
		require.Equal(t, walk >= 4, rest == 1, "%d: %v", walk, drawn)
	}
	_, ok := draw(nil, 1, 1)
	require.False(t, ok)
}

// A search ends with the last schedule that it may have, or sooner where it was not told
// how many and there seem to be far more.
func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		guesses   bool
		schedules int
		covered   uint64
		refused   bool
	}{
		{true, probe, 1, true}, {false, probe, 1, false}, {true, probe - 1, 1, false}, {true, probe, whole / 2, false},
		{false, enough - 1, whole / 2, false}, {false, enough, whole / 2, true},
	} {
		e := &exhaustive{guesses: c.guesses, b: Bound{Schedules: enough}, covered: c.covered}
		e.done.Schedules = c.schedules
		require.Equal(t, c.refused, e.estimate() != nil, c)
	}
}
