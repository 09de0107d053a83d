package sim

import (
	"errors"
	"slices"
	"time"

	"minikv/internal/resp"
	"minikv/lockclient"
)

// conn is a process's connection to a node: one session for commands, one for
// subscriptions, and such as are lent to who must have one for itself, as real
// clients have.
type conn struct {
	p       *process
	n       *node
	out, in channel
	ends    []*endpoint // by place; nil: not used yet
	pending []*call     // sent, not answered
	subs    []*subscription

	life     int32 // 1, 2, 3, …: how often the process has connected
	broken   int32 // the latest life that the node has broken off
	retries  int32 // how often a timer has asked again for broken subscriptions
	retrying bool  // it will

	lent *[]lending // by place, from firstLent on; nil: none was

	askingPlace int           // where the latest ASKING went
	askingAt    time.Duration // when it, or what followed it there, arrives
}

// The places of a connection's sessions.
const (
	commandPlace = iota
	pubsubPlace
	firstLent
)

// call is a request that a task waits for.
type call struct {
	task *task
	val  resp.Value
	err  error
	asks uint64 // hash of the request, where time stands still

	done     bool
	unheeded bool // the task ends with the answer, whatever that is, where time stands still
	renews   bool // it is a renewal, likewise
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
		c = &conn{p: p, n: n, life: 1}
		c.out = newChannel(p.name(), n.name)
		c.in = newChannel(n.name, p.name())
		p.conns[i] = c
	}
	return c
}

// end is the node's end of one of the sessions, made when it is first used.
func (c *conn) end(place int) *endpoint {
	for len(c.ends) <= place {
		c.ends = append(c.ends, nil)
	}
	if c.ends[place] == nil {
		end := &endpoint{conn: c, place: place, session: c.n.proc.NewSession(c.p.name())}
		c.ends[place] = end
		c.n.setEnd(end.session.ID, end)
	}
	return c.ends[place]
}

// request sends a command and waits for its answer, until ctx ends. The answer is
// valid until the next request of any client.
func (c *conn) request(t *task, ctx *simCtx, m *message) (*resp.Value, error) {
	w := c.p.w
	k := w.newCall(t)
	m.call = k
	m.life = c.life
	c.pending = append(c.pending, k)
	if u := w.untimed; u != nil {
		k.asks, k.unheeded, k.renews = u.sum(m), u.isUnheeded(m.args), u.renews(m)
	}
	place, closes := m.place, w.cfg.Abort && w.isAlone(m) && !ctx.endsWithin(readTimeout)
	w.send(m, &c.out, c.p.actor, c.n.actor)
	var limit *timer
	if closes {
		limit = c.closeLater(k, place)
	}
	err := c.await(t, ctx, k)
	if closes {
		limit.Stop()
	}
	if err != nil {
		return &k.val, err
	}
	if k.err == nil && !w.doubled && w.untimed == nil && len(w.calls) < spare {
		w.calls = append(w.calls, k) // it was sent once and answered: nothing else knows it
	}
	return &k.val, k.err
}

// await waits for the answer to a call; its error is that of ctx.
func (c *conn) await(t *task, ctx *simCtx, k *call) error {
	for !k.done {
		if ctx != nil {
			if err := ctx.Err(); err != nil {
				c.forget(k)
				k.done = true // an answer that comes late wakes nobody
				return err
			}
		}
		t.sleep(ctx, -1)
	}
	return nil
}

func (w *World) newCall(t *task) *call {
	n := len(w.calls)
	if n == 0 {
		return &call{task: t}
	}
	k := w.calls[n-1]
	w.calls = w.calls[:n-1]
	*k = call{task: t}
	return k
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

// refusal is the error of a request to a node that refuses connections. It wraps
// lockclient.ErrNotSent, but does not repeat what lockclient says of that.
type refusal struct{ node string }

func (r refusal) Error() string { return "connection refused by " + r.node }

func (refusal) Unwrap() error { return lockclient.ErrNotSent }

// receive handles what arrives at the process.
func (c *conn) receive(m *message) {
	switch m.kind {
	case msgReply, msgWritten:
		c.finish(m.call, m.reply, nil)
	case msgRefused:
		if s := c.patient(m.call); s != nil && s.again {
			return // it is asked again anyway
		}
		c.finish(m.call, resp.Value{}, refusal{c.n.name})
	case msgHangup:
		c.reconnect(m.life)
	case msgPush:
		c.push(m)
	case msgTopology:
		c.p.follow(c)
	}
}

// reconnect follows the end of one life of the connection: what was not
// answered in it never will be.
func (c *conn) reconnect(ended int32) {
	if ended < c.life {
		return
	}
	c.life++
	pending := c.pending
	c.pending = nil
	for _, k := range pending {
		if c.patient(k) != nil {
			c.pending = append(c.pending, k)
			continue
		}
		c.finish(k, resp.Value{}, errReset)
	}
	for _, s := range c.subs {
		s.again = true
	}
	c.resubscribeLater()
}

// silence is for how long nothing may come over a connection with subscriptions: then it is
// asked whether it works, and closed as no answer comes. It is 3 s and 3 s of lockclient over
// go-redis, and Redisson's pingConnectionInterval.
func (p *process) silence() time.Duration {
	if p.reconnects != nil {
		return 30 * time.Second
	}
	return 6 * time.Second
}

// deafened has the process connect anew for its subscriptions: nothing came for too long.
func (c *conn) deafened() {
	for _, s := range c.subs {
		s.again = true
	}
	c.resubscribeLater()
}

// breakDown is called when the node has crashed, or closed it: its sessions are gone, and
// requests that are on their way to them are void.
func (c *conn) breakDown() {
	c.ends = nil
	c.broken = c.life
	if !c.p.dead {
		c.reset(c.life)
	}
}

// reset tells the process that the node has no part in that life of the connection.
func (c *conn) reset(life int32) {
	m := c.p.w.newMessage(msgHangup)
	m.conn, m.life, m.text = c, life, "connection reset"
	c.p.w.send(m, &c.in, c.n.actor, c.p.actor)
}

// hangUp is called when the process has crashed. What it has sent arrives
// before the end of its connection does.
func (c *conn) hangUp(cause uint64) {
	w := c.p.w
	m := w.newMessage(msgClose)
	m.conn, m.sent, m.from, m.to = c, cause, c.p.actor, c.n.actor
	if w.isCut(m) {
		w.stick(m)
		return
	}
	w.dispatch(m, &c.out, w.cfg.Delay.Lo)
}

// hungUp is called at the node: the sessions of a crashed process end.
func (c *conn) hungUp(m *message) {
	c.endSessions()
	if !c.n.down {
		c.n.settle(m.sent)
	}
}

// endSessions ends the node's sessions of the connection.
func (c *conn) endSessions() {
	for _, end := range c.ends {
		if end != nil {
			c.n.proc.Close(end.session)
			c.n.setEnd(end.session.ID, nil)
		}
	}
	c.ends = nil
}

// announce tells the process that this connection's node is master now. What gets
// lost of that is said again, while it is true.
func (c *conn) announce() {
	if c.p.dead || c.n.group.master != c.n {
		return
	}
	m := c.p.w.newMessage(msgTopology)
	m.conn, m.text = c, c.n.name+" is master"
	c.p.w.send(m, &c.in, c.n.actor, c.p.actor)
}

// subscription is one channel that a process has subscribed to.
type subscription struct {
	group   *group
	conn    *conn // where it is subscribed, or about to be
	channel string
	call    *call // of its SUBSCRIBE: the answer to that confirms it
	sharded bool
	again   bool // it was broken: its confirmation means that messages may be lost
	closed  bool
	deliver func(payload string)
	lost    func()

	patient bool // whose confirmation may come over the next connection, where this one breaks
	refused bool // the server has answered that it does not serve the channel's slot
}

// patient is the subscription that a call is to confirm, if that may come over another
// connection.
func (c *conn) patient(k *call) *subscription {
	for _, s := range c.subs {
		if s.patient && s.call == k {
			return s
		}
	}
	return nil
}

// push handles one message of the subscription session: a confirmation or a
// published message.
func (c *conn) push(m *message) {
	list := m.reply.List
	if to, _ := c.p.w.redirected(&m.reply); to != nil || len(list) > 0 && list[0].Str == "sunsubscribe" && m.unasked {
		c.movedAway(list)
	}
	for _, s := range append([]*subscription(nil), c.subs...) {
		switch {
		case s.closed:
		case m.published():
			if s.channel == list[1].Str {
				c.p.guard(func() { s.deliver(list[2].Str) })
			}
		case s.call == m.call && len(list) == 0: // an error: it is not confirmed
			s.refused = true
		case s.call == m.call:
			c.finish(s.call, m.reply, nil)
			if s.again {
				s.again = false
				c.p.guard(s.lost)
			}
		}
	}
}

// movedAway follows the news that the slot of a subscription is served by
// another node: those that the node has ended, and those it refuses, are broken.
func (c *conn) movedAway(ended []resp.Value) {
	if c.p.ownWays().slots.scanned {
		return // it takes no notice
	}
	for _, s := range c.subs {
		if !s.closed && len(ended) > 1 && s.channel == ended[1].Str {
			s.again = true
		}
	}
	c.p.askForSlots()
	c.resubscribeLater()
}

// ask sends (S)SUBSCRIBE or (S)UNSUBSCRIBE for s.
func (c *conn) ask(s *subscription, command string, k *call) {
	if s.sharded {
		command = "S" + command
	}
	m := c.p.w.newMessage(msgRequest)
	m.conn, m.place, m.call, m.life = c, pubsubPlace, k, c.life
	m.addArgs(command, s.channel)
	if c.p.w.cfg.Details {
		m.text = command + " " + s.channel
	}
	c.p.w.send(m, &c.out, c.p.actor, c.n.actor)
}

// reconnectDelay is how long go-redis waits before it subscribes again; each
// time that it fails it waits twice as long, at most 64 times that.
const reconnectDelay = 100 * time.Millisecond

// resubscribeLater asks again for subscriptions that were broken, until they
// are confirmed.
func (c *conn) resubscribeLater() {
	isBroken := func(s *subscription) bool { return s.again }
	if c.retrying {
		return
	}
	if !slices.ContainsFunc(c.subs, isBroken) {
		c.retries = 0
		return
	}
	c.retrying = true
	p := c.p
	pause := reconnectDelay << min(c.retries, 6)
	if p.reconnects != nil {
		pause = p.reconnects(c.retries)
	}
	p.after(p.clock.Mono()+pause, func() {
		c.retrying = false
		c.retries++
		for _, s := range c.subs {
			if s.again {
				c.ask(s, "SUBSCRIBE", s.call)
			}
		}
		c.resubscribeLater()
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
		if !s.call.done {
			from.forget(s.call)
			c.pending = append(c.pending, s.call)
		}
		c.ask(s, "SUBSCRIBE", s.call)
	}
	from.subs = nil
	c.resubscribeLater()
}

// masterOf is the node that p takes for the master of g.
func (p *process) masterOf(g *group) *node {
	if p.ways == nil {
		return g.first
	}
	for _, r := range p.ways.routes {
		if r.group == g {
			return r.master
		}
	}
	return g.first
}

func (p *process) route(g *group, n *node) {
	ways := p.ownWays()
	for i := range ways.routes {
		if ways.routes[i].group == g {
			ways.routes[i].master = n
			return
		}
	}
	ways.routes = append(ways.routes, route{g, n})
}

// ways are what a process has learned about where the servers for keys are.
type ways struct {
	routes []route // groups whose master is not their first
	slots  slotMap // of a cluster
	told   bool    // a Sentinel has said who is master
	asker  *task   // that waits for it
}

// ownWays are those of p, which is going to learn more.
func (p *process) ownWays() *ways {
	if p.ways == nil {
		p.ways = &ways{}
	}
	return p.ways
}

// route is what a process believes about a group.
type route struct {
	group  *group
	master *node
}
