package sim

import (
	"slices"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/trace"
)

// message is something on its way from one actor to another.
type message struct {
	kind     msgKind
	unasked  bool  // a push that answers no request
	life     int32 // number of the connection's life that it belongs to
	number   uint64
	sent     uint64        // the event of its sending
	at       time.Duration // when it was sent into a partition
	from, to trace.Actor
	conn     *conn
	call     *call
	place    int      // of the connection's session that it belongs to
	args     []string // request
	reply    resp.Value
	write    writeRequest
	text     string // for people
	link     *peerLink
	peer     cluster.Message
}

type msgKind uint8

const (
	msgRequest msgKind = iota
	msgReply
	msgPush     // a pub/sub message or confirmation
	msgRefused  // nothing listens there
	msgHangup   // the node's end of the connection is gone
	msgClose    // the client's is
	msgWrite    // to the resource
	msgWritten  // its answer
	msgPeer     // between two nodes
	msgTopology // who is master now
)

// link is a direction between two actors.
type link struct{ from, to trace.Actor }

// rule is about messages: the next `left` of a kind on a link.
type rule struct {
	step  Step // that made it
	link  link
	what  string // "" any, "request", "reply", "message"
	after int    // matching messages that still pass
	next  int    // how many it was to strike
	left  int
	late  time.Duration // by how much the second of two comes after the first
}

// takeRule returns the rule that m falls under, or nil, and counts it.
func (w *World) takeRule(rules *[]*rule, m *message) *rule {
	for i, r := range *rules {
		if r.link != (link{m.from, m.to}) || r.what != "" && r.what != m.noun() {
			continue
		}
		if r.after > 0 {
			r.after--
			continue
		}
		if r.left--; r.left == 0 {
			*rules = append((*rules)[:i], (*rules)[i+1:]...)
		}
		w.strikes(r.step)
		return r
	}
	return nil
}

// kept is a request that stays when its message is used for another.
func (m *message) kept() *message {
	k := *m
	k.args = slices.Clone(m.args)
	return &k
}

func (w *World) newMessage(kind msgKind) *message {
	if n := len(w.free); n > 0 {
		m := w.free[n-1]
		w.free = w.free[:n-1]
		args := m.args[:0]
		*m = message{}
		m.kind, m.args = kind, args
		return m
	}
	return &message{kind: kind}
}

// spare is how many messages wait for further use at most.
const spare = 1 << 10

// recycle takes a message that nobody needs any more.
func (w *World) recycle(m *message) {
	if len(w.free) < spare {
		w.free = append(w.free, m)
	}
}

// send puts m on the wire. It arrives after the link's drawn delay and never
// before what was sent earlier on the same channel; in a partition it waits, or it is lost.
func (w *World) send(m *message, ch *channel, from, to trace.Actor) {
	w.sendWithin(w.cfg.Delay, m, ch, from, to)
}

// sendWithin is send over a link with a delay of its own. What comes so late that its
// connection has been closed abortively by then is lost. No rule has the end of a connection get
// lost: TCP tells it again, and who missed it would stay deaf.
func (w *World) sendWithin(within Range, m *message, ch *channel, from, to trace.Actor) {
	w.messages++
	m.number, m.from, m.to = w.messages, from, to
	m.sent = w.emit(trace.Event{Kind: trace.Send, Actor: from, Peer: to, A: int64(m.number), Lock: m.write.lock,
		Text: m.text})
	if w.running != nil {
		w.running.cause = m.sent
	}
	delay, closed := w.delay(ch, within), false
	if late := w.takeRule(&w.delays, m); late != nil {
		delay += late.late
		w.emit(trace.Event{Kind: trace.Delay, Actor: from, Peer: to, Cause: m.sent, A: int64(m.number), B: int64(late.late),
			Text: m.text})
		closed = w.cfg.Abort && w.isAlone(m) && m.kind == msgRequest && delay >= readTimeout
	}
	cut := w.isCut(m)
	if !cut && !closed && (m.kind == msgHangup || w.takeRule(&w.losses, m) == nil) {
		w.double(m, w.dispatch(m, ch, delay))
		return
	}
	e := trace.Event{Kind: trace.Drop, Actor: from, Peer: to, Cause: m.sent, A: int64(m.number), Text: m.text}
	if cut {
		e.B = 1
	}
	w.emit(e)
	switch {
	case m.link != nil:
		m.link.lost(m)
		return
	case cut:
		w.stick(m)
		return
	case m.kind == msgTopology && w.untimed == nil:
		w.at(w.now+retransmission, m.conn.announce)
	}
	w.recycle(m)
}

// cut cuts a link once more.
func (w *World) cut(l link) {
	if w.cuts[l] == 0 {
		w.cutAt[l] = w.now
	}
	w.cuts[l]++
}

// isCut reports whether m is sent into a partition.
func (w *World) isCut(m *message) bool {
	return len(w.cuts) > 0 && w.cuts[link{m.from, m.to}] > 0
}

// stick keeps what goes between a client and a node until the partition heals.
func (w *World) stick(m *message) {
	m.at = w.now
	w.stuck = append(w.stuck, m)
}

// unstick sends again, in its order, what partitions have held up that have healed, as TCP
// does: also what its sender has given up meanwhile, or had sent when it died.
func (w *World) unstick() {
	stuck := w.stuck
	w.stuck = nil
	for _, m := range stuck {
		switch {
		case w.isCut(m):
			w.stuck = append(w.stuck, m)
		case m.kind == msgTopology: // if it is still true
			m.conn.announce()
		case w.isDial(m) && (m.conn.p.dead || m.call != nil && m.call.done):
			w.recycle(m) // nobody waits for the connection any more
		case w.untimed == nil && m.published() && w.now-w.cutAt[link{m.from, m.to}] >= m.conn.p.silence():
			m.conn.deafened()
			w.recycle(m)
		case w.cfg.Abort && w.isAlone(m) && (m.conn.p.dead || w.now+w.untilResent(m) >= m.at+readTimeout):
			w.recycle(m) // the connection has been closed by then
		default:
			ch := &m.conn.in
			if m.kind == msgRequest || m.kind == msgClose {
				ch = &m.conn.out
			}
			w.dispatch(m, ch, w.untilResent(m)+w.delay(ch, w.cfg.Delay))
		}
	}
}

// firstRetransmission is after how long TCP sends again what is not confirmed on a fast
// network; after that it waits twice as long each time, up to maxRetransmission.
const (
	firstRetransmission = 200 * time.Millisecond
	maxRetransmission   = 2 * time.Minute
)

// readTimeout is after how long without an answer go-redis closes a connection.
const readTimeout = 5 * time.Second

// untilResent is in how long TCP sends a message again that a partition has held up. Over
// a connection that many share, and for one that is still to be made, it is at once: their
// clients do not wait for the old one.
func (w *World) untilResent(m *message) time.Duration {
	if !w.isAlone(m) || w.isDial(m) {
		return 0
	}
	age, next := w.now-m.at, firstRetransmission
	for next < age {
		next += min(next, maxRetransmission)
	}
	return next - age
}

// isAlone reports whether a message goes over a connection of the pool by itself.
func (w *World) isAlone(m *message) bool { return w.cfg.Pool && m.place >= firstLent }

// isDial reports whether a request is the first over its connection of the pool, which is
// made for it: nothing is sent before that.
func (w *World) isDial(m *message) bool {
	return w.isAlone(m) && m.kind == msgRequest && (m.place >= len(m.conn.ends) || m.conn.ends[m.place] == nil)
}

// vanish forgets what a node had sent into a partition: it has crashed.
func (w *World) vanish(n *node) {
	w.stuck = slices.DeleteFunc(w.stuck, func(m *message) bool { return m.from == n.actor })
}

// delay draws the delay of the next message on a channel. Without time there is none to draw.
func (w *World) delay(ch *channel, within Range) time.Duration {
	if w.untimed != nil {
		return 0
	}
	draws := draws{w, ch.stream, ch.sent}
	delay := time.Duration(draws.span(within))
	ch.sent = draws.n
	return delay
}

// double has a message that arrives at a time arrive twice, if a rule says so: as when a
// client that waits in vain for an answer sends its request again, over another connection.
func (w *World) double(m *message, at time.Duration) {
	if !m.comesAgain() {
		return
	}
	if rule := w.takeRule(&w.doubles, m); rule != nil {
		w.again(m, at+rule.late)
	}
}

// comesAgain reports whether a client may send a message again over another connection: not
// WAIT, which would speak of what was sent over that one.
func (m *message) comesAgain() bool {
	return m.kind == msgRequest && m.place != pubsubPlace && m.args[0] != "WAIT"
}

// again has a request arrive a second time.
func (w *World) again(m *message, at time.Duration) {
	w.doubled = true
	again := w.newMessage(m.kind)
	args := append(again.args, m.args...)
	*again = *m
	again.args, again.place = args, commandPlace
	again.sent = w.emit(trace.Event{Kind: trace.Duplicate, Actor: m.from, Peer: m.to, Cause: m.sent, A: int64(m.number),
		Text: m.text})
	w.arriveAt(at, step{kind: stepArrive, on: again}, 1)
}

// dispatch schedules m's arrival, first in first out on its channel, unless it goes
// over a connection of the pool by itself. It returns when m arrives.
func (w *World) dispatch(m *message, ch *channel, delay time.Duration) (at time.Duration) {
	at = w.now + delay
	alone := w.isAlone(m)
	if !alone {
		at = max(at, ch.last)
	}
	behind := alone && m.kind == msgRequest && m.place == m.conn.askingPlace // ASKING, or the request that it is for
	if behind {
		at = max(at, m.conn.askingAt)
	}
	if behind {
		m.conn.askingAt = at
	}
	if !alone {
		ch.last = at
	}
	w.arriveAt(at, step{kind: stepArrive, on: m}, 0)
	return at
}

// receiver is to whom m goes: a client or a node; neither for the resource.
func (m *message) receiver() (p *process, n *node) {
	switch m.kind {
	case msgRequest, msgClose:
		return nil, m.conn.n
	case msgPeer:
		return nil, m.link.to
	case msgWrite:
		return nil, nil
	}
	return m.conn.p, nil
}

// arriveAt has a message arrive at a time, or when it is chosen.
func (w *World) arriveAt(at time.Duration, s step, lane uint8) {
	if w.untimed != nil {
		w.untimed.enqueue(s, lane)
		return
	}
	w.queue.push(at, s)
}

// noun is how a scenario calls m: a published message, a request, or its reply.
func (m *message) noun() string {
	switch m.kind {
	case msgRequest, msgWrite:
		return "request"
	case msgReply, msgWritten, msgRefused:
		return "reply"
	case msgPush:
		if m.published() {
			return "message"
		}
		return "reply"
	}
	return ""
}

// published reports whether m is a message that somebody has published.
func (m *message) published() bool {
	if m.kind != msgPush || len(m.reply.List) == 0 {
		return false
	}
	kind := m.reply.List[0].Str
	return kind == "message" || kind == "smessage"
}

// channel is one direction of a connection: first in, first out.
type channel struct {
	stream Stream        // of its delays
	sent   uint64        // how many were drawn
	last   time.Duration // the latest arrival so far
}

func newChannel(from, to string) channel { return channel{stream: NewStream("net/" + from + ">" + to)} }

// arrive hands m to its receiver.
func (w *World) arrive(m *message) {
	switch m.kind {
	case msgRequest:
		m.conn.n.receive(m)
	case msgClose:
		if !m.conn.n.standsInLine(m) {
			m.conn.hungUp(m)
		}
	case msgPeer:
		m.link.to.receivePeer(m)
	case msgWrite:
		w.resource.receive(w, m)
	default:
		n := w.emit(trace.Event{Kind: trace.Deliver, Actor: m.to, Peer: m.from,
			Cause: m.sent, A: int64(m.number), Text: m.text})
		w.following(n, func() { m.conn.receive(m) })
	}
	w.recycle(m)
}
