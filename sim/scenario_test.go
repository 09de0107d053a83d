package sim

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const tiny = "world clients=2 replicas=1\n"

func TestScenarioErrorsCarryFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "x.scenario:1: there is no \"world\" line",
		"world\n":                          "x.scenario:2: there is no \"run\" line",
		"# claim\nworlds clients=2\n":      "x.scenario:2: unknown word \"worlds\": expected world, expect, at, faults",
		"world\nworld\n":                   "x.scenario:2: a second \"world\" line",
		"world clients\n":                  "x.scenario:1: \"clients\": expected clients=N",
		"world clients=3 ttl=\n":           "x.scenario:1: \"ttl=\": expected ttl=RANGE",
		"world =3\n":                       "x.scenario:1: \"=3\": expected name=value",
		"world clients=0\n":                "x.scenario:1: clients=0: expected a number from 1 to 100000",
		"world clients=1 clients=2\n":      "x.scenario:1: clients is given twice",
		"world color=red\n":                "x.scenario:1: unknown world option \"color\": expected masters,",
		"world lock=spinning\n":            "x.scenario:1: unknown lock \"spinning\": expected mutex, fenced, redlock,",
		"world delay=5ms..1ms\n":           "x.scenario:1: delay=5ms..1ms: the range ends before it begins",
		"world ttl=-1s\n":                  "x.scenario:1: ttl=-1s: expected a duration that is not negative",
		"world ttl=9999999h\n":             "x.scenario:1: ttl=9999999h: expected a duration",
		"world lock=redlock replicas=1\n":  "x.scenario:1: redlock runs on independent masters",
		"expect peace=holds\n":             "x.scenario:1: unknown check \"peace\": expected exclusion,",
		"expect exclusion=maybe\n":         "x.scenario:1: unknown exclusion \"maybe\": expected holds, violated",
		"world\nrun for=1s seed=x\n":       "x.scenario:2: seed=x: expected a number from 0 to 2^64-1",
		"world\nrun seed=1\n":              "x.scenario:2: run needs for=DURATION",
		"world\nrun for=1s for=2s\n":       "x.scenario:2: for is given twice",
		"world\nrun for=1s at=2\n":         "x.scenario:2: unknown run option \"at\": expected for or seed",
		"world lock=fenced masters=2\n":    "x.scenario:1: fenced runs on one master",
		"world delay=61m\n":                "x.scenario:1: expected a delay and lag of at most 1h",
		"world ttl=1us\n":                  "x.scenario:1: ttl=1µs: expected at least 1ms",
		"world delay=0s hold=0s\n":         "x.scenario:1: time would stand still",
		"expect lease=holds lease=holds\n": "x.scenario:1: lease is expected twice",
		tiny + "at 1s drop c1 m1 next=1 next=2\nrun for=1s": "x.scenario:2: next is given twice",
		tiny + "at 1s start\nrun for=1s\n":                  "x.scenario:2: expected 1 argument, got 0",
		tiny + "at 1s heal now=1\nrun for=1s":               "x.scenario:2: now: expected no option",
		tiny + "at 1s drop nemesis m1 next=1\nrun for=1s":   "x.scenario:2: unknown actor \"nemesis\"",
		tiny + "at 9s heal\nrun for=8s\n":                   "x.scenario:2: at 9s: the run ends at 8s",
		tiny + "at 1s\nrun for=1s\n":                        "x.scenario:2: expected: at TIME VERB …",
		tiny + "at noon start c1\nrun for=1s\n":             "x.scenario:2: time=noon: expected a duration",
		tiny + "at 1s explode m1\nrun for=1s\n":             "x.scenario:2: unknown verb \"explode\": expected start, pause,",
		"world replicas=2 sentinels=3 quorum=5\n":           "x.scenario:1: quorum=5: there are 3 sentinels",
		"world replicas=1 sentinels=1\nat 1s promote r1\nrun for=2s\n": "x.scenario:2: the servers of this world fail " +
			"over by themselves: crash a master instead (usage: at TIME promote REPLICA)",
		"world replicas=1 sentinels=1\nat 1s failover r1 outage=1s\nrun for=2s\n": "x.scenario:2: the servers of this " +
			"world fail over by themselves: crash a master instead",
		tiny + "at 1s partition\nrun for=1s\n": "x.scenario:2: expected 2 arguments, got 0 " +
			"(usage: at TIME partition A,B,… C,D,… [way=both|one] [for=DURATION])",
		tiny + "at 1s start c3\nrun for=1s\n":               "x.scenario:2: unknown client \"c3\": the world has 2",
		tiny + "at 1s start m1\nrun for=1s\n":               "x.scenario:2: m1 is a master: expected a client",
		tiny + "at 1s crash x1\nrun for=1s\n":               "x.scenario:2: unknown actor \"x1\"",
		tiny + "at 1s pause c1\nrun for=1s\n":               "x.scenario:2: for=: expected a duration",
		tiny + "at 1s restart m1 data=some\nrun for=1s\n":   "x.scenario:2: unknown data \"some\": expected keep, lose",
		tiny + "at 1s partition c1,c9 m1\nrun for=1s\n":     "x.scenario:2: unknown client \"c9\"",
		tiny + "at 1s drop m1 c1\nrun for=1s\n":             "x.scenario:2: next=: expected a number from 1 to 1000000",
		tiny + "at 1s clock m1 jump=1s rate=1%\nrun for=1s": "x.scenario:2: expected one of jump, offset and rate",
		tiny + "at 1s clock m1 rate=-100%\nrun for=1s\n":    "x.scenario:2: rate=-100%: expected above -100% and below",
		tiny + "at 1s heal now\nrun for=1s\n":               "x.scenario:2: expected 0 arguments, got 1",

		"world\nfaults\nrun for=1s":                   "x.scenario:2: faults needs a kind of fault: pause, freeze,",
		"world\nfaults sloth\nrun for=1s":             "x.scenario:2: unknown kind of fault \"sloth\": expected pause,",
		"world\nfaults drop drop\n":                   "x.scenario:2: drop is given twice",
		"world\nfaults drop=1s\n":                     "x.scenario:2: drop=1s: this kind of fault has no amount",
		"world\nfaults drift=-1%\n":                   "x.scenario:2: drift=-1%: expected a rate above 0%",
		"world\nfaults pause=2s..1s\n":                "x.scenario:2: pause=2s..1s: the range ends before it begins",
		"world\nfaults pause=0s\n":                    "x.scenario:2: pause=0s: expected a duration above 0s",
		"world\nexpect\n":                             "x.scenario:2: expected: expect CHECK=holds|violated …",
		"world\norder\n":                              "x.scenario:2: expected: order ACTION …",
		"world\nfaults drop most=0\n":                 "x.scenario:2: most=0: expected a number from 1 to 100",
		"world\nfaults drop strategy=x\n":             "x.scenario:2: unknown strategy \"x\": expected timed, anchored",
		"world\nfaults split\nrun for=1s":             "x.scenario:2: split needs replicas",
		tiny + "at 1s crash c1 data=keep\nrun for=1s": "x.scenario:2: data=keep: expected a node, and for=DURATION",
		tiny + "at 1s slow m1\nrun for=1s":            "x.scenario:2: for=: expected a duration",
		tiny + "at 1s failover r1\nrun for=1s":        "x.scenario:2: outage=: expected a duration",

		"world replicated=1\n":                                 "x.scenario:1: replicated=1: expected replicas, and",
		"world lock=multi masters=2 replicas=1 replicated=3\n": "x.scenario:1: replicated=3: expected replicas, and",
		"world lock=fair masters=2\n":                          "x.scenario:1: fair runs on one master",
		"world sync=maybe\n": "x.scenario:1: " +
			"unknown sync \"maybe\": expected on, off, required",
		"world sync=required\n": "x.scenario:1: sync=required does nothing here: " +
			"expected replicas, and a lock of lockclient's that asks them",
		"world lock=simple replicas=1 sync=required\n":      "x.scenario:1: sync=required does nothing here",
		"world profile=redisson replicas=1 sync=required\n": "x.scenario:1: sync=required does nothing here",
		"world lock=fair downgrade=on\n": "x.scenario:1: downgrade=on does nothing here: " +
			"expected lock=rw, or no downgrade=",

		"world readers=2\n":                         "x.scenario:1: readers=2 does nothing here: expected lock=rw",
		"world lock=rw clients=2 readers=3\n":       "x.scenario:1: readers=3: expected at most clients=2",
		"world clients=2 compat316=3\n":             "x.scenario:1: compat316=3: expected at most clients=2",
		"world clients=2 guards=3\n":                "x.scenario:1: guards=3: expected at most clients=2",
		"world lock=latch clients=2 waiters=3\n":    "x.scenario:1: waiters=3: expected at most clients=2",
		"world abort=on\n":                          "x.scenario:1: abort=on does nothing here: expected pool=on",
		"world permits=2\n":                         "x.scenario:1: permits=2 does nothing here: expected lock=semaphore",
		"world lock=fair count=2\n":                 "x.scenario:1: count=2 does nothing here: expected lock=latch",
		"world waiters=1\n":                         "x.scenario:1: waiters=1 does nothing here: expected lock=latch",
		"world one-order=on\n":                      "x.scenario:1: one-order=on does nothing here: expected lock=multi",
		"world fair-wait=5s\n":                      "x.scenario:1: fair-wait=5s does nothing here: expected lock=fair",
		"world fence=on\n":                          "x.scenario:1: fence=on does nothing here: expected lock=fenced",
		"world lock=semaphore guards=1\n":           "x.scenario:1: guards=1 does nothing here: expected lock=mutex or",
		"world lock=latch reenter=1\n":              "x.scenario:1: reenter=1 does nothing here: expected a lock that",
		"world ttl=1s..3s\n":                        "x.scenario:1: ttl: only a fixed lease can be a range: expected",
		"world lock=own renew=off ttl=1s..3s\n":     "x.scenario:1: ttl: a lock=own has one lease: expected no range",
		"world lock=own compat316=1\n":              "x.scenario:1: compat316=1 does nothing here: expected a lock of",
		"world lock=own once=on\n":                  "x.scenario:1: once=on does nothing here: expected a lock of which",
		"world once=on wait=1s\n":                   "x.scenario:1: once=on is a single attempt: expected no wait=",
		"world down-after=2s\n":                     "x.scenario:1: down-after=2s does nothing here: expected sentinels",
		"world cluster=3x1 failover-timeout=2s\n":   "x.scenario:1: failover-timeout=2s does nothing here: expected sent",
		"world cluster=100x1\n":                     "x.scenario:1: cluster=100x1: expected MASTERSxREPLICAS, such as",
		"world masters=3 cluster=2x0\n":             "x.scenario:1: cluster=2x0 says how many servers there are",
		"world cluster=2x1 replicas=0 lock=mutex\n": "x.scenario:1: cluster=2x0 says how many servers there are",

		"world broken=release\n":                                 "x.scenario:1: broken=release: expected profile=redisson",
		"world permits=0\n":                                      "x.scenario:1: permits=0: expected a number from 1",
		"world bound=0s\n":                                       "x.scenario:1: bound=0s: expected more than 0s",
		"world wait=soon\n":                                      "x.scenario:1: wait=soon: expected a duration",
		tiny + "at 1s run m1 DEL\nrun for=1s":                    "x.scenario:2: expected a master or replica, and a command",
		tiny + "at 1s run m1 FLUSHDB now\nrun for=1s":            "x.scenario:2: unknown command \"FLUSHDB\": expected DEL,",
		tiny + "at 1s run c1 DEL k\nrun for=1s":                  "x.scenario:2: c1 is a client: expected a master",
		tiny + "at 1s duplicate c1 m1\nrun for=1s":               "x.scenario:2: next=: expected a number from 1",
		tiny + "at 1s duplicate c1 m1 next=1 late=x\nrun for=1s": "x.scenario:2: late=x: expected a duration",
		tiny + "at 1s audit m1\nrun for=1s":                      "x.scenario:2: expected 0 arguments, got 1",

		tiny + "at 1s partition c1 c1\nrun for=1s":       "x.scenario:2: c1 and c1 send each other nothing: expected",
		tiny + "at 1s partition c1,c2 c2,c1\nrun for=1s": "x.scenario:2: c1,c2 and c2,c1 send each other nothing",
		tiny + "at 1s drop c1 c2 next=1\nrun for=1s":     "x.scenario:2: c1 and c2 send each other nothing",
		tiny + "at 1s duplicate m1 c1 next=1\nrun for=1s": "x.scenario:2: m1 sends no requests: " +
			"expected one from a client",
		tiny + "at 1s drop c1 m1 next=1 what=reply\nrun for=1s": "x.scenario:2: m1 gets no what=reply: " +
			"expected one from a server",
		tiny + "at 1s delay m1 c1 next=1 by=1s what=request\nrun for=1s":   "x.scenario:2: m1 sends no requests",
		"world lock=multi masters=3\nat 1s partition m1 m2,m3\nrun for=1s": "x.scenario:2: m1 and m2,m3 send each",
	} {
		_, err := ParseScenario("dir/x.scenario", text)
		require.Error(t, err, text)
		require.Contains(t, err.Error(), "dir/"+want, text)
	}
}

func TestScenarioReads(t *testing.T) {
	s, err := ParseScenario("some/where/pause.scenario", `
# The claim.
# More about it.
world replicas=2 clients=250 per-lock=100 lock=fenced ttl=3s renew=off delay=1ms..5ms
expect exclusion=violated fencing=holds
at 1m30s clock r2 rate=-0.02%
at 2m clock c250 jump=+10s
run for=5m seed=18446744073709551615
----
anything
`)
	require.NoError(t, err)
	require.Equal(t, "pause", s.Name)
	require.Equal(t, "The claim.", s.Claim)
	require.Equal(t, 3, s.World.Locks())
	require.Equal(t, Range{time.Millisecond, 5 * time.Millisecond}, s.World.Delay)
	require.True(t, s.World.Fence)
	require.Equal(t, uint64(1<<64-1), s.Seed)
	_, ppb, err := s.Steps[0].clock()
	require.NoError(t, err)
	require.Equal(t, int64(-200_000), ppb)
	jump, _, err := s.Steps[1].clock()
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, jump)
}

// FuzzScenario: a file is refused with its name and line, or it can be run.
func FuzzScenario(f *testing.F) {
	for _, s := range Library() {
		text, err := library.ReadFile("scenarios/" + s.Name + ".scenario")
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(tiny + "at 1s clock m1 rate=+9999%\nat 1s clock c1 rate=-99.9999999%\nrun for=1s\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScenario("f.scenario", text)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f.scenario:"), err)
			return
		}
		if s.World.Clients > 10 || s.World.Masters > 5 || len(s.Steps) > 20 {
			return
		}
		s.For = min(s.For, 100*time.Millisecond)
		_, err = s.Run(context.Background(), Options{Seed: s.Seed})
		require.NoError(t, err)
	})
}

// An order that cannot be says at which of its lines, and what could have been.
func TestOrderThatCannotHappen(t *testing.T) {
	s, err := ParseScenario("a/x.scenario", "world clients=2\norder start:c1\norder start:c2 c3>m1\nrun for=1s\n")
	require.NoError(t, err)
	_, err = s.Run(t.Context(), Options{})
	require.EqualError(t, err, `a/x.scenario:3: action 3, c3>m1, cannot happen here: expected one of ["c1>m1" "c2>m1"]`)
}

// A command by hand takes any arguments, and tells an error that it is answered with; a
// byte order mark is no part of a scenario.
func TestCommandsByHand(t *testing.T) {
	const text = "\ufeff# A claim.\nworld clients=1\nat 0s crash c1\nat 1s run m1 SET lock:1 a=b\n" +
		"at 2s run m1 PEXPIRE lock:1 abc\nrun for=3s\n"
	s, err := ParseScenario("x.scenario", text)
	require.NoError(t, err)
	require.Equal(t, "A claim.", s.Claim)
	require.Contains(t, s.Text(), "at 1s run m1 SET lock:1 a=b\n")
	lines, _ := story(t, text)
	told := strings.Join(lines, "\n")
	require.Contains(t, told, "1.000 somebody runs SET lock:1 a=b at m1")
	require.Contains(t, told, "2.000 somebody runs PEXPIRE lock:1 abc (answered with ERR value is not an integer or out "+
		"of range) at m1")
}

// An error in a line without end has both of its ends: what was wrong and what is expected.
func TestErrorsAreShort(t *testing.T) {
	_, err := ParseScenario("x.scenario", strings.Repeat("é", 1_000_000))
	require.ErrorContains(t, err, `x.scenario:1: unknown word "éé`)
	require.ErrorContains(t, err, `é": expected world, expect, at, faults, order or run`)
	require.Less(t, len(err.Error()), 1200)
	require.True(t, utf8.ValidString(err.Error()))
}
