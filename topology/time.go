package topology

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"minikv/cluster"
)

// Clock is the one time of a topology. The clocks of all its nodes follow it: TTLs, TIME,
// blocking timeouts, WAIT, PAUSE, the delays of links and of faults, the timers of
// clusters and Sentinels. It is the computer's clock or, with Config.Virtual, one that
// stands still until it is moved. The time limit of scripts always follows the computer's
// clock.
type Clock struct {
	topology *Topology
	virtual  bool

	moving sync.Mutex // one Advance or Next at a time

	mu     sync.Mutex
	at     time.Time       // virtual: the present
	alarms agenda[*func()] // virtual: what is to be called; see afterFunc
}

// errReal is what a clock answers that cannot be moved.
var errReal = errors.New("topology: the clock is the computer's: start with a virtual one to move it")

func newTopologyClock(t *Topology, cfg Config) *Clock {
	c := &Clock{topology: t, virtual: cfg.Virtual, at: cfg.Begin}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	c.at = c.at.Truncate(time.Millisecond).Round(0)
	return c
}

// Virtual reports whether the clock moves only when it is told to.
func (c *Clock) Virtual() bool { return c.virtual }

// Now returns the date, without what Jump and the nodes' own offsets add.
func (c *Clock) Now() time.Time {
	if !c.virtual {
		return time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance lets that much time pass on a virtual clock. Everything that falls due on the
// way happens in its order: keys expire, blocked clients get their timeouts, messages
// arrive, nodes notice each other's silence. All of that is done when it returns, but not
// what clients then do in reaction: to give them the chance, advance in smaller steps.
// When the topology is closed, nothing falls due any more. It returns an error on a real
// clock, or if d is below 0.
func (c *Clock) Advance(d time.Duration) error {
	switch {
	case !c.virtual:
		return errReal
	case d < 0:
		return fmt.Errorf("topology: advance by %v: time does not go back; Jump sets the wall clocks", d)
	}
	c.moving.Lock()
	defer c.moving.Unlock()
	c.topology.note(Event{Kind: ClockMoved, Text: "advances by " + d.String()})
	end := c.Now().Add(d)
	c.topology.Settle()
	for {
		at, ok := c.topology.nextEvent()
		if !ok || at.After(end) {
			break
		}
		c.set(at)
		c.topology.Settle()
	}
	c.set(end)
	c.topology.Settle()
	return nil
}

// Next advances a virtual clock to the first thing that falls due, and returns how far
// that was. ok is false when nothing waits for time to pass. It returns an error on a
// real clock.
func (c *Clock) Next() (passed time.Duration, ok bool, err error) {
	if !c.virtual {
		return 0, false, errReal
	}
	c.moving.Lock()
	defer c.moving.Unlock()
	c.topology.Settle()
	at, ok := c.topology.nextEvent()
	if !ok {
		return 0, false, nil
	}
	passed = at.Sub(c.Now())
	c.topology.note(Event{Kind: ClockMoved, Text: "advances by " + passed.String() + " to what is next"})
	c.set(at)
	c.topology.Settle()
	return passed, true, nil
}

// Jump sets the wall clocks of all nodes ahead, or back if by is negative, as somebody
// does who sets the date: what lies between happens at once, if it happens at all.
// Monotonic clocks do not jump. It works on a virtual clock and on a real one.
func (c *Clock) Jump(by time.Duration) {
	c.topology.note(Event{Kind: ClockMoved, Text: "jumps by " + by.String()})
	for _, n := range c.topology.nodes {
		n.clock.jump(by)
	}
	for _, n := range c.topology.nodes {
		if !n.frozen.Load() {
			n.tick()
		}
	}
	if c.virtual {
		c.topology.Settle()
	}
}

func (c *Clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.at) {
		c.at = at
	}
}

// afterFunc calls f when d has passed, on a goroutine of its own or on that of
// Advance. It returns what prevents it.
func (c *Clock) afterFunc(d time.Duration, f func()) (stop func()) {
	if !c.virtual {
		timer := time.AfterFunc(d, f)
		return func() { timer.Stop() }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarms.add(c.at.Add(d), &f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		f = func() {}
	}
}

// ring takes out what is to be called now, or nil.
func (c *Clock) ring() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, due := c.alarms.take(c.at); due {
		return *f
	}
	return nil
}

// nextAlarm is when the first one is due.
func (c *Clock) nextAlarm() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alarms.next()
}

// Settle does everything that is due now, until nothing is left: messages that have
// arrived are received. It does not wait for what clients have sent, and leaves frozen
// nodes alone.
func (t *Topology) Settle() {
	ticked := make(map[*Node]bool)
	for again := true; again; {
		again = false
		for f := t.clock.ring(); f != nil; f = t.clock.ring() {
			f()
			again = true
		}
		for _, n := range t.nodes {
			if n.frozen.Load() {
				continue
			}
			again = n.inbox.pump(n.deliver) || again
			if n.next().by(t.clock.Now()) && !ticked[n] {
				ticked[n] = true // once: what is due again at once waits for the next millisecond
				n.tick()
				again = true
			}
		}
	}
}

// nextEvent is when something falls due next.
func (t *Topology) nextEvent() (at time.Time, ok bool) {
	sooner := func(other time.Time) {
		if !ok || other.Before(at) {
			at, ok = other, true
		}
	}
	now := t.clock.Now()
	if alarm, some := t.clock.nextAlarm(); some {
		sooner(alarm)
	}
	for _, n := range t.nodes {
		if n.frozen.Load() {
			continue
		}
		if arrival, some := n.inbox.next(); some {
			sooner(arrival)
		}
		if due := n.next(); due.by(now) {
			sooner(now.Add(time.Millisecond))
		} else if due.some {
			sooner(due.at)
		}
	}
	return at, ok
}

// deadline is when a node has something to do next, by the topology's clock.
type deadline struct {
	at   time.Time
	some bool
}

// by reports whether that is now.
func (d *deadline) by(now time.Time) bool { return d.some && !d.at.After(now) }

// deadline asks the process. It is called under the server's gate.
func (n *Node) deadline() *deadline {
	d := &deadline{at: n.clock.base.Now()} // before: rather too early than too late
	wait, some := n.process.NextDeadline()
	if d.some = some; wait > 0 {
		d.at = d.at.Add(n.clock.trueTime(wait))
	}
	return d
}

// next is when the node has something to do next. As the process changes only when it is
// used, it is asked after each use; who sets its clock has it tick then.
func (n *Node) next() *deadline {
	if n.due.Load() == nil {
		n.Try(func(cluster.Process) {}) // afterUse asks
	}
	if d := n.due.Load(); d != nil && !n.down.Load() {
		return d
	}
	return &deadline{}
}

// tick does what is due on the node.
func (n *Node) tick() {
	n.Try(func(p cluster.Process) {
		n.ticking = true
		p.Tick()
	})
}
