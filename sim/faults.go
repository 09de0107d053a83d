package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// fault is a word of the `faults` line: one way in which a run may go wrong.
// A fault is one step of the nemesis and ends by itself.
type fault struct {
	name    string
	about   string
	amount  unit
	draw    func(record) Step
	where   place        // in which worlds there is something to strike
	untimed untimedFault // what it does in a world without time
}

// place says in which worlds a kind of fault has a target.
type place uint8

const (
	anywhere place = iota
	withReplicas
	unwatched // with replicas that no Sentinel promotes
	byHand    // with replicas that nobody promotes but the nemesis
	ofSeveral // masters of a cluster
)

// in reports whether a world is such a place.
func (p place) in(w *Spec) bool {
	switch p {
	case withReplicas:
		return w.Replicas > 0
	case unwatched:
		return w.Replicas > 0 && w.Watched == 0
	case byHand:
		return w.Replicas > 0 && w.Watched == 0 && !w.Cluster
	case ofSeveral:
		return w.Cluster && w.Masters > 1
	}
	return true
}

// untimedFault is what a kind of fault does in a world without time.
type untimedFault struct {
	verb    ActionVerb
	targets int                 // of aClient, aMaster, aReplica: whom it strikes
	strikes func(*message) bool // which of the messages that are first on their lines; nil: none
	back    bool                // what it has crashed starts again
	keep    bool                // with its data
}

// needsTimes is that of a kind that means nothing there.
var needsTimes untimedFault

// isOrdered reports whether the kind means something in a world without time.
func (f *fault) isOrdered() bool { return f.untimed.verb != needsTimes.verb }

// unit is what the amount of a kind of fault means.
type unit uint8

const (
	nothing unit = iota // it has none
	aLength
	aRate // of a clock, on either side of true time
)

// faultKinds are in the order in which error messages list them. A new one goes
// to the end: its place is part of what a seed draws.
var faultKinds = []fault{
	{"pause", "a client stands still", aLength, drawPause, anywhere, untimedFault{verb: Pause, targets: aClient}},
	{"freeze", "a server stands still", aLength, drawFreeze, anywhere,
		untimedFault{verb: Pause, targets: aMaster | aReplica}},
	{"jump", "a server's clock jumps", aLength, drawJump, anywhere,
		untimedFault{verb: Leap, targets: aMaster | aReplica}},
	{"drift", "a server's clock runs fast or slow", aRate, drawDrift, anywhere, needsTimes},
	{"client-jump", "a client's clock jumps", aLength, drawClientJump, anywhere,
		untimedFault{verb: Leap, targets: aClient}},
	{"client-drift", "a client's clock runs fast or slow", aRate, drawClientDrift, anywhere, needsTimes},
	{"drop", "a message gets lost", nothing, drawDrop, anywhere,
		untimedFault{verb: Lose, strikes: (*message).isOfClient}},
	{"lost-reply", "a request is executed and its reply gets lost", nothing, drawLostReply, anywhere,
		untimedFault{verb: Lose, strikes: (*message).isAnswer}},
	{"lost-message", "a published message gets lost", nothing, drawLostMessage, anywhere,
		untimedFault{verb: Lose, strikes: (*message).published}},
	{"delay", "a message comes late, and what follows it on its connection", aLength, drawDelay, anywhere, needsTimes},
	{"late-message", "a published message comes late", aLength, drawLateMessage, anywhere, needsTimes},
	{"duplicate", "a request is executed twice", aLength, drawDuplicate, anywhere,
		untimedFault{verb: Double, strikes: (*message).comesAgain}},
	{"partition", "clients and servers are cut off from each other", aLength, drawPartition, anywhere,
		untimedFault{verb: Cut, targets: aClient | aMaster | aReplica}},
	{"one-way", "they are cut off in one direction", aLength, drawOneWay, anywhere, needsTimes},
	{"crash", "a client crashes", nothing, drawCrash, anywhere, untimedFault{verb: Kill, targets: aClient}},
	{"client-restart", "a client crashes and starts again", aLength, drawClientRestart, anywhere,
		untimedFault{verb: Kill, targets: aClient, back: true}},
	{"outage", "a server crashes and comes back with its data", aLength, drawOutage, anywhere,
		untimedFault{verb: Kill, targets: aMaster | aReplica, back: true, keep: true}},
	{"amnesia", "a server crashes and comes back without data", aLength, drawAmnesia, anywhere,
		untimedFault{verb: Kill, targets: aMaster | aReplica, back: true}},
	{"failover", "a master crashes and a replica is promoted", aLength, drawFailover, byHand,
		untimedFault{verb: Depose, targets: aReplica}},
	{"split", "a replica is promoted while its master serves on", nothing, drawSplit, unwatched,
		untimedFault{verb: Promote, targets: aReplica}},
	{"lag", "replication is held up", aLength, drawLag, withReplicas, needsTimes},
	{"slow", "a server answers late", aLength, drawSlow, anywhere, needsTimes},
	{"stall", "a client stands still between the execution of its lock() and the reply", aLength, drawStall, anywhere,
		needsTimes},
	{"client-offset", "a client's clock is wrong from the start", aLength, drawClientJump, anywhere, needsTimes},
	{"power", "the power of a server fails, and it comes back with what it had on disk", aLength, drawPower, anywhere,
		needsTimes},
	{"evict", "a server removes a key to make room", nothing, drawEvict, anywhere, needsTimes},
	{"evict-spare", "it does, where a majority of masters agree without it", nothing, drawEvictSpare, anywhere,
		needsTimes},
	{"reshard", "a slot is open for a while, and its keys move", aLength, drawReshard, ofSeveral, needsTimes},
}

// FaultKinds returns the names of all kinds of fault.
func FaultKinds() []string {
	var names []string
	for _, f := range faultKinds {
		names = append(names, f.name)
	}
	return names
}

// FaultKindsFor returns the kinds of fault for which a world has a target.
func FaultKindsFor(w *Spec) []string {
	var names []string
	for _, f := range faultKinds {
		if f.where.in(w) {
			names = append(names, f.name)
		}
	}
	return names
}

func findFault(name string) fault {
	return faultKinds[slices.IndexFunc(faultKinds, func(f fault) bool { return f.name == name })]
}

// read reads the range of an amount.
func (u unit) read(k *FaultRange, o Option) error {
	switch u {
	case aLength:
		r, err := durations(o)
		if k.Lo, k.Hi = int64(r.Lo), int64(r.Hi); err == nil && r.Hi == 0 {
			err = fmt.Errorf("%s=%s: expected a duration above 0s", o.Name, o.Value)
		}
		return err
	case aRate:
		ppb, err := rate(o)
		if k.Hi = ppb; err == nil && ppb <= 0 {
			err = fmt.Errorf("%s=%s: expected a rate above 0%%", o.Name, o.Value)
		}
		return err
	}
	return fmt.Errorf("%s=%s: this kind of fault has no amount", o.Name, o.Value)
}

// fractions is in how many steps the range of an amount is drawn.
const fractions = 17

// duration draws how long the fault lasts, or how far it goes.
func (c record) duration() time.Duration {
	if c.with.Hi > 0 {
		span := c.with.Hi - c.with.Lo
		n := c.draw(fieldAmount, 2*fractions)
		if n >= fractions { // half of the amounts are the least or the most
			n = n % 2 * (fractions - 1)
		}
		return time.Duration(c.with.Lo + span/(fractions-1)*int64(n))
	}
	d := c.p.scale(1+c.draw(fieldAmount, scales-1)) + c.p.scale(c.draw(fieldMoreAmount, scales))
	return d
}

// rate draws parts per billion, fast or slow.
func (c record) rate() string {
	all := []int64{1e6, 1e7, 2e7, 1e8, 5e8, 2e9, 9e9}
	ppb := all[c.draw(fieldAmount, uint64(len(all)))]
	if c.with.Hi > 0 {
		ppb = c.with.Hi / 8 * int64(1+c.draw(fieldAmount, 8))
	}
	if c.draw(fieldSign, 2) == 1 {
		return percentage(-min(ppb, billion/100*99))
	}
	return percentage(ppb)
}

// percentage writes parts per billion as rate reads them: +1%, -0.02%.
func percentage(ppb int64) string {
	sign := "+"
	if ppb < 0 {
		sign, ppb = "-", -ppb
	}
	fraction := strings.TrimRight(fmt.Sprintf("%07d", ppb%1e7), "0")
	if fraction != "" {
		fraction = "." + fraction
	}
	return fmt.Sprintf("%s%d%s%%", sign, ppb/1e7, fraction)
}

func (c record) client() string {
	return fmt.Sprintf("c%d", 1+c.target(fieldTarget, c.p.r.s.World.Clients))
}

// node draws a server: a master, a replica or a Sentinel.
func (c record) node(field uint64) string { return c.oneOf(c.p.r.w.nodes, field) }

// keeper draws a server that has keys: a master or a replica.
func (c record) keeper(field uint64) string {
	nodes := c.p.r.w.nodes
	return c.oneOf(nodes[:len(nodes)-len(c.p.r.w.sentinels)], field)
}

func (c record) oneOf(nodes []*node, field uint64) string {
	nodes = c.few(nodes, c.p.r.s.Faults.Servers)
	return nodes[c.target(field, len(nodes))].name
}

// few are those of the servers that faults may strike which strike at most so many; 0: all.
func (c record) few(nodes []*node, few int) []*node {
	if few == 0 || few >= len(nodes) {
		return nodes
	}
	first := int(c.p.firstServer) % len(nodes)
	return slices.Concat(nodes[first:], nodes[:first])[:few]
}

func (c record) replica() string {
	all := c.p.r.s.World.Plan().AllReplicas()
	if few := c.p.r.s.Faults.Servers; few > 0 && few < all {
		return fmt.Sprintf("r%d", 1+(c.p.firstServer+c.target(fieldOther, few))%uint64(all))
	}
	return fmt.Sprintf("r%d", 1+c.target(fieldOther, all))
}

func drawPause(c record) Step { return c.lasting("pause", c.client()) }

func drawFreeze(c record) Step { return c.lasting("pause", c.node(fieldOther)) }

// lasting is a step with a duration.
func (c record) lasting(verb string, args ...string) Step {
	return Step{Verb: verb, Args: args, Opts: []Option{{"for", c.duration().String()}}}
}

func drawJump(c record) Step { return c.jump(c.node(fieldOther)) }

func drawClientJump(c record) Step { return c.jump(c.client()) }

// jump is a step of a clock; three of four go forward.
func (c record) jump(who string) Step {
	sign := "+"
	if c.draw(fieldSign, 4) == 3 {
		sign = "-"
	}
	return Step{Verb: "clock", Args: []string{who}, Opts: []Option{{"jump", sign + c.duration().String()}}}
}

func drawDrift(c record) Step { return c.drift(c.node(fieldOther)) }

func drawClientDrift(c record) Step { return c.drift(c.client()) }

func (c record) drift(who string) Step {
	return Step{Verb: "clock", Args: []string{who}, Opts: []Option{{"rate", c.rate()}}}
}

// message is a step about the next message, or one soon after it.
func (c record) message(verb, from, to, what string) Step {
	s := Step{Verb: verb, Args: []string{from, to}, Opts: []Option{{"next", "1"}}}
	if skip := c.draw(fieldSkip, 4); skip > 0 {
		s.Opts = append(s.Opts, Option{"after", fmt.Sprint(skip)})
	}
	if what != "" {
		s.Opts = append(s.Opts, Option{"what", what})
	}
	return s
}

// between draws a direction between a client and a server.
func (c record) between() (from, to string) {
	if c.draw(fieldSide, 2) == 0 {
		return c.client(), c.node(fieldOther)
	}
	return c.node(fieldOther), c.client()
}

func drawDrop(c record) Step {
	from, to := c.between()
	return c.message("drop", from, to, "")
}

func drawLostReply(c record) Step { return c.message("drop", c.node(fieldOther), c.client(), "reply") }

func drawLostMessage(c record) Step {
	return c.message("drop", c.node(fieldOther), c.client(), "message")
}

func drawDelay(c record) Step {
	from, to := c.between()
	return c.late("by", c.message("delay", from, to, ""))
}

func (c record) late(option string, s Step) Step {
	s.Opts = append(s.Opts, Option{option, c.duration().String()})
	return s
}

func drawLateMessage(c record) Step {
	return c.late("by", c.message("delay", c.node(fieldOther), c.client(), "message"))
}

func drawDuplicate(c record) Step {
	return c.late("late", c.message("duplicate", c.client(), c.node(fieldOther), ""))
}

func drawPartition(c record) Step {
	client, servers := c.sides()
	return c.lasting("partition", client, servers)
}

func drawOneWay(c record) Step {
	from, to := c.sides()
	if c.draw(fieldSign, 2) == 1 {
		from, to = to, from
	}
	s := c.lasting("partition", from, to)
	s.Opts = append([]Option{{"way", "one"}}, s.Opts...)
	return s
}

// sides draws who is cut off: a client from a group of the servers that faults may strike,
// or one of these, where servers talk to each other, from a group of all.
func (c record) sides() (one, others string) {
	one = c.client()
	nodes, w := c.p.r.w.nodes, &c.p.r.s.World
	talk := w.Replicas > 0 || w.Cluster || w.Watched > 0
	if apart := c.draw(fieldSide, 4); apart == 3 && len(nodes) > 1 && talk {
		one = c.node(fieldOther)
	}
	if one[0] == 'c' {
		nodes = c.few(nodes, cmp.Or(c.p.r.s.Faults.Cuts, c.p.r.s.Faults.Servers))
	}
	in := c.group(min(len(nodes), 16))
	var group []string
	for i, n := range nodes[:min(len(nodes), len(in))] {
		if in[i] && n.name != one {
			group = append(group, n.name)
		}
	}
	if len(group) == 0 {
		return c.client(), one
	}
	return one, strings.Join(group, ",")
}

// group draws some of n servers. Half of the groups are as many as a majority can
// do without, one behind the other. Where the record repeats another, its group is
// the one next to that one's.
func (c record) group(n int) (in [16]bool) {
	all := uint64(1)<<n - 1
	mask, shift := 1+c.draw(fieldGroup, 2*all), 0
	if mask > all {
		mask, shift = 1<<max(1, (n-1)/2)-1, int(mask%uint64(n))
	}
	shift += int(c.echo) * bits.OnesCount64(mask)
	for i := range n {
		in[(i+shift)%n] = mask>>i&1 == 1
	}
	return in
}

func drawCrash(c record) Step { return Step{Verb: "crash", Args: []string{c.client()}} }

func drawClientRestart(c record) Step { return c.lasting("crash", c.client()) }

func drawOutage(c record) Step { return c.crash("keep") }

func drawAmnesia(c record) Step { return c.crash("lose") }

// crash is a server's crash and restart.
func (c record) crash(data string) Step {
	s := c.lasting("crash", c.node(fieldOther))
	s.Opts = append(s.Opts, Option{"data", data})
	return s
}

// drawFailover promotes at once, or after an outage where one is asked for.
func drawFailover(c record) Step {
	s := Step{Verb: "failover", Args: []string{c.replica()}}
	d := time.Duration(0)
	if c.with.Hi > 0 || c.draw(fieldAtOnce, 2) == 1 {
		d = c.duration()
	}
	s.Opts = []Option{{"outage", d.String()}}
	return s
}

func drawSplit(c record) Step { return Step{Verb: "promote", Args: []string{c.replica()}} }

// drawReshard opens the slot of the first lock, or of a member of it, towards
// another master, one of those that faults may strike; the keys move at once, or later.
func drawReshard(c record) Step {
	name := lockName(1)
	if findKind(c.p.r.s.World.Load.Kind).masters == memberwise {
		name = memberName(1, int(c.target(fieldTarget, members)))
	}
	masters := c.few(c.p.r.w.nodes[:c.p.r.s.World.Masters], c.p.r.s.Faults.Servers)
	to := masters[c.draw(fieldOther, uint64(len(masters)))]
	s := c.lasting("move", name, to.name)
	keys := s.length("for", 0) / 4 * time.Duration(c.draw(fieldSkip, 4))
	s.Opts = append([]Option{{"step", "open"}}, append(s.Opts, Option{"keys", keys.String()})...)
	return s
}

func drawLag(c record) Step { return c.lasting("hold", c.replica()) }

func drawSlow(c record) Step { return c.lasting("slow", c.keeper(fieldOther)) }
