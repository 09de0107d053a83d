package cluster

import (
	"slices"
	"strings"
)

// nodeFlags are what a node knows of another, or of itself.
type nodeFlags uint16

const (
	flagSelf       nodeFlags = 1 << iota
	flagMaster               // a master
	flagReplica              // a replica
	flagPFail                // this node finds it silent
	flagFail                 // the majority of the masters finds it silent
	flagHandshake            // it was not heard of yet; its name is made up
	flagNoAddr               // nobody knows where it listens
	flagMeet                 // the first packet to it must be a MEET
	flagMigrateTo            // a master that may be given replicas of others
	flagNoFailover           // a replica that does not want to be elected
)

// flagNames are the flags as CLUSTER NODES shows them, in its order.
var flagNames = []struct {
	flag nodeFlags
	name string
}{
	{flagSelf, "myself"}, {flagMaster, "master"}, {flagReplica, "slave"}, {flagPFail, "fail?"}, {flagFail, "fail"},
	{flagHandshake, "handshake"}, {flagNoAddr, "noaddr"}, {flagNoFailover, "nofailover"},
}

func (f nodeFlags) String() string {
	var names []string
	for _, one := range flagNames {
		if f&one.flag != 0 {
			names = append(names, one.name)
		}
	}
	if names == nil {
		return "noflags"
	}
	return strings.Join(names, ",")
}

// peer is one node of the cluster as this node sees it, itself included. Times
// are Unix milliseconds by the clock of this node, 0 standing for never.
// Source: clusterNode of Redis 7.0.
type peer struct {
	name        string // 40 hexadecimal digits
	seat        seat
	flags       nodeFlags
	configEpoch uint64
	slots       *slotSet
	slotsShared bool // a packet points to slots; see ownSlots
	slotCount   int
	master      *peer // of a replica; nil: unknown
	replicas    []*peer

	host    string // "": unknown
	port    int
	busPort int
	address string // host:port

	hostname string // that it has announced, for clients

	link    *busLink // that this node has dialed
	inbound *busLink // that the other node has dialed

	created        int64
	pingSent       int64 // 0: the latest PING was answered
	pongReceived   int64
	dataReceived   int64
	failedAt       int64 // since when it has been flagged FAIL
	votedAt        int64 // when this node voted for a replica of it
	orphanedAt     int64 // since when it has had no working replica
	replOffset     int64 // that it has announced
	gossipedInPing uint64
	reports        []failReport
}

// failReport is a master's word that a node is silent.
type failReport struct {
	by *peer
	at int64
}

// busLink is one connection of the bus.
type busLink struct {
	conn    Conn
	to      ID
	created int64 // Unix milliseconds
	peer    *peer // nil: inbound, and not known yet
	answers bool  // something has come over it: it is not on its way to be refused
}

// connected reports whether the node has answered over the present link.
func (p *peer) connected() bool { return p.link != nil && p.link.answers }

func (p *peer) isReplica() bool   { return p.flags&flagReplica != 0 }
func (p *peer) isMaster() bool    { return p.flags&flagMaster != 0 }
func (p *peer) inHandshake() bool { return p.flags&flagHandshake != 0 }
func (p *peer) timedOut() bool    { return p.flags&flagPFail != 0 }
func (p *peer) failed() bool      { return p.flags&flagFail != 0 }

// head is the node itself or, for a replica, its master, if that is known.
func (p *peer) head() *peer {
	if p.isReplica() && p.master != nil {
		return p.master
	}
	return p
}

// ownSlots makes the set of slots one that no packet points to.
func (p *peer) ownSlots() {
	if p.slotsShared {
		own := *p.slots
		p.slots, p.slotsShared = &own, false
	}
}

// shareSlots is the set of slots for a packet.
func (p *peer) shareSlots() *slotSet {
	p.slotsShared = true
	return p.slots
}

func (p *peer) setAddress(host string, port, busPort int) {
	p.host, p.port, p.busPort = host, port, busPort
	p.address = joinAddress(host, port)
}

// addReplica and removeReplica keep the list of a master's replicas.
func (p *peer) addReplica(replica *peer) {
	if !slices.Contains(p.replicas, replica) {
		p.replicas = append(p.replicas, replica)
		p.flags |= flagMigrateTo
	}
}

func (p *peer) removeReplica(replica *peer) {
	if !slices.Contains(p.replicas, replica) {
		return
	}
	if p.replicas = without(p.replicas, replica); len(p.replicas) == 0 {
		p.flags &^= flagMigrateTo
	}
}

// workingReplicas counts those that nobody takes to have failed.
func (p *peer) workingReplicas() int {
	count := 0
	for _, r := range p.replicas {
		if !r.failed() {
			count++
		}
	}
	return count
}

// setMaster turns a node into a master.
// Source: clusterSetNodeAsMaster of Redis 7.0.
func (b *busNode) setMaster(p *peer) {
	if p.isMaster() {
		return
	}
	if p.master != nil {
		p.master.removeReplica(p)
		if p != b.self {
			p.flags |= flagMigrateTo
		}
	}
	p.flags = p.flags&^flagReplica | flagMaster
	p.master = nil
	b.stateStale = true
}

// addPeer makes a node known. An empty name is made up until the node tells its own.
func (b *busNode) addPeer(name string, flags nodeFlags) *peer {
	if name == "" {
		name = randomID(b.m.random)
	}
	p := &peer{name: name, flags: flags, slots: &noSlots, slotsShared: true, created: b.now()}
	for at := 1; ; at++ { // seat 0 stays nil
		if at == len(b.seats) {
			b.seats = append(b.seats, nil)
		}
		if b.seats[at] == nil {
			p.seat = seat(at)
			b.seats[at] = p
			break
		}
	}
	b.peers = append(b.peers, p)
	b.byName[name] = p
	return p
}

// rename gives a node its own name after the handshake.
func (b *busNode) rename(p *peer, name string) {
	delete(b.byName, p.name)
	p.name = name
	b.byName[name] = p
}

// deletePeer forgets a node: its slots are free, its replicas have no master.
// Source: clusterDelNode of Redis 7.0.
func (b *busNode) deletePeer(p *peer) {
	for number, other := range b.slots.importing { //tidy:unordered each is looked at by itself
		if other == p {
			delete(b.slots.importing, number)
		}
	}
	for number, other := range b.slots.migrating { //tidy:unordered each is looked at by itself
		if other == p {
			delete(b.slots.migrating, number)
		}
	}
	b.deleteSlotsOf(p)
	for _, other := range b.peers {
		other.withdraw(p)
		if other.master == p {
			other.master = nil
		}
	}
	if p.master != nil {
		p.master.removeReplica(p)
	}
	b.hangUp(p)
	if p.inbound != nil {
		b.post().Close(p.inbound.to, p.inbound.conn)
		b.forgetInbound(p.inbound)
	}
	b.peers = without(b.peers, p)
	delete(b.byName, p.name)
	b.seats[p.seat] = nil
}

// report notes that a master finds the node silent. It reports whether that is new.
func (p *peer) report(by *peer, now int64) bool {
	for i := range p.reports {
		if p.reports[i].by == by {
			p.reports[i].at = now
			return false
		}
	}
	p.reports = append(p.reports, failReport{by, now})
	return true
}

// withdraw takes the word of a node back. It reports whether there was one.
func (p *peer) withdraw(by *peer) bool {
	for i := range p.reports {
		if p.reports[i].by == by {
			p.reports = slices.Delete(p.reports, i, i+1)
			return true
		}
	}
	return false
}

// freshReports counts the reports that are not older than twice the node timeout.
func (b *busNode) freshReports(p *peer) int {
	oldest := b.now() - 2*b.timeout()
	p.reports = slices.DeleteFunc(p.reports, func(r failReport) bool { return r.at < oldest })
	return len(p.reports)
}
