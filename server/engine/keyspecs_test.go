package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeySpecificationsNameCommands keeps a name that is spelled wrong from leaving a command
// without keys, so that it would pass by the checks of users' rights.
func TestKeySpecificationsNameCommands(t *testing.T) {
	n := newFixture(t).node
	for name := range specsOf { //tidy:unordered each is looked at by itself
		require.NotNil(t, n.byFullName(name), name)
	}
}
