package explore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/trace"
)

// Every embedded scenario that violates something is explained in four to eight
// sentences; one that does not is not.
func TestEveryViolationIsExplained(t *testing.T) {
	ctx := context.Background()
	explained := 0
	for _, s := range sim.Library() {
		if len(s.Expect) == 0 {
			continue
		}
		e, err := Explain(ctx, Problem{Scenario: s})
		require.NoError(t, err, s.Name)
		violated := strings.Contains(s.Text(), "=violated")
		require.Equal(t, violated, e != nil, s.Name)
		if e == nil {
			continue
		}
		explained++
		require.Equal(t, isLeased(s), len(e.Remedies) > 0, s.Name)
		require.GreaterOrEqual(t, len(e.Story), 3, "%s: %q", s.Name, e.Story)
		require.LessOrEqual(t, len(e.Story), 8, "%s: %q", s.Name, e.Story)
		require.LessOrEqual(t, len(e.Broken), 3, "%s: %q", s.Name, e.Broken)
	}
	require.Greater(t, explained, 10)
}

// What broke, and what would have helped, for stories in which that is known.
func TestExplanations(t *testing.T) {
	for name, want := range map[string]struct {
		story, broken string
		saves         string
		helpless      string
	}{
		"pause_outlives_lease": {"c1 is paused for 5.000s", "no client pauses for longer",
			"a lease three times as long", "a lease a third as long"},
		"failover_before_replication": {"r1 is promoted to master", "replicas have every acknowledged write",
			"acquisitions checked with WAIT (sync=on)", "fencing tokens (lock=fenced)"},
		"forgotten_master_renews_for_ever": {"r1 is promoted to master", "there is one master at a time",
			"no grant without a replica (sync=required)", "fencing tokens (lock=fenced)"},
		"clock_jump_breaks_redlock": {"the clock of m3 jumps forward by 10.000s", "a server's clock measures a lease",
			"a lease three times as long", "a lease a third as long"},
	} {
		s, err := sim.Find(name)
		require.NoError(t, err)
		e, err := Explain(context.Background(), Problem{Scenario: s})
		require.NoError(t, err)
		require.Contains(t, strings.Join(e.Story, "\n"), want.story, name)
		require.Contains(t, strings.Join(e.Broken, "\n"), want.broken, name)
		saves := map[string]bool{}
		for _, r := range e.Remedies {
			saves[r.Name] = r.Saves
		}
		require.Contains(t, saves, want.saves)
		require.True(t, saves[want.saves], "%s: %v", name, e.Remedies)
		require.Contains(t, saves, want.helpless)
		require.False(t, saves[want.helpless], "%s: %v", name, e.Remedies)
	}
	p := problem(t, "world masters=3 rounds=1 lock=redlock ttl=5s renew=off hold=3s\nexpect exclusion=violated\n"+
		"at 0s partition c1 m3\nat 0s partition c2 m1\nat 0s start c1\nat 1s crash m2 for=0s data=lose\nat 1s start c2\n"+
		"run for=9s seed=1\n")
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	require.Contains(t, e.Broken, "what a server has acknowledged survives its crash")
	delayed := e.Remedies[0]
	require.Equal(t, "restarts delayed by more than a lease", delayed.Name)
	require.True(t, delayed.Saves)
	r, err := delayed.Story.Run(context.Background(), sim.Options{Seed: delayed.Story.Seed})
	require.NoError(t, err)
	require.Equal(t, "holds", r.Results[0].Verdict.String(), delayed.Story.Text())
}

// Where several faults would each do, or more than are needed, some that suffice are told.
func TestFaultsThatSuffice(t *testing.T) {
	p := problem(t, "world clients=3 lock=mutex ttl=3s renew=off hold=500ms rounds=1 delay=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 100ms pause c1 for=9s\nat 3500ms start c2\n"+
		"at 3600ms pause c2 for=9s\nat 7s start c3\nrun for=20s seed=1\n")
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	story := strings.Join(e.Story, "\n")
	require.Contains(t, story, "c1 is paused for 9.000s")
	require.NotContains(t, story, "c2 is paused")
	require.Equal(t, []string{"no client pauses for longer than the rest of its lease"}, e.Broken)

	text := "world masters=5 clients=2 lock=redlock ttl=10s renew=off hold=5s rounds=1 delay=1ms\n" +
		"expect exclusion=violated\nat 0s start c1\n"
	for _, m := range []string{"m1", "m2", "m3", "m4"} {
		text += "at 1s crash " + m + " for=200ms data=lose\n"
	}
	e, err = Explain(context.Background(), problem(t, text+"at 2s start c2\nrun for=12s seed=3\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"what a server has acknowledged survives its crash"}, e.Broken)
	story = strings.Join(e.Story, "\n")
	for _, want := range []string{"m1 restarts without", "m2 restarts without", "m3 restarts without", "c2 holds lock:1"} {
		require.Contains(t, story, want)
	}
}

// A promotion that was needed only because of a crash that was not is no cause.
func TestFaultsThatNeedEachOther(t *testing.T) {
	p := problem(t, "world clients=2 replicas=1 lock=mutex profile=redisson broken=release renew=off ttl=2s rounds=1 "+
		"hold=3s\nexpect theft=violated\nat 0s start c1\nat 100ms pause c1 for=4s\nat 2500ms start c2\nat 3s crash m1\n"+
		"at 3s promote r1\nrun for=20s seed=1\n")
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, []string{ownOnly}, e.Broken, "it needs no fault")
}

// Of faults that would each do alone, that is told which has led to this violation: without
// it there would have been another one, later.
func TestFaultOfThisViolation(t *testing.T) {
	e, _ := explained(t, "world clients=3 lock=fair ttl=30s renew=on hold=5s rounds=2 think=1s\nexpect order=violated\n"+
		"at 0s clock c1 jump=+20m\nat 0s clock c3 jump=+20m\nat 0s start c1\nat 500ms start c2\nat 1s start c3\n"+
		"run for=1m30s seed=1\n")
	story := strings.Join(e.Story, "\n")
	require.Contains(t, story, "the clock of c3 jumps")
	require.NotContains(t, story, "the clock of c1 jumps", "c1 asks again when c3 has passed c2")
}

// A client that is broken on purpose is named where it is the cause, and without that it is
// tried; where it is not, it is not.
func TestBrokenClientIsNamed(t *testing.T) {
	const story = "world clients=3 lock=mutex profile=redisson broken=release renew=off ttl=2s hold=3s rounds=1 " +
		"delay=1ms\nexpect theft=holds exclusion=holds\nat 0s start c1\nat 500ms start c2\nat 600ms start c3\n" +
		"run for=10s seed=1\n"
	e, effects := explained(t, story)
	require.Equal(t, []string{ownOnly}, e.Broken)
	for _, name := range []string{
		"releases that look at the owner (no broken=release)", "lockclient instead of Redisson's client",
	} {
		require.Regexp(t, `^theft is not violated, nor in \d+ variants`, effects[name], name)
	}
	p := problem(t, story)
	p.Checks = []string{"exclusion"}
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, []string{finishes}, e.Broken, "who holds for longer than its lease believes in vain")
}

// Who holds for longer than a lease that is not renewed needs no fault.
func TestHoldersThatOutstayTheirLeaseAreNamed(t *testing.T) {
	const two = " profile=redisson clients=2 ttl=3s renew=off rounds=1 delay=1ms\nexpect exclusion=violated\n" +
		"at 0s start c1\nat 1s start c2\n"
	for text, want := range map[string][]string{
		"world lock=mutex hold=5s" + two + "run for=9s seed=1\n":                              {finishes},
		"world lock=mutex hold=5s" + two + "at 1s run m1 DEL lock:1\nrun for=2500ms seed=1\n": {keyStays},
		"world lock=mutex hold=2s" + two + "at 1500ms pause c1 for=5s\nrun for=9s seed=1\n":   {outstays},
		"world lock=mutex hold=5s clients=1 ttl=3s renew=off rounds=1 delay=1ms\n" +
			"expect kept=violated\nrun for=9s seed=1\n": {finishes},
	} {
		e, _ := explained(t, text)
		require.Equal(t, want, e.Broken, text)
	}
}

// Which assumptions did not hold is what the run shows, not what a verb often does.
func TestBrokenAssumptionsAreThoseOfTheRun(t *testing.T) {
	const fair = "world clients=3 lock=fair profile=redisson fair-wait=5s hold=3s rounds=1 bound=10s\n" +
		"expect progress=violated\nat 0s start c1\nat 300ms start c2\nat 600ms start c3\n"
	const plain = "world clients=2 lock=mutex ttl=30s renew=off hold=1s rounds=1 delay=1ms bound=5s\n"
	for text, want := range map[string]string{
		fair + "at 1s crash c2\nat 2s run m1 DEL redisson_lock_timeout:{lock:1}\nrun for=60s seed=1\n": "a client that " +
			"asks for a lock lives to get it",
		plain + "expect progress=violated\nat 0s start c1\nat 100ms crash c1\nat 200ms start c2\nrun for=20s\n": "a " +
			"client that takes a lock lives to give it back",
		plain + "expect progress=violated\nat 0s start c1\nat 100ms pause c1 for=10s\nat 200ms start c2\n" +
			"run for=20s\n": "no client pauses while it holds a lock",
		"world clients=2 lock=mutex reenter=2 ttl=3s renew=off hold=500ms rounds=1 delay=1ms\nexpect exclusion=violated\n" +
			"at 0s start c1\nat 100ms pause c1 for=5s\nat 3500ms start c2\nrun for=12s\n": outstays, // it had given back a part
		"world clients=1 ttl=6s hold=1s think=100ms\nexpect progress=violated\nat 1500ms run m1 SET lock:1 x\n" +
			"run for=60s seed=1\n": "only the locks' clients change what a server has of the locks",
		plain + "expect kept=violated\nat 0s start c1\nat 100ms run m1 DEL lock:1\nrun for=9s\n": keyStays,
	} {
		e, err := Explain(context.Background(), problem(t, text))
		require.NoError(t, err)
		require.NotNil(t, e, text)
		require.Contains(t, e.Broken, want, text)
	}
}

// What an event tells is what a step did: of its kind, about whom it names, in its time.
func TestEventsOfSteps(t *testing.T) {
	const c1, m1, c2, r1 = trace.Actor(1), trace.Actor(2), trace.Actor(3), trace.Actor(4)
	x := &explainer{names: []string{"nemesis", "c1", "m1", "c2", "r1"}}
	at := func(seconds int, kind trace.Kind, actor, peer trace.Actor) trace.Event {
		return trace.Event{At: time.Duration(seconds) * time.Second, Kind: kind, Actor: actor, Peer: peer}
	}
	for line, test := range map[string]struct{ of, others []trace.Event }{
		"pause c1 for=2s": {[]trace.Event{at(3, trace.Pause, 0, c1), at(5, trace.Resume, c1, 0)},
			[]trace.Event{at(4, trace.Pause, 0, c1), at(3, trace.Pause, 0, c2), at(2, trace.Resume, c1, 0)}},
		"stall c1 for=0s": {[]trace.Event{at(4, trace.Pause, 0, c1), at(9, trace.Resume, c1, 0)},
			[]trace.Event{at(4, trace.Pause, 0, c2), {Kind: trace.Pause, Peer: c1, A: 1}, at(3, trace.Crash, 0, c1)}},
		"crash m1 for=2s": {[]trace.Event{at(3, trace.Crash, 0, m1), at(5, trace.Restart, 0, m1)},
			[]trace.Event{at(4, trace.Crash, 0, m1), at(2, trace.Restart, 0, m1), at(5, trace.Restart, 0, c1)}},
		"partition c1 m1 for=2s": {[]trace.Event{at(3, trace.Partition, 0, 0), at(5, trace.Heal, 0, 0)},
			[]trace.Event{at(4, trace.Partition, 0, 0), at(6, trace.Heal, 0, 0), at(2, trace.Heal, 0, 0)}},
		"slow m1 for=2s": {[]trace.Event{at(3, trace.Slow, 0, m1), at(5, trace.Slow, 0, m1)},
			[]trace.Event{at(6, trace.Slow, 0, m1), at(3, trace.Slow, 0, c2), at(3, trace.Evict, 0, m1)}},
		"drop c1 m1 next=1": {[]trace.Event{at(4, trace.Drop, c1, m1)},
			[]trace.Event{at(2, trace.Drop, c1, m1), at(4, trace.Drop, m1, c1), at(4, trace.Duplicate, c1, m1)}},
		"duplicate c1 m1 next=1": {[]trace.Event{at(4, trace.Duplicate, c1, m1)},
			[]trace.Event{at(2, trace.Duplicate, c1, m1), at(4, trace.Drop, c1, m1)}},
		"delay c1 m1 next=1 by=1s": {[]trace.Event{at(3, trace.Delay, c1, m1), at(4, trace.Delay, c1, m1)},
			[]trace.Event{at(2, trace.Delay, c1, m1), at(4, trace.Delay, m1, c1), at(4, trace.Delay, c2, m1),
				at(4, trace.Duplicate, c1, m1)}},
		"failover r1 outage=2s": {[]trace.Event{at(3, trace.Crash, 0, m1), at(5, trace.Promote, 0, r1)},
			[]trace.Event{at(5, trace.Crash, 0, m1), at(2, trace.Promote, 0, r1), at(5, trace.Promote, 0, m1)}},
		"promote r1": {[]trace.Event{at(3, trace.Promote, 0, r1)},
			[]trace.Event{at(2, trace.Promote, 0, r1), at(4, trace.Promote, 0, r1), at(3, trace.Promote, 0, m1)}},
		"hold r1 for=2s": {[]trace.Event{at(3, trace.Lag, 0, r1), at(5, trace.Lag, 0, r1)},
			[]trace.Event{at(6, trace.Lag, 0, r1), at(3, trace.Lag, 0, m1)}},
		"release r1": {[]trace.Event{at(3, trace.Lag, 0, r1)}, []trace.Event{at(4, trace.Lag, 0, r1)}},
		"heal": {[]trace.Event{at(3, trace.Heal, 0, 0)},
			[]trace.Event{at(2, trace.Heal, 0, 0), at(4, trace.Heal, 0, 0)}},
		"restart m1 data=lose": {[]trace.Event{at(3, trace.Restart, 0, m1)},
			[]trace.Event{at(3, trace.Crash, 0, m1), at(3, trace.Restart, 0, r1)}},
		"clock c1 jump=+1s": {[]trace.Event{at(3, trace.Jump, 0, c1), at(3, trace.Rate, 0, c1)},
			[]trace.Event{at(4, trace.Jump, 0, c1), at(3, trace.Jump, 0, m1)}},
		"evict m1 key=1":    {[]trace.Event{at(3, trace.Evict, 0, m1)}, []trace.Event{at(3, trace.Command, 0, m1)}},
		"run m1 DEL lock:1": {[]trace.Event{at(3, trace.Command, 0, m1)}, []trace.Event{at(3, trace.Evict, 0, m1)}},
	} {
		step := problem(t, "world replicas=1\nexpect exclusion=violated\nat 3s "+line+"\nrun for=9s\n").Scenario.Steps[0]
		for _, e := range test.of {
			require.True(t, x.isWhat(&e, step), "%s: %v", line, e)
		}
		for _, e := range test.others {
			require.False(t, x.isWhat(&e, step), "%s: %v", line, e)
		}
	}
}

// Of a lock that is lost it is told how its client had got it.
func TestExplanationOfALoss(t *testing.T) {
	p := problem(t, "world clients=1 rounds=1 hold=4s ttl=3s renew=off delay=1ms\nexpect kept=violated\nrun for=5s\n")
	e, err := Explain(context.Background(), p)
	require.NoError(t, err)
	require.Len(t, e.Story, 4)
	require.Contains(t, e.Story[0], "c1 has lock:1")
	require.Contains(t, e.Story[1], "c1 holds lock:1")
	require.Contains(t, e.Story[2], "c1 lost lock:1")
}
