package sim

import (
	"fmt"

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
}

func (w *World) newReplica(g *group, name string) {
	r := w.newNode(name)
	r.group = g
	l := &replication{w: w, replica: r, master: g.master, link: cluster.NewLink(g.master.engine, r.engine, len(g.links)+1)}
	l.down = w.newChannel(g.master.actor, r.actor, w.cfg.Lag)
	l.up = w.newChannel(r.actor, g.master.actor, w.cfg.Delay)
	g.links = append(g.links, l)
}

// pump sends the effects that the replica has not been sent yet.
func (l *replication) pump() {
	if l.held || l.master.down || !l.link.Pending() {
		return
	}
	m := l.w.newMessage(msgEffects)
	m.link = l
	m.batch = l.link.Take()
	l.w.send(m, &l.down, l.master.actor, l.replica.actor)
}

// apply executes effects on the replica and acknowledges them.
func (l *replication) apply(m *message) {
	if l.replica.down || l.replica.engine == l.replica.group.master.engine {
		return
	}
	offset, err := l.link.Deliver(m.batch)
	if err != nil {
		l.w.fail(fmt.Errorf("sim: %s: %w", l.replica.name, err))
		return
	}
	e := trace.Event{Kind: trace.Replicate, Actor: l.replica.actor, Peer: m.from, Cause: m.sent, A: offset}
	if l.w.cfg.Details {
		e.Details = l.replica.takeDetails()
	}
	n := l.w.emit(e)
	ack := l.w.newMessage(msgAck)
	ack.link, ack.offset = l, offset
	l.w.following(n, func() { l.w.send(ack, &l.up, l.replica.actor, l.master.actor) })
	l.replica.settle(n)
}

// acked tells the master how far the replica is.
func (l *replication) acked(m *message) {
	if l.master.down {
		return
	}
	l.link.Acked(m.offset)
	l.master.settle(m.sent)
}

// promote makes the replica its group's master; clients are told.
func (n *node) promote() {
	w := n.w
	n.engine.BecomeMaster()
	n.group.master = n
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
