package check

import (
	"fmt"
	"time"

	"minikv/internal/trace"
)

// Exclusion says that no two beliefs in one exclusive lock overlap.
type Exclusion struct {
	name   Names
	held   map[int32]*span // the latest belief of each lock that has not ended
	Grants int             // beliefs begun
	first  *[2]*span       // the first two that overlapped
	event  uint64
}

// span is one belief.
type span struct {
	actor   trace.Actor
	lock    int32
	from    time.Duration
	to      time.Duration
	began   uint64
	ended   bool
	overlap *span
}

// NewExclusion makes the checker.
func NewExclusion(name Names) *Exclusion { return &Exclusion{name: name, held: map[int32]*span{}} }

// Observe implements Checker.
func (x *Exclusion) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		x.Grants++
		s := &span{actor: e.Actor, lock: e.Lock, from: e.At, began: e.N}
		if other := x.held[e.Lock]; other != nil {
			s.overlap = other
			if x.first == nil {
				x.first, x.event = &[2]*span{other, s}, e.N
			}
		}
		x.held[e.Lock] = s
	case trace.Release, trace.Lost:
		x.end(e)
	}
}

// end closes the actor's belief; one that it overlapped is the current one again.
func (x *Exclusion) end(e *trace.Event) {
	for at, s := (*span)(nil), x.held[e.Lock]; s != nil; at, s = s, s.overlap {
		if s.actor != e.Actor {
			continue
		}
		s.to, s.ended = e.At, true
		if at != nil {
			at.overlap = s.overlap
		} else if s.overlap != nil {
			x.held[e.Lock] = s.overlap
		} else {
			delete(x.held, e.Lock)
		}
		return
	}
}

// Result implements Checker.
func (x *Exclusion) Result(time.Duration, bool) Result {
	if x.first == nil {
		return Result{Check: "exclusion", Reason: fmt.Sprintf("%d grants, no two beliefs overlap", x.Grants)}
	}
	a, b := x.first[0], x.first[1]
	return Result{Check: "exclusion", Verdict: Violated, Events: []uint64{a.began, b.began},
		Reason: fmt.Sprintf("%s %s overlaps %s %s", x.name(a.actor), a.interval(), x.name(b.actor), b.interval())}
}

func (s *span) interval() string {
	if !s.ended {
		return "[" + stamp(s.from) + ", …]"
	}
	return "[" + stamp(s.from) + ", " + stamp(s.to) + "]"
}
