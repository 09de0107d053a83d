package sim

import (
	"context"

	"minikv/internal/resp"
	"minikv/trace"
)

// resource is what the locks protect. With fence it refuses a write whose
// token is below the highest that it has seen for that lock.
type resource struct {
	actor trace.Actor
	fence bool
	seen  []int64 // highest token, by lock
}

// writeRequest is a write to the resource.
type writeRequest struct {
	lock  int32
	token int64 // 0: the lock has none
}

// write sends a write and waits for the answer; it returns whether the
// resource accepted it.
func (p *process) write(ctx context.Context, b *Belief) (bool, error) {
	m := p.w.newMessage(msgWrite)
	m.write = writeRequest{lock: b.lock, token: b.token}
	m.conn = p.resourceConn()
	if p.w.cfg.Details {
		m.text = "write to " + lockName(b.lock)
	}
	v, err := m.conn.request(p.running(), p.contextOf(ctx), m)
	return v.Int == 1, err
}

// resourceConn is the process's connection to the resource.
func (p *process) resourceConn() *conn {
	if p.toResource == nil {
		r := &node{w: p.w, name: "resource", actor: p.w.resource.actor}
		p.toResource = &conn{p: p, n: r}
		p.toResource.out = newChannel(p.name(), r.name)
		p.toResource.in = newChannel(r.name, p.name())
	}
	return p.toResource
}

func (r *resource) receive(w *World, m *message) {
	lock, token := m.write.lock, m.write.token
	seen := r.seen[lock]
	kind, reply := trace.Write, resp.One
	if r.fence && token < seen {
		kind, reply = trace.Reject, resp.Zero
	}
	r.seen[lock] = max(seen, token)
	e := trace.Event{Kind: kind, Actor: r.actor, Peer: m.from, Cause: m.sent, Lock: lock, A: token, B: seen}
	if w.cfg.Details {
		e.Key = lockName(lock)
	}
	n := w.emit(e)
	answer := w.newMessage(msgWritten)
	answer.conn, answer.call, answer.reply = m.conn, m.call, reply
	w.following(n, func() { w.send(answer, &m.conn.in, r.actor, m.from) })
}
