package check

import (
	"fmt"
	"slices"
	"time"

	"minikv/trace"
)

// Exclusion says that no two clients' beliefs in one exclusive lock overlap. A
// client that takes a lock again which it believes to hold re-enters it, also where two
// tasks of it do that which know nothing of each other.
type Exclusion struct {
	name   Names
	reads  func(trace.Actor) bool // whose beliefs may overlap, beside those in which a writer reads
	open   map[int32][]*span      // the beliefs in each lock that have not ended, in their order
	Grants int                    // beliefs begun
	first  *[2]*span              // the first two that overlapped
}

// span is one belief.
type span struct {
	actor    trace.Actor
	from, to time.Duration
	began    uint64
	shared   bool
	ended    bool
}

// NewExclusion makes the checker.
func NewExclusion(name Names) *Exclusion {
	return &Exclusion{name: name, reads: func(trace.Actor) bool { return false }, open: map[int32][]*span{}}
}

// Observe implements Checker.
func (x *Exclusion) Observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold:
		x.begin(e)
	case trace.Release, trace.Lost:
		x.end(e)
	}
}

func (x *Exclusion) begin(e *trace.Event) {
	x.Grants++
	s := &span{actor: e.Actor, from: e.At, began: e.N, shared: x.shares(e)}
	for _, other := range x.open[e.Lock] {
		if other.actor != e.Actor && !(other.shared && s.shared) && x.first == nil {
			x.first = &[2]*span{other, s}
		}
	}
	x.open[e.Lock] = append(x.open[e.Lock], s)
}

// shares tells whether a belief may overlap with others of its sort.
func (x *Exclusion) shares(e *trace.Event) bool { return e.Peer == e.Actor || x.reads(e.Actor) }

// end closes the actor's latest belief, of those of the same sort.
func (x *Exclusion) end(e *trace.Event) {
	list := x.open[e.Lock]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].actor == e.Actor && list[i].shared == x.shares(e) {
			list[i].to, list[i].ended = e.At, true
			x.open[e.Lock] = slices.Delete(list, i, i+1)
			return
		}
	}
}

// Result implements Checker.
func (x *Exclusion) Result(time.Duration) Result {
	switch {
	case x.first != nil:
		a, b := x.first[0], x.first[1]
		return Result{Check: "exclusion", Verdict: Violated, Events: []uint64{a.began, b.began},
			Reason: fmt.Sprintf("%s %s overlaps %s %s", x.name(a.actor), a.interval(), x.name(b.actor), b.interval())}
	case x.Grants == 0:
		return Result{Check: "exclusion", Verdict: Unknown, Reason: "nobody got a lock"}
	}
	return Result{Check: "exclusion", Reason: Several(x.Grants, "grant") + ", no two beliefs overlap"}
}

func (s *span) interval() string {
	if !s.ended {
		return "[" + stamp(s.from) + ", …]"
	}
	return "[" + stamp(s.from) + ", " + stamp(s.to) + "]"
}
