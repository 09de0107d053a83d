package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// jsonl runs a scenario and returns its events as bytes.
func jsonl(t *testing.T, s *Scenario, opt Options) ([]byte, *Report) {
	t.Helper()
	var out []byte
	opt.Details = true
	opt.Observe = func(e *trace.Event, names []string) { out = append(e.AppendJSON(out, names), '\n') }
	r, err := s.Run(context.Background(), opt)
	require.NoError(t, err)
	return out, r
}

// Every embedded scenario has the verdicts that it expects, replays to the byte
// from its seed and from its recorded draws, and goes another way with another seed. Each
// of its lines does what it says.
func TestLibrary(t *testing.T) {
	for _, s := range Library() {
		t.Run(s.Name, func(t *testing.T) {
			require.NotEmpty(t, s.Claim)
			require.NotEmpty(t, s.Expect)
			first, report := jsonl(t, s, Options{Seed: s.Seed, Record: true})
			for i, e := range s.Expect {
				require.Equal(t, e.Verdict, report.Results[i].Verdict.String(), "%s: %s", e.Check, report.Results[i].Reason)
			}
			require.True(t, report.AsExpected())
			for _, i := range report.Idle {
				t.Errorf("line %d: %s", i.Step.Line, i.Text())
			}

			again, _ := jsonl(t, s, Options{Seed: s.Seed})
			require.Equal(t, string(first), string(again), "the same seed")
			replayed, _ := jsonl(t, s, Options{Seed: s.Seed, Chooser: NewReplay(report.Draws)})
			require.Equal(t, string(first), string(replayed), "the recorded draws")
			other, _ := jsonl(t, s, Options{Seed: s.Seed + 1})
			require.NotEqual(t, string(first), string(other), "another seed")

			silent, err := s.Run(context.Background(), Options{Seed: s.Seed})
			require.NoError(t, err)
			require.Equal(t, report.Hash, silent.Hash, "tracing off")
			require.Equal(t, report.Events, silent.Events, "tracing off")
		})
	}
}

// The verdicts do not hang on the seed that the file happens to have.
func TestLibraryOverSeeds(t *testing.T) {
	lua := NewLua()
	for _, s := range Library() {
		t.Run(s.Name, func(t *testing.T) {
			for seed := range uint64(20) {
				r, err := s.Run(context.Background(), Options{Seed: seed, Lua: lua})
				require.NoError(t, err)
				require.True(t, r.AsExpected(), "seed %d: %+v", seed, r.Results)
			}
		})
	}
}

// Causes point backwards, numbers have no gaps, time never goes back.
func TestEventsAreWellFormed(t *testing.T) {
	for _, s := range Library() {
		n, last := uint64(0), int64(0)
		_, err := s.Run(context.Background(), Options{Seed: s.Seed, Observe: func(e *trace.Event, names []string) {
			n++
			require.Equal(t, n, e.N)
			require.Less(t, e.Cause, e.N)
			require.GreaterOrEqual(t, int64(e.At), last)
			require.NotEmpty(t, names[e.Actor])
			last = int64(e.At)
		}})
		require.NoError(t, err)
	}
}

func TestInterrupt(t *testing.T) {
	s, err := Find("contention")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Run(ctx, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// A request that was not sent is said not to have been sent, once.
func TestRefusalIsToldOnce(t *testing.T) {
	s := parsed(t, "world clients=1 rounds=1\nexpect exclusion=holds\n"+
		"at 0s crash m1\nat 1s start c1\nrun for=20s seed=1\n")
	told := ""
	_, err := s.Run(context.Background(), Options{Seed: s.Seed, Details: true, Observe: func(e *trace.Event, _ []string) {
		if e.Kind == trace.Refused {
			told = e.Text
		}
	}})
	require.NoError(t, err)
	require.Contains(t, told, "not sent: connection refused by m1")
	require.Equal(t, 1, strings.Count(told, "not sent"), told)
}
