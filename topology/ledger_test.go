package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// An overlap is told of although the trace has long forgotten its events.
func TestOverlapIsRemembered(t *testing.T) {
	top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 10})
	take := func(owner string) {
		require.Equal(t, "OK", inside(t, top.Node("m1")).do("SET lock "+owner+" NX PX 30000"))
	}
	take("a")
	require.NoError(t, top.Node("m1").Restart(false))
	take("b")
	c := inside(t, top.Node("m1"))
	for i := range 10 * fewEvents {
		require.NoError(t, top.Clock().Advance(time.Second))
		c.do(fmt.Sprintf("SET other %d NX PX 500", i))
		c.do("SET lock c NX PX 500")
	}
	require.Len(t, top.Trace().Since(0), 10)
	overlaps := top.Trace().Overlaps("lock")
	require.Len(t, overlaps, 1)
	require.Equal(t, "lock was held by a and by b from 0.000s to 30.000s", overlaps[0].String())
	require.Empty(t, top.Trace().Overlaps("other"))
}

// A lock may be held for longer than a duration tells, and then overlaps for ever.
func TestOverlapOfLongHolds(t *testing.T) {
	const longest = "9223372036854" // milliseconds that a duration holds
	for _, ttl := range []string{longest, "9300000000000", "9000000000000000000"} {
		top := start(t, Config{Plan: alone, InMemory: true, Virtual: true, Trace: 10})
		require.NoError(t, top.Clock().Advance(time.Second))
		for _, owner := range []string{"a", "b"} {
			require.Equal(t, "OK", inside(t, top.Node("m1")).do("SET lock "+owner+" NX PX "+ttl))
			l, _ := top.Lock("lock")
			require.Equal(t, longest, fmt.Sprint(l.TTL.Milliseconds()))
			require.NoError(t, top.Node("m1").Restart(false))
		}
		require.Equal(t, []string{"lock was held by a and by b from 1.000s for ever"}, lines(top.Trace().Overlaps("lock")))
	}
}

// What is remembered tells of the same overlaps as all events do.
func TestLedgerForgetsNothing(t *testing.T) {
	const keys, steps = 3, 400
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		l := ledger{pasts: map[string]*past{}, limit: random.IntN(3)}
		sets := 1 + 2*random.IntN(2)
		var all []Event
		var now time.Duration
		for range steps {
			now += time.Duration(random.IntN(3)) * time.Second
			e := Event{
				Kind: LockHeld, At: now, Key: fmt.Sprint("k", random.IntN(keys)), DB: random.IntN(2),
				Owner: fmt.Sprint("o", random.IntN(4)), Set: fmt.Sprint("m", random.IntN(sets)), Sets: sets,
			}
			if random.IntN(3) == 0 {
				e.Kind = LockFreed
			} else if random.IntN(20) > 0 {
				e.Until = now + time.Duration(1+random.IntN(8))*time.Second
			}
			all = append(all, e)
			if p := l.pasts[e.Key]; p != nil {
				p.limit = random.IntN(4)
			}
			l.note(e)
		}
		for i := range keys {
			key := fmt.Sprint("k", i)
			require.Equal(t, lines(Overlaps(all, key)), lines(l.overlaps(key)), "seed %d", seed)
		}
	}
}

func lines(overlaps []Overlap) (texts []string) {
	for _, o := range overlaps {
		texts = append(texts, o.String())
	}
	slices.Sort(texts)
	return texts
}

// Of locks that nobody holds any more nothing is remembered.
func TestLedgerIsSmall(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}, InMemory: true, Virtual: true, Trace: 10})
	for i := range 3 * fewestPasts {
		top.trace.add(&record{Event: Event{Kind: LockHeld, Key: fmt.Sprint(i), Owner: "a", Until: time.Hour}})
		top.trace.add(&record{Event: Event{Kind: LockFreed, Key: fmt.Sprint(i), Owner: "a"}})
	}
	require.LessOrEqual(t, len(top.trace.holds.pasts), fewestPasts+1)
}
