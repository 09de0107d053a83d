package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// The actors of these runs.
const (
	m1 trace.Actor = iota + 1
	m2
	c1
	c2
	c3
)

// tellerOf tells of a run of a kind of lock with these events, that violates a check.
func tellerOf(kind, violates string, named []uint64, events ...trace.Event) *teller {
	for i := range events {
		events[i].N, events[i].At = uint64(i+1), time.Duration(i+1)*time.Second
	}
	s := &sim.Scenario{World: sim.Spec{Masters: 1, Load: sim.Workload{Kind: kind, Count: 3, TTL: time.Minute}}}
	return &teller{&explainer{lab: &lab{checks: []string{violates}}, story: s, events: events,
		names:    []string{"nemesis", "m1", "m2", "c1", "c2", "c3"},
		violated: []check.Result{{Check: violates, Events: named}}}, map[uint64]int{}, map[uint64]string{}}
}

// by is an event of a client about lock 1.
func by(who trace.Actor, kind trace.Kind) trace.Event {
	return trace.Event{Kind: kind, Actor: who, Lock: 1, Key: "lock:1"}
}

// of is an event that strikes somebody.
func of(kind trace.Kind, whom trace.Actor) trace.Event { return trace.Event{Kind: kind, Peer: whom} }

// executes is a server's execution for a client, which leaves a key in a state; "": as it was.
func executes(server, client trace.Actor, key, state string) trace.Event {
	e := trace.Event{Kind: trace.Execute, Actor: server, Peer: client}
	if state != "" {
		e.Details = []trace.Detail{{What: trace.Changed, Key: key, Text: state}}
	}
	return e
}

// expires is the end of a key by time.
func expires(server trace.Actor, key string) trace.Event {
	return trace.Event{Kind: trace.Expire, Actor: server, Details: []trace.Detail{{What: trace.Expired, Key: key}}}
}

// What made a key free is the last at that server in which the key went, or by which the
// server came without it.
func TestOpening(t *testing.T) {
	forgot, half := of(trace.Restart, m1), of(trace.Restart, m1)
	half.A, half.B = 1, 5
	kept := of(trace.Restart, m1)
	kept.A = 1
	others := of(trace.Restart, m2)
	for name, test := range map[string]struct {
		event trace.Event
		want  uint64
	}{
		"it came back empty":            {forgot, 2},
		"without some of its data":      {half, 2},
		"with its data":                 {kept, 1},
		"another came back empty":       {others, 1},
		"it became master":              {of(trace.Promote, m1), 2},
		"another became master":         {of(trace.Promote, m2), 1},
		"the key went":                  {executes(m1, c1, "lock:1", "none"), 2},
		"its time was over":             {expires(m1, "lock:1"), 2},
		"a member of it went":           {executes(m1, c1, "lock:1.2", "none"), 2},
		"another key went":              {executes(m1, c1, "lock:11", "none"), 1},
		"it went elsewhere":             {expires(m2, "lock:1"), 1},
		"the key changed":               {executes(m1, c1, "lock:1", "string{c1}"), 1},
		"what came behind the grant":    {executes(m1, c2, "lock:1", "string{c2}"), 1},
		"somebody crashed, and no more": {of(trace.Crash, m1), 1},
	} {
		x := tellerOf("mutex", "exclusion", nil, expires(m1, "lock:1"), test.event,
			executes(m1, c2, "lock:1", "string{c2}"), expires(m1, "lock:1"))
		require.Equal(t, test.want, x.opening(3, "lock:1"), name)
	}
	x := tellerOf("mutex", "exclusion", nil, executes(m1, c1, "lock:1", "string{c1}"))
	require.Zero(t, x.opening(1, "lock:1"))
}

// The latest answer is one that reached who waits, and is about what it waits for.
func TestAnswer(t *testing.T) {
	asks := func(text string) trace.Event {
		return trace.Event{Kind: trace.Execute, Actor: m1, Peer: c2, Text: text}
	}
	after := func(kind trace.Kind, cause uint64) trace.Event {
		return trace.Event{Kind: kind, Actor: c2, Peer: m1, Cause: cause}
	}
	x := tellerOf("mutex", "progress", []uint64{1}, by(c2, trace.Acquire), asks("mutex-acquire(lock:1; 30000, c2:1) = 9"),
		after(trace.Send, 2), after(trace.Deliver, 3), asks("CLUSTER SLOTS = …"), after(trace.Send, 5),
		after(trace.Deliver, 6), asks("mutex-acquire(lock:1; 30000, c2:1) = nil"), after(trace.Send, 8),
		after(trace.Drop, 9), by(c2, trace.Hold))
	require.Equal(t, uint64(2), x.answer(x.event(1), 11))
	require.Equal(t, []string{"While c2 waits, nobody has lock:1."}, x.meanwhile(x.event(1)))
	require.Equal(t, map[uint64]string{2: ", the latest answer to c2 about lock:1"}, x.more)
}

// What one acknowledgement of a replica has confirmed, each had asked for itself.
func TestGrantOfWhatWasConfirmedTogether(t *testing.T) {
	confirms, holds := executes(m1, c1, "", ""), by(c2, trace.Hold)
	confirms.Text, confirms.Cause, holds.Cause = "WAIT 1 1000", 1, 3
	own := by(c1, trace.Hold)
	own.Cause = 3
	x := tellerOf("mutex", "exclusion", nil, executes(m1, c1, "lock:1", "string{c1}"),
		executes(m1, c2, "lock:1", "string{c2}"), confirms, holds, own)
	require.Equal(t, uint64(2), x.grant(4))
	require.Equal(t, uint64(1), x.grant(5))
}

// A server that is down has nothing as taken.
func TestTakenByOthers(t *testing.T) {
	taken := executes(m1, c1, "lock:1", "string{c1}")
	x := tellerOf("mutex", "progress", nil, by(c2, trace.Acquire), taken, of(trace.Crash, c1))
	require.Equal(t, "m1 has lock:1 as taken by c1", x.takenByOthers(x.event(1), 4))
	x = tellerOf("mutex", "progress", nil, by(c2, trace.Acquire), taken, of(trace.Crash, m1))
	require.Empty(t, x.takenByOthers(x.event(1), 4))
}

// A belief of an overlap ends with what its client does, behind the overlap.
func TestEnding(t *testing.T) {
	run := []trace.Event{by(c1, trace.Hold), by(c1, trace.Release), by(c1, trace.Hold), by(c2, trace.Hold),
		by(c2, trace.Release), by(c1, trace.Failed), by(c1, trace.Lost), by(c1, trace.Release)}
	require.Equal(t, uint64(7), tellerOf("mutex", "exclusion", []uint64{3, 4}, run...).ending())
	require.Equal(t, uint64(5), tellerOf("mutex", "exclusion", []uint64{4, 3}, run...).ending())
	require.Zero(t, tellerOf("mutex", "exclusion", []uint64{3, 4}, run[:6]...).ending())
	require.Zero(t, tellerOf("mutex", "fencing", []uint64{3, 4}, run...).ending())
}

// While somebody waits counts who had the lock, and nothing of another lock, nor what came
// when the wait was over.
func TestMeanwhile(t *testing.T) {
	other := by(c3, trace.Hold)
	other.Lock = 2
	otherDown := by(c3, trace.CountDown)
	otherDown.Lock = 2
	x := tellerOf("mutex", "progress", []uint64{4}, by(c3, trace.Hold), by(c3, trace.Lost), by(c1, trace.Hold),
		by(c2, trace.Acquire), executes(m1, c2, "", ""), other, executes(m1, c3, "", ""), by(c1, trace.Release),
		by(c3, trace.Hold), by(c3, trace.Release), executes(m1, c2, "", ""), by(c2, trace.Hold), by(c1, trace.Hold),
		executes(m1, c2, "", ""))
	require.Equal(t, []string{"While c2 waits, lock:1 is held by c1 and c3, twice in all; " +
		"after 10.000 s nobody holds it."}, x.meanwhile(x.event(4)))
	require.Empty(t, x.more, "no answer reached it")
	require.Equal(t, map[uint64]int{3: spare, 9: spare}, x.picked)

	x = tellerOf("mutex", "progress", []uint64{2}, by(c1, trace.CountDown), by(c2, trace.Acquire))
	require.Equal(t, []string{"While c2 waits, nobody has lock:1."}, x.meanwhile(x.event(2)))
	x = tellerOf("mutex", "progress", []uint64{2}, executes(m1, c1, "lock:1", "string{c1}"), by(c2, trace.Acquire))
	require.Equal(t, []string{"While c2 waits, nobody holds lock:1; m1 has it as taken by c1."}, x.meanwhile(x.event(2)))
	for _, free := range []trace.Event{expires(m1, "lock:1"), executes(m1, c1, "lock:1", "none")} {
		taken, asks := executes(m1, c1, "lock:1", "string{c1}"), by(c2, trace.Acquire)
		x = tellerOf("mutex", "progress", []uint64{3}, taken, free, asks)
		require.Equal(t, []string{"While c2 waits, nobody has lock:1."}, x.meanwhile(x.event(3)))
		x = tellerOf("mutex", "progress", []uint64{2}, taken, asks, free)
		require.Equal(t, []string{"While c2 waits, nobody holds lock:1; m1 has it as taken by c1 at first, " +
			"and then as free."}, x.meanwhile(x.event(2)))
		require.Equal(t, map[uint64]int{1: decisive, 3: decisive}, x.picked)
		x = tellerOf("mutex", "progress", []uint64{2}, taken, asks, by(c2, trace.Hold), free)
		require.NotContains(t, x.meanwhile(x.event(2))[0], "at first", "what comes behind the wait is no part of it")
	}
	for _, kind := range []string{"semaphore", "permits", sim.OwnKind} {
		x = tellerOf(kind, "progress", []uint64{2}, executes(m1, c1, "lock:1", "string{0}"), by(c2, trace.Acquire))
		require.Equal(t, []string{"While c2 waits, nobody has lock:1."}, x.meanwhile(x.event(2)), "its key stays")
	}

	changesAndEnds := executes(m1, c1, "lock:1", "hash{c1:1:0}")
	changesAndEnds.Details = append(changesAndEnds.Details, executes(m1, c1, "lock:1", "none").Details...)
	x = tellerOf("mutex", "progress", []uint64{2}, changesAndEnds, by(c2, trace.Acquire))
	require.Equal(t, []string{"While c2 waits, nobody has lock:1."}, x.meanwhile(x.event(2)), "it changes what it ends")
	require.Zero(t, x.taken(2, "lock:1", 0))

	x = tellerOf("latch", "progress", []uint64{3}, by(c1, trace.CountDown), otherDown, by(c2, trace.Acquire), otherDown,
		by(c3, trace.CountDown), by(c2, trace.Opened), by(c1, trace.CountDown))
	require.Equal(t, []string{"Until then countDown() is called twice; it takes 3 to open lock:1."},
		x.meanwhile(x.event(3)))
}

// What a client that crashes or stands still had asked for, held, or had without knowing it.
func TestWhatAClientHadThen(t *testing.T) {
	ask, hold, pause := by(c1, trace.Acquire), by(c1, trace.Hold), of(trace.Pause, c1)
	took := executes(m1, c1, "lock:1", "string{c1}")
	for name, test := range map[string]struct {
		run         []trace.Event
		asked, held uint64
		took        bool
	}{
		"nothing":                  {nil, 0, 0, false},
		"it asks":                  {[]trace.Event{ask}, 1, 0, false},
		"another asks":             {[]trace.Event{by(c2, trace.Acquire)}, 0, 0, false},
		"it was refused":           {[]trace.Event{ask, by(c1, trace.Refused)}, 0, 0, false},
		"it found a latch open":    {[]trace.Event{ask, by(c1, trace.Opened)}, 0, 0, false},
		"it holds":                 {[]trace.Event{ask, took, hold}, 0, 3, false},
		"it has given back":        {[]trace.Event{hold, by(c1, trace.Release)}, 0, 0, false},
		"it has lost it":           {[]trace.Event{hold, by(c1, trace.Lost)}, 0, 0, false},
		"it asks for more":         {[]trace.Event{hold, ask}, 2, 1, false},
		"it has given back a part": {[]trace.Event{hold, hold, by(c1, trace.Release)}, 0, 2, false},
		"it took it":               {[]trace.Event{ask, took}, 1, 0, true},
		"it took another":          {[]trace.Event{ask, executes(m1, c1, "lock:2", "string{c1}")}, 1, 0, false},
		"another took it":          {[]trace.Event{ask, executes(m1, c2, "lock:1", "string{c2}")}, 1, 0, false},
		"it took it back":          {[]trace.Event{ask, executes(m1, c1, "lock:1", "none")}, 1, 0, false},
		"it took it before":        {[]trace.Event{took, ask}, 2, 0, false},
		"it was told so":           {[]trace.Event{ask, executes(m1, c1, "", "")}, 1, 0, false},
	} {
		x := tellerOf("mutex", "exclusion", nil, append(test.run, pause, ask, took, hold)...)
		e := x.event(uint64(len(test.run) + 1))
		require.Equal(t, test.asked, x.asked(e), name)
		require.Equal(t, test.took, x.tookAt(e), name)
		held := x.heldAt(e)
		require.Equal(t, test.held > 0, held != nil, name)
		if held != nil {
			require.Equal(t, test.held, held.N, name)
		}
	}
}

// A server that comes back and grants, when another has become master, serves on.
func TestServesOn(t *testing.T) {
	grants := func(server trace.Actor, n uint64) []trace.Event {
		hold := by(c2, trace.Hold)
		hold.Cause = n
		return []trace.Event{executes(server, c2, "lock:1", "string{c2}"), hold}
	}
	crash := of(trace.Crash, m1)
	for name, test := range map[string]struct {
		run  []trace.Event
		want bool
	}{
		"it does":                       {append([]trace.Event{crash, of(trace.Promote, m2)}, grants(m1, 3)...), true},
		"the other grants":              {append([]trace.Event{crash, of(trace.Promote, m2)}, grants(m2, 3)...), false},
		"there is no other":             {append([]trace.Event{crash, of(trace.Restart, m1)}, grants(m1, 3)...), false},
		"it became master again itself": {append([]trace.Event{crash, of(trace.Promote, m1)}, grants(m1, 3)...), false},
		"the other became master later": {append(append([]trace.Event{crash}, grants(m1, 2)...), of(trace.Promote, m2)),
			false},
		"the other was master before":   {append([]trace.Event{of(trace.Promote, m2), crash}, grants(m1, 3)...), false},
		"nobody says who granted":       {append([]trace.Event{crash, of(trace.Promote, m2)}, grants(m1, 0)...), false},
		"nobody has got anything since": {[]trace.Event{crash, of(trace.Promote, m2)}, false},
	} {
		x := tellerOf("mutex", "exclusion", nil, test.run...)
		crashed := slices.IndexFunc(test.run, func(e trace.Event) bool { return e.Kind == trace.Crash })
		require.Equal(t, test.want, x.servesOn(&x.events[crashed]), name)
	}
}

// What a pause took away depends on what was left of a lease: that of a fixed one, as its
// client knew it, or what the server has of one that is renewed; all of it, if that is not seen.
func TestStill(t *testing.T) {
	took := executes(m1, c1, "lock:1", "string{c1}")
	for name, test := range map[string]struct {
		run   []trace.Event
		valid time.Duration
		renew bool
		pause time.Duration
		want  string
	}{
		"longer than its lease": {[]trace.Event{by(c1, trace.Hold), by(c2, trace.Acquire)}, 5 * time.Second, false,
			3 * time.Second, outstays},
		"not as long": {[]trace.Event{by(c1, trace.Hold), by(c2, trace.Acquire)}, 5 * time.Second, false,
			3*time.Second - 1, "no client pauses while it holds a lock"},
		"not as long as one that is renewed": {[]trace.Event{by(c1, trace.Hold)}, time.Second, true,
			time.Minute - 1, "no client pauses while it holds a lock"},
		"as long as one that is renewed": {[]trace.Event{by(c1, trace.Hold)}, 0, true, time.Minute, outstays},
		"not as long as one that nobody tells": {[]trace.Event{by(c1, trace.Hold)}, 0, false, time.Minute - 1,
			"no client pauses while it holds a lock"},
		"as long as what is left since it was renewed": {[]trace.Event{by(c1, trace.Hold), took, by(c2, trace.Acquire)}, 0,
			true, time.Minute - 2*time.Second, outstays},
		"not as long as that": {[]trace.Event{by(c1, trace.Hold), took, by(c2, trace.Acquire)}, 0, true,
			time.Minute - 2*time.Second - 1, "no client pauses while it holds a lock"},
		"while it asks": {[]trace.Event{by(c1, trace.Acquire)}, 0, false, time.Hour,
			"no client pauses while it asks for a lock"},
		"and has it already, without knowing it": {[]trace.Event{by(c1, trace.Acquire), took}, 0, false, time.Minute,
			outstays},
		"before it asks": {[]trace.Event{by(c2, trace.Acquire)}, 0, false, time.Hour, "no client pauses"},
		"not as long as that is there": {[]trace.Event{by(c1, trace.Acquire), took}, 0, false, time.Minute - 1,
			"no client pauses while it asks for a lock"},
	} {
		pause := of(trace.Pause, c1)
		pause.A = int64(test.pause)
		x := tellerOf("mutex", "exclusion", nil, append(test.run, pause)...)
		x.events[0].B, x.story.World.Load.Renew = int64(test.valid), test.renew
		at := x.events[len(test.run)].At
		require.Equal(t, test.want, x.still(sim.Step{At: at, Verb: "pause", Args: []string{"c1"}}), name)
	}
}

// What the crash of a server took away is what came of it while a lease lasts.
func TestFollowed(t *testing.T) {
	half, kept := of(trace.Restart, m1), of(trace.Restart, m1)
	half.A, half.B, kept.A = 1, 5, 1
	goesOn, hold := by(m1, trace.Resume), by(c2, trace.Hold)
	hold.Cause = 3
	for name, test := range map[string]struct {
		then    []trace.Event
		ttl     time.Duration
		masters int
		want    string
	}{
		"it stays away":            {nil, time.Minute, 1, soonBack},
		"it came back empty":       {[]trace.Event{of(trace.Restart, m1)}, time.Minute, 1, remembered},
		"without some of its data": {[]trace.Event{half}, time.Minute, 1, remembered},
		"with its data":            {[]trace.Event{kept, of(trace.Promote, m2)}, time.Minute, 1, soonBack},
		"it goes on":               {[]trace.Event{goesOn, of(trace.Promote, m2)}, time.Minute, 1, soonBack},
		"another came back":        {[]trace.Event{of(trace.Restart, m2)}, time.Minute, 1, soonBack},
		"another took its place":   {[]trace.Event{of(trace.Promote, m2)}, time.Minute, 1, oneMaster},
		"which is none of its":     {[]trace.Event{of(trace.Promote, m2)}, time.Minute, 2, soonBack},
		"when leases had ended":    {[]trace.Event{of(trace.Promote, m2)}, time.Second, 1, soonBack},
		"it forgot when they had":  {[]trace.Event{of(trace.Restart, m1)}, time.Second, 1, soonBack},
		"it served on beside that one": {[]trace.Event{of(trace.Promote, m2), executes(m1, c2, "lock:1", "string{c2}"), hold},
			time.Second, 1, oneMaster},
	} {
		x := tellerOf("mutex", "exclusion", nil, append([]trace.Event{of(trace.Crash, m1)}, test.then...)...)
		x.story.World.Load.TTL, x.story.World.Masters = test.ttl, test.masters
		crash := sim.Step{At: time.Second, Verb: "crash", Args: []string{"m1"}}
		require.Equal(t, test.want, x.followed(x.effect(crash, trace.Crash)), name)
		crash.At = 0
		require.Equal(t, soonBack, x.followed(x.effect(crash, trace.Crash)), "it is another crash")
	}
}

// Two masters are those of which each granted a belief of an overlap, where one should be.
func TestTwoMasters(t *testing.T) {
	run := func(first, second trace.Actor) *teller {
		one, other := by(c1, trace.Hold), by(c2, trace.Hold)
		one.Cause, other.Cause = 1, 2
		x := tellerOf("mutex", "exclusion", []uint64{3, 4}, executes(first, c1, "", ""), executes(second, c2, "", ""), one,
			other)
		x.story.World.Replicas = 1
		return x
	}
	require.True(t, run(m1, m2).twoMasters())
	require.True(t, run(m2, m1).twoMasters())
	require.False(t, run(m1, m1).twoMasters())
	x := run(m1, m2)
	x.events[2].Cause = 0
	require.False(t, x.twoMasters(), "nobody knows who granted one of them")
	x = run(m1, m2)
	x.story.World.Masters = 2
	require.False(t, x.twoMasters(), "they are to be two")
	x.story.World.Masters, x.story.World.Replicas = 1, 0
	require.False(t, x.twoMasters(), "there is no other")
	x = run(m1, m2)
	x.checks[0] = "theft"
	require.False(t, x.twoMasters(), "nothing is believed together")
}

// A replica that became master had what the violation is about, if it was the time of that
// which ended there, between its promotion and the violation.
func TestExpiredThere(t *testing.T) {
	promote := of(trace.Promote, m2)
	for name, test := range map[string]struct {
		run  []trace.Event
		want bool
	}{
		"it ended there":       {[]trace.Event{promote, expires(m2, "lock:1"), by(c2, trace.Hold)}, true},
		"it ended elsewhere":   {[]trace.Event{promote, expires(m1, "lock:1"), by(c2, trace.Hold)}, false},
		"something else ended": {[]trace.Event{promote, expires(m2, "lock:11"), by(c2, trace.Hold)}, false},
		"it was given back":    {[]trace.Event{promote, executes(m2, c1, "lock:1", "none"), by(c2, trace.Hold)}, false},
		"nobody was promoted":  {[]trace.Event{of(trace.Crash, m1), expires(m2, "lock:1"), by(c2, trace.Hold)}, false},
		"it ended before":      {[]trace.Event{expires(m2, "lock:1"), promote, by(c2, trace.Hold)}, false},
		"it ended behind that": {[]trace.Event{promote, by(c2, trace.Write), by(c2, trace.Hold), expires(m2, "lock:1")},
			false},
	} {
		x := tellerOf("mutex", "exclusion", []uint64{1, 3}, test.run...)
		require.Equal(t, test.want, x.expiredThere(sim.Step{Verb: "failover", Args: []string{"m2"}}), name)
	}
}

// What events belong to a violation, and to whom.
func TestWhatBelongsToAnEvent(t *testing.T) {
	other := by(c3, trace.Hold)
	other.Lock = 2
	x := tellerOf("permits", "capacity", []uint64{8}, other, by(c1, trace.Hold), by(c1, trace.Hold), by(c3, trace.Hold),
		by(c3, trace.Lost), by(c1, trace.Release), by(c2, trace.Release), by(c2, trace.Hold), by(c3, trace.Hold))
	require.Equal(t, []uint64{2}, sim.HeldByOthers(x.events, x.event(8)), "who had it, and has it still")

	x = tellerOf("mutex", "leak", []uint64{7}, executes(m1, c1, "lock:1", "string{c1}"),
		executes(m1, c2, "lock:1", "string{c2}"),
		executes(m1, c2, "lock:1", "none"), executes(m1, c2, "lock:2", "string{c2}"), expires(m1, "lock:1"),
		executes(m1, c1, "", ""), by(c1, trace.Audit), executes(m1, c1, "lock:1", "string{c1}"))
	require.Equal(t, uint64(2), x.taken(7, "lock:1", 0))
	require.Equal(t, uint64(1), x.taken(7, "lock:1", c1))
	require.Equal(t, uint64(4), x.taken(7, "lock:2", c2))
	require.Zero(t, x.taken(7, "lock:2", c1))
	require.Zero(t, x.taken(1, "lock:1", c1))

	write := by(m1, trace.Write)
	write.Peer = c1
	x = tellerOf("fenced", "fencing", nil, by(c1, trace.Hold), by(c2, trace.Hold), other, by(c1, trace.Hold),
		by(c2, trace.Hold), write, by(c1, trace.Hold))
	require.Equal(t, uint64(4), x.heldBy(x.event(6)))
	x.events[5].Peer = c3
	require.Zero(t, x.heldBy(x.event(6)))

	x = tellerOf("mutex", "exclusion", nil, of(trace.Promote, m2), of(trace.Promote, m1), of(trace.Crash, m2),
		executes(m2, c1, "", ""), of(trace.Promote, m2))
	require.Equal(t, uint64(1), x.promotion(4))
	x.events[3].Actor = c3
	require.Zero(t, x.promotion(4))
}

// A quorum is of the servers that have what a client has taken since it asked last.
func TestGrants(t *testing.T) {
	hold := by(c1, trace.Hold)
	x := tellerOf("redlock", "exclusion", nil, by(c1, trace.Acquire), executes(m1, c1, "lock:1", "string{c1}"),
		by(c2, trace.Acquire), by(c1, trace.Acquire), executes(m2, c1, "lock:1", "string{c1}"),
		executes(m1, c2, "lock:1", "string{c2}"),
		executes(m1, c1, "lock:2", "string{c1}"), hold, executes(m1, c1, "lock:1", "string{c1}"))
	require.Equal(t, []uint64{5}, x.grants(x.event(8)))
	x = tellerOf("redlock", "exclusion", nil, by(c1, trace.Acquire), executes(m2, c1, "lock:1.0", "string{c1}"),
		executes(m1, c1, "lock:1", "string{c1}"), executes(m2, c1, "lock:1.0", "none"),
		executes(m2, c1, "lock:1.1", "string{c1}"), hold)
	require.Equal(t, []uint64{3, 5}, x.grants(x.event(6)), "in the order of the servers")
	x.events[4].Details[0].Text = "none"
	require.Equal(t, []uint64{3}, x.grants(x.event(6)), "what is given back is none")
}

// A crash is told by the restart without data that comes next, if it does.
func TestComesBackEmpty(t *testing.T) {
	kept := of(trace.Restart, m1)
	kept.A = 1
	crash, empty, other := of(trace.Crash, m1), of(trace.Restart, m1), of(trace.Restart, m2)
	for name, test := range map[string]struct {
		then []trace.Event
		want bool
	}{
		"never": {nil, false}, "empty": {[]trace.Event{other, empty, kept}, true},
		"with its data": {[]trace.Event{kept, empty}, false}, "another does": {[]trace.Event{other}, false},
	} {
		x := tellerOf("mutex", "exclusion", nil, append([]trace.Event{empty, crash}, test.then...)...)
		require.Equal(t, test.want, x.comesBackEmpty(x.event(2)), name)
	}
}

// Around a violation its story tells how what it is about began.
func TestAround(t *testing.T) {
	other, stolen := by(c1, trace.Hold), by(c1, trace.Steal)
	other.Lock, stolen.Peer, stolen.Cause = 2, c2, 6
	free := by(c1, trace.Told)
	audit := trace.Event{Kind: trace.Audit, Lock: 1, Key: "lock:1"}
	for check, test := range map[string]struct {
		run  []trace.Event // of which the last is named
		want map[uint64]int
	}{
		"kept": {[]trace.Event{by(c1, trace.Hold), by(c1, trace.Hold), other, by(c2, trace.Hold), by(c1, trace.Lost)},
			map[uint64]int{2: helpful}},
		"guard": {[]trace.Event{by(c2, trace.Hold), by(c3, trace.Hold), by(c3, trace.Lost), free},
			map[uint64]int{1: helpful}},
		"capacity": {[]trace.Event{by(c2, trace.Hold), by(c3, trace.Hold), by(c1, trace.Hold)},
			map[uint64]int{1: helpful, 2: helpful}},
		"linear": {[]trace.Event{by(c2, trace.Hold), by(c1, trace.Hold)}, map[uint64]int{1: helpful}},
		"leak":   {[]trace.Event{executes(m1, c1, "lock:1", "string{c1}"), audit}, map[uint64]int{1: helpful}},
		"holds":  {[]trace.Event{executes(m1, c1, "lock:1", "string{c1}"), audit}, map[uint64]int{1: helpful}},
		"leak ": {[]trace.Event{executes(m2, c1, "lock:1", "string{c1}"), executes(m1, c1, "lock:1", "string{c1}"),
			expires(m1, "lock:1"), audit}, map[uint64]int{1: helpful}},
		"theft": {[]trace.Event{executes(m1, c1, "lock:1", "string{c1}"), expires(m1, "lock:1"),
			executes(m1, c2, "lock:1", "string{c2}"), by(c2, trace.Hold), by(c1, trace.Release),
			executes(m1, c1, "lock:1", "none"), stolen}, map[uint64]int{1: spare, 3: helpful, 6: helpful}},
	} {
		check = strings.TrimSpace(check)
		x := tellerOf("mutex", check, []uint64{uint64(len(test.run))}, test.run...)
		require.Empty(t, x.around(&x.violated[0]))
		require.Equal(t, test.want, x.picked, check)
		x = tellerOf("mutex", check, nil, test.run...)
		require.Empty(t, x.around(&x.violated[0]))
		require.Empty(t, x.picked, "nothing is named")
	}
}

// A client may ask for several locks, of which one's name begins another's.
func TestRequestsAreAboutTheirOwnLock(t *testing.T) {
	for text, about := range map[string]bool{
		"mutex-acquire(lock:1; 30000, c1:1) = nil":               true,
		"fair-acquire(lock:1, redisson_lock_queue:{lock:1}; c1)": true,
		"mutex-acquire(lock:1.2; 30000, c1:1) = nil":             true,
		"DEL lock:1": true,
		"mutex-acquire(lock:10; 30000, c1:1) = nil":                  false,
		"fair-acquire(lock:12, redisson_lock_queue:{lock:12}; c1)":   false,
		"mutex-acquire(lock:10; 30000, c1:1), and another at lock:1": true,
		"INFO replication": false,
	} {
		require.Equal(t, about, isAbout(text, "lock:1"), text)
	}
}
