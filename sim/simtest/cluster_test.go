package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/simtest"
)

// A client's one transport finds the master of a key's slot, wherever that moves.
func TestOwnLockInCluster(t *testing.T) {
	simtest.Run(t, simtest.Test{Seeds: 100, Own: naive(true), Scenario: `
		world lock=own cluster=3x0 clients=3 ttl=5s hold=1s..2s think=0s..500ms bound=15s
		expect exclusion=holds theft=holds progress=holds
		faults reshard most=3
		run for=20s`})
	said := failing(t, simtest.Test{Own: naive(false), Scenario: `
		world lock=own cluster=3x0 clients=3 ttl=2s hold=500ms..1s think=0s..500ms delay=1ms..5ms
		expect exclusion=holds
		faults delay=1s..3s reshard most=3
		run for=20s`})
	require.Contains(t, said, "simtest: exclusion is violated with seed 10000000")
	require.Regexp(t, `world .*cluster=\dx0`, said)
	require.Contains(t, said, "Assumptions that did not hold: messages arrive before leases end.\n")
}
