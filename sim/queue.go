package sim

import (
	"cmp"
	"slices"
	"time"
)

// step is what the queue holds: something to do at an instant.
type step struct {
	kind  stepKind
	gen   uint32 // of the task's park that it ends, or of the timer's setting; a stale step is skipped
	cause uint64 // the event from which it follows
	on    any    // of the type that its kind says
}

type stepKind uint8

const (
	stepFree   stepKind = iota
	stepWake            // a *task is resumed: its timer fired (gen must match)
	stepReady           // a *task is resumed: something it waited for happened
	stepTimer           // a *timer fires (gen must match)
	stepArrive          // a *message reaches its end
	stepTick            // the deadline of a *node has come
	stepRun             // a func() is called
	stepStart           // a *client starts
	stepErrand          // an *errand is done
	stepServe           // a *node that is slow comes to the first in its line
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
	case stepTick, stepServe:
		return nil, s.on.(*node)
	case stepErrand:
		return nil, s.on.(*errand).node
	}
	return nil, nil
}

// slot is a heap entry: ordered by (time, sequence), never by anything else.
type slot struct {
	at  time.Duration
	seq uint64
	id  int32 // the first of a chain
}

// queue is the world's one event queue: a 4-ary heap over a slab of steps. Most
// steps share their instant with others: they make a chain, of which the heap has
// the first. What is far away is in a list beside the heap until it comes near:
// most of that are time limits of requests, which are cancelled long before.
type queue struct {
	heap   []slot
	slab   []queued      // what is far is a ring in it, which begins and ends at 0
	free   []int32       // places in slab
	latest [256]int32    // the first steps of chains, by a hash of their instant
	near   time.Duration // what is due from then on is far
	reach  time.Duration // the window of the moment
	seq    uint64
	stale  int // cancelled steps in chains
}

// queued is a step in the queue.
type queued struct {
	step
	at         time.Duration
	seq        uint64
	prev, next int32 // in the ring or, 0 being none, in the chain; prev of a chain's first is its last
	far        bool
}

// window is how far what comes near at once reaches, at least.
const window = 100 * time.Millisecond

// grow makes room for n steps more.
func (q *queue) grow(n int) { q.slab = slices.Grow(q.slab, n) }

// push adds a step at time at and returns its id, for cancel.
func (q *queue) push(at time.Duration, s step) (id int32) {
	if n := len(q.free); n > 0 {
		id = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		id = q.extend()
	}
	q.seq++
	p := &q.slab[id]
	p.step, p.at, p.seq, p.next = s, at, q.seq, 0
	if at < q.near {
		q.arrange(id, p)
		return id
	}
	ring := &q.slab[0]
	p.far, p.prev = true, ring.prev
	q.slab[ring.prev].next, ring.prev = id, id
	return id
}

// extend makes a place in the slab.
func (q *queue) extend() int32 {
	if len(q.slab) == 0 {
		q.slab = append(q.slab, queued{at: -1})
	}
	q.slab = append(q.slab, queued{})
	return int32(len(q.slab) - 1)
}

// arrange puts a step that is near at the end of the chain of its instant, if that
// is found. If not, it begins another one, later than those that there are.
func (q *queue) arrange(id int32, p *queued) {
	found := q.chain(p.at)
	if first := &q.slab[*found]; first.at == p.at {
		q.slab[first.prev].next, first.prev = id, id
		return
	}
	*found, p.prev = id, id
	q.heap = append(q.heap, slot{p.at, p.seq, id})
	q.up(len(q.heap) - 1)
}

// chain is where the latest chain of an instant is found, unless another one's is.
func (q *queue) chain(at time.Duration) *int32 {
	return &q.latest[uint64(at)*0x9e3779b97f4a7c15>>56]
}

// fewStale is how many cancelled steps are not worth sweeping.
const fewStale = 32

// cancel removes a step. Chains are swept once a third of all is stale.
func (q *queue) cancel(id int32) {
	p := &q.slab[id]
	if p.far {
		q.leave(p)
		q.release(id, p)
		return
	}
	p.step = step{}
	q.stale++
	if q.stale > fewStale && q.stale > len(q.slab)/3 {
		q.sweep()
	}
}

// leave takes a step out of the ring.
func (q *queue) leave(p *queued) {
	q.slab[p.prev].next, q.slab[p.next].prev = p.next, p.prev
	p.far = false
}

// release frees the place of a step.
func (q *queue) release(id int32, p *queued) {
	p.step, p.at = step{}, -1
	q.free = append(q.free, id)
}

// next returns the time of the earliest live step.
func (q *queue) next() (time.Duration, bool) {
	for {
		for len(q.heap) > 0 {
			top := &q.heap[0]
			first := &q.slab[top.id]
			if first.kind != stepFree {
				return top.at, true
			}
			q.skip(top, first)
		}
		if len(q.slab) == 0 || q.slab[0].next == 0 {
			return 0, false
		}
		q.approach()
	}
}

// skip removes the first step of a chain.
func (q *queue) skip(top *slot, first *queued) {
	id := top.id
	if found := q.chain(top.at); *found == id {
		*found = first.next
	}
	if first.next == 0 {
		q.drop()
	} else {
		top.id, q.slab[first.next].prev = first.next, first.prev
	}
	q.stale--
	q.release(id, first)
}

// pop removes the step whose time next has returned. Its chain stays, for those
// that follow at once.
func (q *queue) pop() step {
	p := &q.slab[q.heap[0].id]
	s := p.step
	p.step = step{}
	q.stale++
	return s
}

// peek is the earliest step, which next has just found.
func (q *queue) peek() *step { return &q.slab[q.heap[0].id].step }

// approach has the earliest of what is far come near, and what follows it within
// the window. That is wider while few steps are in it, as all are looked at.
func (q *queue) approach() {
	far, moved := 0, 0
	q.near = farAway
	for id := q.slab[0].next; id != 0; id = q.slab[id].next {
		q.near = min(q.near, q.slab[id].at)
		far++
	}
	q.reach = max(q.reach, window)
	q.near += q.reach
	for id := q.slab[0].next; id != 0; {
		p := &q.slab[id]
		next := p.next
		if p.at < q.near {
			q.leave(p)
			p.next = 0
			q.arrange(id, p)
			moved++
		}
		id = next
	}
	switch {
	case moved < far/8:
		q.reach = min(2*q.reach, MaxDuration)
	case moved > far/2:
		q.reach /= 2
	}
}

// sweep removes what is stale.
func (q *queue) sweep() {
	var live []int32
	for _, s := range q.heap {
		for id := s.id; id != 0; {
			p := &q.slab[id]
			next := p.next
			if p.kind == stepFree {
				q.release(id, p)
			} else {
				live = append(live, id)
			}
			id = next
		}
	}
	slices.SortFunc(live, func(a, b int32) int { return cmp.Compare(q.slab[a].seq, q.slab[b].seq) })
	q.heap, q.stale = q.heap[:0], 0
	clear(q.latest[:])
	for _, id := range live {
		p := &q.slab[id]
		p.next = 0
		q.arrange(id, p)
	}
}

// drop removes the heap's top.
func (q *queue) drop() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	if last > 1 {
		q.down(0)
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
