package explore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// An explanation tells who loses a place in a fair lock's queue, and who is first in it while
// nobody holds the lock.
func TestQueueIsTold(t *testing.T) {
	const fair = "world clients=3 lock=fair profile=redisson fair-wait=5s hold=3s rounds=1 bound=10s\n" +
		"expect progress=violated\nat 0s start c1\nat 300ms start c2\nat 600ms start c3\nat 1s crash c2\n"
	const first = "; after 3.025 s nobody holds it, and c2 is first in its queue"
	const taken = "; c2, taken for dead, loses its place in the queue (#"
	e, _ := explained(t, fair+"run for=60s seed=1\n")
	story := strings.Join(e.Story, "\n")
	require.Contains(t, story, "= nil, the latest answer to c3 about lock:1"+taken)
	require.Contains(t, story, first+" until 35.019 s.")
	e, _ = explained(t, fair+"run for=20s seed=1\n")
	story = strings.Join(e.Story, "\n")
	require.Contains(t, story, first+".")
	require.NotContains(t, story, taken)

	e, _ = explained(t, "world clients=3 lock=fair ttl=30s renew=on hold=5s rounds=1\nexpect order=violated\n"+
		"at 0s clock c3 jump=+20m\nat 0s start c1\nat 500ms start c2\nat 1s start c3\nrun for=1m30s seed=1\n")
	require.Contains(t, e.Story[2], " = 29006"+taken, "it was passed when c3 joined the queue, long before its grant")
}

// Who is granted the lock leaves the queue, and loses no place.
func TestWhoIsDropped(t *testing.T) {
	pops := func(client trace.Actor, owners ...string) trace.Event {
		e := trace.Event{Kind: trace.Execute, Actor: m1, Peer: client}
		for _, owner := range owners {
			e.Details = append(e.Details, trace.Detail{Text: "lpop " + queueOf("lock:1"), Reply: owner})
		}
		return e
	}
	for want, event := range map[string]trace.Event{
		"":          pops(c1, `"c1:1"`),
		"c2":        pops(c1, `"c2:1"`, `"c1:1"`),
		"c2 and c3": pops(c1, `"c2:1"`, `"c3:1"`, `"c2:2"`, "(nil)"),
		"c1":        pops(c3, `"c1:1"`),
	} {
		x := tellerOf("fair", "order", nil, event)
		require.Equal(t, want, listed(x.dropped(x.event(1), "lock:1")))
		require.Empty(t, x.dropped(x.event(1), "lock:2"))
	}
	x := tellerOf("fair", "progress", nil, by(c1, trace.Acquire), pops(c1, `"c2:1"`, `"c3:1"`), by(c1, trace.Hold))
	x.tellDropped(1, 3, "lock:1", "")
	require.Equal(t, map[uint64]string{2: "; c2 and c3, taken for dead, lose their places in the queue"}, x.more)
}

// A server that has another queue, or none, than the one before ends what is known of who is
// first; what a replica copies says nothing new.
func TestFirstInQueue(t *testing.T) {
	queue := func(state string) trace.Event { return executes(m1, c2, queueOf("lock:1"), state) }
	copied := queue("list{c3:1}")
	copied.Kind = trace.Replicate
	c2First := queue("list{c2:1}")
	const first = ", and c2 is first in its queue"
	for name, test := range map[string]struct {
		events []trace.Event
		want   string
	}{
		"to the end":        {[]trace.Event{queue("list{c2:1 c3:1}")}, first},
		"copied":            {[]trace.Event{c2First, copied}, first},
		"more behind it":    {[]trace.Event{c2First, queue("list{c2:1 c3:1}")}, first},
		"until it leaves":   {[]trace.Event{c2First, expires(m1, "x"), queue("none")}, first + " until 4.000 s"},
		"until a promotion": {[]trace.Event{c2First, of(trace.Promote, m2)}, first + " until 3.000 s"},
		"who asks":          {[]trace.Event{queue("list{c1:1}")}, ""},
		"nobody":            {[]trace.Event{queue("none")}, ""},
		"another's queue":   {[]trace.Event{of(trace.Promote, m2)}, ""},
	} {
		x := tellerOf("fair", "progress", nil, append([]trace.Event{by(c1, trace.Acquire)}, test.events...)...)
		require.Equal(t, test.want, x.firstInQueue(x.event(1), 2, uint64(len(x.events))+1), name)
	}
}
