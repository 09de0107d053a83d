package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A traced topology, and a fault of commands with a key, ask about whatever a client sends.
func TestKeysOfIncompleteCommands(t *testing.T) {
	n := newFixture(t).node
	for i := range table {
		cmd := &table[i]
		require.Empty(t, n.KeysOf(words(cmd.Name)), cmd.Name)
		require.NotPanics(t, func() { n.KeysOf(words(cmd.Name, "a")) }, cmd.Name)
	}
	require.Equal(t, words("k"), n.KeysOf(words("MIGRATE", "127.0.0.1", "1", "k", "0", "1")))
}
