package sim

import (
	"time"

	"minikv/cluster"
	"minikv/trace"
)

// peerLink carries the messages of one lane from one node to another, in their
// order and without a gap: what the network loses is sent again later, and what
// comes after it waits.
type peerLink struct {
	from, to *node
	lane     cluster.Lane
	ch       channel
	waiting  []*message
	resend   bool // a timer will send what is waiting
}

// laneNames tell the draws of two nodes' lanes apart.
var laneNames = [...]string{cluster.Replication: "", cluster.Bus: "/bus", cluster.Client: "/client"}

// retransmission is how long it takes until what got lost between nodes is sent again.
const retransmission = time.Second

// peerLink returns the link to another node, made when it is first used.
func (n *node) peerLink(to *node, lane cluster.Lane) *peerLink {
	for len(n.links) <= to.index {
		n.links = append(n.links, [3]*peerLink{})
	}
	l := &n.links[to.index][lane]
	if *l == nil {
		*l = &peerLink{from: n, to: to, lane: lane, ch: newChannel(n.name, to.name+laneNames[lane])}
	}
	return *l
}

// post sends what the node's process has left in its outbox.
func (n *node) post() {
	for _, p := range n.proc.Outbox() {
		to := n.w.nodeOf(p.To)
		if to == nil {
			n.w.queue.push(n.w.now, step{kind: stepErrand, cause: n.w.cause(), on: &errand{n, func() {
				n.receivePeer(&message{peer: cluster.Nobody(p), sent: n.w.cause()})
			}}})
			continue
		}
		n.postTo(to, p)
	}
}

func (n *node) postTo(to *node, p cluster.Message) {
	m := n.w.newMessage(msgPeer)
	m.peer, m.link = p, n.peerLink(to, p.Conn.Lane)
	if n.w.cfg.Details {
		m.text = cluster.Describe(p)
	}
	if l := m.link; len(l.waiting) > 0 || l.held(m) {
		l.waiting = append(l.waiting, m)
		return
	}
	m.link.send(m)
}

// held reports whether a scenario holds back the stream that m belongs to.
func (l *peerLink) held(m *message) bool { return l.to.held > 0 && l.fromMaster(m) }

// fromMaster reports whether m is of a master's stream to its replica.
func (l *peerLink) fromMaster(m *message) bool {
	return l.lane == cluster.Replication && m.peer.Conn.Dialer == l.to.id()
}

// send puts m on the wire; the effects of a master take their own time.
func (l *peerLink) send(m *message) {
	w := l.from.w
	within := w.cfg.Delay
	if l.fromMaster(m) {
		within = w.cfg.Lag
	}
	w.sendWithin(within, m, &l.ch, l.from.actor, l.to.actor)
}

// lost makes up for a message that the network has lost. Across a partition it
// is sent again when that heals.
func (l *peerLink) lost(m *message) {
	l.waiting = append([]*message{m}, l.waiting...)
	w := l.from.w
	if l.resend || w.cuts[link{l.from.actor, l.to.actor}] > 0 {
		return
	}
	l.resend = true
	w.at(w.now+retransmission, func() {
		l.resend = false
		l.flush()
	})
}

// flush sends what is waiting.
func (l *peerLink) flush() {
	late := l.waiting
	l.waiting = nil
	for i, m := range late {
		if len(l.waiting) > 0 || l.held(m) {
			l.waiting = append(l.waiting, late[i:]...)
			return
		}
		l.send(m)
	}
}

// eachLink calls f for every link between two nodes.
func (w *World) eachLink(f func(l *peerLink)) {
	for _, n := range w.nodes {
		for i := range n.links {
			for _, l := range n.links[i] {
				if l != nil {
					f(l)
				}
			}
		}
	}
}

// nodeOf is the node whose process has an ID, or nil.
func (w *World) nodeOf(id cluster.ID) *node {
	if id < 1 || int(id) > len(w.nodes) {
		return nil
	}
	return w.nodes[id-1]
}

// receivePeer takes a message from another node. For one that is down its
// computer answers.
func (n *node) receivePeer(m *message) {
	if n.down {
		from := n.w.nodeOf(m.peer.From)
		if m.peer.Body != (any)(cluster.Closed{}) && from != nil {
			n.w.following(m.sent, func() { n.postTo(from, cluster.Nobody(m.peer)) })
		}
		return
	}
	if !n.lagsBehind(m) {
		n.takePeer(m)
	}
}

// takePeer takes a message from another node when its turn has come.
func (n *node) takePeer(m *message) {
	effects, before := cluster.CarriesEffects(m.peer), int64(0)
	if effects {
		n.sync()
		before = n.engine.Offset()
	}
	n.inherits(n.w.nodeOf(m.peer.From), func() { n.proc.Receive(m.peer) })
	e := trace.Event{Kind: trace.Deliver, Actor: n.actor, Peer: m.from, Cause: m.sent, A: int64(m.number), Text: m.text}
	if effects && n.engine.Offset() != before { // else it follows another by now, or nobody
		e = trace.Event{Kind: trace.Replicate, Actor: n.actor, Peer: m.from, Cause: m.sent, A: n.engine.Offset()}
	}
	if n.w.cfg.Details {
		e.Details = n.takeDetails()
	}
	n.settle(n.w.emit(e))
}

// bury tells the other nodes that the process has died: after everything that
// it has sent, but what was still waiting to be sent is gone with it.
func (n *node) bury() {
	for _, other := range n.w.nodes {
		if other == n || other.down || n.w.strangers(n, other) {
			continue
		}
		l := n.peerLink(other, cluster.Replication)
		for _, lane := range n.links[other.index] {
			if lane != nil {
				lane.waiting = nil
				l.ch.last = max(l.ch.last, lane.ch.last)
			}
		}
		n.postTo(other, cluster.Message{From: n.id(), To: other.id(), Body: cluster.Closed{}})
	}
}

// strangers reports whether two nodes have nothing to do with each other:
// independent masters and their replicas.
func (w *World) strangers(a, b *node) bool {
	return a.group != nil && b.group != nil && a.group != b.group
}

// noteRole tells of a replica that has become a master without the nemesis.
func (n *node) noteRole(cause uint64) {
	if n.engine == nil || n.leads == !n.engine.IsReplica() {
		return
	}
	n.leads = !n.leads
	if n.leads && n.w.governs() {
		n.group.master = n
		n.ledSince = n.w.emit(trace.Event{Kind: trace.Promote, Actor: n.actor, Peer: n.actor, Cause: cause,
			A: n.engine.Offset()})
	}
}

// governs reports whether the servers decide by themselves who is master.
func (w *World) governs() bool { return w.cfg.Plan.Cluster || w.cfg.Plan.Sentinels > 0 }

// promote makes a replica its group's master: the other replicas follow it,
// clients are told. The old master, if it lives, knows nothing of it.
func (n *node) promote() {
	if n.down || n.group.master == n {
		return
	}
	w := n.w
	n.member.Promote()
	n.leads, n.leader = true, nil
	old := n.group.master
	n.group.master = n
	cause := w.emit(trace.Event{Kind: trace.Promote, Actor: w.nemesis, Peer: n.actor, A: n.engine.Offset()})
	for _, r := range n.group.nodes {
		if r != n && r != old {
			r.leader = n
			r.whenAwake(func() { r.follow(cause) })
		}
	}
	w.following(cause, func() {
		for _, p := range w.processes() {
			if !p.dead {
				p.conn(n).announce()
			}
		}
	})
	n.settle(cause)
}

// follow has a replica follow the master that it has been told to.
func (n *node) follow(cause uint64) {
	if n.leader == nil {
		return
	}
	host, port := n.w.directory.Endpoint(n.leader.id())
	n.leader = nil
	n.member.Follow(host, port)
	if n.down {
		n.proc.Outbox()
		return
	}
	n.settle(cause)
}

// holdReplication holds back what the node's master sends it. Holds may overlap: it
// takes the latest end.
func (n *node) holdReplication(until time.Duration) {
	n.held = max(n.held, until)
	n.w.emit(trace.Event{Kind: trace.Lag, Actor: n.w.nemesis, Peer: n.actor, A: 1})
}

// releaseReplication lets what is held back go on.
func (n *node) releaseReplication() {
	n.held = 0
	cause := n.w.emit(trace.Event{Kind: trace.Lag, Actor: n.w.nemesis, Peer: n.actor})
	n.w.following(cause, func() {
		n.w.eachLink(func(l *peerLink) {
			if l.to == n {
				l.flush()
			}
		})
	})
}
