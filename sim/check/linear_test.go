package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// history tells a checker of events, one after the other.
type history struct {
	l *Linear
	n uint64
}

func newHistory() *history { return &history{l: NewLinear(name)} }

func (h *history) happens(kind trace.Kind, who trace.Actor) uint64 {
	return h.observes(trace.Event{Kind: kind, Actor: who, Lock: 1})
}

func (h *history) observes(e trace.Event) uint64 {
	h.n++
	e.N = h.n
	h.l.Observe(&e)
	return h.n
}

// Holds that end without word, of clients that come again and again, do not multiply
// the orders to look through: with 30 such holds, each of which may have ended at any
// later time, there would be no end.
func TestLinearOfManyLostHolds(t *testing.T) {
	for _, ask := range []bool{false, true} {
		h := newHistory()
		for i := range 600 {
			who := trace.Actor(i%3 + 1)
			if i%9 < 3 {
				who = c1
			}
			if ask {
				h.happens(trace.Acquire, who)
			}
			h.happens(trace.Hold, who)
			h.happens(trace.Lost, who)
		}
		require.Equal(t, Holds, h.l.Result(0).Verdict)
		h.happens(trace.Hold, c1)
		overlap := h.happens(trace.Hold, c2)
		h.happens(trace.Lost, c1)
		r := h.l.Result(0)
		require.Equal(t, Violated, r.Verdict)
		require.Equal(t, []uint64{overlap}, r.Events)
	}
}

// Who begins something else has left its unlock behind, also where nobody tells that it
// returned.
func TestLinearOfUnlocksThatAreNotTold(t *testing.T) {
	h := newHistory()
	for range 3 {
		for _, who := range []trace.Actor{c1, c2, c1} {
			h.happens(trace.Hold, who)
			h.happens(trace.Release, who)
		}
	}
	require.Equal(t, Holds, h.l.Result(0).Verdict)
	h.happens(trace.Hold, c1)
	overlap := h.happens(trace.Hold, c2)
	r := h.l.Result(0)
	require.Equal(t, Violated, r.Verdict)
	require.Equal(t, []uint64{overlap}, r.Events)
}

// A grant during an unlock that returns later is in order; what breaks the order is told.
func TestLinearTellsWhatBreaksTheOrder(t *testing.T) {
	h := newHistory()
	h.happens(trace.Acquire, c1)
	h.happens(trace.Acquire, c2)
	h.happens(trace.Acquire, c3)
	h.happens(trace.Hold, c1)
	h.happens(trace.Release, c1)
	h.happens(trace.Hold, c2) // c1's unlock has taken effect
	h.happens(trace.Freed, c1)
	require.Equal(t, Holds, h.l.Result(0).Verdict)
	second := h.happens(trace.Hold, c3)
	h.happens(trace.Release, c2)
	h.happens(trace.Freed, c2)
	r := h.l.Result(0)
	require.Equal(t, Violated, r.Verdict)
	require.Equal(t, []uint64{second}, r.Events)

	h = newHistory() // the unlock returns behind what breaks the order
	h.happens(trace.Hold, c1)
	h.happens(trace.Release, c1)
	h.happens(trace.Acquire, c2)
	h.happens(trace.Hold, c2)
	second = h.happens(trace.Hold, c3)
	h.happens(trace.Freed, c1)
	require.Equal(t, []uint64{second}, h.l.Result(0).Events)
}

// Who has a lock twice has it until both have ended.
func TestLinearIsReentrant(t *testing.T) {
	h := newHistory()
	h.happens(trace.Hold, c1)
	h.happens(trace.Hold, c1)
	h.happens(trace.Release, c1)
	h.happens(trace.Freed, c1)
	second := h.happens(trace.Hold, c2)
	require.Equal(t, []uint64{second}, h.l.Result(0).Events)
}

// An unlock that has failed, or whose client has died in it, may have taken effect: the
// next who has the lock is in order, and so is the client that had it, when it has it again.
func TestLinearDoesNotKnowWhetherAnUnlockTookEffect(t *testing.T) {
	for _, end := range []trace.Event{at(1, trace.Failed, c1), crashed(1, c1, 0), {Kind: trace.Told}} {
		h := newHistory()
		h.happens(trace.Hold, c1)
		h.happens(trace.Release, c1)
		h.observes(end) // or the run ends before it returns
		h.happens(trace.Hold, c2)
		if end.Kind != trace.Told {
			h.happens(trace.Release, c2)
			h.happens(trace.Freed, c2)
			h.happens(trace.Hold, c1)
			h.happens(trace.Release, c1)
			h.happens(trace.Freed, c1)
			h.happens(trace.Hold, c2)
		}
		require.Equal(t, Holds, h.l.Result(0).Verdict, end.Kind)
	}
}

// What fails after an unlock that has failed is no second unlock.
func TestLinearEndsOneHoldForEachUnlock(t *testing.T) {
	h := newHistory()
	h.happens(trace.Hold, c1)
	h.happens(trace.Hold, c1)
	h.happens(trace.Release, c1)
	h.happens(trace.Failed, c1)
	h.happens(trace.Failed, c1)
	second := h.happens(trace.Hold, c2)
	require.Equal(t, []uint64{second}, h.l.Result(0).Events)
}

// Of two locks a client gives back the one that it took last.
func TestLinearOfTwoLocks(t *testing.T) {
	h := newHistory()
	h.happens(trace.Hold, c1)
	h.observes(inLock(2, at(1, trace.Hold, c1)))
	h.observes(inLock(2, at(1, trace.Release, c1)))
	h.observes(inLock(2, at(1, trace.Freed, c1)))
	h.observes(inLock(2, at(1, trace.Hold, c2)))
	require.Equal(t, "4 operations have an order with one holder at a time", h.l.Result(0).Reason)
	second := h.happens(trace.Hold, c3)
	require.Equal(t, []uint64{second}, h.l.Result(0).Events)

	h = newHistory() // as long as that has not returned, too
	h.happens(trace.Hold, c1)
	h.observes(inLock(2, at(1, trace.Hold, c1)))
	h.observes(inLock(2, at(1, trace.Release, c1)))
	require.Equal(t, Holds, h.l.Result(0).Verdict)
	second = h.happens(trace.Hold, c2)
	require.Equal(t, []uint64{second}, h.l.Result(0).Events)
}

// A history that is too long is not judged.
func TestLinearOfTooMany(t *testing.T) {
	h := newHistory()
	for range mostOperations/2 + 1 {
		h.happens(trace.Hold, c1)
		h.happens(trace.Lost, c1)
	}
	require.Equal(t, "2002 operations on a lock, more than 2000 are not judged", h.l.Result(0).Reason)
}
