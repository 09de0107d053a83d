package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
)

// explained is what a scenario with its seed is explained by.
func explained(t *testing.T, text string) (e *Explanation, effects map[string]string) {
	t.Helper()
	e, err := Explain(context.Background(), problem(t, text))
	require.NoError(t, err)
	require.NotNil(t, e)
	effects = map[string]string{}
	for _, r := range e.Remedies {
		effects[r.Name] = r.Effect(e.Result.Check)
	}
	return e, effects
}

// A remedy does not save a story because it ends before the violation, nor because its
// times were those of another lease.
func TestRemediesAreTriedToTheEnd(t *testing.T) {
	_, effects := explained(t, "world ttl=30s hold=60s profile=redisson lock=mutex rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s clock m1 rate=+900%\nat 0s start c1\nat 0s start c2\nrun for=30s seed=1\n")
	require.Contains(t, effects["a lease three times as long"], "exclusion is still violated", "it ends after 9 s there")
	_, effects = explained(t, "world ttl=30s hold=60s lock=mutex rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 10ms clock m1 jump=+1m\nat 10s start c2\nrun for=11s seed=1\n")
	require.Contains(t, effects["a lease a third as long"], `exclusion is still violated with this line instead: "at `)
	_, effects = explained(t, "world ttl=30s hold=60s lock=mutex rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 10s pause c1 for=45s\nrun for=31s seed=1\n")
	require.Regexp(t, `^exclusion is not violated, nor in \d+ variants`, effects["a lease three times as long"])
	require.Equal(t, "exclusion is still violated, but the resource takes no stale write",
		effects["fencing tokens (lock=fenced)"])
	_, effects = explained(t, "world ttl=30s hold=60s lock=fenced rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 10s pause c1 for=45s\nrun for=31s seed=1\n")
	require.Equal(t, "exclusion is still violated", effects["a lease a third as long"], "the tokens were there before")
	_, effects = explained(t, "world clients=2 ttl=30s hold=100ms think=1s rounds=2 bound=10s delay=1ms lag=1ms pool=on\n"+
		"expect progress=violated\nat 1s start c2\nat 1500ms partition c2 m1\nat 3s crash c2\nat 8s heal\nat 15s start c1\n"+
		"run for=30s seed=1\n")
	require.Regexp(t, `^progress is still violated with this line instead: "at 1.0\d*s partition c2 m1"$`,
		effects["connections that are closed abortively (abort=on)"], "it meets the holder")
}

// What becomes of the remedies stands in one column, however long their names are.
func TestEffectsStandInAColumn(t *testing.T) {
	e := Explanation{Result: check.Result{Check: "lease"}}
	for _, c := range changes {
		e.Remedies = append(e.Remedies, Remedy{Name: c.name, Saves: true})
	}
	columns := map[int]bool{}
	_, table, _ := strings.Cut(e.Text(), "run again with\n")
	for line := range strings.Lines(table) {
		columns[strings.Index(line, " lease is not violated")] = true
	}
	require.Len(t, columns, 1, table)
}

// Who needs a replica to write is no use where there is none any more behind a failover:
// it is tried where the old master comes back as one.
func TestWritesThatNeedAReplica(t *testing.T) {
	const name, story = "every write needs a replica (min-replicas=1)", "lock=mutex ttl=6s renew=off hold=12s rounds=1 " +
		"replicas=1 delay=1ms lag=1ms\nexpect exclusion=violated\nat 1s crash m1 for=2s\nat 3445ms start c1\n"
	_, effects := explained(t, "world sentinels=3 down-after=2s sync=on "+story+"at 5s start c2\nrun for=6s seed=2\n")
	require.Regexp(t, `^exclusion is not violated in \d+ variants`, effects[name])
	for _, world := range []string{
		"sync=on", "sentinels=3 down-after=2s", "sentinels=3 down-after=2s sync=on min-replicas=1",
	} {
		p := problem(t, "world "+world+" "+story+"run for=6s seed=2\n")
		for _, c := range changes {
			if _, err := c.make(p.Scenario); c.name == name {
				require.ErrorIs(t, err, errSenseless, world)
			}
		}
	}
}

// Tokens that begin again do not help, and a remedy that cannot apply is not offered:
// latches and semaphores have no leases.
func TestSenselessRemedies(t *testing.T) {
	_, effects := explained(t, "world ttl=30s hold=60s lock=mutex rounds=1 delay=1ms replicas=1 lag=2s\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 1s failover r1 outage=0s\nrun for=2s seed=1\n")
	require.Equal(t, "exclusion is still violated", effects["fencing tokens (lock=fenced)"])
	require.NotContains(t, effects, "restarts delayed by more than a lease")
	e, effects := explained(t, "world clients=1 lock=latch waiters=1 count=6 rounds=1 delay=1ms lag=1ms\n"+
		"expect gate=violated\nat 0s crash m1 for=0s data=lose\nat 0s start c1\nrun for=100ms seed=1\n")
	require.Empty(t, effects)
	require.Equal(t, []string{"what a server has acknowledged survives its crash"}, e.Broken)
	_, effects = explained(t, "world clients=1 lock=semaphore rounds=1 delay=1ms lag=1ms\n"+
		"expect leak=violated\nat 0s start c1\nat 10ms crash c1\nat 1m audit\nrun for=1m1s seed=1\n")
	require.Empty(t, effects)
}

// What broke is told by what would not have broken without it.
func TestBrokenAssumptions(t *testing.T) {
	const two = "at 0s start c1\nat 0s start c2\n"
	for name, test := range map[string]struct {
		text   string
		broken string
	}{
		"an outage that outlasts the lease": {"world ttl=30s hold=60s profile=redisson lock=mutex replicas=1 rounds=1 " +
			"delay=1ms lag=1ms\nexpect exclusion=violated\n" + two + "at 1s failover r1 outage=30s\nrun for=33s seed=1\n",
			"a server answers before leases end"},
		"a replica that lags": {"world ttl=30s hold=60s lock=mutex replicas=1 lag=2s rounds=1 delay=1ms\n" +
			"expect exclusion=violated\n" + two + "at 1s failover r1 outage=0s\nrun for=2s seed=1\n",
			"a promoted replica has every write that its master acknowledged"},
		"servers that come back with their data": {"world ttl=30s hold=60s profile=redisson lock=redlock masters=5 " +
			"rounds=1 delay=1ms\nexpect exclusion=violated\nat 0s crash m4\n" + two +
			"at 10s crash m1\nat 30s calm\nrun for=60s seed=1\n", "a server answers before leases end"},
		"a client that is cut off, while there is one master": {"world ttl=3s hold=60s profile=redisson lock=mutex " +
			"replicas=1 rounds=1 delay=1ms lag=1ms\nexpect exclusion=violated\nat 0s start c1\n" +
			"at 500ms partition c1 m1\nat 1s start c2\nrun for=9s seed=1\n", "messages arrive before leases end"},
		"a crash that is known by what it cost": {"world clients=4 per-lock=2 hold=8s rounds=1 fsync=everysec delay=1ms\n" +
			"expect exclusion=violated\nat 1100ms start c2\nat 1200ms start c1\nat 1500ms crash m1\n" +
			"at 2s restart m1 data=synced\nat 2500ms start c3\nrun for=5s seed=1\n",
			"what a server has acknowledged survives its crash"},
		"a crash by which another became master": {"world ttl=30s hold=60s lock=mutex replicas=1 lag=2s sentinels=3 " +
			"down-after=1s rounds=9 delay=1ms\nexpect exclusion=violated\nat 2s start c1\nat 2100ms crash m1\n" +
			"at 8s start c2\nrun for=20s seed=1\n", "there is one master at a time, and it has every acknowledged write"},
		"a freeze by which another became master": {"world ttl=30s hold=60s lock=simple cluster=3x1 down-after=1s rounds=1 " +
			"delay=1ms lag=1ms\nexpect exclusion=violated\nat 1s pause m1 for=2700ms\nat 1500ms start c2\n" +
			"at 3400ms start c1\nrun for=20s seed=1\n",
			"there is one master at a time, and it has every acknowledged write"},
		"a crash of who is back when another becomes master": {"world ttl=6s renew=off hold=12s rounds=1 replicas=1 " +
			"sentinels=3 down-after=2s sync=on delay=1ms lag=1ms\nexpect exclusion=violated\nat 1s crash m1 for=2s\n" +
			"at 3445ms start c1\nat 5s start c2\nrun for=6s seed=2\n",
			"there is one master at a time, and it has every acknowledged write"},
		"and with all its data, though only what is on its disk": {"world ttl=6s renew=off hold=12s rounds=1 replicas=1 " +
			"sentinels=3 down-after=2s sync=on delay=1ms lag=1ms\nexpect exclusion=violated\n" +
			"at 1s crash m1 for=2s data=synced\nat 3445ms start c1\nat 5s start c2\nrun for=6s seed=2\n",
			"there is one master at a time, and it has every acknowledged write"},
		"and when leases have ended by then": {"world lock=fenced ttl=3s rounds=1 replicas=1 sentinels=3 down-after=2s " +
			"sync=on delay=1ms lag=1ms\nexpect fencing=violated\nat 0s crash m1 for=3s\nat 4s start c2\n" +
			"at 10s start c1\nrun for=11s seed=2\n",
			"there is one master at a time, and it has every acknowledged write"},
		"a replica that is ahead of time": {"world replicas=1 sync=on ttl=10s renew=off hold=8s rounds=1 delay=1ms\n" +
			"expect exclusion=violated\nat 0s clock r1 jump=+20s\nat 100ms start c1\nat 2s failover r1 outage=200ms\n" +
			"at 3s start c2\nrun for=5s seed=1\n", "a server's clock measures a lease correctly"},
		"dates that clients compare": {"world clients=2 lock=permits permits=1 ttl=30s hold=5s rounds=1 delay=1ms\n" +
			"expect capacity=violated\nat 0s clock c2 jump=+31s\nat 0s start c1\nat 1s start c2\nrun for=3s seed=1\n",
			"clients' clocks agree with each other"},
		"a clock that a client measures with": {"world ttl=3s rounds=1 hold=6s delay=1ms\nexpect exclusion=violated\n" +
			"at 0s clock c1 rate=-99%\n" + two + "run for=9s seed=1\n", "a client's clock measures time correctly"},
		"an audit is no fault": {"world clients=1 lock=semaphore rounds=1 delay=1ms\nexpect leak=violated\n" +
			"at 0s start c1\nat 10ms crash c1\nat 1m audit\nrun for=1m1s seed=1\n",
			"a client that takes a lock lives to give it back"},
		"a replica that is asked": {"world ttl=30s hold=60s profile=redisson lock=mutex replicas=1 lag=2s guards=1 " +
			"rounds=1 delay=1ms\nexpect guard=violated\n" + two + "run for=2s seed=1\n",
			"a replica answers with what its master knows"},
	} {
		e, _ := explained(t, test.text)
		require.Equal(t, []string{test.broken}, e.Broken, name)
	}
}

// The sentences tell who gave what to whom, and nothing that a person cannot read.
func TestSentences(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string // in this order
		no   string
	}{
		"a quorum": {"world lock=redlock-hash masters=5 ttl=3s renew=off hold=6s rounds=1 delay=1ms\n" +
			"expect exclusion=violated\nat 0s partition c2 m1,m2\nat 0s start c2\nat 10ms clock m3 jump=+1m\n" +
			"at 500ms start c1\nrun for=600ms seed=1\n",
			[]string{"c2 from m1,m2", "c2 holds lock:1 valid=2.964s, granted by m3, m4 and m5", "the clock of m3 jumps",
				"m3 removes lock:1", "c1 holds lock:1 valid=2.964s, granted by m1, m2 and m3"}, ""},
		"a stall": {"world ttl=30s profile=redisson lock=mutex rounds=1 delay=1ms\nexpect exclusion=violated\n" +
			"at 0s stall c1 for=30s after=2\nat 0s start c1\nat 0s start c2\nrun for=31s seed=1\n",
			[]string{"c1 has lock:1", "c1 is paused for 30.000s", "c1 holds"}, ""},
		"checked with WAIT": {"world ttl=30s hold=60s lock=mutex replicas=2 sync=on rounds=1 delay=1ms lag=2s\n" +
			"expect exclusion=violated\nat 0s failover r2 outage=0s\nat 10ms start c1\nat 500ms failover r1 outage=0s\n" +
			"at 1s start c2\nrun for=2s seed=1\n", []string{"r1 executes mutex-acquire", "c2 holds"}, "INFO"},
		"tokens that go back": {"world ttl=30s lock=fenced replicas=1 lag=2s rounds=1 delay=1ms\nexpect fencing=violated\n" +
			"at 0s start c1\nat 0s start c2\nat 100ms failover r1 outage=0s\nrun for=300ms seed=1\n",
			[]string{"c1 holds lock:1 token=1", "r1 executes fenced-acquire", "c2 holds lock:1 token=1",
				"c2 got the lock with token 1, which c1 had before"}, "accepts the write"},
		"who has the permit": {"world ttl=30s lock=permits rounds=1 delay=1ms\nexpect capacity=violated\n" +
			"at 0s clock c2 jump=+1m\nat 0s start c1\nat 0s start c2\nrun for=100ms seed=1\n",
			[]string{"c1 holds", "c2 holds", "although the only one was taken"}, "\ufffd"},
		"readers pass a writer over": {"world clients=3 ttl=30s hold=60s lock=rw readers=2 rounds=1 bound=90s delay=1ms\n" +
			"expect progress=violated\nat 0s start c2\nat 0s start c3\nat 1m start c1\nrun for=91s seed=1\n",
			[]string{"c3 asks", "c2 holds", "c1 holds", "latest answer to c3", "held by c2 and c1, twice in all"}, ""},
		"a lock that is taken for nobody": {"world clients=3 ttl=30s hold=2s rounds=1 bound=10s pool=on\n" +
			"expect progress=violated\nat 0s start c1\nat 3s delay c2 m1 next=1 by=13s what=request\nat 3100ms start c2\n" +
			"at 17s start c3\nrun for=60s seed=1\n",
			[]string{"m1 executes mutex-acquire(lock:1; 30000, c2:1) = nil", "c3 asks",
				"While c3 waits, nobody holds lock:1; m1 has it as taken by c2 at first, and then as free."}, ""},
		"a lock that was given back before": {"world clients=2 ttl=30s hold=500ms rounds=4 bound=10s\n" +
			"expect progress=violated\nat 0s start c1\nat 5s partition c2 m1\nat 5100ms start c2\nrun for=17s seed=1\n",
			[]string{"c2 asks", "While c2 waits, nobody has lock:1."}, ""},
		"members that two have": {"world masters=3 clients=2 lock=multi ttl=6s rounds=1 profile=redisson bound=15s " +
			"delay=1ms\nexpect progress=violated\nat 0s start c1\nat 0s start c2\nrun for=16s seed=1\n",
			[]string{"c1 asks", "While c1 waits, nobody holds lock:1; at last m2 has lock:1.2 as taken by c2 and m3 has " +
				"lock:1.3 as taken by c2."}, ""},
		"who sleeps on": {"world profile=redisson clients=2 ttl=120s renew=off hold=2s rounds=1 bound=60s\n" +
			"expect progress=violated\nat 0s start c1\nat 100ms start c2\nat 1500ms partition c2 m1\n" +
			"at 41500ms heal\nrun for=150s seed=1\n",
			[]string{"lock:1 is held by c1, once in all; after 2.025 s nobody holds it."}, ""},
		"who took it before": {"world clients=3 lock=mutex ttl=6s hold=1s rounds=1 profile=redisson bound=15s " +
			"delay=1ms..8ms lag=1ms cluster=3x0 down-after=2s\nexpect lease=violated\nat 0s start c1\nat 0s start c3\n" +
			"at 1s crash c3\nat 2s start c2\nat 6.02s crash c2\nrun for=13s seed=5000000055\n",
			[]string{"c2 crashes", "m1 executes mutex-acquire(lock:1; 6000, c2:1) = nil", "m1 removes lock:1", "c1 holds",
				"c1 got the lock of c3 only 6.023s after its TTL had passed and somebody waited for it"}, ""},
		"faults that end early": {"world ttl=30s profile=redisson lock=redlock masters=3 clients=2 wait=60s rounds=1 " +
			"lag=1ms\nexpect exclusion=violated\nat 0s stall c2 for=1m\nat 0s start c1\nat 10ms start c2\n" +
			"at 20ms stall c1 for=1m after=4\nat 40s calm\nrun for=41s seed=1000000004\n",
			[]string{"c2 is paused for 60.000s", "At 40.000 s c1 goes on, as all faults end then"}, ""},
		"nothing to wait for": {"world clients=1 lock=semaphore rounds=1 delay=1ms bound=1m\nexpect liveness=violated\n" +
			"at 0s crash m1 for=0s data=lose\nat 0s start c1\nrun for=2m seed=1\n",
			[]string{"restarts without its data", "c1 asks", "the latest answer to c1", "While c1 waits, nobody has lock:1",
				"c1 waited 2m0s, more than 1m0s; without a calm the whole run counts"}, ""},
	} {
		e, _ := explained(t, test.text)
		story := strings.ToValidUTF8(strings.Join(e.Story, "\n"), "\ufffd")
		require.LessOrEqual(t, len(e.Story), 8, name)
		rest := story
		for _, want := range test.want {
			_, after, found := strings.Cut(rest, want)
			require.True(t, found, "%s: no %q in\n%s", name, want, story)
			rest = after
		}
		if test.no != "" {
			require.NotContains(t, story, test.no, name)
		}
	}
}

// A server that comes back empty can come back later, however its file says that it was away.
func TestRestartsAreDelayed(t *testing.T) {
	for _, name := range []string{"restart_without_data_breaks_redlock", "restart_without_data_grants_twice",
		"restart_loses_the_last_second"} {
		s, err := sim.Find(name)
		require.NoError(t, err)
		_, effects := explained(t, s.Text())
		require.Regexp(t, `^exclusion is not violated, nor in \d+ variants`,
			effects["restarts delayed by more than a lease"], name)
	}
}

// What is tried is a crash at the time at which the server went, or, where no line says
// that it went, at which it came back.
func TestDelayedRestart(t *testing.T) {
	for _, test := range [][2]string{
		{"at 1s crash m1 for=2s data=lose\n", "at 1s crash m1 data=lose for=31s\n"},
		{"at 1s crash m1\nat 2s start c2\nat 3s restart m1 data=lose\n",
			"at 1s crash m1 data=lose for=31s\nat 2s start c2\n"},
		{"at 1s crash m1 for=2s\nat 5s restart m1 data=lose\n",
			"at 1s crash m1 for=2s\nat 5s crash m1 data=lose for=31s\n"},
		{"at 1s crash m2\nat 5s restart m1 data=lose\n", "at 1s crash m2\nat 5s crash m1 data=lose for=31s\n"},
		{"at 1s crash m1\nat 32s restart m1 data=lose\n", ""},
		{"at 1s crash m1 for=31s data=lose\n", ""},
		{"at 1s crash m1\nat 2s restart m1 data=keep\nat 3s crash c1 for=1s\n", ""},
	} {
		steps, want := test[0], test[1]
		s := problem(t, "world masters=2 lock=redlock ttl=30s\nexpect exclusion=violated\n"+steps+"run for=60s\n").Scenario
		c, err := delayedRestart(s)
		if want == "" {
			require.ErrorIs(t, err, errSenseless, steps)
			continue
		}
		require.NoError(t, err)
		require.Contains(t, c.Text(), "=violated\n"+want+"run ", steps)
	}
}

// Where Sentinels promote a replica while the old master serves, the story tells of both.
func TestTwoMastersAreTold(t *testing.T) {
	s, err := sim.Find("split_brain_renews_on_both_sides")
	require.NoError(t, err)
	e, _ := explained(t, s.Text())
	require.Equal(t, []string{"messages arrive before leases end", oneMaster}, e.Broken)
	require.Contains(t, strings.Join(e.Story, "\n"), "r1 is promoted to master")
	e, _ = explained(t, "world replicas=1 sentinels=3 down-after=5s ttl=60s hold=60s rounds=3 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s hold r1\nat 100ms start c1\nat 1s partition m1,c1 r1,s1,s2,s3,c2\n"+
		"at 15s start c2\nrun for=30s seed=1\n")
	require.Equal(t, []string{upToDate, "messages arrive before leases end"}, e.Broken, "that says it")
}

// A fault that comes later takes those behind it with it; none comes before another.
func TestRetimed(t *testing.T) {
	s := problem(t, "world replicas=1\nexpect exclusion=violated\nat 1s hold r1\nat 2s start c1\nat 3s crash m1\n"+
		"at 5s promote r1\nrun for=9s\n").Scenario
	for _, test := range []struct {
		line int
		at   time.Duration
		want string
	}{
		{0, 2 * time.Second, "at 2s hold r1\nat 2s start c1\nat 4s crash m1\nat 6s promote r1\n"},
		{1, 4 * time.Second, "at 1s hold r1\nat 3s crash m1\nat 4s start c1\nat 5s promote r1\n"},
		{2, 1500 * time.Millisecond, "at 1s hold r1\nat 1.5s crash m1\nat 2s start c1\nat 3.5s promote r1\n"},
	} {
		require.Contains(t, retimed(s, test.line, test.at).story.Text(), "=violated\n"+test.want+"run ")
	}
	require.Nil(t, retimed(s, 3, 2*time.Second))
}

// Each verb that a scenario can have is explained, or is no fault.
func TestVerbsAreExplained(t *testing.T) {
	for _, name := range sim.Verbs() {
		v, explained := verbs[name]
		require.NotEqual(t, explained, slices.Contains(harmless, name), "%s: expected it in verbs or in harmless", name)
		require.False(t, explained && (len(v.signs) == 0 || v.takes == nil), name)
	}
	require.Len(t, sim.Verbs(), len(verbs)+len(harmless))
}

// What each fault takes away, as far as its line says: of clients the run says more.
func TestAssumptions(t *testing.T) {
	for line, want := range map[string]string{
		"restart m1 lose=1s": remembered, "restart m1 data=synced": remembered, "restart m1 data=keep": soonBack,
		"crash m1 for=1s data=lose": remembered, "crash m1 for=1s": soonBack, "pause m1 for=1s": soonBack,
		"slow m1 for=1s": soonBack, "promote r1": oneMaster, "hold r1": upToDate,
		"pause c1 for=1s":             "no client pauses",
		"stall c1 for=1s":             "no client pauses",
		"clock c1 jump=+1s":           "a client's clock measures time correctly",
		"clock m1 jump=+1s":           "a server's clock measures a lease correctly",
		"crash c1":                    "no client crashes",
		"run m1 SET lock:1 x":         "nobody gives a server commands by hand",
		"evict m1 key=1":              "nothing removes a lock's key before its time",
		"duplicate c1 m1 next=1":      "a request is executed once",
		"partition c1 m1":             "messages arrive before leases end",
		"delay c1 m1 next=1 by=100ms": "messages arrive before leases end",
	} {
		s := problem(t, "world replicas=1\nexpect exclusion=violated\nat 1s "+line+"\nrun for=9s\n").Scenario
		a, err := verbs[s.Steps[0].Verb].takes(&explainer{story: s}, s.Steps[0])
		require.NoError(t, err)
		require.Equal(t, want, a, line)
	}
}

// Of leases nothing is said where none ended.
func TestWithoutLeases(t *testing.T) {
	for _, test := range []struct{ kind, check, line, want string }{
		{"latch", "progress", "crash m1", "a server answers in time"},
		{"semaphore", "capacity", "delay c1 m1 next=1 by=9s", "messages arrive in time"},
		{"mutex", "progress", "pause m1 for=9s", "a server answers in time"},
		{"mutex", "progress", "pause m1 for=30s", soonBack},
		{"mutex", "progress", "partition c1 m1", inTime},
		{"mutex", "exclusion", "pause m1 for=9s", soonBack},
		{"mutex", "progress", "restart m1 lose=1s", remembered},
	} {
		s := problem(t, "world ttl=30s lock="+test.kind+"\nexpect "+test.check+"=violated\nat 1s "+test.line+
			"\nrun for=9s\n").Scenario
		x := &explainer{lab: &lab{checks: []string{test.check}}, story: s}
		a, err := verbs[s.Steps[0].Verb].takes(x, s.Steps[0])
		require.NoError(t, err)
		require.Equal(t, test.want, x.withoutLeases(a, s.Steps[0]), test.kind+" "+test.line)
	}
}

// Tokens are no remedy for what they do not change.
func TestTokensAreTriedWhereTheyCanHelp(t *testing.T) {
	const story = "ttl=30s hold=60s lock=mutex rounds=1 delay=1ms\nexpect %s=violated\nat 0s start c1\n" +
		"at 100ms run m1 DEL lock:1\nat 200ms start c2\nrun for=61s seed=1\n"
	for check, tried := range map[string]bool{"exclusion": true, "kept": false} {
		e, _ := explained(t, "world "+fmt.Sprintf(story, check))
		require.Equal(t, tried, strings.Contains(e.Text(), "fencing tokens"), check)
	}
}

// Only what holds is kept; of what is unknown a remedy learns why.
func TestKeeps(t *testing.T) {
	x := &explainer{lab: &lab{checks: []string{"exclusion"}}}
	for verdict, why := range map[check.Verdict]string{check.Holds: "", check.Violated: "", check.Unknown: "a reason"} {
		var r Remedy
		o := &outcome{report: &sim.Report{Results: []check.Result{{Check: "fencing", Verdict: check.Holds},
			{Check: "exclusion", Verdict: verdict, Reason: "a reason"}}}}
		require.Equal(t, verdict == check.Holds, x.keeps(&r, o), verdict)
		require.Equal(t, why, r.Why, verdict)
	}
}

// A variant in which nobody got a lock is none in which the promise was kept.
func TestVariantsWithoutAVerdictDoNotCount(t *testing.T) {
	p := problem(t, "world clients=2 lock=mutex ttl=3s renew=off hold=5s rounds=1 delay=5ms\nexpect exclusion=violated\n"+
		"at 0s start c1\nat 3500ms start c2\nat 6s crash m1\nrun for=12s seed=1\n")
	x := &explainer{lab: newLab(sim.NewLua(), []string{"exclusion"}, nil), ctx: context.Background()}
	require.NoError(t, x.look(p.Scenario))
	longer, err := x.story.With("ttl", "9s")
	require.NoError(t, err)
	told, err := x.goOn(longer)
	require.NoError(t, err)
	verdicts := map[check.Verdict]int{}
	for _, m := range x.others(longer, told) {
		o, err := x.goOn(m.story)
		require.NoError(t, err)
		verdicts[o.report.Results[0].Verdict]++
	}
	require.Zero(t, verdicts[check.Violated])
	require.NotZero(t, verdicts[check.Unknown], "the master crashes before anybody gets the lock")
	var r Remedy
	require.NoError(t, x.try(&r, longer))
	require.True(t, r.Saves)
	require.Equal(t, verdicts[check.Holds], r.Tried)
}

// A remedy with which a line of the story does nothing, or with which fewer get a lock, says so:
// then it was not the story any more.
func TestRemediesSayWhatOfTheStoryIsLeft(t *testing.T) {
	_, effects := explained(t, "world lock=mutex replicas=1 sync=on clients=2 rounds=1 delay=1ms hold=20s\n"+
		"expect exclusion=violated\nat 0s crash r1\nat 1s start c1\nat 3s restart r1 data=lose\nat 3s hold r1 for=30s\n"+
		"at 5s failover r1 outage=0s\nat 6s start c2\nrun for=60s seed=1\n")
	require.Regexp(t, `^exclusion is not violated, nor in \d+ variants of the story, `+
		`but "at 5s failover r1 outage=0s" did nothing$`, effects["restarts delayed by more than a lease"])
	_, effects = explained(t, "world clients=2 ttl=30s hold=60s profile=lockclient lock=fair delay=1ms rounds=1 lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 10ms crash m1 for=0s data=lose\n"+
		"run for=200ms seed=1\n")
	require.Regexp(t, `^exclusion is not violated, nor in \d+ variants of the story, `+
		`but 1 client got a lock instead of 2$`, effects["restarts delayed by more than a lease"])
}
