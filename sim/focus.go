package sim

import (
	"slices"

	"minikv/trace"
)

// Focus returns those of the actions in which one actor takes part, and the actor, if
// nothing that happens elsewhere can add to these before one of them happens. Whatever
// follows then has one of them that could as well have come first. So a search of orders
// needs no others here, unless one of the actions reaches further than the actor (see
// Footprint.Beyond). If there is no such actor, it returns all actions, and 0.
//
// An actor's messages are first in first out, so one that waits at the head of a line
// stays there. It must be certain that nobody else can send on a line on which nothing
// waits: neither a server that has no request of the client, nor a client that has come
// to its end.
func (u *Untimed) Focus(actions []Action) (few []Action, who trace.Actor) {
	few = actions
	if !u.isLocal() {
		return few, 0
	}
	for _, a := range actions {
		takes := func(b Action) bool { return u.takes(b, a) }
		if u.isAside(a) && !slices.ContainsFunc(actions, takes) {
			return []Action{a}, a.To
		}
	}
	try := func(actor trace.Actor) {
		var own []Action
		next := false
		for _, a := range actions {
			if a.concerns(actor) {
				own = append(own, a)
				next = next || a.To == actor && (a.Verb == Deliver || a.Verb == Fire) && u.lagsUntil(a) <= u.w.now
			}
		}
		if next && len(own) < len(few) {
			few, who = own, actor
		}
	}
	for _, c := range u.r.clients {
		if !c.started || c.p.dead {
			continue
		}
		if one := u.answer(actions, c.p); one != nil {
			return one, c.p.actor
		}
		if u.hearsNoMore(c.p) {
			try(c.p.actor)
		}
	}
	for _, n := range u.w.nodes {
		if !n.down && u.isAskedNoMore(n) {
			try(n.actor)
		}
	}
	return few, who
}

// isAside reports whether a message has to do with nothing that anybody else does:
// the DEL of what a release has left for its repetitions, which nobody else names;
// the answer to that, with which a task ends; the end of a subscription of a client
// that will have no other.
func (u *Untimed) isAside(a Action) bool {
	if a.Verb != Deliver || a.Lane > 0 {
		return false
	}
	m := u.line(link{a.From, a.To}, 0).steps[0].on.(*message)
	n := u.node(a.To)
	switch {
	case n != nil && u.isGone(n): // its computer answers
		return true
	case n == nil:
		_, due := u.due(a.To)
		return m.kind == msgReply && m.call != nil && m.call.unheeded && !due
	case !n.alone() || n.down || m.kind != msgRequest || m.life <= m.conn.broken:
		return false
	case m.place == pubsubPlace:
		return m.call == nil && u.isSettled(m.conn.p)
	case m.call == nil || !m.call.unheeded || slices.Contains(u.mends, link{a.From, a.To}):
		return false
	}
	names := func(s step) bool {
		sent := s.on.(*message)
		return sent != m && Footprint{args: sent.args}.names(m.args[1])
	}
	return !slices.ContainsFunc(u.lines, func(l line) bool {
		return l.link.to == a.To && slices.ContainsFunc(l.steps, names)
	})
}

// takes reports whether an action is a fault that strikes a message that is aside, or
// whom it is for. That of a client that dies, or whose clock jumps, is none, as it would
// hear what makes no difference.
func (u *Untimed) takes(b, a Action) bool {
	switch {
	case !b.Fault() || b.To != a.To:
		return false
	case b.Verb == Kill || b.Verb == Leap:
		return u.node(a.To) != nil
	}
	return b.From == 0 || b.From == a.From
}

// isSettled reports whether a client has taken what it wanted to: it will subscribe
// to nothing more.
func (u *Untimed) isSettled(p *process) bool {
	i := slices.IndexFunc(u.r.clients, func(c *client) bool { return c.p == p })
	if i < 0 || u.foreign {
		return false
	}
	c := u.r.clients[i]
	once := c.load.Rounds == 1 && c.load.Reenter == 0 && !c.load.Downgrade
	return c.done || once && c.last && c.got
}

// answer returns the first answer that waits for a client that is winding up, with
// the fault that would take it: none of the others has to do with it. A fault of the
// client would, so there is no answer while one can strike.
func (u *Untimed) answer(actions []Action, p *process) (few []Action) {
	if !u.isWindingUp(p) {
		return nil
	}
	for _, a := range actions {
		if a.concerns(p.actor) && a.Verb != Deliver && a.Verb != Lose {
			return nil
		}
		if a.To == p.actor && (a.Verb == Deliver && few == nil || a.Verb == Lose && few != nil && a.From == few[0].From) {
			few = append(few, a)
		}
	}
	return few
}

// isWindingUp reports whether a client of interchangeable masters is done with its
// rounds: what it has still to do with one master has nothing to do with another.
func (u *Untimed) isWindingUp(p *process) bool { return u.alike && u.r.clientOf(p).done }

// concerns reports whether an actor takes part in an action: whom it happens to,
// or the client that is cut off.
func (a Action) concerns(who trace.Actor) bool {
	return a.To == who || (a.Verb == Cut || a.Verb == Mend) && a.From == who
}

// isLocal reports whether what happens in the world from here on happens to one actor
// each, but for the promotion of a replica.
func (u *Untimed) isLocal() bool {
	if slices.ContainsFunc(u.kinds, func(f untimedFault) bool { return f.back && f.targets == aClient }) {
		return false
	}
	if u.peeks && u.may(Kill, aClient) { // a crash looks at what servers have
		return false
	}
	return !slices.ContainsFunc(u.w.nodes, func(n *node) bool { return !u.isTold(n) })
}

// maySwitch reports whether a node's replica, or the node as one, may yet be promoted: all
// clients hear of that.
func (u *Untimed) maySwitch(n *node) bool {
	return !n.alone() && (u.may(Depose, aReplica) || u.may(Promote, aReplica))
}

// may reports whether a kind of fault with that verb may still strike.
func (u *Untimed) may(verb ActionVerb, targets int) bool {
	return u.budget > 0 && slices.ContainsFunc(u.kinds, func(f untimedFault) bool {
		return f.verb == verb && f.targets&targets != 0
	})
}

// hearsNoMore reports whether nothing but what waits already can be the next thing
// that a client hears on any of its lines, until it does something itself.
func (u *Untimed) hearsNoMore(p *process) bool {
	crashes := u.may(Kill, aMaster)
	for _, n := range u.w.nodes {
		cuts := u.may(Cut, aMaster) || slices.Contains(u.mends, link{p.actor, n.actor})
		waits := u.waits(n.actor, p.actor)
		asked := u.isAsking(p, n) || u.isListening(p, n)
		switch {
		case u.maySwitch(n), asked && (cuts || !waits):
			return false
		case crashes && (!waits || u.strangers(n)&footprintOf(p.actor).actors != 0):
			return false
		}
	}
	resource := u.w.resource.actor
	return u.waits(resource, p.actor) || !u.waits(p.actor, resource)
}

// isAskedNoMore reports whether nothing but what waits already can be the next
// thing that reaches a server on any of its lines, until it does something itself.
func (u *Untimed) isAskedNoMore(n *node) bool {
	isHere := func(m link) bool { return m.to == n.actor }
	if u.may(Cut, aMaster) || u.maySwitch(n) || slices.ContainsFunc(u.mends, isHere) {
		return false
	}
	for _, other := range n.group.nodes {
		if other != n && !u.isGone(other) && !u.waits(other.actor, n.actor) {
			return false
		}
	}
	crashes := u.may(Kill, aMaster)
	for _, c := range u.r.clients {
		switch {
		case u.isOver(c) || u.isDoneWith(c, n):
		case !u.waits(c.p.actor, n.actor, 0): // what is sent twice is behind nothing
			return false
		case crashes && u.strangers(n)&footprintOf(c.p.actor).actors != 0:
			return false
		}
	}
	return true
}

// waits reports whether a message waits on its way between two actors, in one of the lanes.
func (u *Untimed) waits(from, to trace.Actor, lanes ...uint8) bool {
	return slices.ContainsFunc(u.lines, func(l line) bool {
		return l.link == link{from, to} && len(l.steps) > 0 && (lanes == nil || slices.Contains(lanes, l.lane))
	})
}

// isAsking reports whether a client waits for the answer to something that is on
// its way to a node. Nobody waits for that of an UNSUBSCRIBE, nor of a request that
// was given up; only a connection that is broken is news.
func (u *Untimed) isAsking(p *process, n *node) bool {
	counts := func(s step) bool {
		m := s.on.(*message)
		switch {
		case m.kind != msgRequest || !n.alone() || n.down || m.life <= m.conn.broken:
			return true
		case m.place == pubsubPlace:
			return m.call != nil
		}
		return m.call == nil || !m.call.done
	}
	return slices.ContainsFunc(u.lines, func(l line) bool {
		return l.link == link{p.actor, n.actor} && slices.ContainsFunc(l.steps, counts)
	})
}

// isListening reports whether a node may have something for a client that others
// bring about: a message of a subscription, the answer to a request that waits.
func (u *Untimed) isListening(p *process, n *node) bool {
	if n.index >= len(p.conns) || p.conns[n.index] == nil {
		return false
	}
	deaf := len(p.conns[n.index].subs) == 0 && u.isSettled(p)
	return slices.ContainsFunc(p.conns[n.index].ends, func(e *endpoint) bool {
		return e != nil && (e.session.Subscribed() && !deaf || e.session.Blocked() || e.isBehind())
	})
}

// isStuck reports whether a partition holds up what one of two actors has sent the other.
func (u *Untimed) isStuck(a, b trace.Actor) bool {
	return slices.ContainsFunc(u.w.stuck, func(m *message) bool {
		return m.from == a && m.to == b || m.from == b && m.to == a
	})
}

// isDoneWith reports whether a client will never ask a node again.
func (u *Untimed) isDoneWith(c *client, n *node) bool {
	_, due := u.due(c.p.actor)
	return u.isWindingUp(c.p) && !due && !u.isStuck(c.p.actor, n.actor) && !u.waits(n.actor, c.p.actor) &&
		!u.waits(c.p.actor, n.actor) && !u.isListening(c.p, n)
}

// isOver reports whether a client will never send anything again.
func (u *Untimed) isOver(c *client) bool {
	switch {
	case c.p.dead:
		return true
	case !c.started || c.p.live > 0:
		return false
	}
	for _, n := range u.w.nodes {
		if u.waits(n.actor, c.p.actor) || u.waits(c.p.actor, n.actor) || u.isStuck(n.actor, c.p.actor) ||
			u.isListening(c.p, n) {
			return false
		}
	}
	return !slices.ContainsFunc(u.w.queue.slab, func(s queued) bool {
		p, _ := s.owner()
		return p == c.p
	})
}
