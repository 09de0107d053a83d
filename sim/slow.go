package sim

import (
	"time"

	"minikv/trace"
)

// waitingLine is what has arrived at a slow node and waits there, in its order: a server with
// one thread takes one request after the other.
type waitingLine struct {
	waiting []*message // requests, and ends of connections between them
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
	if len(n.line.waiting) == 0 && (n.slow == 0 || m.kind == msgClose) {
		return false
	}
	n.line.waiting = append(n.line.waiting, m.kept())
	n.serveLater()
	return true
}

// serveLater makes sure that the first in line is served, when the node has had its
// time for it.
func (n *node) serveLater() {
	l := &n.line
	if l.serving || len(l.waiting) == 0 || n.paused > 0 {
		return
	}
	after := n.slow
	if l.waiting[0].kind == msgClose {
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
		if m.kind == msgClose {
			m.conn.hungUp(m)
		} else {
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
