package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Order says that whoever asked for a fair lock clearly before another, and
// waits still, gets it first. Which of two is first in the queue is decided at
// the server, so they count as in order when they asked within the slack. A
// client that asks for what it has re-enters it, and waits for nobody.
type Order struct {
	name    Names
	slack   time.Duration
	waiting map[int32][]asked // by lock, in the order of asking
	held    map[holder]int    // beliefs that have not ended
	grants  int
	jumped  *trace.Event // the first grant out of turn
	passed  asked        // whom it passed
}

type asked struct {
	actor trace.Actor
	at    time.Duration
	event uint64
	lock  int32
}

// NewOrder makes the checker.
func NewOrder(name Names, slack time.Duration) *Order {
	return &Order{name: name, slack: slack, waiting: map[int32][]asked{}, held: map[holder]int{}}
}

// Observe implements Checker.
func (o *Order) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Acquire:
		if o.held[holder{e.Actor, e.Lock}] == 0 {
			o.waiting[e.Lock] = append(o.waiting[e.Lock], asked{e.Actor, e.At, e.N, e.Lock})
		}
	case trace.Release, trace.Lost:
		o.held[holder{e.Actor, e.Lock}]--
	case trace.Refused:
		o.leave(e.Lock, e.Actor)
	case trace.Crash:
		for lock := range o.waiting { //tidy:unordered each loses the same actor
			o.leave(lock, e.Peer)
		}
	case trace.Hold:
		o.granted(e)
	}
}

func (o *Order) leave(lock int32, actor trace.Actor) (place asked) {
	o.waiting[lock] = slices.DeleteFunc(o.waiting[lock], func(a asked) bool {
		if a.actor == actor {
			place = a
		}
		return a.actor == actor
	})
	return place
}

func (o *Order) granted(e *trace.Event) {
	o.grants++
	o.held[holder{e.Actor, e.Lock}]++
	if o.held[holder{e.Actor, e.Lock}] > 1 {
		return
	}
	mine := o.leave(e.Lock, e.Actor)
	if list := o.waiting[e.Lock]; len(list) > 0 && list[0].at+o.slack < mine.at && o.jumped == nil {
		jumped := *e
		o.jumped, o.passed = &jumped, list[0]
	}
}

// Result implements Checker.
func (o *Order) Result(time.Duration) Result {
	switch {
	case o.jumped != nil:
		return Result{Check: "order", Verdict: Violated, Events: []uint64{o.passed.event, o.jumped.N},
			Reason: fmt.Sprintf("%s, which asked at %s, was passed by %s at %s", o.name(o.passed.actor),
				stamp(o.passed.at), o.name(o.jumped.Actor), stamp(o.jumped.At))}
	case o.grants == 0:
		return Result{Check: "order", Verdict: Unknown, Reason: "nobody got a lock"}
	}
	return Result{Check: "order", Reason: Several(o.grants, "grant") + ", each in its turn"}
}
