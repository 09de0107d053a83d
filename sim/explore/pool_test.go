package explore

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever has done it, what is done is told in its order, and only once an error
// or the end of the context has not come.
func TestInOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		var list []int
		run := func(context.Context, int) error { return nil }
		tell := func(i int) error { list = append(list, i); return nil }
		require.NoError(t, InOrder(context.Background(), 50, workers, run, tell))
		require.Len(t, list, 50)
		require.IsIncreasing(t, list)

		broken, list2 := errors.New("broken"), []int{}
		fails := func(_ context.Context, i int) error {
			if i == 5 {
				return broken
			}
			return nil
		}
		tell = func(i int) error { list2 = append(list2, i); return nil }
		require.ErrorIs(t, InOrder(context.Background(), 50, workers, fails, tell), broken)
		require.Equal(t, []int{0, 1, 2, 3, 4}, list2)

		ctx, cancel := context.WithCancel(context.Background())
		tell = func(int) error { cancel(); return nil }
		require.ErrorIs(t, InOrder(ctx, 50, workers, run, tell), context.Canceled)
	}
}

// What several look for at the same time is looked for once.
func TestKnown(t *testing.T) {
	var known Known[int]
	var sought atomic.Int64
	find := func() (int, error) { return int(sought.Add(1)), nil }
	run := func(context.Context, int) error { _, err := known.Find("it", find); return err }
	require.NoError(t, InOrder(context.Background(), 20, 4, run, func(int) error { return nil }))
	n, err := known.Find("it", find)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = known.Find("other", func() (int, error) { return 0, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}
