package topology

import (
	"fmt"
	"strings"
	"time"

	"minikv/cluster"
)

// rule concerns the next messages from one node to another.
type rule struct {
	direction
	left int
	drop bool
	late time.Duration
}

// fate is what the rule does to messages.
func (r rule) fate() string {
	if r.drop {
		return "lost"
	}
	return "late by " + r.late.String()
}

// misfortune says what a rule has in store for m, and counts it: whether it gets lost, or how late it comes.
func (w *network) misfortune(m cluster.Message) (lost bool, late time.Duration) {
	for i, r := range w.rules {
		if r.direction != (direction{m.From, m.To}) {
			continue
		}
		if r.left--; r.left == 0 {
			w.rules = append(w.rules[:i], w.rules[i+1:]...)
		}
		return r.drop, r.late
	}
	return false, 0
}

// Partition cuts every connection between the nodes named in a and those named in b, in
// both directions: what they send each other waits until Heal. It returns an error for an
// unknown name, an empty side, or a node on both sides.
func (t *Topology) Partition(a, b []string) error { return t.cut(a, b, true) }

// PartitionOneWay cuts only what the nodes named in from send to those named in to; see
// Partition.
func (t *Topology) PartitionOneWay(from, to []string) error { return t.cut(from, to, false) }

func (t *Topology) cut(a, b []string, both bool) error {
	var cuts []direction
	for _, one := range a {
		for _, other := range b {
			from, err := t.named(one)
			if err != nil {
				return err
			}
			to, err := t.named(other)
			if err != nil {
				return err
			}
			if from == to {
				return fmt.Errorf("topology: partition: %s is on both sides", from.name)
			}
			cuts = append(cuts, direction{from.id, to.id})
			if both {
				cuts = append(cuts, direction{to.id, from.id})
			}
		}
	}
	if len(cuts) == 0 {
		return fmt.Errorf("topology: partition: expected names on both sides")
	}
	verb := "are cut off from"
	if !both {
		verb = "no longer reach"
	}
	t.note(Event{Kind: NodeEvent, Text: strings.Join(a, ", ") + " " + verb + " " + strings.Join(b, ", ")})
	w := t.network
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range cuts {
		w.cuts[c]++
	}
	return nil
}

func (t *Topology) named(name string) (*Node, error) {
	if n := t.Node(name); n != nil {
		return n, nil
	}
	first, last := t.nodes[0].name, t.nodes[len(t.nodes)-1].name
	if first == last {
		return nil, fmt.Errorf("topology: unknown node %q: the only one is %s", name, first)
	}
	return nil, fmt.Errorf("topology: unknown node %q: the nodes are %s to %s", name, first, last)
}

// Heal ends all partitions and delivers what has waited.
func (t *Topology) Heal() {
	t.note(Event{Kind: NodeEvent, Text: "all partitions end"})
	t.network.mu.Lock()
	clear(t.network.cuts)
	t.network.mu.Unlock()
	t.network.flush(func(pipeName) bool { return true })
}

// HoldReplication keeps back what masters send this replica until ReleaseReplication. It
// may be called while the node is down; it then counts once the node is a replica again.
// It returns an error if the node is no replica.
func (n *Node) HoldReplication() error {
	replica := true
	n.Try(func(p cluster.Process) {
		m, ok := p.(*cluster.Member)
		replica = ok && m.Node().IsReplica()
	})
	if !replica {
		return fmt.Errorf("topology: hold %s: expected a replica", n.name)
	}
	n.noteNode("gets nothing from its master any more")
	w := n.topology.network
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[n.id] = true
	return nil
}

// ReleaseReplication delivers what HoldReplication has kept back.
func (n *Node) ReleaseReplication() {
	n.noteNode("gets what was kept back")
	w := n.topology.network
	w.mu.Lock()
	delete(w.held, n.id)
	w.mu.Unlock()
	w.flush(func(name pipeName) bool { return name.to == n.id })
}

// Drop loses the next count messages, at least 1, from one node to another. They and what
// follows them arrive a second later, as over TCP, which does not let anything arrive
// twice either. To drop or duplicate what a client sends, use Inject.
func (t *Topology) Drop(from, to string, count int) error {
	return t.rule(from, to, rule{left: count, drop: true})
}

// Delay delays each of the next count messages, at least 1, from one node to another.
func (t *Topology) Delay(from, to string, count int, by time.Duration) error {
	return t.rule(from, to, rule{left: count, late: by})
}

func (t *Topology) rule(from, to string, r rule) error {
	if r.late < 0 {
		return fmt.Errorf("topology: delay %v: expected at least 0", r.late)
	}
	if r.left < 1 {
		return fmt.Errorf("topology: %d messages: expected at least 1", r.left)
	}
	a, err := t.named(from)
	if err != nil {
		return err
	}
	b, err := t.named(to)
	if err != nil {
		return err
	}
	if a == b {
		return fmt.Errorf("topology: expected two nodes: %s sends itself no messages", a.name)
	}
	r.direction = direction{a.id, b.id}
	t.note(Event{Kind: NodeEvent, Text: fmt.Sprintf("the next %d messages from %s to %s: %s", r.left, from, to, r.fate())})
	w := t.network
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = append(w.rules, &r)
	return nil
}

// SetClockOffset puts the node's wall clock ahead of the topology's clock by d, or behind
// it if d is negative. It replaces what was set before, also by Clock.Jump.
func (n *Node) SetClockOffset(d time.Duration) {
	n.noteNode("has its wall clock set %v ahead", d)
	n.clock.setOffset(d)
	n.tick()
}

// SetClockRate makes the node's clocks run rate times as fast as the topology's clock; 1
// is normal. It returns an error unless rate is more than 0.
func (n *Node) SetClockRate(rate float64) error {
	if !(rate > 0) {
		return fmt.Errorf("topology: clock rate %v: expected more than 0", rate)
	}
	n.noteNode("has clocks %v times as fast", rate)
	n.clock.setRate(rate)
	n.tick()
	return nil
}
