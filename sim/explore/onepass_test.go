package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// overlap is the world of two clients of which nobody is told that a lease has ended. What is
// behind it on its line comes last and replaces nothing.
const overlap = "world ttl=3s hold=9s renew=off profile=redisson rounds=1 "

// shrinking has a story that violates the only check that it names, and is not shorter yet.
func shrinking(t *testing.T, text string) *shrinker {
	t.Helper()
	p := problem(t, text)
	checks, err := p.checks()
	require.NoError(t, err)
	s := &shrinker{lab: lab{lua: sim.NewLua(), checks: checks}, ctx: t.Context()}
	require.True(t, s.try(p.Scenario), text)
	return s
}

// after is what a pass makes of a story: its lines from the world's on.
func after(t *testing.T, pass func(*shrinker), text string) string {
	t.Helper()
	s := shrinking(t, text)
	pass(s)
	_, lines, _ := strings.Cut(s.story().Text(), "\n")
	return lines
}

// What one pass makes of a story, and what it leaves because the story needs it.
func TestEachPass(t *testing.T) {
	const broken = "\nexpect exclusion=violated\n"
	for name, test := range map[string]struct {
		pass       func(*shrinker)
		text, want string
	}{
		"steps go, those who overlap stay": {(*shrinker).fewerSteps,
			overlap + "clients=3" + broken + "at 0s slow m1 for=1s by=1ms\nat 0s start c1\nat 0s start c2\n" +
				"at 100ms crash c3\nat 200ms heal\nrun for=9s seed=1\n",
			"at 0s start c1\nat 0s start c2\nrun"},
		"each client begins with what it asked for last": {(*shrinker).oneRound,
			"world clients=2 ttl=3s hold=1s think=1s renew=off rounds=3 delay=1ms lag=1ms" + broken + "at 0s start c1\n" +
				"at 4500ms pause c1 for=5s\nat 7500ms start c2\nrun for=20s seed=1\n",
			"at 4.016s start c1\nat 4.5s pause c1 for=5s\nat 7.5s start c2\nrun"},
		"as few rounds as will do, where one will not": {(*shrinker).oneRound,
			"world clients=1 rounds=5 delay=1ms bound=3101ms\nexpect progress=violated\n" +
				"at 0s drop m1 c1 next=1 what=reply\nat 0s start c1\nrun for=60s seed=1\n",
			"rounds=2 "},
		"clients get the first numbers": {(*shrinker).fewerClients,
			overlap + "clients=5" + broken + "at 0s start c2\nat 0s start c4\nat 1s partition c4,c2 m1 for=1ms\n" +
				"run for=9s seed=1\n",
			"at 0s start c1\nat 0s start c2\nat 1s partition c2,c1 m1 for=1ms\nrun"},
		"numbers that matter stay": {(*shrinker).fewerClients,
			overlap + "lock=rw readers=2 clients=5" + broken + "at 0s start c2\nat 0s start c3\nrun for=9s seed=1\n",
			"clients=3\nexpect exclusion=violated\nat 0s start c2\nat 0s start c3\nrun"},
		"replicas go, all if possible": {(*shrinker).fewerServers,
			overlap + "replicas=2" + broken + "at 0s start c1\nat 0s start c2\nrun for=9s seed=1\n", "replicas=0\n"},
		"a cluster's replicas go, its masters stay": {(*shrinker).fewerServers,
			overlap + "cluster=2x2" + broken + "at 0s start c1\nat 0s start c2\nrun for=9s seed=1\n", "cluster=2x0\n"},
		"of many masters three stay": {(*shrinker).fewerServers,
			overlap + "lock=redlock masters=7 clients=2" + broken + "at 0s start c1\nat 0s start c2\nrun for=9s seed=1\n",
			"masters=3 "},
		"what is incidental goes, or becomes a number": {(*shrinker).plainOptions,
			"world ttl=3s hold=1s..9s renew=off profile=redisson rounds=1 think=1s..2s delay=2ms..5ms wait=60s" + broken +
				"at 0s start c1\nat 0s start c2\nrun for=9s seed=1\n",
			"world ttl=3s hold=9s renew=off profile=redisson rounds=1 delay=1ms lag=1ms\n"},
		"the least of a range first": {(*shrinker).plainOptions,
			"world ttl=3s hold=5s..9s renew=off profile=redisson rounds=1" + broken + "at 0s start c1\nat 0s start c2\n" +
				"run for=9s seed=1\n", "hold=5s "},
		"partitions name few": {(*shrinker).fewerLinks,
			overlap + "clients=3 replicas=2" + broken + "at 0s start c1\nat 0s start c2\n" +
				"at 5s partition c3,m1 r1,r2 way=one for=1s\nat 6s crash m1 for=0s data=lose\n" +
				"at 7s crash m1 for=0s data=keep\nrun for=9s seed=1\n",
			"at 5s partition m1 r2\nat 6s crash m1 for=0s data=lose\nat 7s crash m1 for=0s\nrun"},
		"what begins later begins at once": {(*shrinker).sooner,
			overlap + broken + "at 20s start c1\nat 25345ms start c2\nrun for=60s seed=1\n",
			"at 0s start c1\nat 0s start c2\nrun"},
		"or as soon as it can": {(*shrinker).sooner,
			"world ttl=3s hold=30s renew=off profile=redisson rounds=1 once=on" + broken + "at 20s start c1\n" +
				"at 42345ms start c2\nat 50s heal\nrun for=60s seed=1\n",
			"at 0s start c1\nat 10s start c2\nat 10s heal\nrun"},
		"times are round": {(*shrinker).roundTimes,
			"world ttl=3s hold=9s renew=off profile=redisson rounds=1 once=on delay=1ms" + broken +
				"at 0s clock c1 jump=+2m0s\nat 0s clock c2 jump=-61500ms\nat 1234ms start c1\nat 5678ms start c2\n" +
				"run for=60s seed=1\n",
			"at 0s clock c1 jump=+2m\nat 0s clock c2 jump=-1m\nat 0s start c1\nat 5s start c2\nrun"},
		"a seed is small": {(*shrinker).plainSeed,
			overlap + broken + "at 0s start c1\nat 0s start c2\nrun for=9s seed=77\n", "seed=1\n"},
	} {
		require.Contains(t, after(t, test.pass, test.text), test.want, name)
	}
}

// All passes together leave what a story needs, with no number that it does not need.
func TestPassesTogether(t *testing.T) {
	story := short(t, "world clients=5 replicas=2 ttl=3s hold=8s..9s think=0s..1s profile=redisson rounds=3 wait=60s "+
		"delay=2ms..5ms\nexpect exclusion=violated\nat 1234ms start c2\nat 2345ms partition c5,c2 m1 way=one for=10s\n"+
		"at 2789ms slow m1 for=1s by=1ms\nat 3456ms start c4\nrun for=60s seed=77\n").Story
	_, lines, _ := strings.Cut(story.Text(), "\n")
	require.Equal(t, "world clients=2 replicas=0 ttl=3s hold=8s profile=redisson rounds=1 delay=1ms lag=1ms\n"+
		"expect exclusion=violated\nat 0s start c1\nat 0s start c2\nat 10ms partition c1 m1\nrun for=4s seed=1\n", lines)
}

// A number becomes the least that will do, or stays.
func TestFewer(t *testing.T) {
	s := shrinking(t, overlap+"clients=6\nexpect exclusion=violated\nat 0s start c1\nat 0s start c3\nrun for=9s seed=1\n")
	s.fewer("clients", 1, 6)
	require.Equal(t, 3, s.story().World.Clients, "without c3 the story makes no sense")
	runs := s.runs
	s.fewer("clients", 3, 3)
	s.fewerClients()
	require.Equal(t, 2, s.story().World.Clients)
	require.Equal(t, runs+1, s.runs)
	s.fewerClients()
	require.Equal(t, runs+1, s.runs, "each is named: there is nothing to try")
}

// A fault that has lost its moment, as there are fewer rounds, strikes after a step of the
// protocol, and who starts does so as before.
func TestPlace(t *testing.T) {
	const world = "world clients=2 ttl=3s hold=500ms renew=off rounds=1 delay=1ms\nexpect exclusion=violated\n"
	s := shrinking(t, world+"at 0s start c1\nat 100ms pause c1 for=5s\nat 3500ms start c2\nrun for=20s seed=1\n")
	late := problem(t, world+"at 0s start c1\nat 3500ms start c2\nat 15s pause c1 for=5s\nrun for=20s seed=1\n").Scenario
	require.False(t, s.try(late))
	require.True(t, s.place(late))
	require.Regexp(t, `(?m)^at 0s start c1\nat \d[.\d]*01m?s pause c1 for=5s\nat 3.5s start c2$`, s.story().Text())
	late.Steps[2].Opts[0].Value = "1s"
	require.False(t, s.place(late), "that is too short")
	require.Equal(t, 15*time.Second, late.Steps[2].At)

	drop := problem(t, world+"at 0s drop m1 c1 next=1 after=4 what=reply\nrun for=9s\n").Scenario
	require.Equal(t, "drop m1 c1 next=1 what=reply", fromTheFirst(drop).Steps[0].Text()[len("at 0s "):])
	require.Contains(t, drop.Text(), "after=4")
}

// Steps are sorted by their times; of those at one time none overtakes another.
func TestStepsStayInOrder(t *testing.T) {
	steps := []sim.Step{{At: 2 * time.Hour, Verb: "a"}, {At: 1, Verb: "b"}, {At: 0, Verb: "c"}, {At: 1, Verb: "d"}}
	inOrder(steps)
	order := ""
	for _, step := range steps {
		order += step.Verb
	}
	require.Equal(t, "cbda", order)
}
