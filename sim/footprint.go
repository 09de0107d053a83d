package sim

import (
	"slices"
	"strings"

	"minikv/lockclient"
	"minikv/trace"
)

// Footprint says what an action has touched, and how. Two actions whose footprints do not
// conflict could as well have happened in the other order.
type Footprint struct {
	actors  uint64      // one bit for each, and one for the order of beliefs
	at      trace.Actor // of a request or an answer: whom it has reached, and nobody else
	args    []string    // of a request to a server without replicas
	single  string      // the one key of a plain DEL, which nothing else names
	channel string      // of a subscription that begins or ends
	reads   bool        // the request has changed no key
	told    uint64      // actors to whom the request has sent something
	vote    uint64      // of an answer that changed nothing yet: which one it was; 0: of others
}

// unheeded is the vote of an answer that nobody looks at.
const unheeded = 1

// anyAnswer is the vote of every answer that changed nothing yet, where all masters
// are asked at once: a majority that is not there with both is not there with one.
const anyAnswer = 2

// isUnheeded reports whether a client looks at no answer to a request: to the DEL or
// PEXPIRE of what another leaves for its repetitions. The task that sends it ends with it.
func (u *Untimed) isUnheeded(args []string) bool {
	return !u.foreign && len(args) >= 2 && strings.HasPrefix(args[1], latchPrefix) &&
		(args[0] == "DEL" || args[0] == "PEXPIRE")
}

// latchPrefix begins the names of what requests leave for their repetitions; they
// end with the random name of a request.
const latchPrefix = "redisson_unlock_latch:"

// The bits that stand for no actor: the order of beliefs, which checks look at,
// and the faults that may still happen.
const (
	footprintBeliefs = 63
	footprintBudget  = 62
)

// everything is the footprint of what concerns the whole world.
func everything() Footprint { return Footprint{actors: ^uint64(0)} }

// of is the footprint of what happens to one actor.
func footprintOf(a trace.Actor) Footprint {
	if a >= footprintBudget {
		return everything()
	}
	return Footprint{actors: 1 << a}
}

// Conflicts reports whether the order of the two actions may matter.
func (f Footprint) Conflicts(g Footprint) bool {
	common := f.actors & g.actors
	switch {
	case common == 0:
		return false
	case f.at == 0 || f.at != g.at || common != 1<<f.at:
		return true
	case f.vote != 0 || g.vote != 0:
		return f.vote != g.vote && f.vote != unheeded && g.vote != unheeded
	case f.told&g.told != 0:
		return true
	case f.channel != "" || g.channel != "":
		return f.publishes(g.channel) || g.publishes(f.channel)
	case f.reads && g.reads:
		return false
	case f.single == "" && g.single == "":
		return true
	}
	return f.names(g.single) || g.names(f.single)
}

// publishes reports whether a request may publish something on a channel: it names
// the channel, or what that begins with.
func (f Footprint) publishes(channel string) bool {
	if channel == "" || f.channel != "" {
		return false
	}
	return slices.ContainsFunc(f.args, func(arg string) bool { return arg != "" && strings.HasPrefix(channel, arg) })
}

// Beyond reports whether an action in which one actor took part has reached further: the
// order of beliefs, or the whole world.
func (f Footprint) Beyond(who trace.Actor) bool {
	return f.actors&^(1<<who|1<<footprintBudget) != 0
}

// names reports whether a request names a key, or could make it up: the last
// part of the key is in one of its arguments.
func (f Footprint) names(key string) bool {
	if key == "" {
		return false
	}
	id := key[strings.LastIndexByte(key, ':')+1:]
	for _, arg := range f.args {
		if strings.Contains(arg, id) {
			return true
		}
	}
	return false
}

// upsets is the footprint of a fault, or of the end of one. Faults take from one
// budget.
func (u *Untimed) upsets(a Action) Footprint {
	print := footprintOf(a.To)
	n := u.node(a.To)
	switch a.Verb {
	case Pause, Unpause, Leap, Lose, Double:
	case Cut:
		print.actors |= footprintOf(a.From).actors
	case Kill:
		switch {
		case n != nil:
			print.actors |= u.strangers(n)
		case u.peeks: // what the servers have is part of the event
			for _, one := range u.w.nodes {
				print.actors |= footprintOf(one.actor).actors
			}
		}
	case Depose, Promote: // the end of the old connections and the news come behind what is under way
		for _, one := range n.group.nodes {
			print.actors |= footprintOf(one.actor).actors
		}
		if a.Verb == Depose {
			print.actors |= u.strangers(n.group.master)
		}
	case Revive, Forget:
		if n == nil {
			return everything()
		}
	default:
		return everything()
	}
	if n != nil && !u.isTold(n) {
		return everything()
	}
	if a.Fault() {
		print.actors |= 1 << footprintBudget
	}
	return print
}

// strangers are the clients that have no connection to a node, or one that was
// broken before: whether they make one first, or the node crashes, matters.
func (u *Untimed) strangers(n *node) (bits uint64) {
	for _, p := range u.w.procs {
		if n.index >= len(p.conns) || p.conns[n.index] == nil || p.conns[n.index].broken > 0 {
			bits |= footprintOf(p.actor).actors
		}
	}
	return bits
}

// arrival is a message that reaches somebody, and what is to be known of it afterwards.
type arrival struct {
	print   Footprint
	to      trace.Actor
	from    trace.Actor
	sum     uint64 // of the message; 0: it changes nothing that is not seen elsewhere
	vote    uint64 // 0: it is no answer that may only be counted
	apart   bool   // it concerns nobody but the client and that master
	renews  bool   // it answers a renewal
	node    *node  // of a request to a server without replicas
	changes int64  // of its keys so far
	process *process
	before  quiet
}

// quiet is what does not change while a client only takes note of something.
type quiet struct {
	events, entropy, choices uint64
	armed                    int // timers that were set
}

func (u *Untimed) quiet(p *process) quiet {
	return quiet{u.w.events, p.entropy, p.choices.n, u.w.armed}
}

// arriving notes what is known of a message before it reaches its end.
func (u *Untimed) arriving(m *message, sum uint64) arrival {
	a := arrival{print: footprintOf(m.to), to: m.to, from: m.from, sum: fold(sum, 1)}
	n := u.node(m.to)
	if m.kind == msgRequest && m.life <= m.conn.broken { // the node knows nothing of that connection
		a.sum = fold(a.sum, 1)
	}
	switch {
	case n == nil:
		a.process = u.process(m.to)
		_, due := u.due(m.to)
		switch {
		case a.process != nil && !u.exact && m.isUnheard():
			a.sum = 0
		case a.process == nil || a.process.dead || m.kind != msgReply || m.call == nil:
		case m.call.unheeded && !m.call.done && !due && !u.exact:
			a.vote, a.sum, a.before = unheeded, 0, u.quiet(a.process)
		case m.call.renews:
			a.renews, a.before = true, u.quiet(a.process)
		case u.counts:
			a.vote, a.before = fold(sum, m.call.asks), u.quiet(a.process)
			a.apart = u.isWindingUp(a.process)
		}
	case u.isGone(n): // its computer answers, who does not know what came before
		a.print, a.sum = Footprint{}, 0
	case n.alone() && !n.down && m.kind == msgRequest && !u.foreign:
		a.print.at, a.node, a.changes = m.to, n, n.engine.Changes()
		if !u.exact || m.place != pubsubPlace { // of other requests the keys tell
			a.sum = 0
		}
		a.print.args = slices.Clone(m.args)
		switch {
		case len(m.args) == 2 && a.print.args[0] == "DEL":
			a.print.single = a.print.args[1]
		case m.place == pubsubPlace && len(m.args) == 2:
			a.print.channel = a.print.args[1]
		}
	}
	return a
}

// isUnheard reports whether a message was published on a channel that the client
// does not listen to any more.
func (m *message) isUnheard() bool {
	return m.published() && !slices.ContainsFunc(m.conn.subs, func(s *subscription) bool {
		return !s.closed && s.channel == m.reply.List[1].Str
	})
}

// arrived completes the footprint, and notes what the actor has been told.
//
// Clients that count the answers of independent masters go by the set of those
// they have, not by their order. So two answers of the same content to the same
// question, neither of which had the client do anything, could have come in the
// other order; and with answers that lead to one step, only their set is noted.
func (u *Untimed) arrived(a arrival) Footprint {
	a.print.told = u.told
	a.print.reads = a.node != nil && a.node.engine.Changes() == a.changes
	counts := a.vote != 0 && u.isQuiet(a)
	switch {
	case a.renews && u.told == 0 && u.isQuietSince(a.process, a.before.and(1)):
		u.renewal(a.to, a.from, a.sum)
	case a.vote == unheeded && !counts:
		panic("sim: " + u.w.names[a.to] + " heeds an answer that it was not to look at")
	case a.vote > unheeded:
		u.counted(a.to, a.from, fold(a.sum, a.vote))
		if !counts && !u.alike {
			u.reached(a.to, a.to, 0)
		}
	case a.sum != 0:
		u.reached(a.to, a.from, a.sum)
	}
	switch {
	case a.apart || counts && u.alike && a.vote > unheeded:
		a.print.at, a.print.vote = a.to, anyAnswer
	case counts:
		a.print.at, a.print.vote = a.to, a.vote
	}
	return a.print
}

// isQuiet reports whether nothing has come of an answer.
func (u *Untimed) isQuiet(a arrival) bool {
	return u.told == 0 && !u.touched && u.quiet(a.process) == a.before.and(1)
}

// isQuietSince reports whether a client has done nothing since then but set timers.
func (u *Untimed) isQuietSince(p *process, then quiet) bool {
	now := u.quiet(p)
	now.armed = then.armed
	return !u.touched && now == then
}

// and is q with some events more.
func (q quiet) and(events uint64) quiet {
	q.events += events
	return q
}

// renews reports whether a request is a renewal by a client of several masters. It has a
// watchdog for each, so what it hears of the renewals on one has nothing to do with what
// it hears of those on another, until it does something else.
func (u *Untimed) renews(m *message) bool {
	if !u.keysTell() || u.alike || len(u.w.groups) == 1 || len(m.args) < 2 {
		return false
	}
	return slices.ContainsFunc(u.scripts, func(s *lockclient.Script) bool {
		return s.SHA == m.args[1] && strings.Contains(s.Name, "-renew")
	})
}
