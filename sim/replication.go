package sim

import (
	"fmt"
	"time"

	"minikv/cluster"
	"minikv/internal/trace"
)

// replication is a link from a master to one of its replicas.
type replication struct {
	w       *World
	link    *cluster.Link
	replica *node
	master  *node
	down    channel // master to replica
	up      channel
	held    bool
	retryAt time.Duration // after a loss, nothing is sent before
}

func (w *World) newReplica(g *group, name string) {
	r := w.newNode(name)
	r.group = g
	g.links = append(g.links, w.replicate(g.master, r))
}

// replicate makes r a replica of master.
func (w *World) replicate(master, r *node) *replication {
	return &replication{w: w, replica: r, master: master,
		link: cluster.NewLink(master.engine, r.engine, master.name, r.index),
		down: w.newChannel(master.actor, r.actor, w.cfg.Lag),
		up:   w.newChannel(r.actor, master.actor, w.cfg.Delay),
	}
}

// pump sends the effects that the replica has not been sent yet.
func (l *replication) pump() {
	if l.held || l.master.down || l.master.paused > 0 || l.w.now < l.retryAt || !l.link.Pending() {
		return
	}
	m := l.w.newMessage(msgEffects)
	m.link, m.text = l, "effects"
	m.batch = l.link.Take()
	l.w.send(m, &l.down, l.master.actor, l.replica.actor)
}

// retransmission is how long it takes until what got lost on a link is sent again.
const retransmission = time.Second

// lost makes up for a message that the network has lost.
func (l *replication) lost(m *message) {
	if m.kind == msgEffects {
		l.link.Lost(m.batch)
		l.retryAt = l.w.now + retransmission
		l.w.at(l.retryAt, l.pump)
		return
	}
	ack, cause := m.ack, m.sent
	l.w.at(l.w.now+retransmission, func() {
		if !l.replica.down && l.link.Latest(ack) {
			l.acknowledge(ack, cause)
		}
	})
}

// apply executes effects on the replica and acknowledges them.
func (l *replication) apply(m *message) {
	if l.replica.down {
		return
	}
	ack, ok, err := l.link.Deliver(m.batch)
	if err != nil {
		l.w.fail(fmt.Errorf("sim: %s: %w", l.replica.name, err))
	}
	if !ok {
		return
	}
	e := trace.Event{Kind: trace.Replicate, Actor: l.replica.actor, Peer: m.from, Cause: m.sent, A: ack.Offset}
	if l.w.cfg.Details {
		e.Details = l.replica.takeDetails()
	}
	n := l.w.emit(e)
	l.acknowledge(ack, n)
	l.replica.settle(n)
}

func (l *replication) acknowledge(ack cluster.Ack, cause uint64) {
	m := l.w.newMessage(msgAck)
	m.link, m.ack, m.text = l, ack, "acknowledgement"
	l.w.following(cause, func() { l.w.send(m, &l.up, l.replica.actor, l.master.actor) })
}

// acked tells the master how far the replica is.
func (l *replication) acked(m *message) {
	if l.master.down {
		return
	}
	l.link.Acked(m.ack)
	l.master.settle(m.sent)
}

// promote makes a replica its group's master: the other replicas follow it,
// clients are told. The old master, if it lives, knows nothing of it.
func (n *node) promote() {
	if n.down || n.group.master == n {
		return
	}
	w := n.w
	n.engine.BecomeMaster()
	n.group.master = n
	links := n.group.links
	n.group.links = nil
	for _, l := range links {
		l.link.End()
		if l.replica != n {
			follower := w.replicate(n, l.replica)
			follower.held = l.held
			n.group.links = append(n.group.links, follower)
		}
	}
	cause := w.emit(trace.Event{Kind: trace.Promote, Actor: w.nemesis, Peer: n.actor, A: n.engine.Offset()})
	w.following(cause, func() {
		for _, p := range w.procs {
			if !p.dead {
				p.conn(n).announce()
			}
		}
	})
	n.settle(cause)
}
