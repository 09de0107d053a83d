package explore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

type tinyWorld struct {
	name, world, kinds string
	faults             int
}

// tinyWorlds are small enough for every order of everything.
var tinyWorlds = []tinyWorld{
	{"one client", "clients=1 lock=mutex renew=off", "", 0},
	{"two clients", "clients=2 lock=simple renew=off wait=1ms", "", 0},
	{"a lost message", "clients=1 lock=mutex renew=off", "drop", 1},
	{"two lost replies", "clients=1 lock=simple renew=off wait=1ms", "lost-reply", 2},
	{"a request comes twice", "clients=1 lock=mutex renew=off", "duplicate", 1},
	{"a server forgets", "clients=1 lock=fenced renew=off", "amnesia", 1},
	{"a server is away", "clients=1 lock=simple renew=off wait=1ms", "outage", 1},
	{"a server forgets, or not", "clients=1 lock=simple renew=off wait=1ms", "outage amnesia", 1},
	{"a client crashes", "clients=1 lock=mutex renew=off", "crash", 1},
	{"a client comes back", "clients=1 lock=simple renew=off wait=1ms", "client-restart", 1},
	{"a client stands still", "clients=1 lock=mutex renew=off", "pause", 1},
	{"a clock jumps", "clients=1 lock=mutex renew=off", "jump client-jump", 1},
	{"two servers", "masters=2 clients=1 lock=redlock renew=off", "", 0},
	{"a replica", "replicas=1 clients=1 lock=simple renew=off wait=1ms", "", 0},
	{"a split brain", "replicas=1 clients=1 lock=simple renew=off wait=1ms", "split", 1},
	{"clocks of one of two", "masters=2 clients=1 lock=redlock renew=off", "jump servers=1", 2},
	{"a line is cut", "clients=1 lock=simple renew=off wait=1ms", "partition", 1},
}

// smallWorlds are too large for that, but not for every order of what leads to
// another state.
var smallWorlds = []tinyWorld{
	{"two masters", "masters=2 clients=2 lock=redlock renew=off once=on", "", 0},
	{"one of two forgets", "masters=2 clients=1 lock=redlock renew=off once=on", "amnesia", 1},
	{"a client of two stands still", "masters=2 clients=1 lock=redlock renew=off once=on", "pause", 1},
	{"a message gets lost", "masters=3 clients=1 lock=redlock renew=off once=on", "drop", 1},
	{"a request comes twice", "masters=2 clients=1 lock=redlock-hash renew=off once=on", "duplicate", 1},
	{"an answer gets lost", "masters=3 clients=1 lock=redlock renew=off once=on", "lost-reply", 1},
	{"one of two is cut off", "masters=2 clients=1 lock=redlock renew=off once=on", "partition", 1},
	{"one of three stands still", "masters=3 clients=1 lock=redlock renew=off once=on", "freeze", 1},
	{"a client of two crashes", "masters=2 clients=1 lock=redlock-hash renew=off once=on", "crash", 1},
	{"an answer of two gets lost", "masters=2 clients=2 lock=redlock renew=off once=on", "lost-reply", 1},
	{"a waiter is cut off", "clients=2 lock=mutex renew=off once=on", "partition", 1},
	{"one of two stands still", "clients=2 lock=fenced renew=off once=on", "pause", 1},
	{"a server of two stands still", "clients=2 lock=simple renew=off once=on", "freeze", 1},
	{"clocks of two jump", "clients=2 lock=permits renew=off once=on", "client-jump", 1},
	{"one of two hashes stands still", "masters=2 clients=1 lock=redlock-hash renew=off once=on", "freeze", 1},
	{"one of two hashes is away", "masters=2 clients=1 lock=redlock-hash renew=off once=on", "outage", 1},
	{"an answer of a hash gets lost", "masters=2 clients=1 lock=redlock-hash renew=off once=on", "drop", 1},
	{"a request of two comes twice", "clients=2 lock=mutex renew=off once=on", "duplicate", 1},
	{"one of two dies", "clients=2 lock=mutex renew=off once=on", "crash", 1},
	{"a late answer", "clients=2 lock=mutex renew=off once=on", "freeze", 1},
	{"a wake-up gets lost", "clients=2 lock=mutex renew=off", "lost-message", 1},
	{"two who wait", "clients=2 lock=mutex renew=off", "", 0},
	{"a replica is promoted while one holds", "replicas=1 clients=1 lock=mutex renew=off hold=500ms", "split", 1},
	{"a pair", "replicas=1 clients=2 lock=simple sync=on renew=off once=on", "", 0},
	{"a pair that is asked", "replicas=1 clients=2 lock=nonreentrant sync=on renew=off once=on", "", 0},
	{"a replica takes over", "replicas=1 clients=1 lock=simple renew=off once=on", "failover", 1},
	{"what is confirmed survives", "replicas=1 clients=1 lock=mutex sync=on renew=off once=on", "failover", 1},
	{"a split brain", "replicas=1 clients=2 lock=simple renew=off once=on", "split", 1},
	{"a replica lags", "replicas=1 lag=0s..2s clients=1 lock=mutex sync=on renew=off once=on", "", 0},
	{"a late replica splits", "replicas=1 lag=0s..2s clients=1 lock=spin sync=on renew=off once=on", "split", 1},
	{"a split brain that asks", "replicas=1 clients=1 lock=mutex sync=on renew=off once=on", "split", 1},
	{"an answer of a pair gets lost", "replicas=1 clients=1 lock=fenced sync=on renew=off once=on", "drop", 1},
	{"a client of a pair stands still", "replicas=1 clients=1 lock=mutex sync=on renew=off once=on", "pause", 1},
	{"Redisson's multi", "masters=2 clients=1 lock=multi profile=redisson renew=off once=on", "crash", 1},
	{"renewals of two", "masters=2 clients=1 lock=multi hold=400ms once=on", "", 0},
	{"Redisson's renewals of two", "masters=2 clients=1 lock=multi profile=redisson hold=400ms once=on", "", 0},
	{"renewals end with their client", "masters=2 clients=1 lock=multi hold=400ms once=on", "crash", 1},
	{"a clock jumps past renewals", "masters=2 clients=1 lock=multi hold=400ms once=on", "jump", 1},
	{"a clock jumps past Redisson's", "masters=2 clients=1 lock=multi profile=redisson hold=400ms once=on", "jump", 1},
	{"one of two splits", "masters=2 replicas=1 replicated=2 clients=1 lock=multi profile=redisson renew=off once=on",
		"split", 1},
	{"two faults of one server", "masters=2 clients=1 lock=redlock renew=off once=on", "freeze drop servers=1", 2},
	{"one server forgets twice", "masters=2 clients=1 lock=redlock renew=off once=on", "amnesia servers=1", 2},
	{"Redisson's redlock", "masters=2 clients=1 lock=redlock profile=redisson renew=off once=on", "drop", 1},
}

// search runs every schedule of a world in one way, and collects what they come to.
func search(
	t *testing.T, w tinyWorld, set func(*exhaustive), outcome func(*sim.Untimed) uint64,
) (finals map[uint64]bool, schedules int) {
	t.Helper()
	text := "world rounds=1 ttl=1s " + w.world + "\nexpect exclusion=holds\n"
	if !strings.Contains(text, " hold=") {
		text = strings.Replace(text, "world", "world hold=0s", 1)
	}
	if w.kinds != "" {
		text += "faults " + w.kinds + "\n"
	}
	e, err := newExhaustive(problem(t, text+"run for=4s\n"), Bound{Faults: w.faults, Schedules: 1000_000})
	require.NoError(t, err)
	set(e)
	finals = map[uint64]bool{}
	e.final = func(u *sim.Untimed) { finals[outcome(u)] = true }
	start := time.Now()
	for more := true; more; {
		more, err = e.schedule()
		require.NoError(t, err)
	}
	t.Logf("naive %v, plain %v: %d schedules, %d states, %d ends, %v", e.naive, e.plain, e.done.Schedules,
		e.done.States, len(finals), time.Since(start))
	return finals, e.done.Schedules
}

func reduced(*exhaustive) {}

func outcomeOf(u *sim.Untimed) uint64 { return mix(u.Outcome() + uint64(u.Left())) }

func stateOf(u *sim.Untimed) uint64 { return u.State(nil).Hash }

func TestReducedSearchSeesWhatNaiveSearchSees(t *testing.T) {
	for _, w := range tinyWorlds {
		t.Run(w.name, func(t *testing.T) {
			all, most := search(t, w, func(e *exhaustive) { e.naive = true }, stateOf)
			seen, few := search(t, w, reduced, stateOf)
			require.Equal(t, all, seen)
			require.LessOrEqual(t, few, most)
			exact, _ := search(t, w, func(e *exhaustive) { e.naive, e.plain = true, true }, outcomeOf)
			merged, _ := search(t, w, reduced, outcomeOf)
			require.Equal(t, exact, merged)
		})
	}
}

// What the reduction leaves out leads to nothing new also where clients count
// the answers of several masters.
func TestReducedSearchSeesWhatStatesTell(t *testing.T) {
	for _, w := range smallWorlds {
		t.Run(w.name, func(t *testing.T) {
			all, most := search(t, w, func(e *exhaustive) { e.plain = true }, outcomeOf)
			seen, few := search(t, w, reduced, outcomeOf)
			require.Equal(t, all, seen)
			require.Less(t, few, most)
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
		"no fault":       {"world clients=2 lock=mutex", 0, false},
		"a lost reply":   {"world clients=2 lock=simple renew=off wait=1s\nfaults lost-reply", 1, false},
		"a pause":        {"world clients=2 lock=mutex\nfaults pause", 1, true},
		"amnesia":        {"world clients=2 lock=simple renew=off wait=1s\nfaults amnesia", 1, true},
		"amnesia or not": {"world clients=2 lock=simple renew=off wait=1s\nfaults outage amnesia", 1, true},
		"a failover":     {"world replicas=1 clients=2 lock=mutex\nfaults failover", 1, true},
		"a split brain":  {"world replicas=1 clients=2 lock=mutex\nfaults split", 1, true},
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
			again.Order = again.Order[:len(again.Order)-1] // it ends with what breaks the promise
			r, err = again.Run(ctx, sim.Options{})
			require.NoError(t, err)
			require.False(t, r.AsExpected())
		})
	}
}

// Of all schedules that violate the first is told.
func TestTheFirstHitIsTold(t *testing.T) {
	p := problem(t, "world clients=2 lock=simple renew=off wait=1ms rounds=1 ttl=1s hold=0s\nexpect exclusion=holds\n"+
		"faults jump\nrun for=4s\n")
	all, err := Exhaust(context.Background(), p, Bound{Faults: 1})
	require.NoError(t, err)
	require.Greater(t, all.Violated, 1)
	e, err := newExhaustive(p, Bound{Faults: 1})
	require.NoError(t, err)
	for e.done.Hit == nil {
		_, err = e.schedule()
		require.NoError(t, err)
	}
	require.Less(t, e.done.Schedules, all.Schedules)
	require.Equal(t, e.done.Hit.Text(), all.Hit.Text())
}

func TestBoundsThatCannotBe(t *testing.T) {
	ctx := context.Background()
	p := problem(t, "world masters=5 clients=3 rounds=1 lock=redlock\nexpect exclusion=holds\nfaults drop\nrun for=9s\n")
	_, err := Exhaust(ctx, p, Bound{Faults: 3, Schedules: 200})
	var tooMany *TooManyError
	require.ErrorAs(t, err, &tooMany)
	require.Greater(t, tooMany.Estimate, uint64(200))
	require.ErrorContains(t, err, "schedules within the bound, more than 200: expected fewer faults, clients or servers")
	endless := problem(t, "world clients=1 ttl=3s lock=own\nexpect exclusion=holds\nrun for=8s\n")
	endless.Own = &sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		for ctx.Err() == nil {
			_, _ = c.Transports()[0].Do(ctx, c.Key(), "GET", c.Key())
		}
	}}
	_, err = Exhaust(ctx, endless, Bound{})
	require.EqualError(t, err, "explore: a schedule has more than 2000 actions, as if somebody asked again and again: "+
		"expected clients that give up, or that are told")
	_, err = Exhaust(ctx, p, Bound{Faults: 10})
	require.EqualError(t, err, "explore: a bound of 10 faults: expected 0 to 9")
	_, err = Exhaust(ctx, problem(t, "world\nexpect exclusion=holds\nfaults drift\nrun for=9s\n"), Bound{})
	require.ErrorContains(t, err, "explore: drift needs times: a search of orders takes only [pause freeze jump")
	_, err = Exhaust(ctx, problem(t, "world\nexpect exclusion=holds\nat 1s crash c1\nrun for=9s\n"), Bound{})
	require.ErrorContains(t, err, "has at lines, but a search of orders has no times")
}

// A confirmation that replication is too slow for is not waited for: time goes on
// while effects are under way, for as long as they may lag.
func TestTimeGoesOnWhileReplicasLag(t *testing.T) {
	for lag, passes := range map[string]bool{"0s..2s": true, "0s..500ms": false} { // WAIT has a second
		p := problem(t, "world clients=1 rounds=1 replicas=1 sync=on lock=mutex ttl=9s lag="+lag+
			"\nexpect exclusion=holds\nrun for=20s\n")
		u, err := sim.NewUntimed(p.Scenario, sim.UntimedOptions{Options: sim.Options{Lua: sim.NewLua()}})
		require.NoError(t, err)
		defer u.Close()
		toReplica := func(a sim.Action) bool { return a.Verb == sim.Deliver && u.Names()[a.To] == "r1" }
		var left []sim.Action
		for left = u.Actions(); len(left) > 0; left = u.Actions() {
			i := slices.IndexFunc(left, func(a sim.Action) bool { return !toReplica(a) })
			if i < 0 || left[i].Verb == sim.Elapse {
				break
			}
			u.Do(left[i])
		}
		require.True(t, slices.ContainsFunc(left, toReplica), lag)
		require.Equal(t, passes, slices.Contains(left, sim.Action{Verb: sim.Elapse}), lag)
	}
}

// A search ends with the last schedule that it may have, or sooner where it was not told
// how many and there seem to be far more.
func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		guesses   bool
		schedules int
		covered   uint64
		refused   bool
	}{
		{true, probe, 1, true}, {false, probe, 1, false}, {true, probe - 1, 1, false}, {true, probe, whole / 2, false},
		{false, enough - 1, whole / 2, false}, {false, enough, whole / 2, true},
	} {
		e := &exhaustive{guesses: c.guesses, b: Bound{Schedules: enough}, covered: c.covered}
		e.done.Schedules = c.schedules
		require.Equal(t, c.refused, e.estimate() != nil, c)
	}
}

// orderIs is violated by a run in which things happen in an order: those of the
// clients that it names, in a kind of event each.
type orderIs struct {
	want, got string
	name      check.Names
}

func (o *orderIs) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Execute:
		o.got += "m1:" + o.name(e.Peer) + " "
	case trace.End:
		o.got += o.name(e.Actor) + " "
	}
}

func (o *orderIs) Result(time.Duration) check.Result {
	if o.got == o.want {
		return check.Result{Check: "own", Verdict: check.Violated}
	}
	return check.Result{Check: "own"}
}

// A check that a test brings is shown every order, also of what has nothing to do with
// each other.
func TestExhaustOfATestsOwnCheck(t *testing.T) {
	p := problem(t, "world clients=2 rounds=1 lock=own hold=0s think=0s ttl=1s\nexpect own=holds\nrun for=4s\n")
	for _, want := range []string{"m1:c1 m1:c2 c1 c2 ", "m1:c1 m1:c2 c2 c1 ", "m1:c2 m1:c1 c1 c2 ",
		"m1:c2 m1:c1 c2 c1 ", "m1:c1 c1 m1:c2 c2 "} {
		p.Own = &sim.Own{
			Run:   func(ctx context.Context, c *sim.Client) { _, _ = c.Transports()[0].Do(ctx, c.Key(), "GET", c.Key()) },
			Check: func(name check.Names) check.Checker { return &orderIs{want: want, name: name} },
		}
		done, err := Exhaust(context.Background(), p, Bound{})
		require.NoError(t, err)
		require.Positive(t, done.Violated, want)
	}
}

// How much of a lease is left when its client crashes depends on what others have done at
// the server: here c1 deletes twice what it had, and the second time what c2 has left.
func TestExhaustOfALeaseThatIsDeleted(t *testing.T) {
	p := problem(t, "world clients=2 rounds=1 lock=own hold=0s ttl=1s\nexpect lease=holds\nfaults crash\nrun for=4s\n")
	p.Own = &sim.Own{Run: func(ctx context.Context, c *sim.Client) {
		do := func(args ...string) string {
			r, _ := c.Transports()[0].Do(ctx, c.Key(), args...)
			return r.Text
		}
		take := func() bool {
			c.Asks()
			if do("SET", c.Key(), c.ID(), "NX", "PX", "1000") != "OK" {
				return false
			}
			if b := c.Believes(0); c.Name() == "c1" {
				c.Ends(b, false)
			}
			return true
		}
		if !take() || c.Name() != "c1" {
			return
		}
		for range 2 {
			c.Runtime().Go(func() { do("DEL", c.Key()) })
		}
		c.Runtime().Go(func() { take() })
	}}
	done, err := Exhaust(context.Background(), p, Bound{Faults: 1})
	require.NoError(t, err)
	require.Positive(t, done.Violated)
}

// Who sleeps until somebody wakes it, and nobody does, waits to the end of the run.
func TestExhaustFindsWhoWaitsForEver(t *testing.T) {
	for bound, violated := range map[string]bool{"7s": true, "8s": false} {
		p := problem(t, "world clients=2 rounds=1 lock=own ttl=1s bound="+bound+"\nexpect progress=holds\nrun for=8s\n")
		p.Own = &sim.Own{Run: func(ctx context.Context, c *sim.Client) {
			rt, to := c.Runtime(), c.Transports()[0]
			c.Asks()
			for {
				if r, _ := to.Do(ctx, c.Key(), "SET", c.Key(), c.ID(), "NX"); r.Text == "OK" {
					break
				}
				// What is said between the attempt and this is missed.
				gate := rt.NewGate()
				s, _ := to.Subscribe(ctx, "free", false, func(string) { gate.Open() }, gate.Open)
				_, _ = gate.Wait(ctx, -1)
				s.Close()
			}
			c.Ends(c.Believes(0), false)
			_, _ = to.Do(ctx, c.Key(), "DEL", c.Key())
			_, _ = to.Do(ctx, "free", "PUBLISH", "free", "")
		}}
		done, err := Exhaust(context.Background(), p, Bound{})
		require.NoError(t, err)
		require.Equal(t, violated, done.Violated > 0, bound)
	}
}
