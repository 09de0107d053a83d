package cluster

import "slices"

// dial connects to a node and sends it a PING, or a MEET to one that must get
// to know this node. That does not begin a wait for an answer: the connection may be
// refused, and then Redis has sent nothing. A node that does not answer is pinged like
// any other, at the latest when it was not heard of for half the timeout.
// Source: clusterLinkConnectHandler of Redis 7.0.
func (b *busNode) dial(p *peer) {
	to := b.m.dir.Resolve(p.host, p.busPort-busPortOffset)
	p.link = &busLink{conn: b.post().Dial(to, Bus), to: to, created: b.now(), peer: p}
	before := p.pingSent
	if p.flags&flagMeet != 0 {
		b.sendGossip(p.link, meetPacket)
	} else {
		b.ping(p)
	}
	p.pingSent = before
	p.flags &^= flagMeet
}

// hangUp closes the link to a node, if there is one.
func (b *busNode) hangUp(p *peer) {
	if p.link != nil {
		b.post().Close(p.link.to, p.link.conn)
		p.link = nil
	}
}

// receiveBus takes a message of the Bus lane.
func (b *busNode) receiveBus(m Message) {
	l := b.find(m.Conn)
	switch body := m.Body.(type) {
	case Dial:
		b.inbound = append(b.inbound, &busLink{conn: m.Conn, to: m.From, created: b.now()})
	case Closed:
		if l != nil {
			b.closed(l)
		}
	case *packet:
		if l != nil {
			l.answers = true
			b.receive(l, body)
		} else {
			b.post().Close(m.From, m.Conn)
		}
	}
}

// find returns the link of a connection, or nil.
func (b *busNode) find(c Conn) *busLink {
	if c.Dialer != b.m.ID() {
		for _, l := range b.inbound {
			if l.conn == c {
				return l
			}
		}
		return nil
	}
	for _, p := range b.peers {
		if p.link != nil && p.link.conn == c {
			return p.link
		}
	}
	return nil
}

// outbound reports whether this node has dialed the link.
func (b *busNode) outbound(l *busLink) bool { return l.conn.Dialer == b.m.ID() }

// closed follows the end of a link.
func (b *busNode) closed(l *busLink) {
	if b.outbound(l) {
		l.peer.link = nil
	} else {
		b.forgetInbound(l)
	}
}

// gone ends the links with a process that has died.
func (b *busNode) gone(id ID) {
	for _, p := range b.peers {
		if p.link != nil && p.link.to == id {
			p.link = nil
		}
	}
	for _, l := range slices.Clone(b.inbound) {
		if l.to == id {
			b.forgetInbound(l)
		}
	}
}

func (b *busNode) forgetInbound(l *busLink) {
	b.inbound = without(b.inbound, l)
	if l.peer != nil && l.peer.inbound == l {
		l.peer.inbound = nil
	}
}

// isInbound makes a link the one over which a node speaks to this one. An
// earlier one is closed.
// Source: setClusterNodeToInboundClusterLink of Redis 7.0.
func (b *busNode) isInbound(l *busLink, p *peer) {
	if p.inbound == l {
		return
	}
	if old := p.inbound; old != nil {
		b.post().Close(old.to, old.conn)
		b.forgetInbound(old)
	}
	l.peer, p.inbound = p, l
}
