package cluster

import (
	"fmt"

	"minikv/server/engine"
)

// Link is the replication link from a master to one replica. The shell takes
// the effects that were not sent yet, delivers them late, in order, or not at
// all, and brings the acknowledged offset back.
type Link struct {
	master, replica *engine.Node
	id              int
	sent            int64 // the master's offset up to which effects were taken
	applied         int64 // the same, applied by the replica
	started         bool
}

// NewLink attaches replica to master. id tells the master's replicas apart.
// The first Take brings a full copy.
func NewLink(master, replica *engine.Node, id int) *Link {
	replica.BecomeReplica("", 0)
	master.AddReplica(id)
	return &Link{master: master, replica: replica, id: id}
}

// Master is the node that the effects come from.
func (l *Link) Master() *engine.Node { return l.master }

// Reset makes the next delivery a full copy, as after a restart of either end.
func (l *Link) Reset() { l.started = false }

// Pending reports whether there is something to take.
func (l *Link) Pending() bool { return !l.started || l.sent < l.master.Offset() }

// Batch is what travels on a link: effects, or a copy of everything.
type Batch struct {
	effects []byte
	copy    *engine.Snapshot
	upTo    int64 // the master's offset at its end
}

// Take returns what the replica has not been sent yet.
func (l *Link) Take() Batch {
	b := Batch{upTo: l.master.Offset()}
	effects, ok := l.master.EffectsSince(l.sent)
	if l.started && ok {
		b.effects = append([]byte(nil), effects...)
	} else {
		b.copy = l.master.Snapshot()
		l.started = true
	}
	l.sent = b.upTo
	return b
}

// Deliver applies a batch to the replica and returns the offset to
// acknowledge. Batches must arrive in the order in which they were taken.
func (l *Link) Deliver(b Batch) (offset int64, err error) {
	if b.copy != nil {
		l.replica.LoadSnapshot(b.copy)
	} else if err := l.replica.Apply(b.effects); err != nil {
		return 0, fmt.Errorf("cluster: replicate to %d: %w", l.id, err)
	}
	l.applied = b.upTo
	return l.applied, nil
}

// Acked tells the master how far the replica is.
func (l *Link) Acked(offset int64) { l.master.Ack(l.id, offset) }
