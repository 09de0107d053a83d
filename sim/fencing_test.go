package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
)

// A server comes back without its data, and its tokens begin again: who gets the lock then is its
// rightful holder, and the resource refuses all its writes until the tokens have caught up.
func TestFencingOfTokensThatBeginAgain(t *testing.T) {
	for _, profile := range []string{"lockclient", "redisson"} {
		s := parsed(t, "world lock=fenced profile="+profile+" ttl=3s renew=off hold=100ms think=100ms rounds=6\n"+
			"expect fencing=holds\nat 0s start c1\nat 2s crash m1 for=100ms data=lose\nat 3s start c2\nrun for=4200ms\n")
		r, err := s.Run(context.Background(), Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, check.Violated, r.Results[0].Verdict, r.Results[0].Reason)
		require.Contains(t, r.Results[0].Reason, " c2 got the lock with token 1, though c1 had 6 before")
	}
}

// So it is where the client that gets it had asked before the turns with larger tokens began.
func TestFencingOfTokensThatBeginAgainForWhoWaits(t *testing.T) {
	s := parsed(t, "world lock=fenced clients=3 ttl=3s renew=off hold=300ms rounds=1 delay=1ms\nexpect fencing=holds\n"+
		"at 0s start c1\nat 100ms start c2\nat 120ms start c3\nat 400ms crash m1 for=10ms data=lose\nrun for=9s\n")
	r, err := s.Run(context.Background(), Options{Seed: 1})
	require.NoError(t, err)
	require.Equal(t, check.Violated, r.Results[0].Verdict, r.Results[0].Reason)
	require.Contains(t, r.Results[0].Reason, " c3 got the lock with token 1, though c2 had 2 before")
}

// A client that was granted the lock and hears of it when its lease is over, and another has it,
// believes with the smaller token behind that one: the resource is to refuse its writes.
func TestFencingOfALateReply(t *testing.T) {
	s := parsed(t, "world lock=fenced profile=redisson ttl=3s renew=off hold=3s rounds=1 delay=1ms\n"+
		"expect fencing=holds exclusion=violated\nat 0s run m1 SCRIPT LOAD all\nat 0s start c1\n"+
		"at 1500us pause c1 for=4s\nat 1s start c2\nrun for=12s\n")
	r, err := s.Run(context.Background(), Options{Seed: 1})
	require.NoError(t, err)
	require.True(t, r.AsExpected(), "%+v", r.Results)
	require.Equal(t, "1 write applied, none stale; 1 refused", r.Results[0].Reason)
}
