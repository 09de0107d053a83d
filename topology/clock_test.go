package topology

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// ask is a command whose reply is a number, or a list that begins with one in text.
func ask(t *testing.T, n *Node, args ...string) int64 {
	reply, err := n.Command(args...)
	require.NoError(t, err)
	if len(reply.List) > 0 {
		seconds, err := strconv.ParseInt(reply.List[0].Str, 10, 64)
		require.NoError(t, err)
		return seconds
	}
	return reply.Int
}

// A node whose clock is set shows another date than the others, and its keys
// expire by it; as much time passes there as elsewhere.
func TestSetClockOffset(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true, Virtual: true})
	ahead, right := top.Node("m1"), top.Node("m2")
	for _, n := range top.Nodes() {
		ask(t, n, "SET", "short", "x", "PX", "5000")
		ask(t, n, "SET", "long", "x", "PX", "60000")
	}
	ahead.SetClockOffset(10 * time.Second)
	require.EqualValues(t, 10, ask(t, ahead, "TIME")-ask(t, right, "TIME"))
	require.EqualValues(t, -2, ask(t, ahead, "PTTL", "short"))
	require.EqualValues(t, 50000, ask(t, ahead, "PTTL", "long"))
	require.EqualValues(t, 5000, ask(t, right, "PTTL", "short"))

	require.NoError(t, top.Clock().Advance(time.Second))
	require.EqualValues(t, 10, ask(t, ahead, "TIME")-ask(t, right, "TIME"))
	require.EqualValues(t, 49000, ask(t, ahead, "PTTL", "long"))
	ahead.SetClockOffset(10 * time.Second) // it is an offset, not a jump
	require.EqualValues(t, 49000, ask(t, ahead, "PTTL", "long"))

	ahead.SetClockOffset(-10 * time.Second)
	require.EqualValues(t, -10, ask(t, ahead, "TIME")-ask(t, right, "TIME"))
	require.EqualValues(t, 69000, ask(t, ahead, "PTTL", "long"))
	ahead.SetClockOffset(0)
	require.Equal(t, ask(t, ahead, "TIME"), ask(t, right, "TIME"))
}

// A master whose clock is behind goes on granting what its replica, by its own
// clock, shows as expired: TTLs replicate as dates.
func TestReplicaWithItsOwnDate(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1, Replicas: 1}, InMemory: true, Virtual: true})
	master, replica := top.Node("m1"), top.Node("r1")
	ask(t, master, "SET", "lock", "x", "PX", "30000")
	require.NoError(t, top.Clock().Advance(time.Second))
	require.EqualValues(t, 1, ask(t, replica, "EXISTS", "lock"))
	replica.SetClockOffset(time.Minute)
	require.EqualValues(t, 0, ask(t, replica, "EXISTS", "lock"))
	require.EqualValues(t, 29000, ask(t, master, "PTTL", "lock"))
	replica.SetClockOffset(0)
	require.EqualValues(t, 1, ask(t, replica, "EXISTS", "lock"), "a replica expires nothing by itself")
}

// Clocks that are set or run absurdly far keep their direction, and time goes on.
func TestAbsurdClocks(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 2}, InMemory: true, Virtual: true})
	odd, right := top.Node("m1"), top.Node("m2")
	odd.SetClockOffset(math.MaxInt64)
	require.Greater(t, ask(t, odd, "TIME"), ask(t, right, "TIME"))
	odd.SetClockOffset(0)
	top.Clock().Jump(math.MaxInt64)
	top.Clock().Jump(math.MaxInt64)
	require.Greater(t, ask(t, odd, "TIME"), top.Clock().Now().Unix())
	odd.SetClockOffset(0)
	right.SetClockOffset(0)

	ask(t, odd, "SET", "key", "x", "PX", "1000")
	require.NoError(t, odd.SetClockRate(1e-300))
	require.NoError(t, top.Clock().Advance(time.Hour))
	require.EqualValues(t, 1000, ask(t, odd, "PTTL", "key"))
	require.NoError(t, odd.SetClockRate(math.Inf(1)))
	require.NoError(t, top.Clock().Advance(time.Millisecond))
	require.EqualValues(t, -2, ask(t, odd, "PTTL", "key"))
	require.Greater(t, ask(t, odd, "TIME"), ask(t, right, "TIME"))
}
