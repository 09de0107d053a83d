package explore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// tinyWorlds are small enough for every order of everything.
var tinyWorlds = []struct {
	name, world, kinds string
	faults             int
}{
	{"one client", "clients=1 lock=mutex renew=off", "", 0},
	{"two clients", "clients=2 lock=simple renew=off wait=1ms", "", 0},
	{"a lost message", "clients=1 lock=mutex renew=off", "drop", 1},
	{"two lost replies", "clients=1 lock=simple renew=off wait=1ms", "lost-reply", 2},
	{"a request comes twice", "clients=1 lock=mutex renew=off", "duplicate", 1},
	{"a server forgets", "clients=1 lock=fenced renew=off", "amnesia", 1},
	{"a server is away", "clients=1 lock=simple renew=off wait=1ms", "outage", 1},
	{"a client crashes", "clients=1 lock=mutex renew=off", "crash", 1},
	{"a client comes back", "clients=1 lock=simple renew=off wait=1ms", "client-restart", 1},
	{"a client stands still", "clients=1 lock=mutex renew=off", "pause", 1},
	{"a clock jumps", "clients=1 lock=mutex renew=off", "jump client-jump", 1},
	{"two servers", "masters=2 clients=1 lock=redlock renew=off", "", 0},
	{"a replica", "replicas=1 clients=1 lock=simple renew=off wait=1ms", "", 0},
	{"a line is cut", "clients=1 lock=simple renew=off wait=1ms", "partition", 1},
}

func TestReducedSearchSeesWhatNaiveSearchSees(t *testing.T) {
	for _, w := range tinyWorlds {
		t.Run(w.name, func(t *testing.T) {
			text := "world rounds=1 ttl=1s hold=0s " + w.world + "\nexpect exclusion=holds\n"
			if w.kinds != "" {
				text += "faults " + w.kinds + "\n"
			}
			p := problem(t, text+"run for=4s\n")
			finals := [2]map[uint64]bool{{}, {}}
			var counts [2]Exhausted
			for i := range finals {
				e, err := newExhaustive(p, Bound{Faults: w.faults, Schedules: 50_000})
				require.NoError(t, err)
				e.naive = i == 0
				e.final = func(state uint64, _ bool) { finals[i][state] = true }
				start := time.Now()
				for more := true; more; {
					more, err = e.schedule()
					require.NoError(t, err)
				}
				counts[i] = e.done
				t.Logf("naive %v: %+v, %d final states, %v", e.naive, e.done, len(finals[i]), time.Since(start))
			}
			require.Equal(t, finals[0], finals[1])
			require.LessOrEqual(t, counts[1].Schedules, counts[0].Schedules)
		})
	}
}

// Where a lock breaks, an exhaustive search finds it, and the order that it
// found runs again; where it holds, every schedule was run.
func TestExhaust(t *testing.T) {
	ctx := context.Background()
	for name, q := range map[string]struct {
		text   string
		faults int
		broken bool
	}{
		"no fault":      {"world clients=2 lock=mutex", 0, false},
		"a lost reply":  {"world clients=2 lock=simple renew=off wait=1s\nfaults lost-reply", 1, false},
		"a pause":       {"world clients=2 lock=mutex\nfaults pause", 1, true},
		"amnesia":       {"world clients=2 lock=simple renew=off wait=1s\nfaults amnesia", 1, true},
		"a failover":    {"world replicas=1 clients=2 lock=mutex\nfaults failover", 1, true},
		"a split brain": {"world replicas=1 clients=2 lock=mutex\nfaults split", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(q.text, "world", "world rounds=1 ttl=2s hold=1s", 1)
			p := problem(t, text+"\nexpect exclusion=violated\nrun for=8s\n")
			done, err := Exhaust(ctx, p, Bound{Faults: q.faults, First: q.broken})
			t.Logf("%d schedules, %d walks, %d states", done.Schedules, done.Walks, done.States)
			require.NoError(t, err)
			require.Equal(t, q.broken, done.Hit != nil)
			if !q.broken {
				require.True(t, done.Complete)
				return
			}
			again, err := done.Hit.Again()
			require.NoError(t, err)
			r, err := again.Run(ctx, sim.Options{})
			require.NoError(t, err)
			require.True(t, r.AsExpected())
			require.Equal(t, done.Result, r.Results[0])
		})
	}
}

func TestBoundsThatCannotBe(t *testing.T) {
	ctx := context.Background()
	p := problem(t, "world masters=5 clients=3 rounds=1 lock=redlock\nexpect exclusion=holds\nfaults drop\nrun for=9s\n")
	_, err := Exhaust(ctx, p, Bound{Faults: 3, Schedules: 200})
	var tooMany *TooManyError
	require.ErrorAs(t, err, &tooMany)
	require.Greater(t, tooMany.Estimate, uint64(200))
	require.ErrorContains(t, err, "schedules within the bound, more than 200: expected fewer faults, clients or servers")
	_, err = Exhaust(ctx, p, Bound{Faults: 10})
	require.EqualError(t, err, "explore: a bound of 10 faults: expected 0 to 9")
	_, err = Exhaust(ctx, problem(t, "world\nexpect exclusion=holds\nfaults drift\nrun for=9s\n"), Bound{})
	require.ErrorContains(t, err, "explore: drift needs times: an exhaustive search knows [pause freeze jump")
	_, err = Exhaust(ctx, problem(t, "world\nexpect exclusion=holds\nat 1s crash c1\nrun for=9s\n"), Bound{})
	require.ErrorContains(t, err, "has at lines: an exhaustive search has no times")
}
