package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"
	slots "minikv/internal/slot"
	"minikv/lockclient"
)

// How a process finds the server for a key, as go-redis does: by the slot table
// of a cluster, asked for again when a server points elsewhere or is gone; by
// what Sentinels say; or by the announcement of a promotion. What Redisson does in a
// cluster is in profile_cluster.go.

// slotMap is a process's idea of who serves which slot.
type slotMap struct {
	ranges  []slotRange // nil: as the cluster was made
	used    bool        // it was looked at
	scanned bool        // it is asked for now and then alone, as Redisson does
	asking  bool        // a task is asking for a new one
	askedAt time.Duration
	learned time.Duration // when a node has told it
	next    int           // the node to ask next
}

// has reports whether a node serves any slot.
func (s *slotMap) has(n *node) bool {
	return slices.ContainsFunc(s.ranges, func(r slotRange) bool { return r.master == n })
}

// slotRange is slots that one node serves.
type slotRange struct {
	first, last int
	master      *node
}

// server is the node that p takes for the one with a key of g.
func (p *process) server(g *group, key string) *node {
	if !p.w.cfg.Plan.Cluster {
		return p.masterOf(g)
	}
	number := slots.OfString(key)
	p.refreshSlots(g)
	if master := p.slotOwner(number); master != nil {
		return master
	}
	at := g.first.member.Topology().Slot(number).Owner
	if p.ownWays().slots.ranges == nil && p.w.nodeAt(at) != nil {
		return p.w.nodeAt(at)
	}
	return g.first
}

// refreshSlots sees to it that the table is not older than slotsAge, and that a client which
// starts when the first node cannot answer has the table of one that can.
// Source: clusterStateHolder.Get and ClusterClient.loadState of go-redis 9.
func (p *process) refreshSlots(g *group) {
	s := &p.ownWays().slots
	if s.scanned {
		return
	}
	if !s.used {
		s.used, s.learned = true, p.clock.Mono()
		w, me := p.w, p.actor
		answers := func(n *node) bool {
			return !n.down && n.paused == 0 && w.cuts[link{me, n.actor}] == 0 && w.cuts[link{n.actor, me}] == 0
		}
		if i := slices.IndexFunc(w.nodes, answers); i >= 0 && !answers(g.first) {
			s.ranges = w.slotsNow(w.nodes[i])
		}
	}
	if p.clock.Mono()-s.learned > slotsAge {
		p.askForSlots()
	}
}

// slotOwner is who serves a slot by what p has learned; nil: it has not.
func (p *process) slotOwner(number int) *node {
	for _, r := range p.ownWays().slots.ranges {
		if r.first <= number && number <= r.last {
			return r.master
		}
	}
	return nil
}

// nodeAt is the node with an address, or nil.
func (w *World) nodeAt(address string) *node {
	for i, a := range w.directory {
		if a == address {
			return w.nodes[i]
		}
	}
	return nil
}

// maxRedirects is how often one request follows a pointer to another server.
const maxRedirects = 3

// redirected is where an error reply sends the request, and whether ASKING must
// precede it there; nil if nowhere.
func (w *World) redirected(v *resp.Value) (to *node, asking bool) {
	if v.Kind != resp.Error {
		return nil, false
	}
	return w.pointed(v.Str)
}

// pointed is redirected for the text of an error.
func (w *World) pointed(text string) (to *node, asking bool) {
	words := strings.Fields(text)
	if len(words) == 3 && (words[0] == "MOVED" || words[0] == "ASK") {
		return w.nodeAt(words[2]), words[0] == "ASK"
	}
	return nil, false
}

// routed sends a command, which is given in pieces, to the server of the lane's
// key, and follows pointers.
func (l *lane) routed(ctx context.Context, text string, args ...[]string) (*resp.Value, error) {
	p, t := l.p, l.p.running()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	c, asking := l.conn, l.asking
	if c == nil {
		c = p.conn(p.server(l.group, l.key))
	}
	for redirects := 0; ; redirects++ {
		place, borrows := l.place, l.place == commandPlace && (asking || p.w.cfg.Pool)
		if borrows {
			place = c.borrow()
		}
		if asking {
			c.sendAsking(place)
		}
		m := p.w.newMessage(msgRequest)
		for _, some := range args {
			m.addArgs(some...)
		}
		m.text, m.conn, m.place = text, c, place
		v, err := c.request(t, p.contextOf(ctx), m)
		if borrows && ctx.Err() == nil {
			c.giveBack(place)
		}
		if err == nil && v.Kind != resp.Error && !asking {
			return v, nil
		}
		if err != nil && (ctx.Err() == nil || !l.bare) {
			p.askForSlots()
		}
		to, ask := p.w.redirected(v)
		if to != nil && !ask {
			p.askForSlots()
		}
		if err != nil || to == nil || redirects == maxRedirects || l.conn != nil {
			return v, err
		}
		c, asking = p.conn(to), ask
	}
}

// sendAsking sends what must come before a request that was pointed here for once.
func (c *conn) sendAsking(place int) {
	c.askingPlace, c.askingAt = place, 0
	m := c.p.w.newMessage(msgRequest)
	m.addArgs("ASKING")
	m.text, m.conn, m.place, m.life = "ASKING", c, place, c.life
	c.p.w.send(m, &c.out, c.p.actor, c.n.actor)
}

// Limits of asking for the slots: how often, for how long one node, and how old the table
// may be, which is go-redis's ClusterStateReloadInterval.
const (
	slotsPeriod  = 200 * time.Millisecond
	slotsTimeout = time.Second
	slotsAge     = time.Minute
)

// askForSlots has a task of the process ask one node after the other, until one
// says who serves the slots.
func (p *process) askForSlots() {
	if !p.w.cfg.Plan.Cluster {
		return
	}
	s := &p.ownWays().slots
	if s.scanned || s.asking || s.askedAt > 0 && p.clock.Mono() < s.askedAt+slotsPeriod {
		return
	}
	s.asking = true
	p.spawn(func() {
		for range p.w.nodes {
			s.askedAt = p.clock.Mono()
			n := p.w.nodes[s.next%len(p.w.nodes)]
			if p.learnSlots(p.running(), n) {
				break
			}
			s.next++
		}
		s.asking = false
	})
}

// learnSlots asks one node.
func (p *process) learnSlots(t *task, n *node) bool {
	rt := clientRuntime{p}
	root := &simCtx{p: p, parent: context.Background()}
	ctx, cancel := rt.WithDeadline(root, p.clock.Mono()+slotsTimeout)
	defer cancel()
	m := p.w.newMessage(msgRequest)
	m.addArgs("CLUSTER", "SLOTS")
	m.text, m.conn = "CLUSTER SLOTS", p.conn(n)
	v, err := m.conn.request(t, p.contextOf(ctx), m)
	if err != nil || v.Kind == resp.Error || len(v.List) == 0 {
		return false
	}
	var ranges []slotRange
	for _, r := range v.List {
		master := r.List[2].List
		at := p.w.nodeAt(master[0].Str + ":" + strconv.FormatInt(master[1].Int, 10))
		if at == nil {
			return false
		}
		ranges = append(ranges, slotRange{int(r.List[0].Int), int(r.List[1].Int), at})
	}
	p.ownWays().slots.ranges, p.ways.slots.learned = ranges, p.clock.Mono()
	if !p.ways.slots.scanned {
		p.rehome()
	}
	return true
}

// rehome moves each subscription whose channel another node serves now.
func (p *process) rehome() {
	for _, c := range append([]*conn(nil), p.conns...) {
		if c == nil {
			continue
		}
		for _, s := range append([]*subscription(nil), c.subs...) {
			to := p.server(s.group, s.channel)
			if s.group != nil && to != c.n {
				c.moveSubscription(s, p.conn(to))
			}
		}
	}
}

// moveSubscription subscribes over another connection.
func (c *conn) moveSubscription(s *subscription, to *conn) {
	for i, other := range c.subs {
		if other == s {
			c.subs = append(c.subs[:i], c.subs[i+1:]...)
			break
		}
	}
	s.conn, s.again = to, true
	to.subs = append(to.subs, s)
	if !s.call.done {
		c.forget(s.call)
		to.pending = append(to.pending, s.call)
	}
	to.ask(s, "SUBSCRIBE", s.call)
	to.resubscribeLater()
}

// watchSentinels subscribes to what every Sentinel says of masters, and asks it
// who is master, in case that a failover came before.
func (p *process) watchSentinels() {
	for _, n := range p.w.sentinels {
		c := p.conn(n)
		s := &subscription{conn: c, channel: "+switch-master", deliver: p.switchMaster}
		s.lost = func() { p.spawn(func() { p.askSentinel(p.running(), n) }) }
		s.call = &call{task: p.running()}
		s.again = true // when it is confirmed, the Sentinel is asked
		c.subs = append(c.subs, s)
		c.pending = append(c.pending, s.call)
		c.ask(s, "SUBSCRIBE", s.call)
		c.resubscribeLater()
	}
}

// switchMaster follows "mymaster OLD-HOST OLD-PORT NEW-HOST NEW-PORT".
func (p *process) switchMaster(payload string) {
	if f := strings.Fields(payload); len(f) == 5 {
		p.followTo(f[3], f[4])
	}
}

// followTo follows what a Sentinel says. As in go-redis, what the old master has not
// answered by then is given up.
func (p *process) followTo(host, port string) {
	n := p.w.nodeAt(host + ":" + port)
	if n == nil || n.group == nil || p.masterOf(n.group) == n {
		return
	}
	old := p.conn(p.masterOf(n.group))
	p.follow(p.conn(n))
	for _, k := range slices.Clone(old.pending) {
		old.finish(k, resp.Value{}, errReset)
	}
}

// findMasters waits until a Sentinel has said who is master, where there are any: a
// client that starts knows of none.
func (p *process) findMasters(t *task) {
	for len(p.w.sentinels) > 0 && !p.ownWays().told {
		p.ways.asker = t
		t.sleep(nil, -1)
	}
}

// askSentinel asks one Sentinel who is master of each group.
func (p *process) askSentinel(t *task, n *node) {
	for i := range p.w.groups {
		name := p.w.cfg.Plan.MasterName(p.w.groups[i].first.id())
		m := p.w.newMessage(msgRequest)
		m.addArgs("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
		m.text, m.conn = "SENTINEL GET-MASTER-ADDR-BY-NAME "+name, p.conn(n)
		v, err := m.conn.request(t, nil, m)
		if err == nil && len(v.List) == 2 {
			p.followTo(v.List[0].Str, v.List[1].Str)
			p.ownWays().told = true
		}
	}
	if asker := p.ownWays().asker; p.ways.told && asker != nil {
		p.ways.asker = nil
		asker.ready(p.w.cause())
	}
}
