package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/check"
	"minikv/trace"
)

// What took a lock from who believed to have it is part of the story, whoever did it; what
// its holder removes is not.
func TestStoryTellsWhatTookALock(t *testing.T) {
	const m1, c1, c2, c3 = 1, 2, 3, 4
	changesAt := func(key string, by trace.Actor, state string) trace.Event {
		return trace.Event{Kind: trace.Execute, Actor: m1, Peer: by,
			Details: []trace.Detail{{What: trace.Changed, Key: key, Text: state}}}
	}
	changes := func(by trace.Actor, state string) trace.Event { return changesAt("lock:1", by, state) }
	expires := trace.Event{Kind: trace.Expire, Actor: m1, Details: []trace.Detail{{What: trace.Expired, Key: "lock:1"}}}
	belief := func(kind trace.Kind, who trace.Actor) trace.Event {
		return trace.Event{Kind: kind, Actor: who, Key: "lock:1", Lock: 1}
	}
	for name, test := range map[string]struct {
		events []trace.Event
		taken  bool
	}{
		"by another": {[]trace.Event{changes(c1, "string c1"), belief(trace.Hold, c1), changes(c3, "none")}, true},
		"by its holder, which believes on": {[]trace.Event{changes(c1, "string c1"), belief(trace.Hold, c1),
			changes(c1, "none")}, true},
		"by its holder": {[]trace.Event{changes(c1, "string c1"), belief(trace.Hold, c1), belief(trace.Release, c1),
			changes(c1, "none")}, false},
		"what it knows to have lost": {[]trace.Event{changes(c1, "string c1"), belief(trace.Hold, c1),
			belief(trace.Lost, c1), changes(c3, "none")}, false},
		"what it has set itself": {[]trace.Event{belief(trace.Hold, c1), changes(c3, "string c3"),
			changes(c3, "none")}, false},
		"by another, beside its name": {[]trace.Event{changesAt("{lock:1}:readers", c1, "string{1}"),
			belief(trace.Hold, c1), changesAt("{lock:1}:readers", c3, "none")}, true},
		"another's key": {[]trace.Event{changesAt("lock:11", c1, "string{c1}"), belief(trace.Hold, c1),
			changesAt("lock:11", c3, "none")}, false},
		"by another, which writes over it": {[]trace.Event{changes(c1, "string{c1} ttl=9ms"), belief(trace.Hold, c1),
			changes(c3, "string{c3} ttl=9ms")}, true},
		"by its holder, which renews": {[]trace.Event{changes(c1, "string{c1} ttl=1ms"), belief(trace.Hold, c1),
			changes(c1, "string{c1} ttl=9ms")}, false},
		"what is counted": {[]trace.Event{changes(c1, "string{1}"), belief(trace.Hold, c1), changes(c3, "string{2}")}, false},
		"what has ended": {[]trace.Event{changes(c1, "string{c1}"), belief(trace.Hold, c1), expires,
			changes(c3, "string{c3}")}, false},
		"of two that have it, by one that has it no more": {[]trace.Event{changes(c3, "set{c3}"), belief(trace.Hold, c3),
			changes(c1, "set{c1 c3}"), belief(trace.Hold, c1), belief(trace.Release, c3), changes(c3, "none")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(test.events, changes(c2, "string c2"), belief(trace.Hold, c2), belief(trace.Release, c2))
			for i := range events {
				events[i].N = uint64(i + 1)
			}
			last := uint64(len(test.events))
			violated := []check.Result{{Verdict: check.Violated, Events: []uint64{2, last + 2}}}
			story := Decisive(events, violated, 20)
			require.Equal(t, test.taken, slices.ContainsFunc(story, func(e trace.Event) bool { return e.N == last }))
		})
	}
}

// Who has a quorum has it of several servers, and the story shows what each of them gave.
func TestStoryTellsAQuorum(t *testing.T) {
	const m1, m2, m3, c1 = 1, 2, 3, 4
	set := func(by trace.Actor, at trace.Actor, cause uint64, state string) trace.Event {
		return trace.Event{Kind: trace.Execute, Actor: at, Peer: by, Cause: cause,
			Details: []trace.Detail{{What: trace.Changed, Key: "lock:1", Text: state}}}
	}
	refuses := trace.Event{Kind: trace.Execute, Actor: m3, Peer: c1, Cause: 6}
	events := []trace.Event{
		{Kind: trace.Acquire, Actor: c1, Key: "lock:1"},
		set(c1, m1, 1, "string c1"), set(c1, m2, 2, "string c1"), set(c1, m1, 3, "none"), set(c1, m2, 4, "none"),
		{Kind: trace.Acquire, Actor: c1, Key: "lock:1"},
		set(c1, m2, 6, "string c1"), set(c1, m1, 6, "string c1"), refuses,
		{Kind: trace.Hold, Actor: c1, Key: "lock:1", Cause: 9},
	}
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	var told []uint64
	for _, e := range Decisive(events, []check.Result{{Verdict: check.Holds}}, 20) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{7, 8, 9, 10}, told)
}

// Who takes a lock with several commands has it of all of them, and the story shows each, but
// none that an earlier attempt has left.
func TestStoryTellsAGrantOfSeveralCommands(t *testing.T) {
	const m1, m2, c1 = 1, 2, 3
	set := func(at trace.Actor, cause uint64, key, state string) trace.Event {
		return trace.Event{Kind: trace.Execute, Actor: at, Peer: c1, Cause: cause,
			Details: []trace.Detail{{What: trace.Changed, Key: key, Text: state}}}
	}
	events := []trace.Event{
		{Kind: trace.Acquire, Actor: c1, Key: "lock:1"},
		set(m1, 1, "lock:1", "string{c1}"), set(m2, 2, "lock:1", "string{c1}"),
		{Kind: trace.Expire, Actor: m2, Details: []trace.Detail{{What: trace.Expired, Key: "lock:1"}}},
		set(m1, 3, "{lock:1}:token", "string{1}"), set(m1, 5, "{lock:1}:waiting", "list{c1}"),
		set(m1, 6, "{lock:1}:waiting", "none"),
		{Kind: trace.Execute, Actor: m1, Peer: c1, Cause: 7},
		{Kind: trace.Hold, Actor: c1, Key: "lock:1", Cause: 8},
	}
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	var told []uint64
	for _, e := range Decisive(events, []check.Result{{Verdict: check.Holds}}, 20) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{2, 4, 5, 8, 9}, told)
}

// Of who waits in vain the story tells for whom, of two that overlap nothing about a third.
func TestStoryTellsForWhomSomebodyWaits(t *testing.T) {
	const c1, c2, c3 = 1, 2, 3
	events := []trace.Event{
		{Kind: trace.Acquire, Actor: c1, Key: "lock:1"}, {Kind: trace.Hold, Actor: c2, Key: "lock:1"},
		{Kind: trace.Hold, Actor: c3, Key: "lock:1"}, {Kind: trace.Release, Actor: c3, Key: "lock:1"},
		{Kind: trace.Hold, Actor: c1, Key: "lock:1"}, {Kind: trace.Release, Actor: c2, Key: "lock:1"},
		{Kind: trace.Release, Actor: c1, Key: "lock:1"},
	}
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	for name, test := range map[string]struct{ named, want []uint64 }{
		"progress":  {[]uint64{1}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		"liveness":  {[]uint64{1}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		"exclusion": {[]uint64{2, 5}, []uint64{2, 5, 6, 7}},
	} {
		var told []uint64
		for _, e := range Decisive(events, []check.Result{{Check: name, Verdict: check.Violated, Events: test.named}}, 20) {
			told = append(told, e.N)
		}
		require.Equal(t, test.want, told, name)
	}
}

// A story tells of those, too, without whom nobody sees why a promise was broken: who was
// robbed, and who had what was given once more. It leaves out others.
func TestStoryTellsAgainstWhom(t *testing.T) {
	const m1, c1, c2, c3 = 1, 2, 3, 4
	of := func(kind trace.Kind, who trace.Actor) trace.Event {
		return trace.Event{Kind: kind, Actor: who, Lock: 1}
	}
	steal := trace.Event{Kind: trace.Steal, Actor: c2, Peer: c1}
	for name, c := range map[string]struct {
		events []trace.Event // the last of which is named
		told   []uint64
	}{
		"theft": {[]trace.Event{of(trace.Hold, c3), of(trace.Release, c3), of(trace.Hold, c1), of(trace.Hold, c2),
			of(trace.Lost, c2), steal}, []uint64{3, 4, 5, 6}},
		"capacity": {[]trace.Event{of(trace.Hold, c3), of(trace.Release, c3), of(trace.Hold, c1), of(trace.Hold, c2),
			of(trace.Release, c2), of(trace.Hold, c2)}, []uint64{3, 4, 5, 6}},
		"guard": {[]trace.Event{of(trace.Hold, c3), of(trace.Lost, c3), of(trace.Hold, c3), of(trace.Lost, c3),
			of(trace.Hold, c1), of(trace.Acquire, c1), of(trace.Hold, c2), of(trace.Release, c2), of(trace.Told, c3)},
			[]uint64{1, 2, 3, 4, 5, 9}},
	} {
		for i := range c.events {
			c.events[i].N = uint64(i + 1)
		}
		last := uint64(len(c.events))
		var told []uint64
		violated := []check.Result{{Check: name, Verdict: check.Violated, Events: []uint64{last}}}
		for _, e := range Decisive(c.events, violated, 20) {
			told = append(told, e.N)
		}
		require.Equal(t, c.told, told, name)
	}
}

// Where there is no room for all, it tells the belief of who had what was given once more, not
// an earlier one of the same client.
func TestStoryKeepsWhoHadIt(t *testing.T) {
	const c1, c2 = 1, 2
	var events []trace.Event
	for range 9 {
		events = append(events, trace.Event{Kind: trace.Hold, Actor: c1, Lock: 1},
			trace.Event{Kind: trace.Release, Actor: c1, Lock: 1})
	}
	events = append(events, trace.Event{Kind: trace.Hold, Actor: c1, Lock: 1}, trace.Event{Kind: trace.Promote},
		trace.Event{Kind: trace.Hold, Actor: c2, Lock: 1})
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	var told []uint64
	violated := []check.Result{{Check: "capacity", Verdict: check.Violated, Events: []uint64{21}}}
	for _, e := range Decisive(events, violated, 4) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{19, 20, 21}, told)
}

// A story of a theft tells who had the lock, and what the thief had read before.
func TestStoryTellsOfATheft(t *testing.T) {
	const m1, c1, c2, c3 = 1, 2, 3, 4
	executes := func(by trace.Actor, cause uint64, call, state string) trace.Event {
		e := trace.Event{Kind: trace.Execute, Actor: m1, Peer: by, Cause: cause,
			Details: []trace.Detail{{What: trace.Called, Text: call}}}
		if state != "" {
			e.Details = append(e.Details, trace.Detail{What: trace.Changed, Key: "lock:1", Text: state})
		}
		return e
	}
	set := "SET lock:1 c NX"
	events := []trace.Event{
		{Kind: trace.Acquire, Actor: c1, Key: "lock:1"},
		executes(c1, 1, set, "string{c1}"),
		{Kind: trace.Hold, Actor: c1, Key: "lock:1", Cause: 2},
		{Kind: trace.Release, Actor: c1, Key: "lock:1"},
		executes(c1, 4, "GET lock:1", ""),
		{Kind: trace.Expire, Actor: m1, Details: []trace.Detail{{What: trace.Expired, Key: "lock:1"}}},
		executes(c2, 0, set, "string{c2}"), // and is on its way
		executes(c3, 0, "EVALSHA 6f 1 lock:1", ""),
		executes(c1, 5, "DEL lock:1", "none"),
		{Kind: trace.Steal, Actor: c1, Peer: c2, Cause: 9},
	}
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	var told []uint64
	violated := []check.Result{{Check: "theft", Verdict: check.Violated, Events: []uint64{10}}}
	for _, e := range Decisive(events, violated, 20) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{2, 3, 4, 5, 6, 7, 9, 10}, told)
}

// Where there is no room for all, what is dispensable goes first, one kind after the other;
// then all but what is named, the faults, and as much after each of these, and at the
// beginning, as there is room for.
func TestStoryWithoutRoom(t *testing.T) {
	const c1 = 1
	of := func(kinds ...trace.Kind) (list []trace.Event) {
		for _, k := range kinds {
			list = append(list, trace.Event{Kind: k, Actor: c1, Peer: c1, Lock: 1, N: uint64(len(list) + 1)})
		}
		return list
	}
	const fault, hold, release, late, failed = trace.Pause, trace.Hold, trace.Release, trace.Delay, trace.Failed
	faults := of(hold, fault, hold, hold, fault, hold, hold, fault, hold, hold, fault, hold, hold)
	mixed := of(hold, late, release, hold, failed, late, release, hold)
	for name, test := range map[string]struct {
		events []trace.Event
		limit  int
		want   []uint64
	}{
		"all":                                              {mixed, 8, []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
		"what comes late goes first":                       {mixed, 7, []uint64{1, 3, 4, 5, 7, 8}},
		"then releases, but what is named":                 {mixed, 5, []uint64{1, 4, 5, 7, 8}},
		"then what failed":                                 {mixed, 4, []uint64{1, 4, 7, 8}},
		"the faults stay":                                  {faults, 6, []uint64{2, 5, 7, 8, 11, 13}},
		"what is named comes before the faults":            {faults, 4, []uint64{2, 5, 7, 13}},
		"nothing but what is named":                        {faults, 1, []uint64{7, 13}},
		"one more at the beginning, and behind each fault": {faults, 11, []uint64{1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13}},
		"not enough for one more of each":                  {faults, 10, []uint64{2, 5, 7, 8, 11, 13}},
	} {
		var told []uint64
		named := []uint64{7, uint64(len(test.events))}
		violated := []check.Result{{Check: "exclusion", Verdict: check.Violated, Events: named}}
		for _, e := range Decisive(test.events, violated, test.limit) {
			told = append(told, e.N)
		}
		require.Equal(t, test.want, told, name)
	}
}

// What there is too little of to understand it is told of all, and with what servers did next.
func TestStoryOfLittle(t *testing.T) {
	const m1, c1, c2 = 1, 2, 3
	executes := trace.Event{Kind: trace.Execute, Actor: m1, Peer: c2}
	hold := func(who trace.Actor) trace.Event { return trace.Event{Kind: trace.Hold, Actor: who, Lock: 1} }
	for name, test := range map[string]struct {
		events []trace.Event
		want   []uint64
	}{
		"others as well": {[]trace.Event{hold(c1), hold(c2), hold(c1), hold(c1), executes}, []uint64{1, 2, 3, 4}},
		"enough of one":  {[]trace.Event{hold(c1), hold(c1), hold(c2), hold(c1), hold(c1)}, []uint64{1, 2, 4, 5}},
		"what is done next": {[]trace.Event{executes, hold(c1), executes, {Kind: trace.Acquire, Actor: c1},
			executes, hold(c2), executes, executes, executes}, []uint64{2, 6, 7, 8}},
		"nothing at all": {[]trace.Event{executes, executes}, nil},
	} {
		for i := range test.events {
			test.events[i].N = uint64(i + 1)
		}
		results := []check.Result{{Check: "kept", Verdict: check.Violated, Events: []uint64{2}}}
		if name == "nothing at all" {
			results = nil
		}
		var told []uint64
		for _, e := range Decisive(test.events, results, 20) {
			told = append(told, e.N)
		}
		require.Equal(t, test.want, told, name)
	}
}

// A story tells what clients have come to, the resource's answers to them, and what ended and
// was counted at servers; of whom it is not about it tells the latter alone. What holds does
// not make it about all.
func TestStoryTellsWhatDecides(t *testing.T) {
	const m1, c1, c2, resource = 1, 2, 3, 4
	own := []trace.Kind{trace.Hold, trace.Lost, trace.Release, trace.Refused, trace.Failed, trace.CountDown, trace.Opened}
	var events []trace.Event
	for _, who := range []trace.Actor{c1, c2} {
		for _, kind := range own {
			events = append(events, trace.Event{Kind: kind, Actor: who})
		}
		for _, kind := range []trace.Kind{trace.Write, trace.Reject, trace.Audit, trace.Send, trace.Acquire} {
			events = append(events, trace.Event{Kind: kind, Actor: resource, Peer: who})
		}
		events = append(events, trace.Event{Kind: trace.Expire, Actor: m1})
	}
	for i := range events {
		events[i].N = uint64(i + 1)
	}
	results := []check.Result{{Check: "progress"}, {Check: "kept", Verdict: check.Violated, Events: []uint64{2}}}
	var told []uint64
	for _, e := range Decisive(events, results, 40) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 23, 26}, told)
}

// What was not cut does not heal: that all faults end is no event of a story without a cut.
func TestStoryOfAWholeNetwork(t *testing.T) {
	events := []trace.Event{{N: 1, Kind: trace.Crash, Peer: 2}, {N: 2, Kind: trace.Hold, Actor: 2, Lock: 1},
		{N: 3, Kind: trace.Hold, Actor: 3, Lock: 1}, {N: 4, Kind: trace.Release, Actor: 3, Lock: 1},
		{N: 5, Kind: trace.Heal}, {N: 6, Kind: trace.Heal, A: 2}}
	var told []uint64
	for _, e := range Decisive(events, nil, 20) {
		told = append(told, e.N)
	}
	require.Equal(t, []uint64{1, 2, 3, 4, 6}, told)
}
