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
