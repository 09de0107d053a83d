package cluster

// header is what every packet says about its sender.
// Source: clusterBuildMessageHdr of Redis 7.0.
func (b *busNode) header(kind packetKind) *packet {
	head := b.self.head()
	host, _ := b.m.dir.Endpoint(b.m.ID())
	p := &packet{
		kind: kind, sender: b.self.name, host: host, port: b.self.port, busPort: b.self.busPort,
		flags: b.announcedFlags(), slots: head.shareSlots(),
		currentEpoch: b.currentEpoch, configEpoch: head.configEpoch,
		offset: b.node().Offset(),
		paused: b.self.isMaster() && b.manual.until != 0,
	}
	if b.self.master != nil {
		p.master = b.self.master.name
	}
	return p
}

// announcedFlags are this node's flags, cluster-replica-no-failover among them.
func (b *busNode) announcedFlags() nodeFlags {
	b.self.flags &^= flagNoFailover
	if b.yes("cluster-replica-no-failover") {
		b.self.flags |= flagNoFailover
	}
	return b.self.flags
}

// send puts a packet on a link.
func (b *busNode) send(l *busLink, p *packet) {
	b.sent[p.kind]++
	b.post().Send(l.to, l.conn, p)
}

// sendTo is send over the link that this node has dialed, if it is there.
func (b *busNode) sendTo(p *peer, msg *packet) {
	if p.link != nil {
		b.send(p.link, msg)
	}
}

// ping sends a PING and begins to wait for the PONG.
func (b *busNode) ping(p *peer) { b.sendGossip(p.link, pingPacket) }

// sendGossip sends a PING, PONG or MEET with news of some other nodes: a tenth
// of them, at least three, picked at random, and all that this node finds silent.
// Source: clusterSendPing of Redis 7.0.
func (b *busNode) sendGossip(l *busLink, kind packetKind) {
	b.pings++
	if kind == pingPacket && b.outbound(l) {
		l.peer.pingSent = b.now()
	}
	msg := b.header(kind)
	msg.hostname = b.hostname(b.self)
	fresh := len(b.peers) - 2 // but this node and the receiver
	wanted := min(max(len(b.peers)/10, 3), fresh)
	for tries := 3 * wanted; fresh > 0 && len(msg.gossip) < wanted && tries > 0; tries-- {
		p := b.peers[b.random(len(b.peers))]
		switch {
		case p == b.self, p.timedOut():
			continue
		case p.flags&(flagHandshake|flagNoAddr) != 0, p.link == nil && p.slotCount == 0:
			fresh--
			continue
		case p.gossipedInPing == b.pings:
			continue
		}
		p.gossipedInPing = b.pings
		msg.gossip = append(msg.gossip, p.gossip())
		fresh--
	}
	for _, p := range b.peers {
		if b.silent > 0 && p.timedOut() && p.flags&(flagHandshake|flagNoAddr) == 0 {
			msg.gossip = append(msg.gossip, p.gossip())
		}
	}
	b.send(l, msg)
}

// gossip is what this node says of another.
func (p *peer) gossip() gossip {
	return gossip{
		name: p.name, pongReceived: p.pongReceived / 1000,
		host: p.host, port: p.port, busPort: p.busPort, flags: p.flags,
	}
}

// broadcast sends a packet to every node that this one has a link to.
func (b *busNode) broadcast(msg *packet) {
	for _, p := range b.peers {
		if p.flags&(flagSelf|flagHandshake) == 0 {
			b.sendTo(p, msg)
		}
	}
}

// broadcastPong sends a PONG to all nodes, or to this node's siblings only.
// Source: clusterBroadcastPong of Redis 7.0.
func (b *busNode) broadcastPong(siblingsOnly bool) {
	for _, p := range b.peers {
		if p.link == nil || p.flags&(flagSelf|flagHandshake) != 0 {
			continue
		}
		if siblingsOnly && (!p.isReplica() || p.master == nil || p.master != b.self.master) {
			continue
		}
		b.sendGossip(p.link, pongPacket)
	}
}

// broadcastFail tells all nodes that the majority finds one silent.
func (b *busNode) broadcastFail(name string) {
	msg := b.header(failPacket)
	msg.about = name
	b.broadcast(msg)
}

// sendUpdate tells a node that somebody else serves slots that it claims.
func (b *busNode) sendUpdate(to, about *peer) {
	msg := b.header(updatePacket)
	msg.about, msg.aboutEpoch, msg.aboutSlots = about.name, about.configEpoch, about.shareSlots()
	b.sendTo(to, msg)
}

// publish sends a message to the subscribers of other nodes: of all, or, for a
// sharded channel, of those that serve the same slots as this one.
// Source: clusterPropagatePublish of Redis 7.0.
func (b *busNode) publish(channel, message string, sharded bool) {
	kind := publishPacket
	if sharded {
		kind = publishShardPacket
	}
	msg := b.header(kind)
	msg.channel, msg.message = channel, message
	if !sharded {
		b.broadcast(msg)
		return
	}
	head := b.self.head()
	for _, p := range append([]*peer{head}, head.replicas...) {
		if p.flags&(flagSelf|flagHandshake) == 0 {
			b.sendTo(p, msg)
		}
	}
}
