package sim

import (
	"errors"
	"fmt"
	"time"

	"minikv/internal/resp"
	"minikv/lockclient"
)

// conn is a process's connection to a node: one session for commands and one
// for subscriptions, as real clients have.
type conn struct {
	p        *process
	n        *node
	out, in  channel
	commands *endpoint
	pubsub   *endpoint
	pending  []*call // sent, not answered
	subs     []*subscription
}

// call is a request that a task waits for.
type call struct {
	task *task
	done bool
	val  resp.Value
	err  error
}

// errReset says that the connection broke while an answer was awaited.
var errReset = errors.New("connection reset by peer")

// conn is p's connection to n, made at its first use.
func (p *process) conn(n *node) *conn {
	i := n.index
	for len(p.conns) <= i {
		p.conns = append(p.conns, nil)
	}
	c := p.conns[i]
	if c == nil {
		c = &conn{p: p, n: n}
		c.out = p.w.newChannel(p.actor, n.actor, p.w.cfg.Delay)
		c.in = p.w.newChannel(n.actor, p.actor, p.w.cfg.Delay)
		p.conns[i] = c
	}
	return c
}

// end is the node's end of one of the two sessions, made when it is first used.
func (c *conn) end(onSub bool) *endpoint {
	slot := &c.commands
	if onSub {
		slot = &c.pubsub
	}
	if *slot == nil {
		*slot = &endpoint{conn: c, onSub: onSub, session: c.n.engine.NewSession(c.p.name)}
		c.n.ends[(*slot).session.ID] = *slot
	}
	return *slot
}

// request sends a command and waits for its answer, until ctx ends.
func (c *conn) request(t *task, ctx *simCtx, m *message) (resp.Value, error) {
	k := &call{task: t}
	m.call = k
	c.pending = append(c.pending, k)
	c.p.w.send(m, &c.out, c.p.actor, c.n.actor)
	for !k.done {
		if ctx != nil {
			if err := ctx.Err(); err != nil {
				c.forget(k)
				return resp.Value{}, err
			}
		}
		t.sleep(ctx, -1)
	}
	return k.val, k.err
}

func (c *conn) forget(k *call) {
	for i, other := range c.pending {
		if other == k {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			return
		}
	}
}

// finish ends a call; its task goes on.
func (c *conn) finish(k *call, v resp.Value, err error) {
	if k == nil || k.done {
		return
	}
	c.forget(k)
	k.done, k.val, k.err = true, v, err
	k.task.ready(c.p.w.cause())
}

// receive handles what arrives at the process.
func (c *conn) receive(m *message) {
	switch m.kind {
	case msgReply, msgWritten:
		c.finish(m.call, m.reply, nil)
	case msgRefused:
		c.finish(m.call, resp.Value{}, fmt.Errorf("connection refused by %s: %w", c.n.name, lockclient.ErrNotSent))
		if m.onSub && m.call == nil {
			c.resubscribeLater()
		}
	case msgHangup:
		for len(c.pending) > 0 {
			c.finish(c.pending[0], resp.Value{}, errReset)
		}
		c.resubscribeLater()
	case msgPush:
		c.push(m)
	case msgTopology:
		c.p.follow(c)
	}
}

// broken is called at the node: its sessions are gone. With tell, the client
// hears of it.
func (c *conn) broken(tell bool) {
	c.commands, c.pubsub = nil, nil
	if tell && !c.p.dead {
		m := c.p.w.newMessage(msgHangup)
		m.conn, m.text = c, "connection reset"
		c.p.w.send(m, &c.in, c.n.actor, c.p.actor)
	}
}

// hangUp is called when the process has crashed: the node closes its sessions.
func (c *conn) hangUp(cause uint64) {
	ends := []*endpoint{c.commands, c.pubsub}
	c.commands, c.pubsub = nil, nil
	c.p.w.at(c.p.w.now+c.out.delay.Lo, func() {
		for _, end := range ends {
			if end != nil && c.n.ends[end.session.ID] == end {
				c.n.engine.Close(end.session)
				delete(c.n.ends, end.session.ID)
			}
		}
		c.n.settle(cause)
	})
}

// announce tells the process that this connection's node is master now.
func (c *conn) announce() {
	m := c.p.w.newMessage(msgTopology)
	m.conn, m.text = c, c.n.name+" is master"
	c.p.w.send(m, &c.in, c.n.actor, c.p.actor)
}

// subscription is one channel that a process has subscribed to.
type subscription struct {
	group   *group
	conn    *conn // where it is subscribed, or about to be
	channel string
	sharded bool
	call    *call // of the task that waits for its confirmation
	again   bool  // it was broken: its confirmation means that messages may be lost
	closed  bool
	deliver func(payload string)
	lost    func()
}

// push handles one message of the subscription session: a confirmation or a
// published message.
func (c *conn) push(m *message) {
	list := m.reply.List
	if len(list) < 3 {
		return // an error reply: SUBSCRIBE on a node that refuses it
	}
	for _, s := range append([]*subscription(nil), c.subs...) {
		if s.closed || s.channel != list[1].Str {
			continue
		}
		switch list[0].Str {
		case "subscribe", "ssubscribe":
			c.finish(s.call, m.reply, nil)
			if s.again {
				s.again = false
				s.lost()
			}
		case "message", "smessage":
			s.deliver(list[2].Str)
		}
	}
}

// ask sends (S)SUBSCRIBE or (S)UNSUBSCRIBE for s.
func (c *conn) ask(s *subscription, command string, k *call) {
	if s.sharded {
		command = "S" + command
	}
	m := c.p.w.newMessage(msgRequest)
	m.conn, m.onSub, m.call = c, true, k
	m.setArgs(command, s.channel)
	if c.p.w.cfg.Details {
		m.text = command + " " + s.channel
	}
	c.p.w.send(m, &c.out, c.p.actor, c.n.actor)
}

// reconnectDelay is how long a client waits before it subscribes again.
const reconnectDelay = 100 * time.Millisecond

// resubscribeLater asks again for the subscriptions of a broken connection.
func (c *conn) resubscribeLater() {
	if len(c.subs) == 0 {
		return
	}
	p := c.p
	p.after(p.clock.Mono()+reconnectDelay, func() {
		for _, s := range c.subs {
			if !s.closed && s.conn == c {
				s.again = true
				c.ask(s, "SUBSCRIBE", s.call)
			}
		}
	})
}

// follow makes c's node the master that the process talks to for its group,
// and moves the subscriptions there.
func (p *process) follow(c *conn) {
	old := p.masterOf(c.n.group)
	p.route(c.n.group, c.n)
	if old == c.n || old.index >= len(p.conns) || p.conns[old.index] == nil {
		return
	}
	from := p.conns[old.index]
	for _, s := range from.subs {
		s.conn, s.again = c, true
		c.subs = append(c.subs, s)
		c.ask(s, "SUBSCRIBE", s.call)
	}
	from.subs = nil
}

// masterOf is the node that p takes for the master of g.
func (p *process) masterOf(g *group) *node {
	for _, r := range p.routes {
		if r.group == g {
			return r.master
		}
	}
	return g.first
}

func (p *process) route(g *group, n *node) {
	for i := range p.routes {
		if p.routes[i].group == g {
			p.routes[i].master = n
			return
		}
	}
	p.routes = append(p.routes, route{g, n})
}

// route is what a process believes about a group.
type route struct {
	group  *group
	master *node
}
