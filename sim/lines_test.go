package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// TestLinesChangeNothing: a run that tells which lines of scripts ran is the same
// run, and it tells of every script that did run.
func TestLinesChangeNothing(t *testing.T) {
	lua := NewLua()
	for _, s := range Library() {
		plain, err := s.Run(t.Context(), Options{Seed: s.Seed, Lua: lua})
		require.NoError(t, err)
		sources := trace.Sources{}
		told := map[string]int{}
		lines, undecided := 0, 0
		r, err := s.Run(t.Context(), Options{Seed: s.Seed, Lua: lua, Details: true, Lines: true,
			Observe: func(e *trace.Event, _ []string) {
				sources.Note(e)
				_, ok := sources.Decision(e)
				scripts := 0
				for _, d := range e.Details {
					switch {
					case d.What == trace.Script:
						scripts++
						if d.Text != "" {
							told[d.Key]++
						}
					case d.What == trace.Line:
						lines++
					}
				}
				if scripts > 0 && !ok {
					undecided++
				}
			}})
		require.NoError(t, err)
		require.Equal(t, plain.Hash, r.Hash, s.Name)
		require.Equal(t, plain.Events, r.Events, s.Name)
		require.Zero(t, undecided, s.Name)
		if s.World.Load.Kind != "own" {
			require.NotZero(t, lines, s.Name)
		}
		for sha, times := range told {
			require.Equal(t, 1, times, "%s: the source of %s", s.Name, sha)
		}
	}
}
