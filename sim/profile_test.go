package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// judge runs a scenario once in each profile and returns the verdicts of its checks.
func judge(t *testing.T, lua Options, world, story, profile string) map[string]string {
	s, err := ParseScenario("profiles.scenario", "world profile="+profile+" "+world+"\n"+story)
	require.NoError(t, err)
	r, err := s.Run(context.Background(), lua)
	require.NoError(t, err)
	verdicts := map[string]string{}
	for _, result := range r.Results {
		verdicts[result.Check] = result.Verdict.String()
	}
	return verdicts
}

// The model of Redisson's client keeps the promises of every kind while nothing fails.
func TestRedissonContends(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	for _, kind := range modelled() {
		for _, with := range []string{"", "sync=on replicas=1", "reenter=1", "renew=off ttl=20s", "once=on", "wait=2s"} {
			if findKind(kind).masters.isIndependent() && with == "sync=on replicas=1" {
				continue
			}
			order := map[string]string{"multi": " one-order=on"}[kind]
			t.Run(kind+" "+with, func(t *testing.T) {
				require.Equal(t, map[string]string{"exclusion": "holds", "leak": "holds"},
					judge(t, opt, "clients=3 lock="+kind+order+" hold=10ms..50ms think=0s..20ms rounds=5 "+with,
						"expect exclusion=holds leak=holds\nat 0s start all\nat 5m audit\nrun for=301s\n", "redisson"))
			})
		}
	}
}

// Where the two profiles part: what lockclient is for.
func TestProfilesDiffer(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	for name, c := range map[string]struct {
		world, story         string
		redisson, lockclient string
	}{
		"a holder that is cut off goes on believing, silently": {
			"clients=2 lock=mutex hold=80s rounds=1",
			"at 0s start c1\nat 1s partition c1 m1\nat 2s start c2\nat 60s heal\n", "violated", "holds"},
		"a server that stands still ends the lease": {
			"clients=2 lock=mutex hold=80s rounds=1",
			"at 0s start c1\nat 5s pause m1 for=40s\nat 46s start c2\n", "violated", "holds"},
		"a reply that comes after the lease is believed": {
			"clients=2 lock=mutex ttl=3s renew=off hold=5s rounds=1 delay=100ms",
			"at 0s run m1 SCRIPT LOAD all\nat 0s start c1\nat 150ms pause c1 for=4s\nat 1s start c2\n", "violated", "holds"},
		"members are renewed without a majority": {
			"masters=5 clients=2 lock=redlock hold=120s rounds=1",
			"at 0s start c1\nat 1s crash m1\nat 1s crash m2\nat 1s crash m3\nat 80s restart m1 data=lose\n" +
				"at 80s restart m2 data=lose\nat 80s restart m3 data=lose\nat 81s start c2\n", "violated", "holds"},
	} {
		t.Run(name, func(t *testing.T) {
			story := "expect exclusion=holds\n" + c.story + "run for=200s\n"
			require.Equal(t, c.redisson, judge(t, opt, c.world, story, "redisson")["exclusion"])
			require.Equal(t, c.lockclient, judge(t, opt, c.world, story, "lockclient")["exclusion"])
		})
	}
}

// A wait that is looked at finds out what a pause has cost. With this seed who stood still
// sees the answer before it sees that its time is over.
func TestRedissonLooksAtTheWait(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	story := "expect exclusion=holds\nat 0s start c1\nat 1750ms pause c1 for=40s\nat 34s start c2\nrun for=100s\n"
	for with, want := range map[string]string{"wait=20s": "holds", "once=on": "violated"} {
		world := "masters=3 clients=2 lock=multi hold=20s rounds=1 delay=100ms " + with
		require.Equal(t, want, judge(t, opt, world, story, "redisson")["exclusion"], with)
	}
}

// A slot whose keys have moved and that stays open: Redisson's renewal is pointed to a
// master that does not know its script, and never arrives there.
func TestRedissonInAnOpenSlot(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	world := "cluster=3x0 clients=2 lock=mutex ttl=3s hold=20s rounds=1 delay=1ms..5ms"
	story := "expect exclusion=holds\nat 0s start c1\nat 500ms move lock:1 m2 step=open for=10s keys=0s\n" +
		"at 1s start c2\nrun for=30s\n"
	known := "at 0s run m2 SCRIPT LOAD all\n"
	require.Equal(t, "violated", judge(t, opt, world, story, "redisson")["exclusion"])
	require.Equal(t, "holds", judge(t, opt, world, known+story, "redisson")["exclusion"])
	require.Equal(t, "holds", judge(t, opt, world, story, "lockclient")["exclusion"])
}

// The subscription to a slot that moves is never made again: who waits gets the lock
// when its lease would have ended, and others know of the release at once.
func TestRedissonWaitsThroughAMove(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	world := "cluster=3x0 clients=2 lock=mutex ttl=60s hold=3s rounds=1 delay=1ms..5ms bound=30s"
	story := "expect progress=holds\nat 0s run m2 SCRIPT LOAD all\nat 0s start c1\nat 1s start c2\n" +
		"at 2s move lock:1 m2\nrun for=90s\n"
	require.Equal(t, "violated", judge(t, opt, world, story, "redisson")["progress"])
	require.Equal(t, "holds", judge(t, opt, world, story, "lockclient")["progress"])
}

// A failover of a cluster is noticed when the client asks for the slots next: a renewal
// that meets it comes after a short lease.
func TestRedissonInAFailover(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	story := "expect exclusion=holds\nat 0s start c1\nat 500ms crash m1\nat 600ms promote r1\n" +
		"at 4s start c2\nrun for=60s\n"
	for ttl, want := range map[string]string{"3s": "violated", "30s": "holds"} {
		world := "cluster=3x1 clients=2 lock=mutex hold=40s rounds=1 delay=1ms..5ms sync=on ttl=" + ttl
		require.Equal(t, want, judge(t, opt, world, story, "redisson")["exclusion"], ttl)
		require.Equal(t, "holds", judge(t, opt, world, story, "lockclient")["exclusion"], ttl)
	}
}

// A master that has lost its slots to its replica points there. For each request that it
// follows Redisson takes a connection out of a pool, for good, and once all are gone
// sends nothing until it has asked for the slots.
func TestRedissonRunsOutOfConnections(t *testing.T) {
	s, err := ParseScenario("pool.scenario", "world profile=redisson cluster=3x1 clients=1 lock=mutex ttl=51s hold=20s"+
		" rounds=1 delay=1ms\nexpect exclusion=holds\nat 0s start c1\nat 16s promote r1\nrun for=30s\n")
	require.NoError(t, err)
	renewals := 0
	count := func(e *trace.Event, names []string) {
		if e.Kind == trace.Execute && names[e.Actor] == "m1" && strings.HasPrefix(e.Text, "mutex-renew(") {
			renewals++
		}
	}
	_, err = s.Run(t.Context(), Options{Seed: 1, Lua: NewLua(), Details: true, Observe: count})
	require.NoError(t, err)
	require.Equal(t, poolSize+1, renewals)
}

// A connection that has broken is made again after pauses that grow: of a server that is
// down for a second who waits can hear nothing for 2.6 s.
func TestRedissonSubscribesAgain(t *testing.T) {
	s, err := ParseScenario("again.scenario", "world profile=redisson clients=2 lock=mutex ttl=60s hold=20s rounds=1"+
		" delay=1ms\nexpect exclusion=holds\nat 0s start c1\nat 1s start c2\nat 5s crash m1 for=1s\nrun for=15s\n")
	require.NoError(t, err)
	var waited []time.Duration // since the crash
	note := func(e *trace.Event, _ []string) {
		if e.Kind == trace.Execute && strings.HasPrefix(e.Text, "SUBSCRIBE ") && e.At > 5*time.Second {
			waited = append(waited, e.At-5*time.Second)
		}
	}
	for lua, seed := NewLua(), uint64(0); seed < 50; seed++ {
		_, err = s.Run(t.Context(), Options{Seed: seed, Lua: lua, Details: true, Observe: note})
		require.NoError(t, err)
	}
	require.Len(t, waited, 50)
	require.Greater(t, slices.Min(waited), time.Second)
	require.Less(t, slices.Max(waited), 2610*time.Millisecond)
	require.Greater(t, slices.Max(waited), 2*time.Second)
}

// When enough members of a RedissonRedLock are taken, one that fails ends it at once,
// whatever that has cost.
func TestRedissonRedLockLooksAwayAtTheEnd(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	story := "expect exclusion=holds\nat 0s start c1\nat 1300ms pause c1 for=42s\nat 32s start c2\nrun for=100s\n"
	for kind, want := range map[string]string{"redlock": "violated", "multi one-order=on": "holds"} {
		world := "masters=3 clients=2 hold=20s rounds=1 delay=100ms wait=20s lock=" + kind
		require.Equal(t, want, judge(t, opt, world, story, "redisson")["exclusion"], kind)
	}
}

// A lease that cannot be set at the end is an error: the members stay taken.
func TestRedissonMultiWithoutItsLease(t *testing.T) {
	got := judge(t, Options{Seed: 1, Lua: NewLua()},
		"clients=1 lock=multi ttl=60s renew=off hold=1s rounds=1 delay=100ms",
		"expect exclusion=holds leak=holds\nat 0s start c1\nat 1150ms partition c1 m1\nat 25s audit\nrun for=30s\n",
		"redisson")
	require.Equal(t, map[string]string{"exclusion": "unknown", "leak": "violated"}, got)
}

// Who joins the queue of a fair lock while the replica stands still is not confirmed
// either, and gives up after five attempts: the place stays taken.
func TestRedissonWaitsUnconfirmed(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	world := "replicas=1 sync=on clients=2 hold=30s rounds=1 delay=1ms bound=20s lock="
	story := "expect progress=holds\nat 0s start c1\nat 1s hold r1\nat 2s start c2\nat 25s release r1\nrun for=60s\n"
	for kind, want := range map[string]bool{"mutex": false, "fair": true} {
		s, err := ParseScenario("x.scenario", "world profile=redisson "+world+kind+"\n"+story)
		require.NoError(t, err)
		refused := false
		opt.Observe = func(e *trace.Event, _ []string) { refused = refused || e.Kind == trace.Refused }
		_, err = s.Run(t.Context(), opt)
		require.NoError(t, err)
		require.Equal(t, want, refused, kind)
	}
}

// What was sent over a connection that has ended since is waited for like any answer.
func TestRedissonWaitsForWhatABrokenConnectionOwes(t *testing.T) {
	s := parsed(t, "# Broken.\nworld profile=redisson clients=1 rounds=1 delay=1ms\nat 0s pause m1 for=9s\n"+
		"at 0s start c1\nat 500ms crash m1 for=100ms\nrun for=9s\n")
	refused := time.Duration(0)
	_, err := s.Run(t.Context(), Options{Seed: 1, Observe: func(e *trace.Event, _ []string) {
		if e.Kind == trace.Refused {
			refused = e.At
		}
	}})
	require.NoError(t, err)
	require.Equal(t, responseTimeout, refused)
}

// Where masters have replicas READONLY stays the answer, although the request is sent again
// and executed four times: the lock is taken for nobody.
func TestRedissonBelievesReadonly(t *testing.T) {
	const story = " profile=redisson replicas=1 lock=mutex clients=1 hold=1s rounds=1 delay=1ms\nat 0s start c1\n" +
		"at 0s run m1 REPLICAOF 10.9.9.9 1\nat 300ms run m1 REPLICAOF NO ONE\nrun for=10s\n"
	for sync, want := range map[string]int{"on": 4, "off": 1} {
		s, taken, held := parsed(t, "# Readonly.\nworld sync="+sync+story), 0, false
		note := func(e *trace.Event, _ []string) {
			if strings.HasPrefix(e.Text, "mutex-acquire(") && strings.HasSuffix(e.Text, "= nil") {
				taken++
			}
			held = held || e.Kind == trace.Hold
		}
		_, err := s.Run(t.Context(), Options{Seed: 1, Lua: NewLua(), Details: true, Observe: note})
		require.NoError(t, err)
		require.Equal(t, want, taken, sync)
		require.Equal(t, sync == "off", held, sync)
	}
}

// With a lease an attempt without a wait joins the queue of a fair lock, and leaves it.
func TestRedissonTriesAFairLock(t *testing.T) {
	for with, want := range map[string][]string{"": {"fair-try"}, " renew=off": {"fair-acquire", "fair-withdraw"}} {
		s := parsed(t, "# Once.\nworld profile=redisson lock=fair once=on clients=2 hold=20s rounds=1 delay=1ms"+with+
			"\nat 0s start c1\nat 1s start c2\nrun for=5s\n")
		var asked []string
		note := func(e *trace.Event, names []string) {
			if e.Kind == trace.Execute && names[e.Peer] == "c2" && strings.HasPrefix(e.Text, "fair") &&
				!strings.Contains(e.Text, "NOSCRIPT") {
				name, _, _ := strings.Cut(e.Text, "(")
				asked = append(asked, name)
			}
		}
		_, err := s.Run(t.Context(), Options{Seed: 1, Lua: NewLua(), Details: true, Observe: note})
		require.NoError(t, err)
		require.Equal(t, want, asked, with)
	}
}

// Each attempt to unlock ends a renewal: one that no replica has confirmed ends that of
// the hold around it.
func TestRedissonRenewsNoMoreAfterAnUnconfirmedRelease(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	world := "replicas=1 sync=on clients=2 lock=mutex ttl=30s reenter=1 hold=60s rounds=1 delay=1ms..2ms"
	story := "expect exclusion=holds\nat 0s start c1\nat 0s delay m1 c1 next=1 after=6 by=1s\n%s" +
		"at 45s start c2\nrun for=100s\n"
	for hold, want := range map[string]string{"": "holds", "at 500ms hold r1\nat 2500ms release r1\n": "violated"} {
		require.Equal(t, want, judge(t, opt, world, fmt.Sprintf(story, hold), "redisson")["exclusion"], hold)
	}
}

// A renewal that fails ends its pass: members in slots behind it are not renewed, though
// their master is well.
func TestRedissonRenewsSlotsUntilOneFails(t *testing.T) {
	const story = "world profile=redisson cluster=3x0 clients=1 lock=multi hold=20s rounds=1 delay=1ms ttl=30s\n" +
		"expect exclusion=holds\nat 0s start c1\nat 5s crash %s for=20s\nrun for=16s\n"
	for master, want := range map[string][]string{"m1": nil, "m3": {"lock:1.2", "lock:1.3"}} { // m3 has lock:1.1
		s, err := ParseScenario("slots.scenario", fmt.Sprintf(story, master))
		require.NoError(t, err)
		var renewed []string
		note := func(e *trace.Event, _ []string) {
			if name, ok := strings.CutPrefix(e.Text, "mutex-renew("); ok && strings.HasSuffix(name, " = [1]") {
				renewed = append(renewed, name[:len("lock:1.1")])
			}
		}
		_, err = s.Run(t.Context(), Options{Seed: 1, Lua: NewLua(), Details: true, Observe: note})
		require.NoError(t, err)
		require.Equal(t, want, renewed, master)
	}
}

// With a fixed lease RedissonRedLock believes what has ended before it was complete.
func TestRedissonMeasuresNoValidity(t *testing.T) {
	got := judge(t, Options{Seed: 1, Lua: NewLua()},
		"masters=5 clients=2 lock=redlock ttl=10s renew=off hold=5s rounds=1 once=on delay=100ms",
		"expect exclusion=holds\nat 0s start c1\nat 2950ms pause c1 for=12s\nat 13s start c2\nrun for=100s\n", "redisson")
	require.Equal(t, "violated", got["exclusion"])
}

// Two orders of the same locks: RedissonMultiLock waits with locks in hand, and
// clients refuse each other for minutes. lockclient sorts, and holds none while it waits.
func TestRedissonMultiInOppositeOrders(t *testing.T) {
	opt := Options{Seed: 1, Lua: NewLua()}
	world := "clients=3 lock=multi hold=10ms..50ms think=0s..20ms rounds=5 bound=30s"
	story := "expect progress=holds\nat 0s start all\nrun for=5m\n"
	require.Equal(t, "violated", judge(t, opt, world, story, "redisson")["progress"])
	require.Equal(t, "holds", judge(t, opt, world, story, "lockclient")["progress"])
	require.Equal(t, "holds", judge(t, opt, world+" one-order=on", story, "redisson")["progress"])
}

// A dead waiter at the head of a fair queue costs the others its place, and no more.
func TestRedissonFairQueue(t *testing.T) {
	got := judge(t, Options{Seed: 1, Lua: NewLua()},
		"clients=3 lock=fair fair-wait=20s hold=5s rounds=1 bound=60s",
		"expect progress=holds order=holds\nat 0s start c1\nat 1s start c2\nat 2s start c3\nat 3s crash c2\nrun for=100s\n",
		"redisson")
	require.Equal(t, map[string]string{"progress": "holds", "order": "holds"}, got)
}

// What is not said of Redisson's client is refused.
func TestRedissonRefuses(t *testing.T) {
	for world, want := range map[string]string{
		"lock=latch":         "no model of Redisson's latch",
		"cancel=1s":          "expected no cancel=",
		"compat316=1":        "no compat316",
		"delay=0s":           "asks without a pause",
		"profile=lockclient": "profile is given twice",
	} {
		_, err := ParseScenario("x.scenario", "world profile=redisson "+world+"\nrun for=1s\n")
		require.ErrorContains(t, err, want)
	}
}
