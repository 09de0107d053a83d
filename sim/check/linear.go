package check

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"minikv/trace"
)

// Linear says that the history of each exclusive lock is linearizable: there is
// an order of what clients did with it, one thing at a time, that agrees with
// when each was called and returned, and in which nobody gets the lock while
// another has it. Porcupine looks for the order, by a model that knows nothing
// of beliefs: so it is a second opinion on Exclusion. A belief that ends without
// an unlock that succeeded may free the lock at any time from then on.
type Linear struct {
	asked   map[trace.Actor]int64 // when an actor called lock()
	leaving map[trace.Actor]int64 // when it called unlock()
	history map[int32][]porcupine.Operation
	locks   []int32 // in the order of their first grants
	held    map[trace.Actor][]int32
	ops     int
}

// NewLinear makes the checker. Its reasons name nobody.
func NewLinear(Names) *Linear {
	return &Linear{asked: map[trace.Actor]int64{}, leaving: map[trace.Actor]int64{},
		history: map[int32][]porcupine.Operation{}, held: map[trace.Actor][]int32{}}
}

// lockCall is one operation of the model.
type lockCall struct {
	who trace.Actor
	op  lockOp
}

type lockOp uint8

const (
	lockTakes lockOp = iota
	lockFrees
	lockLoosens // it may be freed from now on, or never
)

// Observe implements Checker. Times are numbers of events: their order is that
// of the run.
func (l *Linear) Observe(e *trace.Event) {
	now := int64(e.N)
	switch e.Kind {
	case trace.Acquire:
		l.gives(e.Actor)
		l.asked[e.Actor] = now
	case trace.Hold:
		l.gives(e.Actor)
		asked, ok := l.asked[e.Actor]
		if !ok { // nobody has told
			asked = now
		}
		delete(l.asked, e.Actor)
		l.add(e.Lock, lockCall{e.Actor, lockTakes}, asked, now)
		l.held[e.Actor] = append(l.held[e.Actor], e.Lock)
	case trace.Release:
		l.gives(e.Actor)
		l.leaving[e.Actor] = now
	case trace.Lost:
		l.ends(e.Actor, lockLoosens, now, now)
	case trace.Freed:
		if called, ok := l.leaving[e.Actor]; ok {
			l.ends(e.Actor, lockFrees, called, now)
			delete(l.leaving, e.Actor)
		}
	case trace.Failed:
		l.gives(e.Actor)
	case trace.Crash:
		l.gives(e.Peer)
	}
}

// gives ends an unlock() of which nobody knows whether it took effect: it failed, or
// who called it went on and has not told.
func (l *Linear) gives(who trace.Actor) {
	if called, ok := l.leaving[who]; ok {
		l.ends(who, lockLoosens, called, called)
		delete(l.leaving, who)
	}
}

// ends adds the end of an actor's latest hold.
func (l *Linear) ends(who trace.Actor, op lockOp, called, returned int64) {
	held := l.held[who]
	if len(held) == 0 {
		return
	}
	lock := held[len(held)-1]
	l.held[who] = held[:len(held)-1]
	l.add(lock, lockCall{who, op}, called, returned)
}

func (l *Linear) add(lock int32, call lockCall, called, returned int64) {
	if _, known := l.history[lock]; !known {
		l.locks = append(l.locks, lock)
	}
	l.ops++
	// Every operation is a process of its own to Porcupine.
	l.history[lock] = append(l.history[lock], porcupine.Operation{ClientId: l.ops, Input: call, Call: called,
		Return: returned})
}

// lockState is who has the lock, and how often.
type lockState struct {
	who   trace.Actor
	firm  int
	loose int // holds that may have ended: they keep nobody else out
}

// lockModel is a re-entrant lock. That a hold may end is one step and part of the
// state: as an operation that takes effect at any later time, or never, it would
// double the orders to look through.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, call := state.(lockState), input.(lockCall)
		switch {
		case call.op == lockTakes && s.who == call.who:
			s.firm++
			return true, s
		case call.op == lockTakes:
			return s.firm == 0, lockState{who: call.who, firm: 1}
		case s.who != call.who:
			return call.op == lockLoosens, s
		case call.op == lockLoosens && s.firm > 0:
			s.firm, s.loose = s.firm-1, s.loose+1
			return true, s
		case call.op == lockLoosens:
			return true, s
		case s.firm > 0:
			s.firm--
			return true, s
		}
		s.loose--
		return s.loose >= 0, s
	},
}

// underWay are the unlocks of a lock that have not returned: of each nobody knows
// whether it took effect.
func (l *Linear) underWay(lock int32) (ends []porcupine.Operation) {
	for _, who := range slices.Sorted(maps.Keys(l.leaving)) {
		if held := l.held[who]; len(held) > 0 && held[len(held)-1] == lock {
			called := l.leaving[who]
			ends = append(ends, porcupine.Operation{ClientId: l.ops + 1 + len(ends), Input: lockCall{who, lockLoosens},
				Call: called, Return: called})
		}
	}
	return ends
}

// mostOperations is how many operations on one lock are judged.
const mostOperations = 2000

// Result implements Checker.
func (l *Linear) Result(time.Duration) Result {
	if l.ops == 0 {
		return Result{Check: "linear", Verdict: Unknown, Reason: "nobody got a lock"}
	}
	ops := 0
	for _, lock := range l.locks {
		history := append(slices.Clip(l.history[lock]), l.underWay(lock)...)
		ops += len(history)
		if len(history) > mostOperations {
			return Result{Check: "linear", Verdict: Unknown,
				Reason: fmt.Sprintf("%d operations on a lock, more than %d are not judged", len(history), mostOperations)}
		}
		if !porcupine.CheckOperations(lockModel, history) {
			return Result{Check: "linear", Verdict: Violated, Events: culprit(history),
				Reason: fmt.Sprintf("no order of the %d operations on a lock has one holder at a time", len(history))}
		}
	}
	return Result{Check: "linear", Reason: fmt.Sprintf("%d operations have an order with one holder at a time", ops)}
}

// culprit is the event with which a history has no order any more: a grant, or an
// unlock that succeeded.
func culprit(history []porcupine.Operation) []uint64 {
	var ends []int64
	for _, o := range history {
		if o.Input.(lockCall).op != lockLoosens {
			ends = append(ends, o.Return)
		}
	}
	slices.Sort(ends)
	i := sort.Search(len(ends), func(i int) bool { return !porcupine.CheckOperations(lockModel, until(history, ends[i])) })
	return []uint64{uint64(ends[i])}
}

// until is what of a history has returned by then, and the unlocks that were under
// way: they may have taken effect.
func until(history []porcupine.Operation, then int64) (known []porcupine.Operation) {
	for _, o := range history {
		call := o.Input.(lockCall)
		if call.op == lockFrees && o.Call < then && then < o.Return {
			o.Input, o.Return = lockCall{call.who, lockLoosens}, o.Call
		}
		if o.Return <= then {
			known = append(known, o)
		}
	}
	return known
}
