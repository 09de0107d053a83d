package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/luaengine"
	"minikv/trace"
)

// recorded is what Redisson 4.7.0 was seen to do in a story of interop/java, in which c2
// has taken the lock for 3 s 100 ms before, and has crashed.
type recorded struct {
	name     string
	world    string
	mishaps  string        // c1 begins at 100ms
	requests string        // of c1, but for renewals and deletions
	outcome  string        // the first
	at       time.Duration // when c1 was told, since it began
	within   time.Duration // how much earlier or later the model may tell it
}

const recordedChannel = "redisson_lock__channel:{lock:1}"

// The model does what Redisson was seen to do.
func TestRedissonAsRecorded(t *testing.T) {
	lua := NewLua()
	for _, c := range []recorded{
		{"a second answer that comes when the wait is over", "lock=mutex wait=1s",
			"at 100ms delay m1 c1 next=1 after=2 by=1500ms what=reply",
			"mutex-acquire SUBSCRIBE mutex-acquire UNSUBSCRIBE", "refused", 1650 * time.Millisecond, 300 * time.Millisecond},
		{"a replica that stands still when a fair wait ends", "lock=fair wait=1s replicas=1 sync=on", "at 700ms hold r1",
			"fair-acquire WAIT SUBSCRIBE fair-acquire WAIT" + strings.Repeat(" fair-withdraw WAIT", 5) + " UNSUBSCRIBE",
			"refused", 10700 * time.Millisecond, 3500 * time.Millisecond},
		{"a message before an answer", "lock=mutex",
			"at 100ms delay m1 c1 next=1 after=2 by=1500ms what=reply\nat 900ms run m1 PUBLISH " + recordedChannel + " 0",
			"mutex-acquire SUBSCRIBE mutex-acquire mutex-acquire mutex-acquire UNSUBSCRIBE mutex-release",
			"hold", 2900 * time.Millisecond, 300 * time.Millisecond},
		{"a message to who waits", "lock=mutex", "at 700ms run m1 PUBLISH " + recordedChannel + " 0",
			"mutex-acquire SUBSCRIBE mutex-acquire mutex-acquire mutex-acquire UNSUBSCRIBE mutex-release",
			"hold", 2900 * time.Millisecond, 300 * time.Millisecond},
		{"a message to who waits for a fenced lock", "lock=fenced", "at 700ms run m1 PUBLISH " + recordedChannel + " 0",
			"fenced-acquire SUBSCRIBE fenced-acquire fenced-acquire fenced-acquire fenced-acquire UNSUBSCRIBE mutex-release",
			"hold", 2937 * time.Millisecond, 300 * time.Millisecond},
		{"a late confirmation", "lock=mutex", "at 100ms delay m1 c1 next=1 after=1 by=5s what=reply",
			"mutex-acquire SUBSCRIBE UNSUBSCRIBE", "refused", 5036 * time.Millisecond, 300 * time.Millisecond},
		{"a wait whose subscription is confirmed late", "lock=mutex wait=8s",
			"at 100ms delay m1 c1 next=1 after=1 by=5s what=reply",
			"mutex-acquire SUBSCRIBE UNSUBSCRIBE", "refused", 5038 * time.Millisecond, 300 * time.Millisecond},
		{"a wait that ends before the confirmation", "lock=mutex wait=1s",
			"at 100ms delay m1 c1 next=1 after=1 by=2s what=reply",
			"mutex-acquire SUBSCRIBE", "refused", 1025 * time.Millisecond, 300 * time.Millisecond},
		{"a confirmation that never comes", "lock=mutex", "at 100ms drop m1 c1 next=1 after=1 what=reply",
			"mutex-acquire SUBSCRIBE", "refused", 7525 * time.Millisecond, 300 * time.Millisecond},
		{"a confirmation that never comes of a fenced lock", "lock=fenced", "at 100ms drop m1 c1 next=1 after=1 what=reply",
			"fenced-acquire SUBSCRIBE", "refused", 38737 * time.Millisecond, 22 * time.Second},
		{"a connection that ends before the confirmation", "lock=mutex",
			"at 100ms drop m1 c1 next=1 after=1 what=reply\nat 600ms crash m1\nat 650ms restart m1 data=keep",
			"mutex-acquire SUBSCRIBE SUBSCRIBE mutex-acquire mutex-acquire UNSUBSCRIBE mutex-release",
			"hold", 2910 * time.Millisecond, 300 * time.Millisecond},
		{"a connection that ends long after no confirmation", "lock=mutex",
			"at 100ms drop m1 c1 next=1 after=1 what=reply\nat 4100ms crash m1\nat 4150ms restart m1 data=keep",
			"mutex-acquire SUBSCRIBE", "refused", 4010 * time.Millisecond, 300 * time.Millisecond},
		{"a server that is down before the confirmation", "lock=mutex",
			"at 100ms drop m1 c1 next=1 after=1 what=reply\nat 2100ms crash m1\nat 4600ms restart m1 data=keep",
			"mutex-acquire SUBSCRIBE", "refused", 3000 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) { c.compare(t, lua) })
	}
}

func (c *recorded) compare(t *testing.T, lua *luaengine.Engine) {
	s, err := ParseScenario("recorded.scenario", "world clients=2 profile=redisson ttl=3s hold=1500ms rounds=1"+
		" delay=500us..1ms pool=on "+c.world+"\nexpect exclusion=holds\nat 0s start c2\nat 50ms crash c2\n"+
		"at 100ms start c1\n"+c.mishaps+"\nrun for=70s\n")
	require.NoError(t, err)
	var requests []string
	outcome, at := "", time.Duration(0)
	_, err = s.Run(t.Context(), Options{Seed: 1, Lua: lua, Details: true, Observe: func(e *trace.Event, names []string) {
		ends := map[trace.Kind]string{trace.Hold: "hold", trace.Refused: "refused"}
		switch name, _, _ := strings.Cut(strings.ReplaceAll(e.Text, "(", " "), " "); {
		case names[e.Actor] == "c1" && ends[e.Kind] != "" && outcome == "":
			outcome, at = ends[e.Kind], e.At-100*time.Millisecond
		case e.Kind != trace.Execute || names[e.Peer] != "c1" || strings.Contains(e.Text, "NOSCRIPT"):
		case name == "SCRIPT" || name == "INFO" || name == "DEL" || name == "mutex-renew":
		default:
			requests = append(requests, name)
		}
	}})
	require.NoError(t, err)
	require.Equal(t, c.requests, strings.Join(requests, " "))
	require.Equal(t, c.outcome, outcome)
	require.InDelta(t, c.at, at, float64(c.within))
}

// A process stands still while an answer comes, for longer than it is waited for: of
// Redisson 4.7.0 six of twelve calls returned with the lock, and six threw
// RedisResponseTimeoutException.
func TestRedissonStandsStillBeforeAnAnswer(t *testing.T) {
	s, err := ParseScenario("still.scenario", "world clients=1 profile=redisson lock=mutex ttl=60s renew=off hold=1s"+
		" rounds=1 delay=1ms\nexpect exclusion=holds\nat 0s run m1 SCRIPT LOAD all\nat 0s delay m1 c1 next=1 by=300ms\n"+
		"at 1ms start c1\nat 150ms pause c1 for=4200ms\nrun for=20s\n")
	require.NoError(t, err)
	lua, outcomes := NewLua(), map[trace.Kind]int{}
	for seed := range uint64(20) {
		_, err = s.Run(t.Context(), Options{Seed: seed + 1, Lua: lua, Observe: func(e *trace.Event, _ []string) {
			if e.Kind == trace.Hold || e.Kind == trace.Refused {
				outcomes[e.Kind]++
			}
		}})
		require.NoError(t, err)
	}
	require.Equal(t, 20, outcomes[trace.Hold]+outcomes[trace.Refused])
	require.Greater(t, min(outcomes[trace.Hold], outcomes[trace.Refused]), 4)
}
