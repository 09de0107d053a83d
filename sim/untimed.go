package sim

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/lockclient"
	"minikv/sim/check"
	"minikv/trace"
)

// Untimed is a scenario in which time stands still until nothing else can happen. What
// happens next is the caller's choice:
//   - Messages take no time and wait until they are chosen, first in first out on each
//     connection.
//   - Clients start when they are chosen to.
//   - Faults strike while the budget lasts.
//   - Time can go on to the next timer only when nothing is under way, except what a
//     master tells its replica and may lag as long as that.
//
// What masters and replicas tell each other once a second unasked is left out; whoever
// waits for a confirmation has asked for it.
type Untimed struct {
	r       *runner
	w       *World
	kinds   []untimedFault // that may strike
	names   []string       // of these
	budget  int            // faults that may still happen
	servers int            // how many they may strike; 0: all
	struck  []trace.Actor  // servers that they have struck, if not all may be
	end     time.Duration
	lines   []line
	history []history // of each actor: what has reached it
	parts   []uint64  // for each client and node: what of the client's history is of that node alone
	exact   bool      // see UntimedOptions
	foreign bool      // a test's clients: nobody knows what they ask for, nor what servers then have beside keys
	counts  bool      // clients count the answers of independent masters
	alike   bool      // and ask all of them at once: no master differs from another but by what has happened
	told    uint64    // actors to whom something was sent in the present action
	renewed uint64    // those to whom a renewal was, and nothing else
	sends   uint64    // how much was sent
	beliefs uint64    // what clients believed and the resource accepted, in order, and what checks heed besides
	heeds   uint64    // the kinds of event whose order matters to checks, one bit for each
	peeks   bool      // a check looks at what a server has of a client's lease when that client crashes
	toEnd   bool      // a check judges who waits when the run ends
	over    uint64    // clients that will never do anything again, in the present state
	touched bool      // the present action has changed beliefs
	drew    bool      // see Drew
	back    []comeback
	mends   []link
	scripts []*lockclient.Script // that all nodes know
}

// line is one direction between two actors, with what is under way on it.
type line struct {
	link  link
	lane  uint8 // 0; 1: requests that are sent a second time
	steps []step
	sums  []uint64        // of the messages' contents
	since []time.Duration // they have been under way
	sent  uint64          // how many there were
}

// comeback is an actor that will start again.
type comeback struct {
	actor  trace.Actor
	keep   bool // its data
	either bool // or not, as it happens
}

// UntimedOptions are how to explore a scenario without time.
type UntimedOptions struct {
	Faults  []string // kinds of fault that may strike: some of UntimedFaults
	Budget  int      // how many faults may strike
	Servers int      // how many servers they may strike; 0: all
	Exact   bool     // states also tell the order of answers that clients only count, or do not look at
	Options Options  // Chooser, Record and Tick are ignored
}

// NewUntimed makes the scenario's world. Nothing has happened in it yet, except that
// replicas have found their masters.
func NewUntimed(s *Scenario, opt UntimedOptions) (*Untimed, error) {
	if err := s.checkOwn(opt.Options.Own); err != nil {
		return nil, err
	}
	if s.World.Cluster || s.World.Watched > 0 {
		return nil, errors.New("an untimed run can have no cluster and no Sentinels: they act by their clocks")
	}
	if s.World.Pool {
		return nil, errors.New("an untimed run can have no pool=on: messages of a connection are first in first out")
	}
	u := &Untimed{budget: opt.Budget, servers: opt.Servers, exact: opt.Exact}
	u.names = opt.Faults
	for _, name := range opt.Faults {
		u.kinds = append(u.kinds, findFault(name).untimed)
	}
	u.heed(s)
	opt.Options.Chooser = Replay{}
	u.r = &runner{s: s.with(opt.Options), untimed: u}
	u.r.s.Steps, u.r.s.Faults = nil, Faults{}
	u.r.build(opt.Options)
	u.w = u.r.w
	u.w.processes()
	u.history = make([]history, len(u.w.names))
	load := &u.r.s.World.Load
	u.foreign = load.Kind == OwnKind
	u.counts = findKind(load.Kind).masters.isIndependent() && !u.exact
	u.alike = u.counts && u.areInterchangeable()
	u.parts = make([]uint64, len(u.w.names)*len(u.w.names))
	if u.r.s.World.Replicas > 0 {
		u.w.advance(settling, 1<<16)
		for _, n := range u.w.nodes {
			n.member.Hush()
			n.reschedule()
		}
		u.w.advance(2*settling, 1<<16) // what they had said before
	}
	u.w.untimed, u.end = u, u.w.now+u.r.s.For
	if u.w.err != nil {
		u.w.Stop()
		return nil, u.w.err
	}
	return u, nil
}

// settling is how long replicas have to find their masters.
const settling = 3 * time.Second

// Close ends the world.
func (u *Untimed) Close() { u.w.Stop() }

// Err returns why the run has no verdict, a panic of client code; nil if it has one.
func (u *Untimed) Err() error { return u.w.err }

// Names returns the names of the actors, by trace.Actor.
func (u *Untimed) Names() []string { return u.w.names }

// Results returns the verdicts on what has happened so far.
func (u *Untimed) Results() (list []check.Result) {
	for _, c := range u.r.checks {
		list = append(list, c.Result(u.w.now))
	}
	return list
}

// Report returns what the run has found up to this point.
func (u *Untimed) Report() *Report { return u.r.report() }

// enqueue takes a message that is sent: it waits for its turn, unless nobody is
// there any more whom it could reach.
func (u *Untimed) enqueue(s step, lane uint8) {
	p, n := s.owner()
	m := s.on.(*message)
	l := u.line(link{m.from, m.to}, lane)
	if p != nil && (p.dead || u.isVoid(m)) || m.kind == msgClose && u.isUnnoticed(m, l) {
		return
	}
	to := uint64(1) << min(m.to, footprintBudget)
	if n != nil && u.renews(m) {
		u.renewed |= to &^ u.told
	} else {
		u.renewed &^= to
	}
	u.told |= to
	u.sends++
	l.sent++
	sum := u.sum(m)
	l.steps, l.sums, l.since = append(l.steps, s), append(l.sums, sum), append(l.since, u.w.now)
	if u.alike && n != nil {
		u.noted(m.from, m.to, sum)
	}
}

// line returns a line, made in its place when it is first used: the lines are
// in one order however a run went.
func (u *Untimed) line(on link, lane uint8) *line {
	i, ok := slices.BinarySearchFunc(u.lines, line{link: on, lane: lane}, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.link.from, b.link.from), cmp.Compare(a.link.to, b.link.to), cmp.Compare(a.lane, b.lane))
	})
	if !ok {
		u.lines = slices.Insert(u.lines, i, line{link: on, lane: lane})
	}
	return &u.lines[i]
}

// take removes the first message of a line.
func (l *line) take() (s step, sum uint64) {
	s, sum = l.steps[0], l.sums[0]
	l.drop(0)
	return s, sum
}

// drop removes a message.
func (l *line) drop(i int) {
	l.steps, l.sums = slices.Delete(l.steps, i, i+1), slices.Delete(l.sums, i, i+1)
	l.since = slices.Delete(l.since, i, i+1)
}

// isVoid reports whether a message will change nothing, whenever it arrives: between two
// nodes, of which one is gone, over a link that was given up; to a client an answer to a
// question that was given up, or to the end of a subscription, the end of what ended
// before, news for who will listen no more.
func (u *Untimed) isVoid(m *message) bool {
	if u.exact {
		return false
	}
	switch m.kind {
	case msgPeer:
		from, to := u.node(m.from), u.node(m.to)
		switch {
		case !u.isTold(to):
			return false
		case u.isGone(to):
			return !from.member.Heeds(cluster.Nobody(m.peer))
		}
		return u.isGone(from) && !to.member.Heeds(m.peer) // of who lives it is under way, and time goes on meanwhile
	case msgReply, msgWritten, msgRefused:
		return m.call == nil || m.call.done
	case msgHangup:
		return m.life < m.conn.life
	case msgPush:
		awaited := func(s *subscription) bool { return s.call == m.call }
		if m.published() {
			return m.isUnheard() && u.isSettled(m.conn.p)
		}
		return !slices.ContainsFunc(m.conn.subs, awaited)
	}
	return false
}

// isUnnoticed reports whether the end of a client's connection changes nothing at a
// server: nothing was subscribed to over it, or will be by what is still under way.
func (u *Untimed) isUnnoticed(m *message, l *line) bool {
	subscribes := func(s step) bool { return s.on.(*message).place == pubsubPlace }
	ends := m.conn.ends
	return u.keysTell() && m.conn.n.alone() && (len(ends) <= pubsubPlace || ends[pubsubPlace] == nil) &&
		!slices.ContainsFunc(l.steps, subscribes)
}

// sweep removes the messages that will change nothing.
func (u *Untimed) sweep() {
	for i := range u.lines {
		l := &u.lines[i]
		for at := len(l.steps) - 1; at >= 0; at-- {
			if u.isVoid(l.steps[at].on.(*message)) {
				l.drop(at)
			}
		}
	}
	u.w.stuck = slices.DeleteFunc(u.w.stuck, func(m *message) bool {
		p, _ := m.receiver()
		return p != nil && p.dead || u.isVoid(m)
	})
}

// heed notes what the scenario's checks look at.
func (u *Untimed) heed(s *Scenario) {
	for _, e := range s.Expect {
		p := findPromise(e.Check)
		if p.heeds == nil {
			u.heeds, u.exact = ^uint64(0), true
		}
		u.peeks, u.toEnd = u.peeks || p.peeks || p.heeds == nil, u.toEnd || p.toEnd || p.heeds == nil
		for _, kind := range p.heeds {
			u.heeds |= 1 << kind
		}
	}
}

// observe notes what concerns everybody: the order of beliefs, and of what checks heed.
func (u *Untimed) observe(e *trace.Event) {
	switch e.Kind {
	case trace.Hold, trace.Release, trace.Lost, trace.Opened, trace.CountDown, trace.Write, trace.Reject:
		u.touched = true
		u.beliefs = fold(u.beliefs, uint64(e.Kind), uint64(e.Actor), uint64(e.Lock), uint64(e.A))
	default:
		if u.heeds&(1<<e.Kind) != 0 {
			u.touched = true
			a := uint64(e.A)
			if e.Kind == trace.Crash && !u.peeks {
				a = 0
			}
			u.beliefs = fold(u.beliefs, uint64(e.Kind), uint64(e.Actor), uint64(e.Peer), uint64(e.Lock), a, uint64(e.At))
		}
	}
}

// process is the process of an actor, or nil.
func (u *Untimed) process(a trace.Actor) *process {
	for _, c := range u.r.clients {
		if c.p.actor == a {
			return c.p
		}
	}
	return nil
}

// node is the node of an actor, or nil.
func (u *Untimed) node(a trace.Actor) *node {
	for _, n := range u.w.nodes {
		if n.actor == a {
			return n
		}
	}
	return nil
}

// still reports whether an actor takes nothing: it is paused.
func (u *Untimed) still(a trace.Actor) bool {
	if p := u.process(a); p != nil {
		return p.paused > 0
	}
	n := u.node(a)
	return n != nil && n.paused > 0
}

// due returns the earliest step of an actor whose time has come.
func (u *Untimed) due(a trace.Actor) (id int32, ok bool) {
	return u.first(func(s *step) bool { return s.isTimerOf(a) })
}

// first returns the earliest step of a sort whose time has come.
func (u *Untimed) first(isOne func(s *step) bool) (id int32, ok bool) {
	slab := u.w.queue.slab
	for i := range slab {
		s := &slab[i]
		if s.kind == stepFree || s.at > u.w.now || !isOne(&s.step) {
			continue
		}
		if best := &slab[id]; !ok || s.at < best.at || s.at == best.at && s.seq < best.seq {
			id, ok = int32(i), true
		}
	}
	return id, ok
}

// isTimerOf tells whether the step is a timer of an actor that lives.
func (s *step) isTimerOf(a trace.Actor) bool {
	switch s.kind {
	case stepWake, stepTimer:
		p, _ := s.owner()
		return p.actor == a && !p.dead
	case stepTick:
		return s.on.(*node).actor == a
	}
	return false
}

// later is when the next timer fires that has not come yet.
func (u *Untimed) later() (at time.Duration, ok bool) {
	for _, s := range u.w.queue.slab {
		if s.kind == stepFree || s.at <= u.w.now || ok && s.at >= at {
			continue
		}
		if p, _ := s.owner(); p != nil && p.dead {
			continue
		}
		at, ok = s.at, true
	}
	return at, ok && at <= u.end
}

// settle does what follows at once: tasks that were made ready, and what servers
// without replicas do when keys end. As a key has ended for whoever asks, removed
// or not, nobody can tell when that is done. Those that are gone do nothing.
func (u *Untimed) settle() {
	for u.w.err == nil {
		first, ok := u.first(u.isAtOnce)
		if !ok {
			return
		}
		u.perform(first)
	}
}

// isAtOnce tells whether settle does the step.
func (u *Untimed) isAtOnce(s *step) bool {
	switch s.kind {
	case stepReady, stepRun, stepErrand:
		return true
	case stepTick:
		n := s.on.(*node)
		return n.alone() && n.paused == 0 || u.isGone(n)
	}
	return false
}

// perform does a step that is in the queue.
func (u *Untimed) perform(id int32) {
	s := u.w.queue.slab[id].step
	u.w.queue.cancel(id)
	u.w.step(s)
}

// areInterchangeable reports whether clients ask all masters the same, at once.
func (u *Untimed) areInterchangeable() bool {
	load := &u.r.s.World.Load
	return !load.Redisson && findKind(load.Kind).masters == aMajority
}

// Outcome returns a hash of what a run has come to: what clients believed, in its order,
// and what servers have. It does not depend on the names of interchangeable servers, or
// on the random names of requests. It includes nothing of a server that is lost, nor then
// the time, which goes on while something is under way to that server; nor how many
// faults may still strike: see Left.
func (u *Untimed) Outcome() uint64 {
	all := uint64(0)
	if !slices.ContainsFunc(u.w.nodes, u.isLost) {
		all = uint64(u.w.now)
	}
	for _, n := range u.w.nodes {
		if u.isLost(n) {
			continue
		}
		if u.areInterchangeable() {
			all += mix(n.content(withoutRequest))
		} else {
			all = fold(all, n.content(withoutRequest))
		}
	}
	return fold(u.beliefs, all)
}

// Left returns how many faults may still strike.
func (u *Untimed) Left() int { return u.budget }

// acquaint makes a script known to all servers for good: that each must be told
// of it would only multiply the orders of messages.
func (u *Untimed) acquaint(s *lockclient.Script) {
	if slices.Contains(u.scripts, s) {
		return
	}
	u.scripts = append(u.scripts, s)
	for _, n := range u.w.nodes {
		if !n.down {
			n.byHand("SCRIPT", "LOAD", s.Text)
		}
	}
}

// alone reports whether the node has no replicas and no master. What it will do
// depends on its keys and its subscribers, not on how they came about.
func (n *node) alone() bool { return len(n.group.nodes) == 1 }

// sum is the hash of a message's content.
func (u *Untimed) sum(m *message) uint64 {
	h := fold(uint64(m.kind), uint64(m.life), uint64(m.place), uint64(m.write.lock), uint64(m.write.token))
	switch m.kind {
	case msgPeer: // what a node tells another is what it knows
		if n := u.node(m.from); u.isTold(n) && cluster.BringsCopy(m.peer) {
			return fold(h, n.content(asItIs), uint64(NewStream(n.engine.HistoryState(n.engine.Offset()))))
		}
		return fold(h, u.history[m.from].past, u.line(link{m.from, m.to}, 0).sent)
	case msgRequest:
		for _, a := range m.args {
			h = fold(h, uint64(NewStream(a)))
		}
	default:
		h = fold(h, uint64(NewStream(u.gist(m.reply))))
	}
	return h
}

// gist is what a client reads in a reply: of INFO how many replicas there are, but not
// how many bytes they have got.
func (u *Untimed) gist(reply resp.Value) string {
	const replication, count = "# Replication", "connected_slaves:"
	if u.exact || !strings.HasPrefix(reply.Str, replication) {
		return resp.Inline(reply)
	}
	_, rest, _ := strings.Cut(reply.Str, count)
	number, _, _ := strings.Cut(rest, "\r\n")
	return replication + number
}

// Now returns the time, which stands still most of the time.
func (u *Untimed) Now() time.Duration { return u.w.now }
