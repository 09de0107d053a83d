package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/cluster"
)

// What has more holders than a lock has is other data, of which no list is made.
func TestLocksOfManyHolders(t *testing.T) {
	top := start(t, Config{Plan: cluster.Plan{Masters: 1}, InMemory: true, Virtual: true})
	c := inside(t, top.Node("m1"))
	c.do("SET permits 2")
	soon := top.Clock().Now().UnixMilli() + 60_000
	for i := range mostHolders {
		c.do(fmt.Sprintf("ZADD {permits}:timeout %d o%d", soon, i))
		c.do(fmt.Sprintf("ZADD sem %d o%d", soon, i))
	}
	c.do("PEXPIRE sem 60000")
	for _, key := range []string{"permits", "sem"} {
		l, ok := top.Lock(key)
		require.True(t, ok, key)
		require.Len(t, l.Holders, mostHolders, key)
	}
	for _, key := range []string{"{permits}:timeout", "sem"} {
		c.do(fmt.Sprintf("ZADD %s %d more", key, soon))
	}
	require.Empty(t, top.Locks())
}
