package sim

import (
	"strings"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/server/engine"
	"minikv/trace"
)

// NewLua makes a script environment for the nodes of worlds. One goroutine at a time may
// use it.
func NewLua() *luaengine.Engine { return luaengine.New(engine.Resolve) }

// node is one server of the world: the shell around a process.
type node struct {
	w        *World
	name     string
	index    int // in World.nodes
	actor    trace.Actor
	clock    Clock
	proc     cluster.Process
	member   *cluster.Member // the process, if it is a Redis node
	engine   *engine.Node    // that of member
	entropy  uint64
	group    *group
	links    [][3]*peerLink   // to the other nodes, by index and lane
	leader   *node            // whom it has been told to follow, and will when it goes on; mostly nil
	held     time.Duration    // until when its master's effects are held back; 0: they are not
	standing cluster.Standing // that Config.Standing was told last
	leads    bool             // it was a master when that was last looked at
	ledSince uint64           // the event at which it last became one; 0: at the start

	ends     []*endpoint // by the number of the session
	out      []byte      // for the output of the next request; nil: a session has it
	down     bool
	crashed  time.Duration // when it last did
	still    time.Duration // when what it did last ended: with that crash, or a pause in which it crashed
	disk     disk
	claims   claims
	paused   time.Duration // 0: running; else the true time at which it resumes
	deferred []step        // what reached it while it was paused
	slow     time.Duration // that it takes for each command
	tickAt   time.Duration // when stepTick is due; -1: not scheduled
	tickStep int32

	catchingUp bool // executes what came while a session was blocked
	line       waitingLine
}

// endpoint is a node's end of one session of a connection.
type endpoint struct {
	conn    *conn
	session *engine.Session
	place   int
	waiting []*call  // of the requests without an answer, in their order; nil: nobody waits
	later   *backlog // what came while the session was blocked: the engine takes one command at a time
}

// backlog is requests that wait for their turn.
type backlog struct{ messages []*message }

// isBehind reports whether requests wait for their turn.
func (e *endpoint) isBehind() bool { return e.later != nil && len(e.later.messages) > 0 }

// scriptBudget is how many times 512 ticks a script may take.
const scriptBudget = 1 << 15

// newNode makes the next node of the world's directory, without its process.
func (w *World) newNode(name string) *node {
	n := &node{w: w, name: name, actor: w.actor(name), clock: Clock{w: w},
		index: len(w.nodes), tickAt: -1}
	w.nodes = append(w.nodes, n)
	return n
}

// config is what the node's process is made with.
func (n *node) config() engine.Config {
	w := n.w
	seed := mix(w.cfg.Seed ^ uint64(NewStream("node/"+n.name)))
	cfg := engine.Config{
		Clock: &n.clock,
		Lua:   w.cfg.Lua,
		Random: func() uint64 {
			n.entropy++
			return mix(seed + n.entropy)
		},
		Limit: scriptLimit(),
	}
	if w.cfg.Nodes != nil {
		cfg.Parameters = w.cfg.Nodes(n.name)
	}
	if w.cfg.Details {
		cfg.Observe = func(d trace.Detail) { w.details = append(w.details, d) }
	}
	if w.cfg.Lines {
		cfg.Step = w.noteLine
	}
	return cfg
}

// runs gives the node its process.
func (n *node) runs(p cluster.Process) {
	n.proc = p
	if member, ok := p.(*cluster.Member); ok {
		n.member, n.engine = member, member.Node()
		n.leads = !n.engine.IsReplica()
		if n.w.cfg.Remember {
			member.Remember()
		}
	}
}

// id is the number of the node's process.
func (n *node) id() cluster.ID { return cluster.ID(n.index + 1) }

// scriptLimit ends a script that would never end: virtual time stands still while it runs.
func scriptLimit() func() string {
	asked := 0
	return func() string {
		asked++
		if asked%scriptBudget == 0 {
			return "ERR script exceeded the simulator's step budget"
		}
		return ""
	}
}

// byHand runs a command on the node as a person with a console does, and returns its
// reply. What the node did is not part of any event.
func (n *node) byHand(args ...string) resp.Value {
	before := len(n.w.details)
	v := n.typed(args)
	n.w.details = n.w.details[:before]
	return v
}

// meddle runs a command by hand that changes something: e is the event of it, whose text
// tells an error that it is answered with.
func (n *node) meddle(e trace.Event, args ...string) {
	n.sync()
	if v := n.typed(args); v.Kind == resp.Error {
		e.Text += " (answered with " + shortened(resp.Inline(v)) + ")"
	}
	if n.w.cfg.Details {
		e.Details = n.takeDetails()
	}
	n.settle(n.w.emit(e))
}

// typed runs a command over a session of its own.
func (n *node) typed(args []string) resp.Value {
	s := n.proc.NewSession("console")
	n.do(s, args)
	v, _, _ := resp.Parse(s.Out)
	n.proc.Close(s)
	return v
}

// receive executes a request, when its turn comes, or answers for a node that is down
// or does not know the connection any more.
func (n *node) receive(m *message) {
	switch {
	case m.life <= m.conn.broken:
		n.w.following(m.sent, func() { m.conn.reset(m.life) })
		return
	case n.down:
		n.refuse(m)
		return
	}
	if !n.standsInLine(m) {
		n.take(m)
	}
}

// take executes a request, unless its session is blocked.
func (n *node) take(m *message) {
	end := m.conn.end(m.place)
	end.waiting = append(end.waiting, m.call)
	if end.session.Blocked() || end.isBehind() {
		if end.later == nil {
			end.later = &backlog{}
		}
		end.later.messages = append(end.later.messages, m.kept())
		return
	}
	n.execute(end, m)
}

// execute runs a request.
func (n *node) execute(end *endpoint, m *message) {
	n.sync()
	if end.session.Out == nil {
		end.session.Out, n.out = n.out, nil
	}
	stolen := n.watched(m.conn.p, func() {
		n.granting(m.conn.p, func() { n.do(end.session, m.args) })
	})
	e := trace.Event{Kind: trace.Execute, Actor: n.actor, Peer: m.from, Cause: m.sent, A: int64(m.number)}
	if n.w.cfg.Details {
		e.Text = m.text + n.replyText(end)
		e.Details = n.takeDetails()
	}
	n.notesLease(m.conn.p)
	executed := n.w.emit(e)
	n.steals(m.conn.p, stolen, executed)
	n.settle(executed)
	n.w.stall(m.conn.p)
}

// do has the node's process execute a command.
func (n *node) do(s *engine.Session, args []string) {
	c := &n.w.command
	c.args, c.buf = c.args[:0], c.buf[:0]
	for _, a := range args {
		from := len(c.buf)
		c.buf = append(c.buf, a...)
		c.args = append(c.args, c.buf[from:len(c.buf):len(c.buf)])
	}
	n.proc.Do(s, c.args)
}

func (n *node) refuse(m *message) {
	r := n.w.newMessage(msgRefused)
	r.conn, r.call, r.place, r.text = m.conn, m.call, m.place, "connection refused"
	n.w.following(m.sent, func() { n.w.send(r, &m.conn.in, n.actor, m.from) })
}

// replyText is the reply that is about to leave, for people.
func (n *node) replyText(end *endpoint) string {
	if len(end.session.Out) == 0 || end.place == pubsubPlace {
		return ""
	}
	v, _, err := resp.Parse(end.session.Out)
	if err != nil {
		return ""
	}
	return " = " + shortened(resp.Inline(v))
}

// shortened cuts the long replies, such as INFO's.
func shortened(reply string) string {
	const enough = 100
	if len(reply) <= enough {
		return reply
	}
	return reply[:enough] + "…"
}

// noteLine notes where the running script stands.
func (w *World) noteLine(s luaengine.Step) {
	locals := make([]string, len(s.Locals))
	for i, v := range s.Locals {
		locals[i] = v.Name + " = " + v.Value
	}
	w.details = append(w.details, trace.Detail{What: trace.Line, Line: s.Line, Text: strings.Join(locals, ", ")})
}

// takeDetails are those of the next event, with the source of a script that no
// event has told yet.
func (n *node) takeDetails() []trace.Detail {
	list := append([]trace.Detail(nil), n.w.details...)
	n.w.details = n.w.details[:0]
	for i := range list {
		if d := &list[i]; d.What == trace.Script {
			if n.w.told[d.Key] {
				d.Text = ""
			}
			n.w.told[d.Key] = true
		}
	}
	return list
}

// schedule makes sure that tick is called at the node's next deadline.
func (n *node) schedule() {
	wait, ok := n.proc.NextDeadline()
	if !ok {
		return
	}
	at := n.clock.until(n.clock.Mono() + max(wait, 0))
	if n.tickAt >= 0 {
		if n.tickAt <= at {
			return
		}
		n.w.queue.cancel(n.tickStep)
	}
	n.tickAt = at
	n.tickStep = n.w.queue.push(at, step{kind: stepTick, on: n, cause: n.w.cause()})
}

// reschedule is schedule after the clock has changed.
func (n *node) reschedule() {
	if n.tickAt >= 0 {
		n.w.queue.cancel(n.tickStep)
		n.tickAt = -1
	}
	n.schedule()
}

func (n *node) tick() {
	n.tickAt = -1
	if n.down {
		return
	}
	n.sync()
	before := n.keys()
	n.proc.Tick()
	var cause uint64
	if gone := before - n.keys(); gone > 0 {
		e := trace.Event{Kind: trace.Expire, Actor: n.actor, A: int64(gone)}
		if n.w.cfg.Details {
			e.Details = n.takeDetails()
		}
		cause = n.w.emit(e)
	}
	n.settle(cause)
}

// keys is how many keys the node has.
func (n *node) keys() int {
	if n.engine == nil {
		return 0
	}
	return n.engine.Keyspace().Len()
}

// end is the node's end of a session, nil of one that has ended or is its own.
func (n *node) end(session int64) *endpoint {
	if uint64(session) >= uint64(len(n.ends)) {
		return nil
	}
	return n.ends[session]
}

// setEnd notes an end, nil when it is gone.
func (n *node) setEnd(session int64, end *endpoint) {
	for int64(len(n.ends)) <= session {
		n.ends = append(n.ends, nil)
	}
	n.ends[session] = end
}

// crash stops the node. Its clients' connections break.
func (n *node) crash() {
	if n.down {
		return
	}
	w := n.w
	cause := w.emit(trace.Event{Kind: trace.Crash, Actor: w.nemesis, Peer: n.actor})
	if n.paused == 0 {
		n.still = w.now
	}
	n.down, n.paused, n.crashed = true, 0, w.now
	n.deferred = nil
	w.vanish(n)
	n.line.leave(w)
	w.following(cause, func() {
		for _, p := range w.procs {
			if p == nil {
				continue
			}
			for _, c := range p.conns {
				if c != nil && c.n == n {
					c.breakDown()
				}
			}
		}
	})
	n.ends = nil
	w.following(cause, n.bury)
	n.follow(cause)
}

// restart starts a node that was down: with its data (keep), without (lose), or
// with what it had on disk (synced).
func (n *node) restart(data string) {
	if !n.down {
		n.crash()
	}
	if data == "lose" {
		n.startAgain(trace.Event{}, func() { n.proc.Restart(false) })
		return
	}
	lost := time.Duration(0)
	if data == "synced" {
		lost = n.unsynced()
	}
	n.startAgain(trace.Event{A: 1, B: int64(lost)}, func() {
		n.proc.Restart(lost == 0)
		if lost > 0 {
			n.reload()
		}
	})
}

// restartLosing starts a node with its data as it was some time before the crash.
func (n *node) restartLosing(latest time.Duration) {
	if !n.down {
		n.crash()
	}
	at := n.clock.monoAt(n.crashed - latest)
	n.startAgain(trace.Event{A: 1, B: int64(latest)}, func() { n.member.RestartAt(at) })
}

func (n *node) startAgain(e trace.Event, process func()) {
	e.Kind, e.Actor, e.Peer = trace.Restart, n.w.nemesis, n.actor
	cause := n.w.emit(e)
	process()
	n.disk.state = nil
	n.down = false
	n.settle(cause)
}

// postpone keeps a step that reached the node while it was paused.
func (n *node) postpone(s step) {
	switch s.kind { // both are scheduled again when the pause ends
	case stepTick:
		n.tickAt = -1
		return
	case stepServe:
		n.line.serving = false
		return
	}
	n.deferred = append(n.deferred, s)
}

// whenAwake calls f now, or when the node goes on that stands still; never if it crashes before.
func (n *node) whenAwake(f func()) {
	if n.paused == 0 {
		f()
		return
	}
	n.deferred = append(n.deferred, step{kind: stepErrand, on: &errand{n, f}})
}

// pause freezes the node for d: it answers nothing, and its clocks go on.
// Pauses may overlap; a crash ends them.
func (n *node) pause(d time.Duration) {
	if n.down {
		return
	}
	w := n.w
	cause := w.emit(trace.Event{Kind: trace.Pause, Actor: w.nemesis, Peer: n.actor, A: int64(d)})
	until := w.now + d
	if n.paused == 0 {
		n.still = w.now
	}
	n.paused = max(n.paused, until)
	w.at(until, func() { n.resumeAt(until, cause) })
}

func (n *node) resumeAt(until time.Duration, cause uint64) {
	if n.paused != until {
		return
	}
	n.paused = 0
	resumed := n.w.emit(trace.Event{Kind: trace.Resume, Actor: n.actor, Cause: cause})
	late := n.deferred
	n.deferred = nil
	n.w.catchUp(late)
	n.settle(resumed)
	n.serveLater()
}
