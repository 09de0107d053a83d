package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys and owners may be any bytes, and values long; an event is one line all the same.
func TestEventIsOneLine(t *testing.T) {
	held := Event{Kind: LockHeld, Node: "m1", Client: 1, Key: "lock a", Owner: "\xa4\n"}
	require.Equal(t, `    0.000s m1  client 1 "lock a" is held by "\xa4\n"`, held.String())
	freed := Event{Kind: LockFreed, Node: "m1", Client: 1, Key: "lock", Owner: "\r"}
	require.Equal(t, `    0.000s m1  client 1 lock is held by "\r" no more`, freed.String())
	long := Event{Kind: Commanded, Node: "m1", Client: 1, Reply: "OK"}
	long.Command = []string{"SET", "k", strings.Repeat("a b", 30)}
	require.Equal(t, `    0.000s m1  client 1 SET k "`+strings.Repeat("a b", 20)+`"… → OK`, long.String())
}
