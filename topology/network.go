package topology

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"minikv/cluster"
)

// network is what lies between the nodes. Sending only queues.
type network struct {
	clock *Clock
	mu    sync.Mutex
	nodes []*Node // by ID
	delay time.Duration
	lag   time.Duration // of what a master sends its replicas
	pipes map[pipeName]*pipe
	cuts  map[direction]int // by how many partitions each is cut
	held  map[cluster.ID]bool
	rules []*rule
}

// direction is from one node to another.
type direction struct{ from, to cluster.ID }

type pipeName struct {
	direction
	lane cluster.Lane
}

func (n pipeName) compare(other pipeName) int {
	return cmp.Or(cmp.Compare(n.from, other.from), cmp.Compare(n.to, other.to), cmp.Compare(n.lane, other.lane))
}

// pipe carries one lane in one direction, in order and without a gap.
type pipe struct {
	last    time.Time         // the latest arrival so far
	waiting []cluster.Message // kept back: cut, held, or behind one that got lost
}

func newNetwork(clock *Clock, delay, lag time.Duration) *network {
	return &network{
		clock: clock, delay: delay, lag: lag, pipes: map[pipeName]*pipe{},
		cuts: map[direction]int{}, held: map[cluster.ID]bool{},
	}
}

// sendAll sends what a process has left in its outbox.
func (w *network) sendAll(messages []cluster.Message) {
	if len(messages) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		w.send(m)
	}
}

// send puts one message on its way. It is called with the lock held.
func (w *network) send(m cluster.Message) {
	if m.To < 1 || int(m.To) > len(w.nodes) {
		w.nodes[m.From-1].inbox.push(w.clock.Now(), cluster.Nobody(m))
		return
	}
	p := w.pipe(m)
	if len(p.waiting) > 0 || w.blocked(m) {
		p.waiting = append(p.waiting, m)
		return
	}
	w.dispatch(p, m)
}

func (w *network) pipe(m cluster.Message) *pipe {
	name := pipeName{direction{m.From, m.To}, m.Conn.Lane}
	p := w.pipes[name]
	if p == nil {
		p = &pipe{}
		w.pipes[name] = p
	}
	return p
}

// blocked reports whether m cannot leave now.
func (w *network) blocked(m cluster.Message) bool {
	return w.cuts[direction{m.From, m.To}] > 0 || w.held[m.To] && isEffect(m)
}

// isEffect reports whether m is sent by a master to a replica.
func isEffect(m cluster.Message) bool {
	return m.Conn.Lane == cluster.Replication && m.Conn.Dialer == m.To
}

// retransmission is how long it takes until what got lost is sent again.
const retransmission = time.Second

// dispatch lets a message that may leave arrive in due time.
func (w *network) dispatch(p *pipe, m cluster.Message) {
	delay := w.delay
	if isEffect(m) {
		delay = w.lag
	}
	lost, late := w.misfortune(m)
	if lost {
		p.waiting = append([]cluster.Message{m}, p.waiting...)
		w.clock.afterFunc(retransmission, func() { w.flush(func(name pipeName) bool { return w.pipes[name] == p }) })
		return
	}
	at := w.clock.Now().Add(delay + late)
	if at.Before(p.last) {
		at = p.last
	}
	p.last = at
	w.nodes[m.To-1].inbox.push(at, m)
}

// flush sends what waits in the pipes that are meant, as far as it may leave, in the order of
// the nodes.
func (w *network) flush(meant func(name pipeName) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range slices.SortedFunc(maps.Keys(w.pipes), pipeName.compare) {
		if !meant(name) {
			continue
		}
		p := w.pipes[name]
		late := p.waiting
		p.waiting = nil
		for i, m := range late {
			if len(p.waiting) > 0 || w.blocked(m) {
				p.waiting = append(p.waiting, late[i:]...)
				break
			}
			w.dispatch(p, m)
		}
	}
}

// bury tells the other nodes that a process has died, after everything that it
// has sent. What was still waiting to be sent is gone with it.
func (w *network) bury(id cluster.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.nodes {
		if other.id == id {
			continue
		}
		var last time.Time
		for _, lane := range []cluster.Lane{cluster.Replication, cluster.Bus, cluster.Client} {
			if p := w.pipes[pipeName{direction{id, other.id}, lane}]; p != nil {
				p.waiting = nil
				if p.last.After(last) {
					last = p.last
				}
			}
		}
		m := cluster.Message{From: id, To: other.id, Body: cluster.Closed{}}
		if w.blocked(m) {
			continue
		}
		at := w.clock.Now().Add(w.delay)
		if at.Before(last) {
			at = last
		}
		other.inbox.push(at, m)
	}
}
