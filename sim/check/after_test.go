package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// judged shows events to a checker, numbered, and returns its result. To be asked on
// the way changes nothing.
func judged(c Checker, list ...trace.Event) Result {
	for i := range list {
		list[i].N = uint64(i + 1)
		c.Observe(&list[i])
		c.Result(100 * time.Second)
	}
	return c.Result(100 * time.Second)
}

func TestLivenessCountsFromTheCalm(t *testing.T) {
	ask, calm := at(1, trace.Acquire, c1), at(50, trace.Calm, nemesis)
	for reason, c := range map[string]struct {
		list []trace.Event
		want Verdict
	}{
		"what came before the calm is forgiven": {[]trace.Event{ask, calm, at(55, trace.Hold, c1)}, Holds},
		"from then on the bound counts":         {[]trace.Event{ask, calm, at(65, trace.Hold, c1)}, Violated},
		"who asked later has as long": {[]trace.Event{calm, at(60, trace.Acquire, c1),
			at(69, trace.Opened, c1)}, Holds},
		"a failed attempt does not begin anew": {[]trace.Event{calm, at(51, trace.Acquire, c1),
			at(58, trace.Acquire, c1), at(63, trace.Hold, c1)}, Violated},
		"who waits at the end waits still":        {[]trace.Event{ask, calm}, Violated},
		"who has died waits no more":              {[]trace.Event{ask, calm, crashed(52, c1, 0)}, Unknown},
		"who has ended waits no more":             {[]trace.Event{ask, calm, at(52, trace.End, c1)}, Unknown},
		"one that could still be in time is open": {[]trace.Event{calm, at(95, trace.Acquire, c1)}, Unknown},
		"who waits on has as long from then on":   {[]trace.Event{ask, at(95, trace.Calm, nemesis)}, Unknown},
		"as long as the bound":                    {[]trace.Event{ask, calm, at(60, trace.Hold, c1)}, Holds},
		"nobody has asked":                        {[]trace.Event{at(2, trace.Hold, c1)}, Unknown},
		"nobody has waited since":                 {[]trace.Event{ask, at(2, trace.Hold, c1), calm}, Unknown},
		"what was refused inside of what one has is done without": {[]trace.Event{ask, at(2, trace.Hold, c1),
			at(3, trace.Acquire, c1), at(4, trace.Refused, c1), at(5, trace.Release, c1), at(65, trace.Acquire, c1),
			at(66, trace.Hold, c1)}, Holds},
		"but had been waited for until then": {[]trace.Event{ask, at(2, trace.Hold, c1), at(3, trace.Acquire, c1),
			at(14, trace.Refused, c1)}, Violated},
		"nor does a long wait before it count": {[]trace.Event{ask, at(30, trace.Hold, c1), calm,
			at(51, trace.Acquire, c1), at(52, trace.Hold, c1)}, Holds},
	} {
		require.Equal(t, c.want, judged(NewLiveness(name, 10*time.Second), c.list...).Verdict, reason)
	}
}

// Who has something and is refused what it asks for inside of that waits no longer.
func TestProgressOfWhoDoesWithout(t *testing.T) {
	inside := []trace.Event{at(1, trace.Acquire, c1), at(2, trace.Hold, c1), at(3, trace.Acquire, c1),
		at(4, trace.Refused, c1), at(5, trace.Release, c1), at(65, trace.Acquire, c1), at(67, trace.Hold, c1)}
	result := judged(NewProgress(name, 10*time.Second), inside...)
	require.Equal(t, "nobody waited longer than 2s; the bound is 10s", result.Reason)
	outside := []trace.Event{at(1, trace.Acquire, c1), at(4, trace.Refused, c1), at(65, trace.Acquire, c1),
		at(67, trace.Hold, c1)}
	require.Equal(t, "c1 waited 1m6s, more than 10s", judged(NewProgress(name, 10*time.Second), outside...).Reason)
}

// A run without a calm is not said to have faults that ended.
func TestLivenessSaysWhatCounts(t *testing.T) {
	ask, calm, hold := at(1, trace.Acquire, c1), at(2, trace.Calm, nemesis), at(22, trace.Hold, c1)
	for want, result := range map[string]Result{
		"c1 waited 20s after the faults had ended, more than 10s": judged(NewLiveness(name, 10*time.Second), ask, calm,
			hold),
		"c1 waited 21s, more than 10s; without a calm the whole run counts": judged(NewLiveness(name, 10*time.Second), ask,
			hold),
		"nobody waited longer than 20s after the faults; the bound is 30s": judged(NewLiveness(name, 30*time.Second), ask,
			calm, hold),
		"nobody waited longer than 21s in the whole run, as it has no calm; the bound is 30s": judged(
			NewLiveness(name, 30*time.Second), ask, hold),
	} {
		require.Equal(t, want, result.Reason)
	}
}

func TestTheft(t *testing.T) {
	hold := at(1, trace.Hold, c1)
	require.Equal(t, Unknown, judged(NewTheft(name)).Verdict)
	require.Equal(t, Holds, judged(NewTheft(name), hold).Verdict)
	stolen := judged(NewTheft(name), hold, of(c1, at(2, trace.Steal, c2)))
	require.Equal(t, Violated, stolen.Verdict)
	require.Equal(t, "at 2.000 a request of c2 ended what c1 had", stolen.Reason)
}

func TestGuardIsMisled(t *testing.T) {
	hold, asks, free := at(1, trace.Hold, c1), at(2, trace.Asks, c2), at(3, trace.Told, c2)
	for reason, c := range map[string]struct {
		list []trace.Event
		want Verdict
	}{
		"held all the time, said to be free":            {[]trace.Event{hold, asks, free}, Violated},
		"had in the instant of the question, before it": {[]trace.Event{at(2, trace.Hold, c1), asks, free}, Violated},
		"said to be taken":                              {[]trace.Event{hold, asks, numbers(1, 0, free)}, Holds},
		"free for a moment of the question":             {[]trace.Event{hold, asks, at(2, trace.Release, c1), free}, Holds},
		"taken while the question was asked":            {[]trace.Event{asks, at(2, trace.Hold, c1), free}, Holds},
		"one of two has it still": {[]trace.Event{hold, at(1, trace.Hold, c3), asks,
			at(2, trace.Lost, c3), free}, Violated},
		"nobody asked":                         {[]trace.Event{hold}, Unknown},
		"another lock was held all the time":   {[]trace.Event{inLock(2, hold), asks, free}, Holds},
		"the belief ended before the question": {[]trace.Event{hold, at(1, trace.Lost, c1), asks, free}, Holds},
	} {
		require.Equal(t, c.want, judged(NewGuard(name), c.list...).Verdict, reason)
	}
}

// got is that a client gets a lock with a token. maybe is a request of a client that may have
// got it that.
func got(seconds int, who trace.Actor, token int64) trace.Event {
	return numbers(token, 0, at(seconds, trace.Hold, who))
}

func maybe(seconds int, who trace.Actor) trace.Event {
	return of(who, numbers(0, 1, at(seconds, trace.Execute, server)))
}

func TestFencingComparesTheTokensOfTurns(t *testing.T) {
	asks, other := at(3, trace.Acquire, c2), numbers(0, 0, maybe(4, c2))
	for reason, c := range map[string]struct {
		list  []trace.Event
		event uint64 // of the turn before; 0: no violation
	}{
		"lower than that of a turn before it": {[]trace.Event{got(2, c1, 6), asks, got(5, c2, 1)}, 1},
		"larger":                              {[]trace.Event{got(2, c1, 6), asks, got(5, c2, 7)}, 0},
		"asked for before that":               {[]trace.Event{asks, got(4, c1, 6), got(5, c2, 1)}, 0},
		"of whose asking nobody knows":        {[]trace.Event{got(2, c1, 6), got(5, c2, 1)}, 0},
		"asked for before that and granted later": {[]trace.Event{asks, got(3, c1, 6), maybe(4, c2),
			got(5, c2, 1)}, 2},
		"granted before that, and heard of later": {[]trace.Event{asks, maybe(3, c2), got(3, c1, 6),
			got(5, c2, 1)}, 0},
		"granted at least once before that": {[]trace.Event{asks, maybe(3, c2), got(3, c1, 6), maybe(4, c2),
			got(5, c2, 1)}, 0},
		"behind requests that grant nothing": {[]trace.Event{asks, got(3, c1, 6), other, got(5, c2, 1)}, 0},
		"behind a grant to another": {[]trace.Event{asks, got(3, c1, 6), maybe(4, c3),
			got(5, c2, 1)}, 0},
		"the same, whoever was first": {[]trace.Event{asks, got(3, c1, 6), got(5, c2, 6)}, 2},
		"the same, of one client":     {[]trace.Event{got(2, c2, 6), asks, got(5, c2, 6)}, 0},
		"lower, of one client":        {[]trace.Event{got(2, c2, 6), asks, got(5, c2, 5)}, 1},
		"the same as that of who was before another": {[]trace.Event{got(1, c1, 6), asks, got(3, c3, 7),
			got(5, c2, 6)}, 1},
		"of another lock": {[]trace.Event{inLock(2, got(2, c1, 6)), asks,
			got(5, c2, 1)}, 0},
		"none": {[]trace.Event{got(2, c1, 6), asks, got(5, c2, 0)}, 0},
		"asked for again after a refusal": {[]trace.Event{asks, at(3, trace.Refused, c2), got(3, c1, 6), asks,
			got(5, c2, 1)}, 3},
		"that of who was granted it before a refusal": {[]trace.Event{asks, maybe(3, c2), at(3, trace.Refused, c2),
			got(3, c1, 6), asks, got(5, c2, 1)}, 4},
	} {
		now := trace.Event{}
		f := NewFencingOf(name, func() int32 { return grantedBy(&now) })
		for i := range c.list {
			c.list[i].N = uint64(i + 1)
			now = c.list[i]
			f.Observe(&c.list[i])
		}
		r := f.Result(9 * time.Second)
		if c.event == 0 {
			require.Equal(t, Unknown, r.Verdict, reason)
			continue
		}
		require.Equal(t, Violated, r.Verdict, reason)
		require.Equal(t, []uint64{c.event, uint64(len(c.list))}, r.Events, reason)
	}
	lower := judged(NewFencing(name), got(2, c1, 6), asks, got(5, c2, 1))
	require.Equal(t, "at 5.000 c2 got the lock with token 1, though c1 had 6 before", lower.Reason)
	same := judged(NewFencing(name), got(2, c1, 6), asks, got(5, c2, 6))
	require.Equal(t, "at 5.000 c2 got the lock with token 6, which c1 had before", same.Reason)
}
