package cluster

import "minikv/internal/slot"

// slotSet is a set of slots.
type slotSet [slot.Count / 64]uint64

var noSlots slotSet

func (s *slotSet) has(number int) bool { return s[number/64]&(1<<(number%64)) != 0 }
func (s *slotSet) add(number int)      { s[number/64] |= 1 << (number % 64) }
func (s *slotSet) remove(number int)   { s[number/64] &^= 1 << (number % 64) }

// slotRange is the slots from first to last.
type slotRange struct{ first, last int }

// ranges lists the slots of a set, in order.
func (s *slotSet) ranges() []slotRange {
	var list []slotRange
	for number := 0; number < slot.Count; number++ {
		if s[number/64] == 0 {
			number += 63 - number%64
			continue
		}
		if !s.has(number) {
			continue
		}
		if n := len(list); n > 0 && list[n-1].last == number-1 {
			list[n-1].last = number
		} else {
			list = append(list, slotRange{number, number})
		}
	}
	return list
}

// slotTable says who serves each slot. Nodes are named by their seats, which
// keeps the table small.
type slotTable struct {
	owner     [slot.Count]seat
	migrating map[int]*peer // slots of this node that are on their way to another
	importing map[int]*peer // slots that are on their way to this node
	// disowned are slots that the node they are bound to has ceased to claim: whoever claims
	// one gets it, with any epoch. nil: none yet.
	disowned *slotSet
}

// seat numbers the nodes that a node knows; 0 is nobody's. It is used again
// when its node was forgotten.
type seat uint16

// owner is who serves a slot, or nil.
func (b *busNode) owner(number int) *peer { return b.seats[b.slots.owner[number]] }

// unclaimed reports whether a slot is nobody's, or its owner has ceased to claim it.
// Source: isSlotUnclaimed of Redis 7.0.15.
func (t *slotTable) unclaimed(number int) bool {
	return t.owner[number] == 0 || t.disowned != nil && t.disowned.has(number)
}

// disown notes that the owner of a slot has ceased to claim it.
func (t *slotTable) disown(number int) {
	if t.disowned == nil {
		t.disowned = &slotSet{}
	}
	t.disowned.add(number)
}

// claim notes that the owner of a slot claims it.
func (t *slotTable) claim(number int) {
	if t.disowned != nil {
		t.disowned.remove(number)
	}
}

// addSlot binds a slot to a node, if it is free.
// Source: clusterAddSlot of Redis 7.0.
func (b *busNode) addSlot(p *peer, number int) {
	if b.slots.owner[number] != 0 {
		return
	}
	b.slots.owner[number] = p.seat
	p.ownSlots()
	p.slots.add(number)
	p.slotCount++
	if p.slotCount == 1 && b.anyReplicas() {
		p.flags |= flagMigrateTo
	}
}

// deleteSlot frees a slot, and ends the subscriptions to its channels if this node
// serves it for its owner, or is a replica of that.
// Source: clusterDelSlot of Redis 7.0.
func (b *busNode) deleteSlot(number int) {
	p := b.owner(number)
	if p == nil {
		return
	}
	if p == b.self || p == b.self.master {
		b.node().UnsubscribeSlot(number)
	}
	b.slots.owner[number] = 0
	p.ownSlots()
	p.slots.remove(number)
	p.slotCount--
}

// deleteSlotsOf frees all slots of a node.
func (b *busNode) deleteSlotsOf(p *peer) {
	if p.slotCount == 0 {
		return
	}
	for number := 0; number < slot.Count; number++ {
		if b.slots.owner[number] == p.seat {
			b.deleteSlot(number)
		}
	}
}

// closeSlots ends all migrations.
func (b *busNode) closeSlots() {
	clear(b.slots.migrating)
	clear(b.slots.importing)
}

// anyReplicas reports whether any master has replicas: one that gets its first
// slot may then be given some.
// Source: clusterMastersHaveSlaves of Redis 7.0.
func (b *busNode) anyReplicas() bool {
	for _, p := range b.peers {
		if !p.isReplica() && len(p.replicas) > 0 {
			return true
		}
	}
	return false
}

// claimSlots believes a master that claims slots with an epoch, as far as
// nobody claims them with a greater one, and notes which of its slots it has
// ceased to claim. This node may lose all its slots by that, or its master may:
// then it follows the new owner.
// Source: clusterUpdateSlotsConfigWith of Redis 7.0.
func (b *busNode) claimSlots(sender *peer, epoch uint64, claimed *slotSet) {
	if sender == b.self {
		return
	}
	mine := b.self
	if b.self.isReplica() {
		mine = b.self.master
	}
	count, taken := 0, 0 // how many it claims, and of how many of mine it becomes the owner
	var orphaned []int   // of this node, with keys
	for number := 0; number < slot.Count; number++ {
		owner := b.owner(number)
		if !claimed.has(number) {
			if owner == sender { // it stays bound, so that clients are not told that nobody serves it
				b.slots.disown(number)
			}
			continue
		}
		count++
		if owner == sender {
			b.slots.claim(number)
			continue
		}
		if b.slots.importing[number] != nil || !b.slots.unclaimed(number) && owner.configEpoch >= epoch {
			continue
		}
		if owner == b.self && b.keysInSlot(number) > 0 {
			orphaned = append(orphaned, number)
		}
		if owner != nil && owner == mine {
			taken++
		}
		b.deleteSlot(number)
		b.addSlot(sender, number)
		b.slots.claim(number)
		b.stateStale = true
	}
	second := (*peer)(nil) // the master of this node's master
	if b.self.master != nil {
		second = b.self.master.master
	}
	switch {
	case taken > 0 && mine.slotCount == 0 && (b.yes("cluster-allow-replica-migration") || count == taken):
		b.log(levelWarning, "Configuration change detected. Reconfiguring myself as a replica of "+sender.name)
		b.follow(sender)
	case second != nil && second != b.self:
		b.log(levelWarning, "I'm a sub-replica! Reconfiguring myself from "+b.self.master.name+" to "+second.name)
		b.follow(second)
	default:
		for _, number := range orphaned {
			b.node().RemoveSlot(number)
		}
	}
}

func (b *busNode) keysInSlot(number int) int { return b.node().Keyspace().DB(0).CountInSlot(number) }
