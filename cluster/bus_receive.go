package cluster

import "minikv/internal/slot"

// receive takes a packet that has come over a link.
// Source: clusterProcessPacket of Redis 7.0.
func (b *busNode) receive(l *busLink, msg *packet) {
	b.received[msg.kind]++
	sender := b.senderOf(l, msg)
	if sender != nil {
		sender.dataReceived = b.now()
		if !sender.inHandshake() {
			b.hear(sender, msg)
		}
	}
	switch msg.kind {
	case pingPacket, meetPacket:
		b.answer(l, sender, msg)
		b.configuration(l, sender, msg)
		return
	case pongPacket:
		b.configuration(l, sender, msg)
		return
	}
	if sender == nil {
		return
	}
	switch msg.kind {
	case failPacket:
		if failing := b.byName[msg.about]; failing != nil && failing.flags&(flagFail|flagSelf) == 0 {
			b.log(levelNotice, "FAIL message received from "+sender.name+" about "+failing.name)
			b.setFailed(failing)
		}
	case publishPacket:
		b.node().Publish(msg.channel, msg.message)
	case publishShardPacket:
		b.node().PublishShard(msg.channel, msg.message)
	case authRequestPacket:
		b.election.vote(sender, msg)
	case authAckPacket:
		b.election.voted(sender, msg)
	case manualStartPacket:
		b.manual.requested(l, sender)
	case updatePacket:
		b.update(msg)
	}
}

// senderOf finds the node that has sent a packet, or nil.
func (b *busNode) senderOf(l *busLink, msg *packet) *peer {
	if l.peer != nil && !l.peer.inHandshake() {
		return l.peer
	}
	sender := b.byName[msg.sender]
	if sender != nil && l.peer == nil {
		b.isInbound(l, sender)
	}
	return sender
}

// hear takes what every packet says about epochs and the replication offset.
func (b *busNode) hear(sender *peer, msg *packet) {
	b.currentEpoch = max(b.currentEpoch, msg.currentEpoch)
	sender.configEpoch = max(sender.configEpoch, msg.configEpoch)
	sender.replOffset = msg.offset
	b.manual.offsetOf(sender, msg)
}

// answer replies to PING and MEET, and begins a handshake with a stranger that
// wants to be met.
func (b *busNode) answer(l *busLink, sender *peer, msg *packet) {
	if b.self.host == "" || msg.kind == meetPacket {
		host, port := b.m.dir.Endpoint(b.m.ID())
		b.self.setAddress(host, port, b.self.busPort)
	}
	if sender == nil && msg.kind == meetPacket {
		p := b.addPeer("", flagHandshake)
		p.setAddress(msg.host, msg.port, msg.busPort)
		b.readGossip(l, msg)
	}
	b.sendGossip(l, pongPacket)
}

// configuration takes what PING, PONG and MEET say about roles and slots.
func (b *busNode) configuration(l *busLink, sender *peer, msg *packet) {
	if b.outbound(l) && !b.introduced(l, sender, msg) {
		return
	}
	if sender != nil {
		sender.flags = sender.flags&^flagNoFailover | msg.flags&flagNoFailover
	}
	if sender != nil && msg.kind == pingPacket && !sender.inHandshake() {
		b.updateAddress(l, sender, msg)
	}
	if b.outbound(l) && msg.kind == pongPacket {
		b.ponged(l.peer)
	}
	if sender == nil {
		return
	}
	b.updateRole(sender, msg)
	b.updateSlots(sender, msg)
	if msg.configEpoch == b.self.configEpoch {
		b.resolveCollision(sender)
	}
	sender.hostname = msg.hostname
	b.readGossip(l, msg)
}

// introduced completes the handshake over a link that this node has dialed, and
// notices when somebody else answers. It returns false when the link is gone.
func (b *busNode) introduced(l *busLink, sender *peer, msg *packet) bool {
	switch p := l.peer; {
	case p.inHandshake() && sender != nil: // it is known already
		b.updateAddress(l, sender, msg)
		b.deletePeer(p)
		return false
	case p.inHandshake():
		b.rename(p, msg.sender)
		p.flags = p.flags&^flagHandshake | msg.flags&(flagMaster|flagReplica)
	case p.name != msg.sender:
		p.flags |= flagNoAddr
		p.setAddress("", 0, 0)
		b.hangUp(p)
		return false
	}
	return true
}

// updateAddress follows a node that listens elsewhere now.
// Source: nodeUpdateAddressIfNeeded of Redis 7.0.
func (b *busNode) updateAddress(l *busLink, sender *peer, msg *packet) {
	if b.outbound(l) && l.peer == sender || sender.host == msg.host && sender.port == msg.port &&
		sender.busPort == msg.busPort {
		return
	}
	sender.setAddress(msg.host, msg.port, msg.busPort)
	b.hangUp(sender)
	sender.flags &^= flagNoAddr
	if b.self.isReplica() && b.self.master == sender {
		b.m.Follow(sender.host, sender.port)
	}
}

// ponged notes that a node has answered.
func (b *busNode) ponged(p *peer) {
	p.pongReceived, p.pingSent = b.now(), 0
	switch {
	case p.timedOut():
		p.flags &^= flagPFail
		b.stateStale = true
	case p.failed():
		b.clearFailing(p)
	}
}

// updateRole follows a node that has become a master, or a replica of another one.
func (b *busNode) updateRole(sender *peer, msg *packet) {
	if msg.master == "" {
		b.setMaster(sender)
		return
	}
	if sender.isMaster() {
		b.deleteSlotsOf(sender)
		sender.flags = sender.flags&^(flagMaster|flagMigrateTo) | flagReplica
		b.stateStale = true
	}
	master := b.byName[msg.master]
	if master == nil || sender.master == master {
		return
	}
	if sender.master != nil {
		sender.master.removeReplica(sender)
	}
	master.addReplica(sender)
	sender.master = master
}

// updateSlots believes a master's claim to slots, or tells the sender of a
// claim who has a greater one.
func (b *busNode) updateSlots(sender *peer, msg *packet) {
	head := sender
	if !sender.isMaster() {
		head = sender.master
	}
	if head == nil || head.slots == msg.slots || *head.slots == *msg.slots {
		return
	}
	if sender.isMaster() {
		b.claimSlots(sender, msg.configEpoch, msg.slots)
	}
	for number := 0; number < slot.Count; number++ {
		if !msg.slots.has(number) || b.slots.unclaimed(number) {
			continue
		}
		if owner := b.owner(number); owner != sender && owner.configEpoch > msg.configEpoch {
			b.sendUpdate(sender, owner)
			return
		}
	}
}

// update takes an UPDATE: another master serves slots that this node has claimed.
func (b *busNode) update(msg *packet) {
	p := b.byName[msg.about]
	if p == nil || p.configEpoch >= msg.aboutEpoch {
		return
	}
	b.setMaster(p)
	p.configEpoch = msg.aboutEpoch
	b.claimSlots(p, msg.aboutEpoch, msg.aboutSlots)
}

// readGossip takes what a node says about others.
// Source: clusterProcessGossipSection of Redis 7.0.
func (b *busNode) readGossip(l *busLink, msg *packet) {
	sender := l.peer
	if sender == nil {
		sender = b.byName[msg.sender]
	}
	for _, g := range msg.gossip {
		p := b.byName[g.name]
		if p == nil {
			if sender != nil && g.flags&flagNoAddr == 0 && !b.isForgotten(g.name) {
				b.addPeer(g.name, g.flags&^flagSelf).setAddress(g.host, g.port, g.busPort)
			}
			continue
		}
		b.rumour(sender, p, g)
	}
}

// rumour is what sender (nil: a stranger) says about a node that this one knows.
func (b *busNode) rumour(sender, p *peer, g gossip) {
	bad := g.flags&(flagFail|flagPFail) != 0
	if sender != nil && sender.isMaster() && p != b.self {
		switch {
		case bad:
			if p.report(sender, b.now()) {
				b.log(levelVerbose, "Node "+sender.name+" reported node "+p.name+" as not reachable.")
			}
			b.markFailing(p)
		case p.withdraw(sender):
			b.log(levelVerbose, "Node "+sender.name+" reported node "+p.name+" is back online.")
		}
	}
	if !bad && p.flags&(flagFail|flagPFail) == 0 && p.pingSent == 0 && b.freshReports(p) == 0 {
		if at := g.pongReceived * 1000; at <= b.now()+500 && at > p.pongReceived {
			p.pongReceived = at
		}
	}
	moved := p.host != g.host || p.port != g.port || p.busPort != g.busPort
	if p.flags&(flagFail|flagPFail) != 0 && !bad && g.flags&flagNoAddr == 0 && moved {
		b.hangUp(p)
		p.setAddress(g.host, g.port, g.busPort)
		p.flags &^= flagNoAddr
	}
}

// isForgotten reports whether CLUSTER FORGET keeps a node out.
func (b *busNode) isForgotten(name string) bool {
	now := b.now()
	kept := b.forgotten[:0]
	found := false
	for _, f := range b.forgotten {
		if f.until >= now {
			kept = append(kept, f)
			found = found || f.name == name
		}
	}
	b.forgotten = kept
	return found
}
