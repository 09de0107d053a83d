package sim

import (
	"slices"
	"time"
)

// step is what the queue holds: something to do at an instant.
type step struct {
	kind  stepKind
	gen   uint32 // of the task's park that it ends; a stale step is skipped
	cause uint64 // the event from which it follows
	on    any    // of the type that its kind says
}

type stepKind uint8

const (
	stepFree   stepKind = iota
	stepWake            // a *task is resumed: its timer fired (gen must match)
	stepReady           // a *task is resumed: something it waited for happened
	stepTimer           // a *timer fires
	stepArrive          // a *message reaches its end
	stepTick            // the deadline of a *node has come
	stepRun             // a func() is called
	stepStart           // a *client starts
	stepErrand          // an *errand is done
)

// errand is something to do for a node.
type errand struct {
	node *node
	run  func()
}

// owner is whose step it is; the world's own steps have neither.
func (s *step) owner() (p *process, n *node) {
	switch s.kind {
	case stepWake, stepReady:
		return s.on.(*task).proc, nil
	case stepTimer:
		return s.on.(*timer).p, nil
	case stepArrive:
		return s.on.(*message).receiver()
	case stepTick:
		return nil, s.on.(*node)
	case stepErrand:
		return nil, s.on.(*errand).node
	}
	return nil, nil
}

// grow makes room for n steps more.
func (q *queue) grow(n int) {
	q.heap, q.slab = slices.Grow(q.heap, n), slices.Grow(q.slab, n)
}

// slot is a heap entry: ordered by (time, sequence), never by anything else.
type slot struct {
	at  time.Duration
	seq uint64
	id  int32
}

// queue is the world's one event queue: a 4-ary heap over a slab of steps, so
// that sifting moves 24 bytes.
type queue struct {
	heap  []slot
	slab  []step
	free  []int32
	seq   uint64
	stale int     // cancelled steps still in the heap
	soon  []ready // steps of this instant, which pass by the heap; those before first are done
	first int
}

// ready is a step that the heap never holds.
type ready struct {
	slot
	step step
}

// pushNow adds a step at the present time: no step of an earlier time is left,
// and none that was added so is later. It cannot be cancelled.
func (q *queue) pushNow(now time.Duration, s step) {
	if q.first > 1024 && q.first > len(q.soon)/2 {
		q.soon, q.first = q.soon[:copy(q.soon, q.soon[q.first:])], 0
	}
	q.seq++
	q.soon = append(q.soon, ready{slot{at: now, seq: q.seq}, s})
}

// push adds a step at time at and returns its id, for cancel.
func (q *queue) push(at time.Duration, s step) int32 {
	var id int32
	if n := len(q.free); n > 0 {
		id = q.free[n-1]
		q.free = q.free[:n-1]
		q.slab[id] = s
	} else {
		id = int32(len(q.slab))
		q.slab = append(q.slab, s)
	}
	q.seq++
	q.heap = append(q.heap, slot{at, q.seq, id})
	q.up(len(q.heap) - 1)
	return id
}

// fewStale is how many cancelled steps are not worth sweeping.
const fewStale = 32

// cancel makes the step a no-op. The heap is swept once a third of it is stale.
func (q *queue) cancel(id int32) {
	q.slab[id] = step{}
	q.stale++
	if q.stale > fewStale && q.stale > len(q.heap)/3 {
		q.sweep()
	}
}

// next returns the time of the earliest live step.
func (q *queue) next() (time.Duration, bool) {
	for len(q.heap) > 0 {
		top := &q.heap[0]
		if q.first < len(q.soon) && q.soon[q.first].before(top) {
			break
		}
		if q.slab[top.id].kind != stepFree {
			return top.at, true
		}
		q.stale--
		q.drop()
	}
	if q.first < len(q.soon) {
		return q.soon[q.first].at, true
	}
	return 0, false
}

// pop removes the step whose time next has returned.
func (q *queue) pop() step {
	if q.first < len(q.soon) && (len(q.heap) == 0 || q.soon[q.first].before(&q.heap[0])) {
		return q.popNow()
	}
	id := q.heap[0].id
	s := q.slab[id]
	q.slab[id] = step{}
	q.drop()
	return s
}

func (q *queue) popNow() step {
	r := &q.soon[q.first]
	s := r.step
	r.step = step{}
	if q.first++; q.first == len(q.soon) {
		q.soon, q.first = q.soon[:0], 0
	}
	return s
}

// drop removes the heap's top and frees its slab entry.
func (q *queue) drop() {
	q.free = append(q.free, q.heap[0].id)
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	if last > 1 {
		q.down(0)
	}
}

func (q *queue) sweep() {
	live := q.heap[:0]
	for _, s := range q.heap {
		if q.slab[s.id].kind == stepFree {
			q.free = append(q.free, s.id)
			continue
		}
		live = append(live, s)
	}
	q.heap = live
	q.stale = 0
	for i := (len(live)+2)/4 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *queue) up(i int) {
	heap := q.heap
	s := heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !s.before(&heap[parent]) {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = s
}

func (q *queue) down(i int) {
	heap := q.heap
	s := heap[i]
	for {
		first := 4*i + 1
		if first >= len(heap) {
			break
		}
		best := first
		for c := first + 1; c < min(first+4, len(heap)); c++ {
			if heap[c].before(&heap[best]) {
				best = c
			}
		}
		if !heap[best].before(&s) {
			break
		}
		heap[i] = heap[best]
		i = best
	}
	heap[i] = s
}

func (s *slot) before(o *slot) bool { return s.at < o.at || s.at == o.at && s.seq < o.seq }
