package cluster

import (
	"strings"

	"minikv/internal/resp"
)

// instanceLink is the connections to an instance: one for commands and, to
// masters and replicas, one that is subscribed to the channel on which Sentinels
// greet each other. A Sentinel that watches several masters has one link for all.
// Times are Unix milliseconds.
// Source: instanceLink of Redis 7.0.
type instanceLink struct {
	s            *Sentinel
	users        int64 // instances that share it
	disconnected bool  // a connection is missing
	pending      int64 // commands without a reply
	command      *Caller
	pubsub       *Caller

	commandSince, pubsubSince int64 // when each was dialed
	pubsubActive              int64 // when something came last
	lastAvailable             int64 // the last good answer to a PING
	pingPending               int64 // when the PING was sent that has no good answer yet; 0: there is none
	lastPing, lastPong        int64
	lastReconnect             int64
}

// newLink makes a link without connections. It counts as pinged, so that an
// instance that can never be reached is found to be down.
func (s *Sentinel) newLink() *instanceLink {
	now := s.now()
	link := &instanceLink{
		s: s, users: 1, disconnected: true, pingPending: now, lastAvailable: now, lastPong: now,
	}
	s.links = append(s.links, link)
	return link
}

// releaseLink ends an instance's use of its link.
func (s *Sentinel) releaseLink(ri *instance) {
	link := ri.link
	if link.users--; link.users > 0 {
		return
	}
	link.closeCommand()
	link.closePubSub()
	s.links = without(s.links, link)
}

// shareLink lets a Sentinel use the link that it already has as a watcher of
// another master.
// Source: sentinelTryConnectionSharing of Redis 7.0.
func (s *Sentinel) shareLink(ri *instance) {
	if ri.runID == "" || ri.link.users > 1 {
		return
	}
	for _, m := range s.masters {
		if m == ri.master {
			continue
		}
		if match := m.sentinels.find("", 0, ri.runID); match != nil && match != ri {
			s.releaseLink(ri)
			ri.link = match.link
			ri.link.users++
			return
		}
	}
}

// closeCommand ends the connection for commands, if there is one.
func (link *instanceLink) closeCommand() {
	if c := link.command; c != nil {
		link.command, link.pending, link.disconnected = nil, 0, true
		c.Abort() // as hiredis, which has not written what was asked in this turn
	}
}

// closePubSub ends the subscribed connection, if there is one.
func (link *instanceLink) closePubSub() {
	if c := link.pubsub; c != nil {
		link.pubsub, link.disconnected = nil, true
		c.Close()
	}
}

// receive takes a message of either connection and notices when one has ended.
// It returns false when the message may be of others, too.
func (link *instanceLink) receive(m Message) bool {
	taken := false
	if c := link.command; c != nil {
		taken = c.Receive(m)
		if !c.Open() && link.command == c {
			link.command, link.disconnected = nil, true
		}
	}
	if c := link.pubsub; c != nil && !taken {
		taken = c.Receive(m)
		if !c.Open() && link.pubsub == c {
			link.pubsub, link.disconnected = nil, true
		}
	}
	return taken
}

// reconnect dials the connections that are missing, at most once in a ping period.
// Source: sentinelReconnectInstance of Redis 7.0.
func (s *Sentinel) reconnect(ri *instance) {
	link, now := ri.link, s.now()
	if !link.disconnected || ri.addr.port == 0 || now-link.lastReconnect < s.periods.ping {
		return
	}
	link.lastReconnect = now
	to := s.cfg.Directory.Resolve(resolveName(ri.addr.host), ri.addr.port)
	if link.command == nil {
		link.command = NewCaller(s.post, to, nil)
		link.pending = 0
		link.commandSince = now
		s.introduce(ri, link.command, "cmd")
		s.sendPing(ri)
	}
	if ri.is(instMaster|instReplica) && link.pubsub == nil {
		hello := func(v resp.Value) { s.receiveHello(ri, v) }
		link.pubsub = NewCaller(s.post, to, hello)
		link.pubsubSince = now
		s.introduce(ri, link.pubsub, "pubsub")
		subscribe := ri.command("SUBSCRIBE")
		link.pubsub.Do(func(v resp.Value, ok bool) {
			switch {
			case !ok:
			case v.Kind == resp.Error && strings.EqualFold(subscribe, "SUBSCRIBE"): // as to one without a password
				link.closePubSub() // by hiredis, which knows the command by its name
			default:
				hello(v)
			}
		}, subscribe, helloChannel)
	}
	if ri.is(instSentinel) || link.pubsub != nil {
		link.disconnected = false
	}
}

// introduce says over a new connection who it is.
// Source: sentinelSendAuthIfNeeded and sentinelSetClientName of Redis 7.0.
func (s *Sentinel) introduce(ri *instance, c *Caller, kind string) {
	user, password := ri.user, ri.password
	switch {
	case ri.is(instReplica):
		user, password = ri.master.user, ri.master.password
	case ri.is(instSentinel):
		user, password = "", s.node.Parameter("requirepass")
		if s.options.password != "" {
			user, password = s.options.user, s.options.password
		}
	}
	switch {
	case password != "" && user != "":
		s.sendOver(c, ri, nil, ri.command("AUTH"), user, password)
	case password != "":
		s.sendOver(c, ri, nil, ri.command("AUTH"), password)
	}
	s.sendOver(c, ri, nil, ri.command("CLIENT"), "SETNAME", "sentinel-"+s.id[:8]+"-"+kind)
}

// send gives an instance a command, whose reply then takes.
func (s *Sentinel) send(ri *instance, then func(v resp.Value), args ...string) {
	s.sendOver(ri.link.command, ri, then, args...)
}

// sendOver is send over either connection.
func (s *Sentinel) sendOver(c *Caller, ri *instance, then func(v resp.Value), args ...string) {
	link := ri.link
	link.pending++
	c.Do(func(v resp.Value, ok bool) {
		if !ok {
			return
		}
		link.pending--
		if then != nil {
			then(v)
		}
	}, args...)
}

// sendPeriodic sends INFO, PING and hello when it is time for them.
// Source: sentinelSendPeriodicCommands of Redis 7.0.
func (s *Sentinel) sendPeriodic(ri *instance) {
	const mostPending = 100
	link, now := ri.link, s.now()
	if link.disconnected || link.pending >= mostPending*link.users {
		return
	}
	infoPeriod := s.periods.info
	if ri.is(instReplica) && (ri.master.is(instODown|instFailover) || ri.masterLinkDown != 0) {
		infoPeriod = 1000
	}
	if !ri.is(instSentinel) && (ri.infoAt == 0 || now-ri.infoAt > infoPeriod) {
		s.send(ri, func(v resp.Value) {
			if v.Kind == resp.Bulk || v.Kind == resp.Verbatim {
				s.refresh(ri, v.Str)
			}
		}, ri.command("INFO"))
	}
	pingPeriod := min(ri.downAfter, s.periods.ping)
	if now-link.lastPong > pingPeriod && now-link.lastPing > pingPeriod/2 {
		s.sendPing(ri)
	}
	if now-ri.lastPublished > s.periods.publish {
		s.sendHello(ri)
	}
}

// sendPing asks an instance whether it is there.
// Source: sentinelSendPing of Redis 7.0.
func (s *Sentinel) sendPing(ri *instance) {
	link := ri.link
	s.send(ri, func(v resp.Value) { s.receivePong(ri, v) }, ri.command("PING"))
	link.lastPing = s.now()
	if link.pingPending == 0 {
		link.pingPending = link.lastPing
	}
}

// receivePong takes the answer to a PING. A server that runs a script for too
// long is told to end it.
// Source: sentinelPingReplyCallback of Redis 7.0.
func (s *Sentinel) receivePong(ri *instance, v resp.Value) {
	link := ri.link
	has := func(prefix string) bool { return strings.HasPrefix(v.Str, prefix) }
	if v.Kind == resp.Status || v.Kind == resp.Error {
		switch {
		case has("PONG"), has("LOADING"), has("MASTERDOWN"):
			link.lastAvailable = s.now()
			link.pingPending = 0
			if has("PONG") {
				ri.flags &^= instRebooted
			}
		case has("BUSY") && ri.is(instSDown) && !ri.is(instScriptKillSent):
			s.send(ri, nil, ri.command("SCRIPT"), "KILL")
			ri.flags |= instScriptKillSent
		}
	}
	link.lastPong = s.now()
}

// sendReplicaOf makes an instance follow another (nil: nobody) and drops its
// clients, so that they ask again who the master is. It is one transaction.
// Source: sentinelSendSlaveOf of Redis 7.0.
func (s *Sentinel) sendReplicaOf(ri *instance, of *address) {
	host, port := "NO", "ONE"
	if of != nil {
		host, port = s.announced(*of), decimal(int64(of.port))
	}
	s.send(ri, nil, ri.command("MULTI"))
	s.send(ri, nil, ri.command("SLAVEOF"), host, port)
	s.send(ri, nil, ri.command("CONFIG"), "REWRITE")
	for _, class := range []string{"normal", "pubsub"} {
		s.send(ri, nil, ri.command("CLIENT"), "KILL", "TYPE", class)
	}
	s.send(ri, nil, ri.command("EXEC"))
}
