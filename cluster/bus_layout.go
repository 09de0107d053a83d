package cluster

import (
	"fmt"

	"minikv/internal/slot"
)

// Layout is a cluster that is configured from the start: its nodes know each other, the
// slots are shared out as redis-cli --cluster create does it, and every replica has its
// master. In the directory masters come first, then the replicas of the first master,
// then those of the second one, and so on.
type Layout struct {
	dir   Directory
	plan  Plan
	names []string
	bus   BusConfig
}

// NewLayout plans a cluster of that many masters, each with that many replicas. random
// draws the names of the nodes. It returns an error if dir has another number of
// addresses.
func NewLayout(dir Directory, masters, replicas int, random func() uint64, cfg BusConfig) (*Layout, error) {
	if masters < 1 || replicas < 0 || masters > slot.Count {
		return nil, fmt.Errorf("cluster: %d masters with %d replicas each: not a cluster", masters, replicas)
	}
	plan := Plan{Masters: masters, Replicas: replicas, Cluster: true}
	if plan.Size() != len(dir) {
		return nil, fmt.Errorf("cluster: %d masters with %d replicas each are %d nodes, not %d",
			masters, replicas, plan.Size(), len(dir))
	}
	l := &Layout{dir: dir, plan: plan, bus: cfg}
	for range dir {
		l.names = append(l.names, randomID(random))
	}
	return l, nil
}

// slotsOf is the slots of a master.
// Source: clusterManagerCommandCreate of redis-cli 7.0.
func (l *Layout) slotsOf(id ID) slotRange {
	end := func(i int) int { return (2*i*slot.Count + l.plan.Masters) / (2 * l.plan.Masters) }
	return slotRange{end(int(id) - 1), end(int(id)) - 1}
}

// Bus makes the cluster's half of a member of the layout. It is for MemberConfig.Bus.
func (l *Layout) Bus(m *Member) ClusterBus {
	b := newBus(m, l.bus)
	b.rename(b.self, l.names[m.ID()-1])
	for i := range l.dir {
		l.introduce(b, ID(i+1))
	}
	for i := range l.dir {
		id := ID(i + 1)
		if master := l.plan.MasterOf(id); master != id {
			p := b.byName[l.names[i]]
			p.flags = p.flags&^flagMaster | flagReplica
			p.master = b.byName[l.names[master-1]]
			p.master.addReplica(p)
		}
	}
	b.currentEpoch = uint64(len(l.dir))
	b.size, b.state, b.firstCheck = l.plan.Masters, clusterOK, b.now()
	return b
}

// introduce makes a node known, with its slots.
func (l *Layout) introduce(b *busNode, id ID) {
	p := b.self
	if id != b.m.ID() {
		p = b.addPeer(l.names[id-1], flagMaster)
		p.pongReceived = b.now()
	}
	host, port := l.dir.Endpoint(id)
	p.setAddress(host, port, port+busPortOffset)
	p.configEpoch = uint64(id)
	if l.plan.MasterOf(id) == id {
		p.ownSlots()
		r := l.slotsOf(id)
		for number := r.first; number <= r.last; number++ {
			b.slots.owner[number] = p.seat
			p.slots.add(number)
		}
		p.slotCount = r.last - r.first + 1
	}
}
