package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/sim/check"
	"minikv/trace"
)

// verdicts are those of a scenario's run with a seed, by check.
func verdicts(t *testing.T, s *Scenario, seed uint64) map[string]check.Verdict {
	t.Helper()
	r, err := s.Run(context.Background(), Options{Seed: seed})
	require.NoError(t, err)
	all := map[string]check.Verdict{}
	for _, result := range r.Results {
		all[result.Check] = result.Verdict
	}
	return all
}

// A request that is under way when somebody looks has taken nothing for ever.
func TestAuditsOfBusyLocks(t *testing.T) {
	s := parsed(t, "# Busy.\nworld clients=3 lock=mutex ttl=10s hold=20ms think=10ms delay=1ms..5ms\n"+
		"expect holds=holds leak=holds\nat 1s audit\nat 2s audit\nat 3s audit\nrun for=5s\n")
	for seed := range uint64(40) {
		require.Equal(t, map[string]check.Verdict{"holds": check.Holds, "leak": check.Holds}, verdicts(t, s, seed), seed)
	}
}

// What a grant has left of which nobody knows is not covered by the belief of another, who
// has lost the lock.
func TestAuditOfWhoseItIs(t *testing.T) {
	s := parsed(t, "# Whose.\nworld profile=redisson clients=2 rounds=1 lock=mutex ttl=30s hold=60s delay=1ms\n"+
		"expect leak=violated\nat 0s start c1\nat 1s run m1 DEL lock:1\nat 1s drop m1 c2 next=1 what=reply\n"+
		"at 2s start c2\nat 6s audit\nrun for=7s\n")
	require.Equal(t, check.Violated, verdicts(t, s, 1)["leak"])
}

// Kept is broken also for who learns only at its unlock that another had the lock meanwhile.
func TestKeptByWhoIsToldAtItsUnlock(t *testing.T) {
	for _, profile := range []string{"redisson", "lockclient"} {
		s := parsed(t, "# Told.\nworld profile="+profile+" clients=1 rounds=1 lock=mutex ttl=3s renew=off hold=5s\n"+
			"expect kept=violated\nrun for=20s\n")
		require.Equal(t, check.Violated, verdicts(t, s, 1)["kept"], profile)
	}
}

// A test's own client that tells no outcome of its unlocks is in order if its lock is.
func TestLinearOfAnOwnRun(t *testing.T) {
	s := parsed(t, "# Own.\nworld clients=3 lock=own rounds=4 think=10ms\nexpect linear=holds\nrun for=60s\n")
	r, err := s.Run(t.Context(), Options{Seed: 1, Own: &Own{Run: func(ctx context.Context, c *Client) {
		lock := lockclient.New(c.Transports()[0], c.Runtime(), lockclient.WithID(c.ID())).Mutex(c.Key())
		if held, err := lock.Lock(ctx); err == nil {
			b := c.Believes(0)
			_ = c.Sleep(ctx, 100*time.Millisecond)
			c.Ends(b, false)
			_ = held.Unlock(ctx)
		}
	}}})
	require.NoError(t, err)
	require.Equal(t, 12, r.Grants)
	require.Equal(t, check.Holds, r.Results[0].Verdict, r.Results[0].Reason)
}

// Nor does it lose its turn by what it has given up.
func TestOrderOfAnOwnRunThatGivesUp(t *testing.T) {
	s := parsed(t, "# Own.\nworld clients=3 lock=own rounds=4 think=100ms..300ms delay=1ms\nexpect order=holds\n"+
		"run for=60s\n")
	r, err := s.Run(t.Context(), Options{Seed: 1, Own: &Own{Run: func(ctx context.Context, c *Client) {
		lock := lockclient.New(c.Transports()[0], c.Runtime(), lockclient.WithID(c.ID())).Fair(c.Key())
		c.Asks()
		held, err := lock.Lock(ctx, lockclient.Wait(50*time.Millisecond))
		if err != nil {
			return
		}
		b := c.Believes(0)
		_ = c.Sleep(ctx, 200*time.Millisecond)
		c.Ends(b, false)
		_ = held.Unlock(ctx)
	}}})
	require.NoError(t, err)
	require.Less(t, r.Grants, 12)
	require.Equal(t, check.Holds, r.Results[0].Verdict, r.Results[0].Reason)
}

// A client that has slept through its lease, and dies, leaves no lease to wait for.
func TestLeaseOfWhoHasLostIt(t *testing.T) {
	const story = "# Asleep.\nworld clients=3 rounds=1 lock=%s ttl=5s renew=off hold=4s delay=1ms..5ms\n" +
		"expect lease=holds\nat 0s start c1\nat 100ms start c2\nat 200ms start c3\nat 1s pause c1 for=20s\n" +
		"at %s crash c1\nrun for=30s\n"
	for _, kind := range []string{"mutex", "simple", "fair", "redlock"} {
		for crash, want := range map[string]check.Verdict{"3s": check.Holds, "8s": check.Unknown} {
			got := verdicts(t, parsed(t, fmt.Sprintf(story, kind, crash)), 1)
			require.Equal(t, want, got["lease"], "%s, %s", kind, crash)
		}
	}
}

// Nor does it when another has got the lock and does not know that yet.
func TestLeaseThatAnotherHasUnknowingly(t *testing.T) {
	const story = "# Unknowing.\nworld clients=2 rounds=1 lock=mutex ttl=5s renew=off hold=4s delay=1ms..5ms\n" +
		"expect lease=holds\nat 0s start c1\nat 1s pause c1 for=20s\nat 6s start c2\nat %dms crash c1\nrun for=7s\n"
	for at := 6000; at < 6020; at++ {
		crashed := false
		s := parsed(t, fmt.Sprintf(story, at))
		_, err := s.Run(context.Background(), Options{Observe: func(e *trace.Event, _ []string) {
			crashed = crashed || e.Kind == trace.Crash
			require.False(t, e.Kind == trace.Crash && e.A != 0, "%d ms", at)
		}})
		require.NoError(t, err)
		require.True(t, crashed)
	}
}

// Who asks for several locks has some of them meanwhile: nothing of that is left behind.
func TestAuditsOfWhoAsksForSeveral(t *testing.T) {
	s := parsed(t, "# Several.\nworld clients=2 lock=multi rounds=1 ttl=1s profile=redisson delay=1ms lag=1ms\n"+
		"expect leak=holds\nat 0s start c1\nat 0s start c2\nat 10s audit\nrun for=11s\n")
	require.Equal(t, check.Holds, verdicts(t, s, 0)["leak"])
}

// A check says nothing of locks that make no such promise.
func TestPromisesThatNobodyMakes(t *testing.T) {
	for world, want := range map[string]map[string]check.Verdict{
		"lock=semaphore permits=2": {"exclusion": check.Unknown, "capacity": check.Holds},
		"lock=permits permits=2":   {"exclusion": check.Unknown, "capacity": check.Holds},
		"lock=semaphore permits=1": {"exclusion": check.Holds, "capacity": check.Holds},
		"lock=rw readers=2":        {"exclusion": check.Holds, "capacity": check.Unknown},
		"lock=mutex reenter=1":     {"exclusion": check.Holds, "capacity": check.Unknown},
		"lock=mutex":               {"exclusion": check.Holds, "capacity": check.Unknown},
	} {
		text := "# Promises.\nworld clients=2 rounds=2 " + world + "\nexpect exclusion=holds capacity=holds\nrun for=20s\n"
		s := parsed(t, text)
		require.Equal(t, want, verdicts(t, s, 0), world)
	}
}

// Which checks nobody can make, of each kind of lock: of what several have at a time there is
// no order of holders, and a write of one makes none of another's stale.
func TestChecksThatNobodyCanMake(t *testing.T) {
	for world, want := range map[string]string{
		"lock=mutex":               "capacity",
		"lock=multi masters=2":     "capacity",
		"lock=redlock masters=3":   "capacity",
		"lock=rw readers=2":        "fencing lease capacity linear",
		"lock=latch waiters=1":     "fencing lease capacity theft linear",
		"lock=semaphore permits=2": "exclusion fencing lease theft linear",
		"lock=permits permits=2":   "exclusion fencing lease linear",
		"lock=semaphore":           "fencing lease theft linear",
		"lock=permits":             "fencing lease linear",
		"lock=own":                 "",
		"lock=own permits=1":       "",
		"lock=own readers=1":       "fencing lease linear",
		"lock=own permits=2":       "exclusion fencing lease linear",
	} {
		r := &runner{s: parsed(t, "# Promises.\nworld clients=2 "+world+"\nexpect exclusion=holds\nrun for=20s\n")}
		var not []string
		for _, name := range Checks {
			c := r.checker(name, func(trace.Actor) string { return "" }, nil)
			if fmt.Sprintf("%T", c) == "check.nothing" && name != "own" {
				require.NotEmpty(t, c.Result(0).Reason)
				not = append(not, name)
			}
		}
		require.Equal(t, want, strings.Join(not, " "), world)
	}
}

// An answer that has come this very moment is not heeded yet.
func TestAuditsInTheMomentOfAnAnswer(t *testing.T) {
	s := parsed(t, "# Now.\nworld clients=2 lock=rw hold=20ms ttl=1s readers=0 lag=1ms\n"+
		"expect leak=holds\nat 0s start c1\nat 0s start c2\nat 20s audit\nrun for=21s\n")
	require.Equal(t, check.Holds, verdicts(t, s, 1)["leak"])
}
