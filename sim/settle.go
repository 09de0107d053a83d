package sim

import (
	"fmt"

	"minikv/cluster"
	"minikv/internal/resp"
)

// settle sends what an execution left behind: replies, pushes, messages to other
// nodes. And it asks the node when it next needs attention.
func (n *node) settle(cause uint64) {
	w := n.w
	n.noteRole(cause)
	if w.cfg.Standing != nil {
		if now := cluster.StandingOf(n.proc); now != n.standing {
			n.standing = now
			w.cfg.Standing(n.name, now)
		}
	}
	for round := 0; ; round++ {
		behind, any := n.goOn()
		if !any && round > 0 {
			return
		}
		w.following(cause, func() {
			var closing []*conn
			for _, s := range n.proc.Dirty() { // which may unblock others
				end := n.end(s.ID)
				if end == nil {
					continue
				}
				n.drain(end)
				if s.Closing() {
					closing = append(closing, end.conn)
				}
			}
			for _, c := range closing {
				n.hangUp(c)
			}
			n.post()
		})
		n.schedule()
		if behind != nil {
			n.catchUp(behind)
		}
	}
}

// hangUp ends a connection of which the node has closed a session, as CLIENT KILL does. Its other
// sessions end with it.
func (n *node) hangUp(c *conn) {
	if c.ends == nil {
		return // another one was closed, too
	}
	c.endSessions()
	c.breakDown()
}

// goOn has the sessions go on that are not blocked any more, up to the first one that
// is behind with its requests, and reports whether there were any.
func (n *node) goOn() (behind *endpoint, any bool) {
	for !n.catchingUp { // else it is not their turn yet
		s := n.proc.Unblocked()
		if s == nil {
			break
		}
		any = true
		if end := n.end(s.ID); end != nil && end.isBehind() {
			return end, true
		}
	}
	return nil, any
}

// catchUp runs what had to wait while a session was blocked.
func (n *node) catchUp(end *endpoint) {
	n.catchingUp = true
	for end.isBehind() && !end.session.Blocked() && n.end(end.session.ID) == end {
		m := end.later.messages[0]
		end.later.messages = end.later.messages[1:]
		n.execute(end, m)
	}
	n.catchingUp = false
}

// drain turns the bytes of a session into messages to its client.
func (n *node) drain(end *endpoint) {
	out := end.session.Out
	for len(out) > 0 {
		v, size, err := resp.Parse(out)
		if err != nil || size == 0 {
			panic(fmt.Sprintf("sim: %s wrote a bad reply: %q: %v", n.name, out, err))
		}
		out = out[size:]
		m := n.w.newMessage(msgReply)
		m.conn, m.reply, m.place = end.conn, v, end.place
		if end.place == pubsubPlace {
			m.kind = msgPush
		}
		m.unasked = m.published() || len(end.waiting) == 0 // the slot of a subscription has gone
		if !m.unasked {
			m.call = end.waiting[0]
			end.waiting = end.waiting[:copy(end.waiting, end.waiting[1:])]
		}
		if n.w.cfg.Details {
			m.text = resp.Inline(v)
		}
		n.w.send(m, &end.conn.in, n.actor, end.conn.p.actor)
	}
	end.session.Out = end.session.Out[:0]
	if n.out == nil {
		end.session.Out, n.out = nil, end.session.Out
	}
}
