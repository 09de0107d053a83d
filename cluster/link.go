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
	life            int   // counts the connections: nothing that was sent in an earlier one counts
	started         bool  // the copy with which a connection begins was taken
	sent            int64 // the master's offset up to which effects were taken
}

// NewLink makes replica follow master, which it knows by the host name. id
// tells the master's replicas apart. The first Take brings a full copy.
func NewLink(master, replica *engine.Node, host string, id int) *Link {
	replica.BecomeReplica(host, defaultPort)
	l := &Link{master: master, replica: replica, id: id}
	l.Reset()
	return l
}

// defaultPort is where a replica believes its master to listen.
const defaultPort = 6379

// Reset connects anew, as after a restart of either end: the next Take brings
// a full copy.
func (l *Link) Reset() {
	l.life++
	l.started = false
	l.replica.SetMasterLink(false)
	l.master.AddReplica(l.id)
}

// End disconnects for good: what is on its way will not count.
func (l *Link) End() {
	l.life++
	l.master.RemoveReplica(l.id)
}

// Pending reports whether there is something to take.
func (l *Link) Pending() bool { return !l.started || l.sent < l.master.Offset() }

// Batch is what travels on a link: effects, or a copy of everything.
type Batch struct {
	life       int
	effects    []byte
	copy       *engine.Snapshot
	from, upTo int64 // of the master's offset
}

// Take returns what the replica has not been sent yet.
func (l *Link) Take() Batch {
	b := Batch{life: l.life, from: l.sent, upTo: l.master.Offset()}
	effects, ok := l.master.EffectsSince(l.sent)
	if l.started && ok {
		b.effects = effects
	} else {
		b.copy = l.master.Snapshot()
		l.started = true
	}
	l.sent = b.upTo
	return b
}

// Lost tells that b, and what was taken after it, will not be delivered: it is
// pending again.
func (l *Link) Lost(b Batch) {
	if b.life != l.life {
		return
	}
	l.sent = b.from
	l.started = l.started && b.copy == nil
}

// Ack says how far a replica is.
type Ack struct {
	life   int
	Offset int64 // of its master's
}

// Deliver applies a batch to the replica and returns what to acknowledge.
// Batches must arrive in the order in which they were taken; ok is false for
// one of an earlier connection, which is void.
func (l *Link) Deliver(b Batch) (ack Ack, ok bool, err error) {
	if b.life != l.life {
		return Ack{}, false, nil
	}
	if b.copy != nil {
		l.replica.LoadSnapshot(b.copy)
		l.replica.SetMasterLink(true)
	} else if err := l.replica.Apply(b.effects); err != nil {
		return Ack{}, false, fmt.Errorf("cluster: replicate to %d: %w", l.id, err)
	}
	return Ack{l.life, b.upTo}, true, nil
}

// Latest reports whether a says how far the replica is now.
func (l *Link) Latest(a Ack) bool { return a.life == l.life && a.Offset == l.replica.Offset() }

// Acked tells the master how far the replica is.
func (l *Link) Acked(a Ack) {
	if a.life == l.life {
		l.master.Ack(l.id, a.Offset)
	}
}
