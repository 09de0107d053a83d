package sim

import (
	"slices"
	"time"

	"minikv/cluster"
	"minikv/trace"
)

// waitingLine is what has arrived at a slow node and waits there, in its order: a server with
// one thread takes one request after the other.
type waitingLine struct {
	waiting []*message // requests, a master's stream, and ends of connections between them
	serving bool       // there is a step for the first
	step    int32      // its number
}

// slowDown has the node take so much longer for each command, or less.
func (n *node) slowDown(by time.Duration) {
	n.slow += by
	shown := max(by, 0)
	n.w.emit(trace.Event{Kind: trace.Slow, Actor: n.w.nemesis, Peer: n.actor, A: int64(shown)})
	if n.slow == 0 {
		n.line.stop(n.w)
		n.serveLater()
	}
}

// standsInLine keeps what has arrived at a node that is slow, or has not done yet what
// came while it was, and reports whether it has.
func (n *node) standsInLine(m *message) bool {
	if len(n.line.waiting) == 0 && (n.slow == 0 || !m.takesTime()) {
		return false
	}
	n.line.waiting = append(n.line.waiting, m.kept())
	n.serveLater()
	return true
}

// takesTime reports whether m has a node do something, but hear of an end, or of its master.
func (m *message) takesTime() bool {
	return m.kind == msgRequest || m.kind == msgPeer && cluster.CarriesEffects(m.peer)
}

// lagsBehind keeps a message of the node's master that stands in line at a node that is slow,
// or behind what came before it from there, and reports whether it does. What else nodes tell each
// other is no matter of commands.
func (n *node) lagsBehind(m *message) bool {
	if m.link == nil || n.slow == 0 && len(n.line.waiting) == 0 || m.link.lane != cluster.Replication {
		return false
	}
	before := func(o *message) bool { return o.link == m.link }
	return (m.link.fromMaster(m) || slices.ContainsFunc(n.line.waiting, before)) && n.standsInLine(m)
}

// serveLater makes sure that the first in line is served, when the node has had its
// time for it.
func (n *node) serveLater() {
	l := &n.line
	if l.serving || len(l.waiting) == 0 || n.paused > 0 {
		return
	}
	after := n.slow
	if !l.waiting[0].takesTime() {
		after = 0
	}
	l.serving = true
	l.step = n.w.queue.push(n.w.now+after, step{kind: stepServe, on: n, cause: n.w.cause()})
}

// serve serves the first in line, and all behind it when the node is no longer slow.
func (n *node) serve() {
	l := &n.line
	l.serving = false
	for more := true; more && len(l.waiting) > 0; more = n.slow == 0 {
		m := l.waiting[0]
		l.waiting = l.waiting[1:]
		switch m.kind {
		case msgClose:
			m.conn.hungUp(m)
		case msgPeer:
			n.takePeer(m)
		default:
			n.take(m)
		}
	}
	n.serveLater()
}

// stop ends the serving of the first in line.
func (l *waitingLine) stop(w *World) {
	if l.serving {
		w.queue.cancel(l.step)
		l.serving = false
	}
}

// leave has the line of a node that has crashed be gone.
func (l *waitingLine) leave(w *World) {
	l.stop(w)
	l.waiting = nil
}
