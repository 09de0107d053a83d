package topology

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"minikv/cluster"
)

// In how many steps time passes cannot be seen: what falls due does so at its
// time and in its order, and is told so.
func TestStepsOfTimeDoNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(1, 20_000), 1, 10).Draw(r, "ttls")
		waits := rapid.SliceOfN(rapid.IntRange(1, 20_000), 0, 5).Draw(r, "waits")
		steps := rapid.SliceOfN(rapid.IntRange(0, 5_000), 0, 20).Draw(r, "steps")
		whole := timeline(t, keys, waits, []int{20_002})
		steps = append(steps, max(20_002-sum(steps), 0))
		if sum(steps) == 20_002 {
			require.Equal(r, whole, timeline(t, keys, waits, steps))
		}
		require.Equal(r, whole, timeline(t, keys, waits, nil), "from one thing that is due to the next")
	})
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// timeline is what clients are told when keys expire and waits end, while time
// passes in steps of milliseconds; nil: by Next.
func timeline(t *testing.T, ttls, waits, steps []int) string {
	top, err := Start(Config{Plan: alone, InMemory: true, Virtual: true, Trace: 1000})
	require.NoError(t, err)
	defer top.Close()
	n := top.Node("m1")
	c := inside(t, n)
	c.do("CONFIG SET notify-keyspace-events Ex")
	listener := inside(t, n) // not before the first one has its number
	listener.do("SUBSCRIBE __keyevent@0__:expired")
	for i, ttl := range ttls {
		c.do(fmt.Sprintf("SET k%d v PX %d", i, ttl))
	}
	for i, wait := range waits {
		inside(t, n).send(fmt.Sprintf("BLPOP list%d %d.%03d", i, wait/1000, wait%1000))
		waitFor(t, top, fmt.Sprintf("list%d", i), 1)
	}
	for _, step := range steps {
		require.NoError(t, top.Clock().Advance(time.Duration(step)*time.Millisecond))
	}
	for steps == nil {
		_, ok, err := top.Clock().Next()
		require.NoError(t, err)
		if !ok {
			break
		}
	}
	var lines []string
	for _, e := range top.Trace().Since(0) {
		if e.Kind == Replied || e.Kind == Pushed {
			lines = append(lines, e.String())
		}
	}
	return strings.Join(lines, "\n")
}

// What was on its way when the servers closed arrives no more, and nobody waits for it.
func TestVirtualClockAfterClose(t *testing.T) {
	const delay = 10 * time.Millisecond
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}, InMemory: true, Virtual: true, Delay: delay})
	inside(t, top.Node("m1")).do("SET a 1")
	top.Close()
	moved := make(chan error, 1)
	go func() { moved <- top.Clock().Advance(time.Second) }()
	select {
	case err := <-moved:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("Advance does not return")
	}
	_, ok, err := top.Clock().Next()
	require.NoError(t, err)
	require.False(t, ok)
}
