package explore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// What overlaps on servers that know nothing of each other needed an end of the first grant, or
// of what the server had, at one that both had asked: what ended elsewhere says nothing, nor what
// somebody gave back before taking it again. PEXPIRE takes nothing.
func TestEndedBetween(t *testing.T) {
	evicted := of(trace.Evict, m1)
	evicted.Details = executes(m1, c1, "lock:1", "none").Details
	first, second := executes(m1, c1, "lock:1", "string{c1}"), executes(m1, c2, "lock:1", "string{c2}")
	longer := second
	longer.Text = "PEXPIRE lock:1 10000 = 1"
	for name, test := range map[string]struct {
		ends []trace.Event // between the grants
		want uint64
	}{
		"nothing ended":           {nil, 0},
		"its time was over":       {[]trace.Event{expires(m1, "lock:1")}, 5},
		"it was evicted":          {[]trace.Event{evicted}, 5},
		"the server forgot it":    {[]trace.Event{of(trace.Restart, m1)}, 5},
		"another server did":      {[]trace.Event{of(trace.Restart, m2)}, 0},
		"it ended elsewhere":      {[]trace.Event{expires(m2, "lock:1")}, 0},
		"another tried meanwhile": {[]trace.Event{expires(m1, "lock:1"), second, executes(m1, c2, "lock:1", "none")}, 5},
	} {
		run := append([]trace.Event{by(c1, trace.Acquire), by(c2, trace.Acquire), first, by(c1, trace.Hold)}, test.ends...)
		x := tellerOf("redlock", "exclusion", nil, append(run, second, longer, by(c2, trace.Hold))...)
		require.Equal(t, test.want, x.endedBetween(x.event(uint64(len(x.events)))), name)
		require.Zero(t, x.endedBetween(x.event(4)), "nobody has it yet")
	}
	x := tellerOf("redlock", "exclusion", nil, by(c1, trace.Acquire), by(c2, trace.Acquire), second, expires(m1, "lock:1"),
		first, longer, by(c1, trace.Hold), by(c2, trace.Hold))
	require.Equal(t, uint64(4), x.endedBetween(x.event(8)), "who believes it last had it first")
}

// Of locks on several servers that is told which ended the first holder's key where both had it.
func TestEndsOnSeveralServersAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"world lock=redlock profile=redisson masters=3 clients=2 rounds=1 delay=1ms hold=60s ttl=30s\n" +
			"expect exclusion=violated\nat 0s start c1\nat 100ms pause m1 for=40s\nat 100ms pause m2 for=40s\n" +
			"at 35s start c2\nrun for=70s seed=1\n": "At 40.100 s m2 removes lock:1: its TTL has passed",
		"world ttl=30s hold=60s profile=redisson lock=redlock masters=5 clients=2 rounds=1 delay=1ms lag=1ms\n" +
			"expect exclusion=violated\nat 0s pause m4 for=2m\nat 0s start c1\nat 0s start c2\nat 10ms pause m1 for=2m\n" +
			"at 40s calm\nrun for=44s seed=1\n": "c2:1) = nil, as the TTL of what was there has passed",
	} {
		e, _ := explained(t, text)
		story := strings.Join(e.Story, "\n")
		require.Contains(t, story, want)
		require.NotContains(t, story, "release(", "of an attempt that failed")
	}
}

// A belief names where that on which it is founded had ended by time before it began.
func TestGrantsThatHadEndedAreTold(t *testing.T) {
	first, second := executes(m1, c1, "lock:1", "string{c1}"), executes(m2, c1, "lock:1", "string{c1}")
	for name, test := range map[string]struct {
		then []trace.Event
		want string
	}{
		"none":              {nil, ""},
		"one":               {[]trace.Event{expires(m2, "lock:1")}, "; by then its TTL has passed at m2"},
		"another's":         {[]trace.Event{expires(m2, "lock:2")}, ""},
		"what is forgotten": {[]trace.Event{of(trace.Restart, m2)}, ""}, // that is told as a fault
		"both": {[]trace.Event{expires(m1, "lock:1"), expires(m2, "lock:1")},
			"; by then its TTL has passed at m1 and m2"},
	} {
		run := append([]trace.Event{by(c1, trace.Acquire), first, second}, test.then...)
		x := tellerOf("redlock", "exclusion", nil, append(run, by(c1, trace.Hold), expires(m1, "lock:1"))...)
		x.grantedBySeveral(x.event(uint64(len(run)+1)), named)
		require.Equal(t, ", granted by m1 and m2"+test.want, x.more[uint64(len(run)+1)], name)
	}
	e, _ := explained(t, "world profile=redisson lock=redlock masters=3 renew=off ttl=10s wait=3s clients=2 "+
		"one-order=off rounds=1 delay=1ms lag=1ms\nexpect exclusion=violated\nat 0s partition c1 m3\nat 0s start c1\n"+
		"at 0s start c2\nat 10ms clock c2 jump=-1m\nrun for=7s seed=1\n")
	story := strings.Join(e.Story, "\n")
	require.Contains(t, story, "c1 holds lock:1, granted by m1 and m2; by then its TTL has passed at m1 and m2 (")
	require.Contains(t, story, "c2 holds lock:1, granted by m1, m2 and m3 (", "it took the key of another")
}

// Where a slot moves, its key may end at the server that had it before, when that has answered
// its holder with errors: the last of them is told.
func TestEndWhereASlotWasIsTold(t *testing.T) {
	renews := func(server trace.Actor, reply string) trace.Event {
		e := executes(server, c1, "lock:1", "")
		e.Text = "mutex-renew(lock:1; 30000, c1:1) = " + reply
		return e
	}
	first, second := executes(m1, c1, "lock:1", "string{c1}"), executes(m2, c2, "lock:1", "string{c2}")
	x := tellerOf("mutex", "exclusion", nil, first, by(c1, trace.Hold), renews(m1, "TRYAGAIN Multiple keys"),
		renews(m1, "ASK 1 m2:6379"), renews(m2, "MOVED 1 m1:6379"), expires(m1, "lock:1"), second)
	require.Zero(t, x.opening(7, "lock:1"), "no slot moves")
	x.story.World.Cluster = true
	require.Equal(t, uint64(6), x.opening(7, "lock:1"))
	require.Equal(t, uint64(3), x.unrenewed(6, c1, "lock:1"))
	require.Zero(t, x.unrenewed(6, c2, "lock:1"), "it renewed nothing")
	x.events[3].Text = "mutex-renew(lock:1; 30000, c1:1) = 1"
	require.Zero(t, x.unrenewed(6, c1, "lock:1"), "it has renewed it since")
	x.events[4] = of(trace.Promote, m2)
	require.Equal(t, uint64(5), x.opening(7, "lock:1"), "it came without what the other had")

	e, _ := explained(t, "world clients=3 ttl=30s hold=60s profile=redisson lock=rw readers=2 cluster=2x0 rounds=1 "+
		"delay=1ms lag=1ms\nexpect exclusion=violated\nat 0s start c2\nat 0s start c3\n"+
		"at 10ms move lock:1 m2 step=open for=30s\nrun for=35s seed=1\n")
	story := strings.Join(e.Story, "\n")
	require.Contains(t, story, "m1 executes read-renew(lock:1, {lock:1}; 30000, 1, c2:1) = TRYAGAIN")
	require.Contains(t, story, "m1 removes lock:1, {lock:1}:c2:1:rwlock_timeout:1: their TTLs have passed")
	require.Equal(t, []string{"the clients' scripts run while a slot moves"}, e.Broken)
}

// Of a latch that stays closed it is told how many of the calls its server has.
func TestCallsThatALatchLacksAreTold(t *testing.T) {
	for answer, want := range map[string]string{
		`GET lock:1 = "2"`: "twice, of which m1 has 1;", `GET lock:1 = "3"`: "twice, of which m1 has none;",
		`GET lock:1 = "1"`: "twice;", `GET lock:1 = "9"`: "twice;", "GET lock:1 = nil": "twice;", "": "twice;",
	} {
		asks, reply := executes(m1, c2, "", ""), trace.Event{Kind: trace.Deliver, Actor: c2, Peer: m1, Cause: 4}
		asks.Text = answer
		x := tellerOf("latch", "progress", []uint64{1}, by(c2, trace.Acquire), by(c1, trace.CountDown),
			by(c3, trace.CountDown), asks, reply)
		require.Equal(t, []string{"Until then countDown() is called " + want + " it takes 3 to open lock:1."},
			x.meanwhile(x.event(1)), answer)
	}
}
