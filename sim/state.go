package sim

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"minikv/cluster"
	"minikv/trace"
)

// State is what decides what can happen from here on, as a hash: two runs that have
// reached the same state go on alike. Masters that are all asked at once differ only in
// what has happened to them, so states that are the same but for the names of such
// masters count as the same.
type State struct {
	Hash  uint64
	ranks []trace.Actor // by actor: the name that it has in all states that are the same
}

// Named returns an action of the state under the name that it has in all states that are
// the same.
func (s State) Named(a Action) Action {
	a.From, a.To = s.ranks[a.From], s.ranks[a.To]
	return a
}

// State describes the state that the world has reached. Some actions may be marked: where
// masters are otherwise in the same state, the marked actions that concern them give
// their order.
func (u *Untimed) State(marked []Action) State {
	u.over = 0
	for _, c := range u.r.clients {
		if u.isOver(c) && !slices.ContainsFunc(u.back, func(b comeback) bool { return b.actor == c.p.actor }) {
			u.over |= 1 << min(c.p.actor, footprintBudget)
		}
	}
	h := fold(u.beliefs, uint64(u.w.now), uint64(u.budget), u.clientsState())
	s := State{ranks: make([]trace.Actor, len(u.w.names))}
	for a := range s.ranks {
		s.ranks[a] = trace.Actor(a)
	}
	print := make([]uint64, len(u.w.names))
	for _, n := range u.w.nodes {
		print[n.actor] = u.nodeState(n)
	}
	if !u.alike {
		for _, n := range u.w.nodes {
			h = fold(h, print[n.actor])
		}
		return State{h, s.ranks}
	}
	masters := slices.Clone(u.w.nodes)
	slices.SortStableFunc(masters, func(a, b *node) int {
		return cmp.Or(cmp.Compare(print[a.actor], print[b.actor]),
			cmp.Compare(marks(marked, a.actor), marks(marked, b.actor)))
	})
	for i, n := range masters {
		h = fold(h, print[n.actor])
		s.ranks[n.actor] = u.w.nodes[i].actor
	}
	return State{h, s.ranks}
}

// marks is a hash of the actions that are about an actor, but for its name.
func marks(actions []Action, who trace.Actor) (sum uint64) {
	for _, a := range actions {
		if a.From == who || a.To == who {
			other := a.From + a.To - who
			sum += mix(uint64(a.Verb)<<40 | uint64(a.Lane)<<32 | uint64(other)<<1 | b2u(a.To == who))
		}
	}
	return sum
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// clientsState is a hash of what clients are about to do, but for what that has to
// do with a node.
func (u *Untimed) clientsState() (h uint64) {
	for _, b := range u.back {
		if u.node(b.actor) == nil {
			h = fold(h, uint64(b.actor))
		}
	}
	for a, one := range u.history {
		if u.node(trace.Actor(a)) == nil && !u.isForgotten(trace.Actor(a)) {
			h = fold(h, uint64(a), one.past, one.counted, one.phases)
		}
	}
	for _, p := range u.w.procs {
		if !u.isForgotten(p.actor) {
			h = fold(h, p.entropy, p.choices.n, uint64(p.live), b2u(p.paused > 0), uint64(p.clock.offset))
		}
	}
	for _, l := range u.lines {
		if len(l.sums) > 0 && u.node(l.link.from) == nil && u.node(l.link.to) == nil {
			h = fold(h, uint64(l.link.from), uint64(l.link.to))
			h = fold(h, u.sums(l)...)
		}
	}
	return fold(h, u.timers())
}

// isForgotten reports whether it does not matter any more what an actor has heard:
// it is a client that will never do anything again.
func (u *Untimed) isForgotten(a trace.Actor) bool {
	return u.over&(1<<min(a, footprintBudget)) != 0
}

// nodeState is a hash of a node and of what clients have to do with it.
func (u *Untimed) nodeState(n *node) uint64 {
	h := fold(b2u(u.isGone(n)), b2u(slices.Contains(u.struck, n.actor)))
	if !u.isGone(n) {
		h = fold(h, uint64(n.tickAt), b2u(n.down), b2u(n.paused > 0), uint64(n.clock.offset))
		if u.isTold(n) {
			h = fold(h, n.content(asItIs), u.replicationState(n))
		}
		if one := u.history[n.actor]; n.alone() || !u.isTold(n) {
			h = fold(h, one.past, one.counted)
		}
	}
	for _, b := range u.back {
		h = fold(h, b2u(b.actor == n.actor), b2u(b.keep))
	}
	for _, m := range u.mends {
		if m.to == n.actor {
			h = fold(h, uint64(m.from))
		}
	}
	for _, m := range u.w.stuck {
		if m.from == n.actor || m.to == n.actor {
			h = fold(h, uint64(m.from), uint64(m.to), u.asked(m, u.sum(m)))
		}
	}
	for _, p := range u.w.procs {
		if u.isForgotten(p.actor) {
			continue
		}
		at := u.pair(p.actor, n.actor)
		h = fold(h, u.parts[at])
		if n.index < len(p.conns) && p.conns[n.index] != nil {
			c := p.conns[n.index]
			h = fold(h, uint64(c.life), uint64(c.broken), c.listensTo())
		}
	}
	for _, l := range u.lines {
		if len(l.sums) == 0 {
			continue
		}
		switch n.actor {
		case l.link.from:
			h = fold(h, 1, uint64(l.link.to), uint64(l.lane))
			h = fold(h, u.sums(l)...)
		case l.link.to:
			h = fold(h, 2, uint64(l.link.from), uint64(l.lane))
			h = fold(h, u.sums(l)...)
		}
	}
	return h
}

// sums are those of the messages on a line. What one of a group tells another goes by
// where that one stands now; a question, or its answer, by whether the client still waits
// for it, and as which of those that it has asked there.
func (u *Untimed) sums(l line) []uint64 {
	to := u.node(l.link.to)
	toGroup := to != nil && !to.alone() && u.isTold(to)
	list := slices.Clone(l.sums)
	for i, s := range l.steps {
		switch m := s.on.(*message); {
		case m.call != nil:
			list[i] = u.asked(m, list[i])
		case m.kind == msgPeer && toGroup:
			if text, ok := cluster.ReplicationContent(m.peer, to.engine.Offset()); ok {
				list[i] = uint64(NewStream(text))
			}
			list[i] = fold(list[i], uint64(l.since[i]))
		}
	}
	return list
}

// asked is the sum of a message by whether the client still waits for its answer, and as
// which of those that it has asked there.
func (u *Untimed) asked(m *message, sum uint64) uint64 {
	if m.call == nil {
		return sum
	}
	return fold(sum, uint64(slices.Index(m.conn.pending, m.call)+1))
}

// keysTell reports whether a server's keys are all of it that matters: neither does a check
// look at everything, nor do clients ask for what nobody knows.
func (u *Untimed) keysTell() bool { return !u.exact && !u.foreign }

// isTold reports whether the state tells all of a node that matters: of one that is
// alone, and of a master and its replicas where none comes back. Beside the clients of a
// test that takes the history of the first, and the others only tell what they have heard.
func (u *Untimed) isTold(n *node) bool {
	returns := func(f untimedFault) bool { return f.verb == Kill && f.targets&aMaster != 0 }
	return n.alone() || u.keysTell() && !slices.ContainsFunc(u.kinds, returns)
}

// isGone reports whether a node has crashed for good: but for what is under way nothing
// is to be known of it.
func (u *Untimed) isGone(n *node) bool { return !u.exact && u.isLost(n) }

// isLost reports whether a node is down and will not come back.
func (u *Untimed) isLost(n *node) bool {
	return n.down && !slices.ContainsFunc(u.back, func(b comeback) bool { return b.actor == n.actor })
}

// replicationState is a hash of what a node of a group knows of the others, and of the
// clients that wait for others to have something.
func (u *Untimed) replicationState(n *node) uint64 {
	if n.alone() {
		return 0
	}
	h := fold(b2u(n.group.master == n), b2u(n.leads), uint64(NewStream(n.engine.ReplicationState())))
	if len(n.group.nodes) > 2 { // behind a failover others go on with a history that they have the beginning of
		h = fold(h, uint64(NewStream(n.engine.HistoryState(u.oldest(n.group)))), uint64(NewStream(n.member.LinksState())))
	}
	for _, p := range u.w.procs {
		if u.isForgotten(p.actor) || n.index >= len(p.conns) || p.conns[n.index] == nil {
			continue
		}
		for _, e := range p.conns[n.index].ends {
			if e != nil {
				h = fold(h, uint64(p.actor), uint64(NewStream(e.session.ReplicationState())))
			}
		}
	}
	return h
}

// oldest is the offset of who is furthest behind in a group.
func (u *Untimed) oldest(g *group) (offset int64) {
	offset = math.MaxInt64
	for _, n := range g.nodes {
		if !u.isGone(n) {
			offset = min(offset, n.engine.Offset())
		}
	}
	return offset
}

// content is a hash of the node's keys, as they are to be called, and their values.
func (n *node) content(called func(key string) string) (sum uint64) {
	db := n.engine.Keyspace().DB(0)
	for _, key := range db.Keys() {
		sum += mix(fold(uint64(NewStream(called(key))), uint64(NewStream(db.Describe([]byte(key))))))
	}
	return sum
}

// asItIs calls a key by its name.
func asItIs(key string) string { return key }

// withoutRequest is a key's name without that of a request, if it ends with one.
func withoutRequest(key string) string {
	if strings.HasPrefix(key, latchPrefix) {
		return key[:strings.LastIndexByte(key, ':')]
	}
	return key
}

// pair is where something of a client and a node is kept.
func (u *Untimed) pair(client, node trace.Actor) int { return int(client)*len(u.w.names) + int(node) }

// timers is a hash of all that is set for a time, but for nodes: by whom, and when.
func (u *Untimed) timers() (sum uint64) {
	for _, s := range u.w.queue.slab {
		p, n := s.owner()
		switch {
		case s.kind == stepFree, n != nil, p != nil && p.dead:
		case p != nil:
			sum += fold(uint64(s.at), uint64(s.kind), uint64(p.actor))
		default:
			sum += fold(uint64(s.at), uint64(s.kind))
		}
	}
	return sum
}

// history is what has reached an actor.
type history struct {
	past    uint64 // in its order
	counted uint64 // answers since then, in any order
	phase   phase  // of a client
	phases  uint64 // how many there were
}

// phase is what a client is at. What it hears in one of them has no order where it
// asks all masters at once.
type phase struct {
	asking, done bool
	holds        int
}

// listensTo is a hash of the channels that the process is subscribed to.
func (c *conn) listensTo() (sum uint64) {
	if len(c.ends) <= pubsubPlace || c.ends[pubsubPlace] == nil {
		return 0
	}
	for _, name := range c.ends[pubsubPlace].session.Channels() {
		sum += mix(uint64(NewStream(name)))
	}
	return sum
}

// reached notes what has reached an actor, and from which node or by whose doing.
// A server without replicas has no history, where it is known what clients ask for: its
// state tells all of it.
func (u *Untimed) reached(a, from trace.Actor, what uint64) {
	if n := u.node(a); n != nil && n.alone() && u.keysTell() {
		return
	}
	h := &u.history[a]
	if u.alike {
		u.noted(a, from, what)
		h.past = fold(h.past, what, u.date(a), h.phases)
		return
	}
	h.past, h.counted = fold(h.past, h.counted, u.renewals(a), what, uint64(from), u.date(a)), 0
}

// renewal notes something of a client's renewals on a master: among those on others its
// place does not matter.
func (u *Untimed) renewal(client, master trace.Actor, what uint64) {
	part := &u.parts[u.pair(client, master)]
	*part = fold(*part, what, u.date(client))
}

// renewals is a hash of what was noted of them since it was asked for last.
func (u *Untimed) renewals(client trace.Actor) (h uint64) {
	for _, n := range u.w.nodes {
		part := &u.parts[u.pair(client, n.actor)]
		h, *part = fold(h, *part), 0
	}
	return h
}

// date is what an actor's clocks show: what it does with what it hears may go by that.
func (u *Untimed) date(a trace.Actor) uint64 {
	if p := u.process(a); p != nil {
		return fold(uint64(u.w.now), uint64(p.clock.offset))
	}
	return uint64(u.w.now)
}

// counted notes an answer whose place among others does not matter.
func (u *Untimed) counted(a, from trace.Actor, what uint64) {
	if u.alike {
		u.noted(a, from, what)
		return
	}
	u.history[a].counted += mix(fold(what, uint64(from), u.date(a)))
}

// noted notes what a client has heard from a master, or told it.
func (u *Untimed) noted(client, node trace.Actor, what uint64) {
	u.parts[u.pair(client, node)] += mix(fold(what, u.date(client), u.history[client].phases))
}

// turn notes in which phase a client is after something has happened to it.
func (u *Untimed) turn(p *process) {
	h := &u.history[p.actor]
	if now := (phase{p.asking, u.r.clientOf(p).done, len(p.holding)}); now != h.phase {
		h.phase = now
		h.phases++
	}
}

func fold(h uint64, values ...uint64) uint64 {
	for _, v := range values {
		h = mix(h*0x9e3779b97f4a7c15 ^ v)
	}
	return h
}
