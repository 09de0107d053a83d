package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/simtest"
)

// A kind of fault that has done nothing with any seed is told of, and fails no test.
func TestFaultsThatNeverStrike(t *testing.T) {
	failed, said := ran(t, "TestMine", simtest.Test{Seeds: 100, Own: naive(true), Scenario: `
		world lock=own clients=2 ttl=2s hold=1s think=500ms
		expect exclusion=holds
		faults drop lost-message
		run for=20s`})
	require.False(t, failed, said)
	require.Equal(t, "simtest: lost-message never struck: with none of 100 seeds did such a fault do anything\n", said)
}
