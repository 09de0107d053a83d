package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsWithKeysSpecifyThem keeps a new command from passing by the
// checks of users' rights.
func TestCommandsWithKeysSpecifyThem(t *testing.T) {
	check := func(cmd *Command) {
		require.Equal(t, cmd.hasKeys(), len(cmd.specs) > 0, cmd.full)
	}
	for i := range table {
		check(&table[i])
		for j := range table[i].Sub {
			check(&table[i].Sub[j])
		}
	}
}
