package sim

import (
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The queue gives back what was pushed and not cancelled, by time and then by
// the order of pushing, whatever is pushed and cancelled in between.
func TestQueueIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			at    time.Duration
			order int
			id    int32
		}
		var q queue
		var model []entry
		now := time.Duration(0)
		spread := rapid.SampledFrom([]int{5, 1000}).Draw(t, "spread") // with the latter, instants lose their chains
		for i := range rapid.IntRange(1, 3000).Draw(t, "n") {
			switch roll := rapid.IntRange(0, 9).Draw(t, "do"); {
			case roll < 5:
				unit := rapid.SampledFrom([]time.Duration{1, 1, window / 3}).Draw(t, "unit")
				at := now + unit*time.Duration(rapid.IntRange(0, spread).Draw(t, "wait"))
				id := q.push(at, step{kind: stepRun, gen: uint32(i)})
				model = append(model, entry{at, i, id})
			case roll == 5:
				q.push(now, step{kind: stepRun, gen: uint32(i)})
				model = append(model, entry{now, i, -1})
			case roll < 8 && len(model) > 0:
				k := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				if model[k].id < 0 {
					continue
				}
				q.cancel(model[k].id)
				model = append(model[:k], model[k+1:]...)
			case len(model) > 0:
				sort.SliceStable(model, func(a, b int) bool {
					return model[a].at < model[b].at || model[a].at == model[b].at && model[a].order < model[b].order
				})
				at, ok := q.next()
				require.True(t, ok)
				require.Equal(t, model[0].at, at)
				require.Equal(t, uint32(model[0].order), q.pop().gen)
				now, model = at, model[1:]
			}
		}
	})
}

func TestQueueSweepsCancelledSteps(t *testing.T) {
	var q queue
	q.push(0, step{kind: stepRun})
	_, ok := q.next()
	require.True(t, ok)
	for i := range 1_000_000 {
		q.cancel(q.push(2*window*time.Duration(i)/1_000_000, step{kind: stepRun}))
	}
	require.Less(t, cap(q.heap), 10_000)
	require.Less(t, cap(q.slab), 10_000)
	q.pop()
	_, ok = q.next()
	require.False(t, ok)
}

// An instant that has no end needs no more memory.
func TestQueueForgetsWhatIsDone(t *testing.T) {
	var q queue
	q.push(0, step{kind: stepRun})
	for range 1_000_000 {
		q.push(0, step{kind: stepRun})
		_, ok := q.next()
		require.True(t, ok)
		q.pop()
	}
	require.Less(t, cap(q.slab), 10_000)
}

func BenchmarkQueue(b *testing.B) {
	b.ReportAllocs()
	var q queue
	for i := range 1000 {
		q.push(time.Duration(mix(uint64(i))%1000), step{kind: stepRun})
	}
	for i := 0; b.Loop(); i++ {
		at, _ := q.next()
		q.push(at+time.Duration(mix(uint64(i))%1000), q.pop())
	}
}
