package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A story that has lost what its run needs says so.
func TestHuntTellsOfAnotherWay(t *testing.T) {
	folder, file := writeScenario(t, "world replicas=2 clients=3 lag=1ms..20ms sync=on lock=mutex ttl=4s renew=off "+
		"hold=1s..4s rounds=3 pool=on bound=15s delay=1ms..8ms\nexpect exclusion=holds\nrun for=60s seed=1\n")
	_, out, errs := locksim("hunt", file, "--root", "73", "--seeds", "3", "--hits", "1", "--out", folder)
	require.Empty(t, errs)
	require.Contains(t, out, "seed 73000000002: exclusion violated, needs split\n"+
		"the shortest story violates exclusion in another way than seed 73000000002: by pause, without split\n")
	_, out, _ = locksim("hunt", file, "--root", "73", "--seeds", "3", "--hits", "1", "--need", "split", "--out", folder)
	require.NotContains(t, out, "in another way", "it must need it")
}
