package engine

import (
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawing is the commands that draw elements, and what makes a collection for each.
var drawing = [][2]string{{"SRANDMEMBER", "SADD"}, {"HRANDFIELD", "HSET"}, {"ZRANDMEMBER", "ZADD"}}

// fill makes a collection of n elements, m0 and so on.
func fill(e *engineTarget, command string, n int) {
	for i := range n {
		words := []string{command, "k", "m" + strconv.Itoa(i), "1"}
		switch command {
		case "SADD":
			words = words[:3]
		case "ZADD":
			words = []string{command, "k", "1", words[2]}
		}
		e.send(control, bytesOf(words))
		_, _ = e.next(control, true)
	}
}

// drawnFrom is what a command draws.
func drawnFrom(t *testing.T, e *engineTarget, command string, count int) (names []string) {
	e.send(control, bytesOf([]string{command, "k", strconv.Itoa(count)}))
	v, ok := e.next(control, true)
	require.True(t, ok)
	for _, one := range v.List {
		names = append(names, one.Str)
	}
	return names
}

// TestDrawnElements draws any number of elements: they are there, and differ unless they
// may be repeated.
func TestDrawnElements(t *testing.T) {
	for _, commands := range drawing {
		e := newEngineTarget()
		e.connect(control, 2)
		const size = 20
		fill(e, commands[1], size)
		seen := map[string]bool{}
		for range 20 {
			for count := -2 * size; count <= 2*size; count++ {
				names := drawnFrom(t, e, commands[0], count)
				for _, name := range names {
					seen[name] = true
				}
				if count < 0 {
					require.Len(t, names, -count)
					continue
				}
				require.Len(t, names, min(count, size))
				slices.Sort(names)
				require.Len(t, slices.Compact(names), min(count, size))
			}
		}
		require.Len(t, seen, size, commands[0])
	}
}

// TestFewAreDrawnOfMany has no command make a list of all elements to draw a few.
func TestFewAreDrawnOfMany(t *testing.T) {
	for _, commands := range drawing {
		e := newEngineTarget()
		e.connect(control, 2)
		fill(e, commands[1], 20_000)
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		for range 50 {
			_ = drawnFrom(t, e, commands[0], 5)
			_ = drawnFrom(t, e, commands[0], -5)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), commands[0])
	}
}

// TestDrawnWithoutChance has a source that always gives the same: elements are drawn nevertheless.
func TestDrawnWithoutChance(t *testing.T) {
	for _, constant := range []uint64{0, 1, 7, 1<<64 - 1} {
		for _, commands := range drawing {
			e := newEngineTarget()
			e.node.cfg.Random = func() uint64 { return constant }
			e.connect(control, 2)
			const size, most = 30, 10
			fill(e, commands[1], size)
			for count := -most; count <= most; count++ {
				names := drawnFrom(t, e, commands[0], count)
				require.Len(t, names, max(count, -count))
				if count > 0 {
					slices.Sort(names)
					require.Len(t, slices.Compact(names), count)
				}
			}
		}
	}
}

// TestDrawnBesideGaps has such a source meet the place of an element that has gone.
func TestDrawnBesideGaps(t *testing.T) {
	const size = 20
	for gap := range size {
		f := newFixture(t, func(cfg *Config) { cfg.Random = func() uint64 { return uint64(gap) } })
		s := f.session()
		for i := range size {
			_ = f.do(s, "SADD k m"+strconv.Itoa(i))
		}
		_ = f.do(s, "SREM k m"+strconv.Itoa(gap))
		require.Contains(t, f.do(s, "SRANDMEMBER k"), "m")
	}
}
