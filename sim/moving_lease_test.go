package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
)

// The lease of a lock that is taken at last, when its slot has moved, begins with the request
// that took it, not with the first of those that were refused.
func TestLeaseBeginsWithWhatIsNotRefused(t *testing.T) {
	for _, kind := range []string{"fenced", "fair", "rw", "simple"} {
		s := parsed(t, "world lock="+kind+" cluster=3x0 clients=2 hold=2s ttl=4s bound=25s rounds=1 delay=1ms\n"+
			"expect kept=holds\nat 0s start c1\nat 0s start c2\nat 10ms move lock:1 m3 step=open for=8s\nrun for=15s seed=1\n")
		r, err := s.Run(context.Background(), Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, 2, r.Grants, kind)
		require.Equal(t, check.Holds, r.Results[0].Verdict, "%s: %s", kind, r.Results[0].Reason)
	}
}

// A client of a cluster that is cut off from the master of its lock asks the others for the slots: when
// it starts, and when a request was not answered. It finds who was promoted.
func TestCutOffFromTheMaster(t *testing.T) {
	for start, rounds := range map[string]string{"1s": "0", "12s": "1"} { // 1: the first request must find it
		s := parsed(t, "world lock=mutex cluster=3x1 down-after=5s clients=2 rounds="+rounds+" delay=1ms hold=60s ttl=10s\n"+
			"expect exclusion=violated\nat 0s start c1\nat "+start+" start c2\n"+
			"at 2s partition c1,m1 m2,m3,r1,r2,r3,c2 for=60s\nrun for=40s seed=1\n")
		r, err := s.Run(context.Background(), Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, 2, r.Grants, start)
	}
}
