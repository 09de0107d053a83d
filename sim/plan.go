package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/trace"
)

// Faults is the `faults` line: which kinds of fault a run may draw. Their times, targets
// and order are drawn from the seed.
type Faults struct {
	Kinds    []FaultRange
	Most     int    // most=8: the most faults that a run may have
	Servers  int    // servers=2: the most servers that a run's faults may strike; 0: all
	Cuts     int    // cuts=5: the most from which clients are cut off; 0: as many as Servers
	Strategy string // strategy=…: how they are timed, see Strategies; "": drawn
	Line     int    // in the file
}

// FaultRange is a kind of fault and the range of its amount, such as pause=5s..20s.
// Without a range the amount is drawn on the scale of the lease.
type FaultRange struct {
	Kind   string
	Lo, Hi int64 // ns, or parts per billion of a rate; both 0: not given
}

// Besides returns the kinds of fault that are none of these, in the order of the line.
func (f *Faults) Besides(struck []string) (kinds []string) {
	for _, k := range f.Kinds {
		if !slices.Contains(struck, k.Kind) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// Strategies are the ways to time faults: at sums of meaningful durations
// (timed), some time after the k-th step of a protocol (anchored), or drawn
// at each step of it (inline).
var Strategies = []string{"timed", "anchored", "inline"}

// defaultMost is how many faults a run has at most unless the file says otherwise.
const defaultMost = 6

// planner draws the faults of one run. Each fault is a record of fixed width
// in one stream, so that a record can go without moving the others.
type planner struct {
	r           *runner
	kinds       []FaultRange
	most        int
	strategy    string
	records     uint64
	last        record          // nobody's at first
	draws       draws           // of the records
	general     draws           // of what concerns the whole run
	steps       draws           // inline: whether a fault strikes now
	rate        uint64          // inline: one fault in so many steps, about
	echoes      uint64          // of four later records, how many repeat the one before
	ends        uint64          // of eight later records, before how many the plan ends
	firstServer uint64          // of those that faults may strike
	passed      [anchors]uint64 // how many there have been so far
	asking      map[trace.Actor]bool
	pending     []anchored
}

// What a fault may follow.
const (
	anyStep = iota // of a protocol
	aGrant         // lock() has returned
	aTurn          // it has, and somebody else waits
	anchors
)

// anchored is a fault that strikes some time after the k-th of what it may follow.
type anchored struct {
	what  uint64
	after uint64
	delay time.Duration
	step  Step
}

// The fields of a record.
const (
	fieldMore = iota
	fieldKind
	fieldTarget
	fieldOther
	fieldTime
	fieldMoreTime
	fieldScale
	fieldCount
	fieldAmount
	fieldMoreAmount
	fieldSign
	fieldSide
	fieldSkip
	fieldGroup
	fieldAtOnce
	fieldAgain
	fieldAnchor
	recordWidth = 32
)

// record is one fault's draws.
type record struct {
	p    *planner
	base uint64 // of its own draws
	like uint64 // of those that say what it does: of the record that it repeats
	echo uint64 // how many records repeat that one up to here: it strikes so many targets further
	with FaultRange
}

// draw is the record's draw for a field, 0 to bound-1.
func (c record) draw(field, bound uint64) uint64 {
	c.p.draws.n = c.like + field
	if field == fieldMore || field == fieldAgain {
		c.p.draws.n = c.base + field
	}
	return c.p.draws.draw(bound)
}

// target draws one of n: the next one where the record repeats another.
func (c record) target(field uint64, n int) uint64 {
	return (c.draw(field, uint64(n)) + c.echo) % uint64(n)
}

// offBeat keeps faults apart from what happens on the full tenth of a
// millisecond and from each other, so that the order of what happens does not
// depend on who was queued first.
func (c record) offBeat() time.Duration {
	return time.Duration(20_011 + c.base/recordWidth*3_001)
}

// newPlanner makes the planner of a run; it needs the runner's world.
func newPlanner(r *runner) *planner {
	p := &planner{r: r, kinds: r.s.Faults.Kinds, most: r.s.Faults.Most, strategy: r.s.Faults.Strategy,
		asking: map[trace.Actor]bool{}}
	p.draws, p.general, p.steps = r.w.newDraws("faults"), r.w.newDraws("plan"), r.w.newDraws("strike")
	if p.most == 0 {
		p.most = defaultMost
	}
	n := p.general.draw(uint64(len(Strategies)))
	if p.strategy == "" {
		p.strategy = Strategies[n]
	}
	p.rate = 4 << p.general.draw(6)
	p.echoes, p.ends = p.general.draw(4), 1+p.general.draw(4)
	p.swarm()
	if p.r.s.Faults.Servers > 0 {
		p.firstServer = p.general.draw(uint64(len(r.w.nodes)))
	}
	return p
}

// swarm leaves out some kinds of fault, others in each run: a run with fewer
// kinds goes further with each.
func (p *planner) swarm() {
	if len(p.kinds) < 3 {
		return
	}
	var some []FaultRange
	for _, k := range p.kinds {
		if p.general.draw(2) == 0 {
			some = append(some, k)
		}
	}
	if len(some) > 0 {
		p.kinds = some
	}
}

// start draws the plan, unless faults are drawn on the way.
func (p *planner) start() {
	p.fromTheStart()
	if p.strategy == "inline" || len(p.kinds) == 0 {
		return
	}
	first := p.records
	for range p.most {
		c := p.after(p.last)
		if p.records == first+1 {
			if c.draw(fieldMore, dullPlans) == 0 {
				return
			}
		} else if c.draw(fieldMore, 8) < p.ends {
			return
		}
		s := c.step()
		if p.strategy == "timed" {
			at := p.scale(c.draw(fieldTime, scales)) + p.scale(c.draw(fieldMoreTime, scales))
			p.r.later(at+c.offBeat(), s)
			continue
		}
		a := anchored{what: c.draw(fieldAnchor, anchors), delay: p.scale(c.draw(fieldTime, 2*scales)) + c.offBeat(), step: s}
		a.after = 1 + c.draw(fieldCount, 2<<c.draw(fieldScale, reach[a.what]))
		p.pending = append(p.pending, a)
	}
}

// reach is up to which power of two faults wait for what they follow.
var reach = [anchors]uint64{anyStep: 6, aGrant: 4, aTurn: 3}

// dullPlans is how many plans there are for each one without a fault.
const dullPlans = 64

// fromTheStart draws what is wrong before anything happens, once for each client.
func (p *planner) fromTheStart() {
	i := slices.IndexFunc(p.kinds, func(k FaultRange) bool { return k.Kind == "client-offset" })
	if i < 0 {
		return
	}
	only := *p
	only.kinds = p.kinds[i : i+1]
	for range p.r.s.World.Clients {
		c := p.next()
		c.p = &only
		s := c.step()
		p.r.later(0, s)
	}
	p.kinds = slices.Delete(slices.Clone(p.kinds), i, i+1)
}

// next begins a record.
func (p *planner) next() record {
	c := record{p: p, base: p.records * recordWidth}
	c.like = c.base
	p.records++
	return c
}

// after begins a record behind the last, which it may repeat: faults of several
// servers at once are rare otherwise.
func (p *planner) after(last record) record {
	c := p.next()
	if last.p != nil && c.draw(fieldAgain, 4) < p.echoes {
		c.like, c.echo = last.like, last.echo+1
	}
	p.last = c
	return c
}

// step draws what a fault does, without its time.
func (c record) step() Step {
	c.with = c.p.kinds[c.draw(fieldKind, uint64(len(c.p.kinds)))]
	s := findFault(c.with.Kind).draw(c)
	s.Fault = c.with.Kind
	return s
}

// scales is how many durations matter to a lock.
const scales = 6

// scale is one of the durations that matter to a lock; from scales on it is 0.
func (p *planner) scale(i uint64) time.Duration {
	lease := p.r.s.World.Load.TTL
	switch i {
	case 1:
		return time.Millisecond
	case 2:
		return 100 * time.Millisecond
	case 3:
		return (lease / 3).Round(time.Millisecond)
	case 4:
		return lease + time.Millisecond
	case 5:
		return 2 * lease
	}
	return 0
}

// observe sees the steps of protocols pass by, and lets faults follow them.
func (p *planner) observe(e *trace.Event) {
	turn := p.turn(e)
	if !e.Kind.Protocol() || p.r.w.calm || len(p.kinds) == 0 {
		return
	}
	now := [anchors]bool{anyStep: true, aGrant: e.Kind == trace.Hold, aTurn: turn}
	for what, is := range now {
		if is {
			p.passed[what]++
		}
	}
	for _, a := range p.pending {
		if now[a.what] && a.after == p.passed[a.what] {
			p.r.later(e.At+a.delay, a.step)
		}
	}
	if p.strategy == "inline" && p.records < uint64(p.most) && p.steps.draw(p.rate) == 1 {
		c := p.after(p.last)
		p.r.later(e.At+c.offBeat(), c.step())
	}
}

// turn keeps who waits for a lock, and reports whether the event is a grant to
// one while another waits.
func (p *planner) turn(e *trace.Event) bool {
	switch e.Kind {
	case trace.Acquire:
		p.asking[e.Actor] = true
	case trace.Crash:
		delete(p.asking, e.Peer)
	case trace.Hold, trace.Refused, trace.Failed:
		delete(p.asking, e.Actor)
	}
	return e.Kind == trace.Hold && len(p.asking) > 0
}

// faults reads the `faults` line.
func (p *parser) faults(words []string, line int) error {
	f := &p.s.Faults
	f.Line = line
	for i, word := range words {
		name, value, ranged := strings.Cut(word, "=")
		if slices.ContainsFunc(words[:i], func(other string) bool { return strings.HasPrefix(other, name+"=") }) {
			return fmt.Errorf("%s is given twice", name)
		}
		var err error
		switch {
		case name == "most" && ranged:
			f.Most, err = number(Option{name, value}, 1, 100)
		case name == "servers" && ranged:
			f.Servers, err = number(Option{name, value}, 1, 100)
		case name == "cuts" && ranged:
			f.Cuts, err = number(Option{name, value}, 1, 100)
		case name == "strategy" && ranged:
			f.Strategy, err = oneOf(Option{name, value}, Strategies)
		default:
			err = f.add(name, value, ranged)
		}
		if err != nil {
			return err
		}
	}
	if len(f.Kinds) == 0 {
		return fmt.Errorf("faults needs a kind of fault: %s", strings.Join(FaultKinds(), ", "))
	}
	return nil
}

func (f *Faults) add(name, value string, ranged bool) error {
	if _, err := oneOf(Option{"kind of fault", name}, FaultKinds()); err != nil {
		return err
	}
	if slices.ContainsFunc(f.Kinds, func(k FaultRange) bool { return k.Kind == name }) {
		return fmt.Errorf("%s is given twice", name)
	}
	k := FaultRange{Kind: name}
	if ranged {
		if err := findFault(name).amount.read(&k, Option{name, value}); err != nil {
			return err
		}
	}
	f.Kinds = append(f.Kinds, k)
	return nil
}

// checkFaults reports a kind of fault for which the world has no target.
func (p *parser) checkFaults() *SyntaxError {
	for _, k := range p.s.Faults.Kinds {
		if where := findFault(k.Kind).where; !where.in(&p.s.World) {
			needs := map[place]string{withReplicas: "replicas", unwatched: "replicas without Sentinels",
				byHand:    "replicas that do not fail over by themselves; where they do, use outage or freeze",
				ofSeveral: "a cluster of several masters"}[where]
			return &SyntaxError{Line: p.s.Faults.Line, Reason: k.Kind + " needs " + needs}
		}
	}
	return nil
}
