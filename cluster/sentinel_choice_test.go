package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whom Sentinels choose: the replica to promote, and who of them leads.

// Who is worse in one respect is not promoted, whichever of two replicas it is; who
// is unfit is not promoted even if both are.
func TestWhoIsPromoted(t *testing.T) {
	const second = 1000
	s := startSet(t, usual, 1).sentinel("s1")
	m, now := s.masters[0], s.now()
	for _, one := range []struct {
		name      string
		sinceDown int64 // milliseconds since the master was found down; -1: it is up
		unfit     bool
		worse     func(r *instance)
	}{
		{"it is down", -1, true, func(r *instance) { r.flags |= instSDown }},
		{"there is no connection", -1, true, func(r *instance) { r.link.disconnected = true }},
		{"it must not be promoted", -1, true, func(r *instance) { r.priority = 0 }},
		{"it is silent", -1, true, func(r *instance) { r.link.lastAvailable = now - 5*second - 1 }},
		{"its INFO is old", -1, true, func(r *instance) { r.infoAt = now - 30*second - 1 }},
		{"its INFO is old", second, true, func(r *instance) { r.infoAt = now - 5*second - 1 }},
		{"it lost its master long ago", -1, true, func(r *instance) { r.masterLinkDown = 30*second + 1 }},
		{"it lost its master long before", 7 * second, true, func(r *instance) { r.masterLinkDown = 37*second + 1 }},
		{"another has a lower number", -1, false, func(r *instance) { r.priority = 101 }},
		{"another has more data", -1, false, func(r *instance) { r.offset-- }},
		{"its id is not known", -1, false, func(r *instance) { r.runID = "" }},
		{"its id is later", -1, false, func(r *instance) { r.runID = "b" }},
	} {
		m.flags &^= instSDown
		if one.sinceDown >= 0 {
			m.flags |= instSDown
			m.sDownSince = now - one.sinceDown
		}
		reset := func() {
			for _, r := range m.replicas {
				r.flags, r.link.disconnected, r.priority, r.offset, r.runID = instReplica, false, 100, 100, "a"
				r.link.lastAvailable, r.infoAt, r.masterLinkDown = now-5*second, now-5*second, 30*second
				if one.sinceDown < 0 {
					r.infoAt = now - 30*second
				} else {
					r.masterLinkDown += one.sinceDown
				}
			}
		}
		for i, worse := range m.replicas {
			reset()
			one.worse(worse)
			require.Same(t, m.replicas[1-i], s.bestReplica(m), one.name)
		}
		for _, r := range m.replicas {
			one.worse(r)
		}
		require.Equal(t, one.unfit, s.bestReplica(m) == nil, one.name)
	}
}

// Who leads has the votes of a majority, and of as many as must agree that the master
// is down; votes of another epoch do not count.
func TestWhoLeads(t *testing.T) {
	cfg := usual
	cfg.sentinels = 5
	for _, one := range []struct {
		votes  int // of the four others, in this epoch
		quorum int64
		leads  bool
	}{{1, 1, false}, {2, 1, true}, {2, 4, false}, {3, 4, true}} {
		w := startSet(t, cfg, 1)
		s := w.sentinel("s1")
		m := s.masters[0]
		m.quorum = one.quorum
		s.epoch = 7
		for i, other := range m.sentinels {
			other.leader, other.leaderEpoch = s.id, s.epoch
			if i >= one.votes {
				other.leaderEpoch--
			}
		}
		require.Equal(t, one.leads, s.electedLeader(m, s.epoch) == s.id, "%+v", one)
	}
}

// Who is not elected gives up after election-timeout, 10 s, or after the time for a
// failover if that is shorter, each up to a second later.
func TestHowLongACandidateWaits(t *testing.T) {
	for _, one := range []struct{ failover, wait time.Duration }{
		{60 * time.Second, 10 * time.Second}, {4 * time.Second, 4 * time.Second},
	} {
		cfg := usual
		cfg.quorum, cfg.failoverTimeout = 1, one.failover
		w := startSet(t, cfg, 1)
		for _, name := range []string{"m1", "s2", "s3"} {
			w.stop(name)
		}
		tried := time.Duration(0)
		for names := ""; names != "[-failover-abort-not-elected]"; w.sleep(10 * time.Millisecond) {
			require.Less(t, w.now, time.Minute)
			names = fmt.Sprint(channels(w.takeEvents("s1")))
			if tried == 0 && w.sentinel("s1").masters[0].is(instFailover) {
				tried = w.now
			}
		}
		require.GreaterOrEqual(t, w.now-tried, one.wait)
		require.LessOrEqual(t, w.now-tried, one.wait+1200*time.Millisecond)
	}
}
