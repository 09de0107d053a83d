package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"minikv/trace"
)

// Action is one thing that can happen next in an untimed world.
type Action struct {
	Verb     ActionVerb
	From, To trace.Actor // To: whom it happens to; From: the sender of a message
	Lane     uint8       // of a message: 1 for a request that arrives a second time
}

// ActionVerb says what kind of thing an action is.
type ActionVerb uint8

// The verbs. Those from Pause on are faults.
const (
	Begin   ActionVerb = iota // a client starts
	Deliver                   // the first message of a line, which is one direction of a connection, arrives
	Fire                      // an actor's timer, whose time has come
	Elapse                    // time goes on to the next timer
	Unpause                   // a client or a server goes on
	Revive                    // what has crashed starts again
	Forget                    // it does without its data, where it could as well have that
	Mend                      // a line that was cut works again
	Pause                     // a client or a server stands still
	Leap                      // a clock jumps by two leases and a millisecond
	Lose                      // the first message of a line gets lost
	Double                    // the first message of a line arrives twice
	Kill                      // a client or a server crashes
	Depose                    // a master crashes, and a replica is promoted
	Promote                   // a replica is promoted while its master serves on
	Cut                       // nothing passes between a client and a node
)

var actionNames = [...]string{"start", "deliver", "fire", "time", "resume", "restart", "forget", "mend", "pause",
	"jump", "lose", "double", "crash", "failover", "promote", "cut"}

// UntimedFaults returns the kinds of fault that need no clock, in the order of FaultKinds.
func UntimedFaults() (names []string) {
	for i := range faultKinds {
		if f := &faultKinds[i]; f.isOrdered() {
			names = append(names, f.name)
		}
	}
	return names
}

// Text returns the action as a word: start:c1, c1>m1, fire:c1, time, pause:c1. names are
// those of the actors.
func (a Action) Text(names []string) string {
	line := names[a.From] + ">" + names[a.To] + strings.Repeat("+", int(a.Lane))
	switch a.Verb {
	case Deliver:
		return line
	case Lose, Double, Cut, Mend:
		return actionNames[a.Verb] + ":" + line
	case Elapse:
		return actionNames[a.Verb]
	}
	return actionNames[a.Verb] + ":" + names[a.To]
}

// parseAction reads what Text has written.
func parseAction(word string, actor func(name string) (trace.Actor, bool)) (a Action, err error) {
	name, who, ok := strings.Cut(word, ":")
	if !ok {
		name, who = actionNames[Deliver], word
		if word == actionNames[Elapse] {
			return Action{Verb: Elapse}, nil
		}
	}
	verb := slices.Index(actionNames[:], name)
	a.Verb = ActionVerb(max(verb, 0))
	from, to, isLine := strings.Cut(who, ">")
	if !isLine {
		from, to = "", from
	}
	if short, second := strings.CutSuffix(to, "+"); second {
		to, a.Lane = short, 1
	}
	var known, knownFrom bool
	a.To, known = actor(to)
	a.From, knownFrom = actor(from)
	if verb < 0 || !known || isLine && !knownFrom {
		return a, fmt.Errorf("%q: expected an action such as start:c1, c1>m1, fire:c1 or time", word)
	}
	return a, nil
}

// Fault reports whether the action is a fault, which counts against the budget.
func (a Action) Fault() bool { return a.Verb >= Pause }

// FaultsOf returns those words of an order that are faults.
func FaultsOf(order []string) (list []string) {
	for _, word := range order {
		name, _, named := strings.Cut(word, ":")
		if verb := slices.Index(actionNames[:], name); named && verb >= 0 && (Action{Verb: ActionVerb(verb)}).Fault() {
			list = append(list, word)
		}
	}
	return list
}

// Actions returns all that can happen next, in a fixed order; none when the run has
// ended. Time goes on to the end of the run where somebody waits in vain. When everything
// is over, time does not go on, but faults may still strike: without that, what comes last
// could not change places with what comes before it.
func (u *Untimed) Actions() (list []Action) {
	if u.w.err != nil {
		return nil
	}
	for i := range u.lines {
		l := &u.lines[i]
		if len(l.steps) > 0 && !u.still(l.link.to) {
			list = append(list, Action{Deliver, l.link.from, l.link.to, l.lane})
		}
	}
	for a := range trace.Actor(len(u.w.names)) {
		if _, ok := u.due(a); ok && !u.still(a) {
			list = append(list, Action{Verb: Fire, To: a})
		}
	}
	if at, ok := u.later(); ok && !u.isAllOver() &&
		!slices.ContainsFunc(list, func(a Action) bool { return u.lagsUntil(a) < at }) {
		list = append(list, Action{Verb: Elapse})
	}
	for _, c := range u.r.clients {
		switch {
		case !c.started && !c.p.dead:
			list = append(list, Action{Verb: Begin, To: c.p.actor})
		case c.p.paused > 0:
			list = append(list, Action{Verb: Unpause, To: c.p.actor})
		}
	}
	for _, n := range u.w.nodes {
		if n.paused > 0 {
			list = append(list, Action{Verb: Unpause, To: n.actor})
		}
	}
	for _, b := range u.back {
		list = append(list, Action{Verb: Revive, To: b.actor})
		if b.either {
			list = append(list, Action{Verb: Forget, To: b.actor})
		}
	}
	for _, m := range u.mends {
		list = append(list, Action{Verb: Mend, From: m.from, To: m.to})
	}
	if len(list) == 0 && u.waitsInVain() {
		list = append(list, Action{Verb: Elapse})
	}
	if u.budget > 0 {
		list = u.faults(list)
	}
	return list
}

// waitsInVain reports whether somebody waits to the end of the run, as no timer fires before.
func (u *Untimed) waitsInVain() bool {
	_, fires := u.later()
	return u.toEnd && !fires && u.w.now < u.end && !u.isAllOver()
}

// lagsUntil is until when an action can wait while time goes on: only a master's effects
// do, for as long as replication may lag.
func (u *Untimed) lagsUntil(a Action) time.Duration {
	if a.Verb != Deliver {
		return 0
	}
	l := u.line(link{a.From, a.To}, a.Lane)
	if m := l.steps[0].on.(*message); m.kind != msgPeer || !m.link.fromMaster(m) {
		return 0
	}
	return l.since[0] + u.r.s.World.Lag.Hi
}

// isAllOver reports whether nothing that matters can happen any more: all clients
// have come to their end, and nothing of theirs is under way but the end of a connection.
func (u *Untimed) isAllOver() bool {
	for _, c := range u.r.clients {
		if !c.started || !c.p.dead && c.p.live > 0 {
			return false
		}
	}
	matters := func(m *message) bool { return m.kind != msgClose }
	for i := range u.lines {
		if slices.ContainsFunc(u.lines[i].steps, func(s step) bool { return matters(s.on.(*message)) }) {
			return false
		}
	}
	if slices.ContainsFunc(u.w.stuck, matters) {
		return false
	}
	return !slices.ContainsFunc(u.back, func(b comeback) bool { return u.process(b.actor) != nil })
}

// isOfClient reports whether a client asks a server something, or hears from one.
func (m *message) isOfClient() bool {
	return m.kind == msgRequest || m.kind == msgReply || m.kind == msgPush
}

// isAnswer reports whether a client has asked for what it hears from a server.
func (m *message) isAnswer() bool { return m.kind == msgReply || m.kind == msgPush && !m.published() }

// Do makes an action happen. It must be one of Actions.
func (u *Untimed) Do(a Action) Footprint {
	u.touched, u.told, u.renewed, u.sends = false, 0, 0, 0
	u.w.cursor = 0
	print := footprintOf(a.To)
	switch a.Verb {
	case Begin:
		u.reached(a.To, a.To, uint64(a.Verb))
		u.r.clientOf(u.process(a.To)).start()
	case Deliver:
		s, sum := u.line(link{a.From, a.To}, a.Lane).take()
		known := u.arriving(s.on.(*message), sum)
		u.w.step(s)
		u.settle()
		print = u.arrived(known)
	case Fire:
		u.fire(a)
	case Elapse:
		at, ok := u.later()
		if !ok {
			at = u.end
		}
		u.w.now = at
		print = everything()
	default:
		print = u.upsets(a)
		u.upset(a)
	}
	if n := u.node(a.To); n != nil && n.alone() {
		n.reschedule() // what has gone needs no time
	}
	u.settle()
	u.sweep()
	if p := u.process(a.To); p != nil && u.alike {
		u.turn(p)
	}
	if u.touched {
		print.actors |= 1 << footprintBeliefs
	}
	return print
}

// fire has an actor's timer fire.
func (u *Untimed) fire(a Action) {
	id, _ := u.due(a.To)
	p := u.process(a.To)
	if p == nil {
		u.reached(a.To, a.To, uint64(a.Verb))
		u.perform(id)
		return
	}
	before := u.quiet(p)
	u.perform(id)
	u.settle()
	after := before.and(1 + u.sends) // that it wakes, and what it sends
	if to := u.renewed; to == u.told && bits.OnesCount64(to) == 1 && u.isQuietSince(p, after) {
		u.renewal(a.To, trace.Actor(bits.TrailingZeros64(to)), uint64(a.Verb))
		return
	}
	u.reached(a.To, a.To, uint64(a.Verb))
}

// upset has a fault strike, or end.
func (u *Untimed) upset(a Action) {
	if a.Fault() {
		u.strike(a)
	}
	if u.isHistory(a) {
		u.reached(a.To, a.To, uint64(a.Verb))
		if a.Verb == Cut || a.Verb == Mend {
			u.reached(a.From, a.To, uint64(a.Verb))
		}
	}
	switch a.Verb {
	case Unpause, Pause:
		u.pause(a.To, a.Verb == Pause)
	case Revive, Forget:
		u.revive(a)
	case Leap:
		c := u.r.clock(u.w.names[a.To])
		jump := 2*u.r.s.World.Load.TTL + time.Millisecond
		u.w.emit(trace.Event{Kind: trace.Jump, Actor: u.w.nemesis, Peer: a.To, A: int64(jump)})
		c.jump(jump)
		if n := u.node(a.To); n != nil {
			n.reschedule()
		}
	case Lose:
		u.lose(a)
	case Double:
		s := u.line(link{a.From, a.To}, 0).steps[0]
		u.w.again(s.on.(*message), 0)
	case Kill:
		u.kill(a.To)
	case Depose:
		n := u.node(a.To)
		n.group.master.crash()
		n.promote()
	case Promote:
		u.node(a.To).promote()
	case Cut, Mend:
		u.cut(a)
	}
}

// isHistory reports whether a fault, or the end of one, changes an actor in a way
// that the state does not tell: what is under way, who stands still, which clocks
// are wrong and which lines are cut is seen there.
func (u *Untimed) isHistory(a Action) bool {
	switch a.Verb {
	case Lose, Double:
		return false
	case Pause, Unpause, Leap, Cut, Mend:
		n := u.node(a.To)
		return !u.keysTell() || n != nil && !n.alone()
	}
	return true
}

// pause holds an actor still, or lets it go on.
func (u *Untimed) pause(a trace.Actor, still bool) {
	kind, until := trace.Resume, time.Duration(0)
	e := trace.Event{Kind: kind, Actor: a}
	if still {
		until = farAway
		e = trace.Event{Kind: trace.Pause, Actor: u.w.nemesis, Peer: a}
	}
	u.w.emit(e)
	if p := u.process(a); p != nil {
		p.paused = until
		return
	}
	u.node(a).paused = until
}

// lose loses the first message of a line.
func (u *Untimed) lose(a Action) {
	s, _ := u.line(link{a.From, a.To}, 0).take()
	m := s.on.(*message)
	u.w.emit(trace.Event{Kind: trace.Drop, Actor: a.From, Peer: a.To, Cause: m.sent, A: int64(m.number), Text: m.text})
}

// kill crashes a client or a node, to start again if the kind of fault says so.
func (u *Untimed) kill(a trace.Actor) {
	p := u.process(a)
	if p != nil {
		p.paused = 0
		p.crash()
		u.lines = slices.DeleteFunc(u.lines, func(l line) bool { return l.link.to == a })
	} else {
		u.node(a).crash()
	}
	keeps := map[bool]bool{} // whether a kind of fault has it come back, with its data or without
	for _, f := range u.kinds {
		if f.verb == Kill && f.back && (f.targets == aClient) == (p != nil) {
			keeps[f.keep] = true
		}
	}
	if len(keeps) > 0 {
		u.back = append(u.back, comeback{a, keeps[true], len(keeps) > 1})
	}
}

func (u *Untimed) revive(a Action) {
	i := slices.IndexFunc(u.back, func(b comeback) bool { return b.actor == a.To })
	keep := u.back[i].keep && a.Verb != Forget
	u.back = slices.Delete(u.back, i, i+1)
	if n := u.node(a.To); n != nil {
		n.restart(map[bool]string{true: "keep", false: "lose"}[keep])
		for _, s := range u.scripts {
			n.byHand("SCRIPT", "LOAD", s.Text)
		}
		return
	}
	u.r.clientOf(u.process(a.To)).restart()
}

// cut cuts a client from a node, or mends that.
func (u *Untimed) cut(a Action) {
	both, what := []link{{a.From, a.To}, {a.To, a.From}}, u.w.names[a.From]+" from "+u.w.names[a.To]
	if a.Verb == Mend {
		u.mends = slices.DeleteFunc(u.mends, func(l link) bool { return l == both[0] })
		u.r.mend(both, u.w.heals, what)
		return
	}
	for _, l := range both {
		u.w.cut(l)
	}
	u.mends = append(u.mends, both[0])
	u.w.emit(trace.Event{Kind: trace.Partition, Actor: u.w.nemesis, A: 2, Text: what})
}
