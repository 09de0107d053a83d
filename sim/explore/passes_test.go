package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// short is the shortest story of a scenario with its seed.
func short(t *testing.T, text string) *Shrunk {
	t.Helper()
	p := problem(t, text)
	hit, err := Of(context.Background(), p, p.Scenario.Seed)
	require.NoError(t, err)
	require.NotNil(t, hit)
	s, err := Shrink(context.Background(), []Hit{*hit})
	require.NoError(t, err)
	return s
}

// A crash that forgets stays one: without its option it would be an outage, which is
// another kind of fault.
func TestForgettingStays(t *testing.T) {
	story := short(t, "world ttl=30s hold=60s profile=redisson lock=redlock masters=5 clients=2 rounds=1 delay=1ms\n"+
		"expect exclusion=violated\nat 0s crash m4 for=31s data=lose\nat 0s start c1\nat 0s start c2\n"+
		"at 5s crash m3 for=31s data=lose\nrun for=60s seed=1\n").Story
	require.Contains(t, story.Text(), "data=lose")
	require.NotRegexp(t, `(?m)crash m\d( for=\S+)?$`, story.Text())
}

// Masters to which nothing happens that does not happen to others as well are left
// out, and a story says who was cut off from whom with as few names.
func TestFewerMasters(t *testing.T) {
	story := short(t, "world lock=redlock masters=5 clients=2 ttl=3s renew=off hold=6s rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s partition c2 m1,m5\nat 0s start c2\nat 0s start c1\nat 1s clock m4 jump=+1m\n"+
		"run for=2s seed=1\n").Story
	require.Equal(t, 3, story.World.Masters, story.Text())
	require.Contains(t, story.Text(), "partition c2 m1\n")
}

// An overlap in a story is one that can be seen: the belief that is wrong does not end
// in the moment in which the other begins.
func TestOverlapsLast(t *testing.T) {
	story := short(t, "world clients=3 ttl=30s hold=40s think=1s lock=fair\nexpect exclusion=violated\n"+
		"at 0s start all\nat 28s crash m1 for=0s data=lose\nrun for=60s seed=3\n")
	l := newLab(sim.NewLua(), []string{"exclusion"}, nil)
	o, err := l.watch(context.Background(), story.Story)
	require.NoError(t, err)
	require.NotEmpty(t, o.violated)
	require.False(t, o.brief, story.Result.Reason)
	edge, err := sim.ParseScenario("edge.scenario", "world ttl=30s hold=60s lock=fair rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 30s crash m1 for=0s data=lose\nrun for=31s seed=1\n")
	require.NoError(t, err)
	o, err = l.watch(context.Background(), edge)
	require.NoError(t, err)
	require.NotEmpty(t, o.violated)
	require.True(t, o.brief)
}

// Who waits too long has done so when the bound has passed: the story ends then, and
// counts what was asked for until then.
func TestWaitsEndWithTheirBound(t *testing.T) {
	story := short(t, "world clients=3 ttl=30s hold=60s lock=rw readers=2 rounds=1 bound=90s delay=1ms\n"+
		"expect progress=violated\nat 0s start c2\nat 100ms start c3\nat 50s start c1\nrun for=10m seed=1\n")
	require.Equal(t, 3, story.Asked, story.Story.Text())
	require.Less(t, story.Story.For, 2*time.Minute)
}

// A run that is cut shorter can be written to a file: nothing in it is behind its end.
func TestSoonerEnd(t *testing.T) {
	start := problem(t, "world ttl=3s hold=9s renew=off profile=redisson rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 30s heal\nrun for=60s seed=1\n").Scenario
	s := &shrinker{lab: lab{lua: sim.NewLua(), checks: []string{"exclusion"}}, ctx: t.Context()}
	require.True(t, s.try(start))
	s.soonerEnd()
	require.Less(t, s.story().For, 30*time.Second)
	_, err := s.story().Again()
	require.NoError(t, err)
}

// The end is a full second, but of what is over within one a tenth.
func TestSoonerEndIsRound(t *testing.T) {
	for ttl, want := range map[string]time.Duration{"3s": 4 * time.Second, "1500ms": 2 * time.Second, "300ms": 400e6} {
		start := problem(t, "world ttl="+ttl+" hold=9s renew=off profile=redisson rounds=1 delay=1ms lag=1ms\n"+
			"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nrun for=60s seed=1\n").Scenario
		s := &shrinker{lab: lab{lua: sim.NewLua(), checks: []string{"exclusion"}}, ctx: t.Context()}
		require.True(t, s.try(start))
		s.soonerEnd()
		require.Equal(t, want, s.story().For, ttl)
	}
}

// Of masters that share their fate about as large a part is left as they were.
func TestMergedMasters(t *testing.T) {
	steps := problem(t, "world masters=5 lock=redlock\nexpect exclusion=violated\nat 0s partition c1 m1,m2,m3,m5\n"+
		"at 1s crash m5\nrun for=9s\n").Scenario.Steps
	steps = mergedMasters(steps, 5, 3)
	require.Equal(t, []string{"c1", "m1,m2,m4"}, steps[0].Args)
	require.Equal(t, []string{"m4"}, steps[1].Args, "m3 is the one that nothing happens to")
	steps = mergedMasters(problem(t, "world masters=5 lock=redlock\nexpect exclusion=violated\n"+
		"at 0s partition c1 m1,m2,m3\nrun for=9s\n").Scenario.Steps, 5, 3)
	require.Equal(t, []string{"c1", "m1,m2"}, steps[0].Args)
}

// Rounder times are shorter, or not much longer.
func TestRounder(t *testing.T) {
	for d, want := range map[time.Duration][]time.Duration{
		16 * time.Millisecond: {0, 10 * time.Millisecond, 20 * time.Millisecond},
		31 * time.Second:      {0, time.Minute, 30 * time.Second, 40 * time.Second, 35 * time.Second},
	} {
		require.Equal(t, want, rounder(d), d)
	}
}

// The amounts of faults stay those that were to be drawn: what comes back late does not
// come back at once in a shorter story.
func TestAmountsStay(t *testing.T) {
	p := problem(t, "world ttl=30s hold=60s profile=redisson lock=redlock masters=5 clients=2 rounds=1 delay=1ms\n"+
		"expect exclusion=violated\nat 0s crash m4 for=42s data=lose\nat 0s start c1\nat 0s start c2\n"+
		"at 30ms crash m3 for=42s data=lose\nrun for=60s seed=1\n")
	hit, err := Of(context.Background(), p, 1)
	require.NoError(t, err)
	require.NotNil(t, hit)
	hit.amounts = []sim.FaultRange{{Kind: "amnesia", Lo: int64(31 * time.Second), Hi: int64(60 * time.Second)}}
	for i := range hit.Story.Steps {
		if hit.Story.Steps[i].Verb == "crash" {
			hit.Story.Steps[i].Fault = "amnesia"
		}
	}
	s, err := Shrink(context.Background(), []Hit{*hit})
	require.NoError(t, err)
	for _, step := range s.Story.Steps {
		if step.Verb == "crash" {
			require.GreaterOrEqual(t, lasts(step, "for"), 31*time.Second, s.Story.Text())
			require.LessOrEqual(t, lasts(step, "for"), 60*time.Second, s.Story.Text())
		}
	}
}

// A fault that was drawn stays one of its kind, though another would break the promise as
// well: a cut in one direction does not become one in both, nor a lost reply any message.
func TestKindsOfFaultStay(t *testing.T) {
	for kind, test := range map[string]struct{ text, stays string }{
		"one-way": {"world ttl=3s hold=9s profile=redisson lock=mutex clients=2 rounds=1 delay=1ms\n" +
			"expect exclusion=violated\nat 0s start c1\nat 500ms partition c1 m1 way=one for=6s\nat 1s start c2\n" +
			"run for=9s seed=1\n", "way=one"},
		"lost-reply": {"world clients=1 rounds=2 delay=1ms bound=1s\nexpect progress=violated\n" +
			"at 0s drop m1 c1 next=1 what=reply\nat 0s start c1\nrun for=9s seed=1\n", "what=reply"},
	} {
		p := problem(t, test.text)
		hit, err := Of(context.Background(), p, 1)
		require.NoError(t, err)
		require.NotNil(t, hit, kind)
		for i := range hit.Story.Steps {
			if step := &hit.Story.Steps[i]; step.Verb == "partition" || step.Verb == "drop" {
				step.Fault = kind
			}
		}
		s, err := Shrink(context.Background(), []Hit{*hit})
		require.NoError(t, err)
		require.Contains(t, s.Story.Text(), test.stays)
	}
}

// What is left for ever is not what is left in the moment in which its holder dies.
func TestAuditsComeLate(t *testing.T) {
	story := short(t, "world clients=2 lock=semaphore rounds=1\nexpect leak=violated\nat 0s start c1\nat 1s start c2\n"+
		"at 1050ms crash c2\nat 6m audit\nrun for=7m seed=1\n").Story
	require.Regexp(t, `(?m)^at [12]m audit`, story.Text())
}

// A story stays about its faults: one that violates as well without them is another.
func TestStoriesStayAboutTheirFaults(t *testing.T) {
	const paused = "world clients=2 lock=mutex ttl=3s renew=off hold=500ms rounds=1 delay=1ms\n" +
		"expect exclusion=violated\nat 0s start c1\nat 100ms pause c1 for=5s\nat 200ms slow m1 for=1s by=1ms\n" +
		"at 3500ms start c2\nrun for=9s seed=1\n"
	const unasked = "world clients=2 lock=mutex ttl=3s renew=off hold=9s rounds=1 delay=1ms profile=redisson\n" +
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 100ms slow m1 for=1s by=1ms\nrun for=9s seed=1\n"
	for _, c := range []struct {
		text, need string
		without    bool
	}{
		{paused, "", false}, {paused, "pause", false}, {paused, "slow", true}, {unasked, "", true}, {unasked, "slow", true},
	} {
		story := problem(t, c.text).Scenario
		for i := range story.Steps {
			if step := &story.Steps[i]; !isHarmless(*step) {
				step.Fault = step.Verb
			}
		}
		s := &shrinker{lab: lab{lua: sim.NewLua(), checks: []string{"exclusion"}}, ctx: t.Context(),
			how: Shortening{Need: c.need}}
		require.Equal(t, c.without, s.violatesWithout(story), "%s: %s", c.need, c.text)
	}
	latch := short(t, "world clients=2 lock=latch count=1 waiters=1 rounds=1 bound=5s hold=1s delay=1ms\n"+
		"expect progress=violated\nat 0s start c1\nat 0s start c2\nat 1ms crash c2\nrun for=30s seed=1\n")
	require.Equal(t, 1, latch.Faults, "nor does it become one of a latch that nobody counts down:\n%s", latch.Story.Text())
}
