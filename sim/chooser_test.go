package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// A duration is drawn from all of its range, however narrow that is.
func TestSpansReachTheirEnds(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		lo, hi, step time.Duration
		choices      uint64
	}{
		{time.Millisecond, 5 * time.Millisecond, 100 * us, 41},
		{0, time.Millisecond, 100 * us, 11},
		{time.Millisecond, 1950 * us, us, 951},
		{10 * us, 99 * us, us, 90},
		{100 * us, 109 * us, 1, 9001},
		{5, 6, 1, 2},
		{0, MaxDuration, 100 * us, uint64(MaxDuration/(100*us)) + 1},
		{0, MaxDuration - 1, 1, uint64(MaxDuration)},
	} {
		for choice, want := range map[chosen]time.Duration{0: c.lo, 1: c.lo + c.step, chosen(c.choices - 1): c.hi,
			chosen(c.choices): c.lo} {
			d := (&World{cfg: Config{Chooser: choice}}).newDraws("x")
			require.Equal(t, int64(want), d.span(Range{c.lo, c.hi}), "%d of %s..%s", choice, c.lo, c.hi)
		}
	}
}

// chosen is always the same choice, counted on from the first one where there are fewer.
type chosen uint64

func (c chosen) Draw(_ Stream, _, bound uint64) uint64 { return uint64(c) % bound }

// Seeds differ on a network that is faster than a tenth of a millisecond.
func TestSeedsOfAFastNetwork(t *testing.T) {
	s := parsed(t, "world clients=3 lock=mutex ttl=3s renew=off hold=1ms rounds=9 delay=10us..99us think=1us..90us\n"+
		"expect exclusion=holds\nat 0s start all\nrun for=1s seed=1\n")
	hashes := map[trace.Hash]bool{}
	for seed := range uint64(8) {
		r, err := s.Run(t.Context(), Options{Seed: seed})
		require.NoError(t, err)
		hashes[r.Hash] = true
	}
	require.Len(t, hashes, 8)
}
