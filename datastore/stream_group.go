package datastore

import (
	"slices"
	"strings"
)

// EntriesReadUnknown is the number of entries that a group has read if it is not known.
const EntriesReadUnknown = -1

// Group is a consumer group. It hands each entry to one of its consumers and remembers
// which entries are not acknowledged.
type Group struct {
	Name        string
	LastID      StreamID // of the last entry that was delivered
	EntriesRead int64    // or EntriesReadUnknown

	pending   idMap[*Pending]
	consumers []*Consumer // by name
}

// Consumer is a member of a group.
type Consumer struct {
	Name       string
	SeenMillis int64 // Unix milliseconds

	pending idMap[*Pending]
}

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	Consumer        *Consumer // nil until Group.Assign
	DeliveredMillis int64     // Unix milliseconds
	Deliveries      int64
}

// Groups returns the groups of the stream in order of their names.
func (s *StreamData) Groups() []*Group { return s.groups }

// Group returns the group of that name, nil if there is none.
func (s *StreamData) Group(name []byte) *Group {
	if at, ok := s.searchGroup(string(name)); ok {
		return s.groups[at]
	}
	return nil
}

// CreateGroup adds a group, whose name must be new.
func (s *StreamData) CreateGroup(name []byte, last StreamID, entriesRead int64) *Group {
	g := &Group{Name: string(name), LastID: last, EntriesRead: entriesRead}
	at, _ := s.searchGroup(g.Name)
	s.groups = slices.Insert(s.groups, at, g)
	return g
}

// DeleteGroup removes a group and reports whether it was there.
func (s *StreamData) DeleteGroup(name []byte) bool {
	at, ok := s.searchGroup(string(name))
	if ok {
		s.groups = slices.Delete(s.groups, at, at+1)
	}
	return ok
}

func (s *StreamData) searchGroup(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(s.groups, name, func(g *Group, name string) int {
		return strings.Compare(g.Name, name)
	})
}

// Consumers returns the consumers in order of their names.
func (g *Group) Consumers() []*Consumer { return g.consumers }

// Consumer returns the consumer of that name, nil if there is none.
func (g *Group) Consumer(name []byte) *Consumer {
	if at, ok := g.searchConsumer(string(name)); ok {
		return g.consumers[at]
	}
	return nil
}

// CreateConsumer adds a consumer, whose name must be new.
func (g *Group) CreateConsumer(name []byte, seenMillis int64) *Consumer {
	c := &Consumer{Name: string(name), SeenMillis: seenMillis}
	at, _ := g.searchConsumer(c.Name)
	g.consumers = slices.Insert(g.consumers, at, c)
	return c
}

// DeleteConsumer removes a consumer and what is pending with it.
func (g *Group) DeleteConsumer(c *Consumer) {
	c.EachPending(FirstStreamID, LastStreamID, func(id StreamID, _ *Pending) bool {
		g.pending.remove(id)
		return true
	})
	at, _ := g.searchConsumer(c.Name)
	g.consumers = slices.Delete(g.consumers, at, at+1)
}

func (g *Group) searchConsumer(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(g.consumers, name, func(c *Consumer, name string) int {
		return strings.Compare(c.Name, name)
	})
}

// PendingCount returns the number of entries that are not acknowledged.
func (g *Group) PendingCount() int { return g.pending.len() }

// PendingCount returns the number of entries that the consumer has not acknowledged.
func (c *Consumer) PendingCount() int { return c.pending.len() }

// Pending returns the pending entry with that ID, nil if there is none.
func (g *Group) Pending(id StreamID) *Pending {
	p, _ := g.pending.get(id)
	return p
}

// LastPending returns the greatest ID that is pending; there must be one.
func (g *Group) LastPending() StreamID {
	id, _ := g.pending.last()
	return id
}

// NewPending records that an entry, which must not be pending, was delivered once. Assign
// gives it to a consumer.
func (g *Group) NewPending(id StreamID, nowMillis int64) *Pending {
	p := &Pending{DeliveredMillis: nowMillis, Deliveries: 1}
	g.pending.set(id, p)
	return p
}

// Assign gives a pending entry to a consumer.
func (g *Group) Assign(id StreamID, p *Pending, c *Consumer) {
	if p.Consumer != c {
		if p.Consumer != nil {
			p.Consumer.pending.remove(id)
		}
		p.Consumer = c
		c.pending.set(id, p)
	}
}

// Acknowledge removes a pending entry and reports whether it was there.
func (g *Group) Acknowledge(id StreamID) bool {
	p, ok := g.pending.get(id)
	if ok {
		g.pending.remove(id)
		p.Consumer.pending.remove(id)
	}
	return ok
}

// EachPending visits the pending entries from one ID to another, both included, until
// visit returns false. The visit may acknowledge or assign the entry that it is given.
func (g *Group) EachPending(from, to StreamID, visit func(id StreamID, p *Pending) bool) {
	g.pending.each(from, to, visit)
}

// EachPending is Group.EachPending for the consumer's entries. The visit must not change
// which entries these are.
func (c *Consumer) EachPending(from, to StreamID, visit func(id StreamID, p *Pending) bool) {
	c.pending.each(from, to, visit)
}

// clone copies the group with its own consumers and pending entries.
func (g *Group) clone() *Group {
	c := &Group{Name: g.Name, LastID: g.LastID, EntriesRead: g.EntriesRead}
	for _, consumer := range g.consumers {
		own := &Consumer{Name: consumer.Name, SeenMillis: consumer.SeenMillis}
		c.consumers = append(c.consumers, own)
		consumer.EachPending(FirstStreamID, LastStreamID, func(id StreamID, p *Pending) bool {
			copied := *p
			copied.Consumer = nil
			c.pending.set(id, &copied)
			c.Assign(id, &copied, own)
			return true
		})
	}
	return c
}

// each visits the entries from one ID to another, both included, until visit
// returns false. The visit may remove the entry that it is shown.
func (m *idMap[V]) each(from, to StreamID, visit func(id StreamID, val V) bool) {
	for {
		id, val, ok := m.ceiling(from)
		if !ok || id.Compare(to) > 0 || !visit(id, val) {
			return
		}
		if from, ok = id.Next(); !ok {
			return
		}
	}
}
