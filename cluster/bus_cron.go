package cluster

// minHandshake is how long a node may at least take to tell its name, in milliseconds.
const minHandshake = 1000

// cron is what a node does ten times a second.
// Source: clusterCron of Redis 7.0.
func (b *busNode) cron() {
	b.loops++
	b.reconnect()
	if b.loops%10 == 0 {
		b.pingSomeone()
	}
	orphans := b.watchPeers()
	if b.self.isReplica() && !b.node().IsReplica() && b.self.master != nil && b.self.master.host != "" {
		b.m.Follow(b.self.master.host, b.self.master.port)
	}
	b.manual.expire()
	if b.self.isReplica() {
		b.manual.check()
		b.election.handle()
		if orphans.masters > 0 && orphans.most >= 2 && orphans.mine == orphans.most &&
			b.yes("cluster-allow-replica-migration") {
			b.adoptOrphan(orphans.most)
		}
	}
	if b.stateStale || b.state == clusterFails {
		b.updateState()
	}
}

// reconnect dials the nodes that this one has no link to, and forgets those
// that never told their name.
// Source: clusterNodeCronHandleReconnect of Redis 7.0.
func (b *busNode) reconnect() {
	b.silent = 0
	now := b.now()
	for _, p := range append([]*peer(nil), b.peers...) {
		if p.flags&(flagSelf|flagNoAddr) != 0 {
			continue
		}
		if p.timedOut() {
			b.silent++
		}
		if p.inHandshake() && now-p.created > max(b.timeout(), minHandshake) {
			b.deletePeer(p)
			continue
		}
		if p.link == nil {
			b.dial(p)
		}
	}
}

// pingSomeone pings, of a few nodes picked at random, the one that has not been
// heard of for the longest time.
func (b *busNode) pingSomeone() {
	var oldest *peer
	for range 5 {
		p := b.peers[b.random(len(b.peers))]
		if p.link == nil || p.pingSent != 0 || p.flags&(flagSelf|flagHandshake) != 0 {
			continue
		}
		if oldest == nil || p.pongReceived < oldest.pongReceived {
			oldest = p
		}
	}
	if oldest != nil {
		b.ping(oldest)
	}
}

// orphanCount is what a replica must know before it may go to another master.
type orphanCount struct {
	masters int // that have slots and no working replica
	most    int // working replicas of the master that has most of them
	mine    int // working replicas of this node's master
}

// watchPeers pings those that have been silent for half the node timeout, and
// flags PFAIL those that have been silent for all of it.
func (b *busNode) watchPeers() (orphans orphanCount) {
	for _, p := range b.peers {
		if p.flags&(flagSelf|flagNoAddr|flagHandshake) != 0 {
			continue
		}
		if b.self.isReplica() && p.isMaster() && !p.failed() {
			working := p.workingReplicas()
			if working == 0 && p.slotCount > 0 && p.flags&flagMigrateTo != 0 {
				orphans.masters++
			}
			orphans.most = max(orphans.most, working)
			if b.self.master == p {
				orphans.mine = working
			}
		}
		b.watch(p)
	}
	return orphans
}

func (b *busNode) watch(p *peer) {
	now, timeout := b.now(), b.timeout()
	pingDelay, dataDelay := now-p.pingSent, now-p.dataReceived
	if p.link != nil && now-p.link.created > timeout && p.pingSent != 0 &&
		pingDelay > timeout/2 && dataDelay > timeout/2 {
		b.hangUp(p) // maybe it is the connection's fault
	}
	switch {
	case p.link != nil && p.pingSent == 0 && now-p.pongReceived > timeout/2:
		b.ping(p)
		return
	case p.link != nil && b.manual.until != 0 && b.self.isMaster() && b.manual.replica == p:
		b.ping(p) // it waits for the offset
		return
	case p.pingSent == 0:
		return
	}
	if min(pingDelay, dataDelay) > timeout && p.flags&(flagPFail|flagFail) == 0 {
		b.log(levelDebug, "*** NODE "+p.name+" possibly failing")
		p.flags |= flagPFail
		b.stateStale = true
	}
}

// adoptOrphan makes this node a replica of a master that has lost its own, if
// this one's master keeps enough and this one has the smallest name of all that
// could go.
// Source: clusterHandleSlaveMigration of Redis 7.0.
func (b *busNode) adoptOrphan(most int) {
	master := b.self.master
	if b.state != clusterOK || master == nil {
		return
	}
	working := 0
	for _, r := range master.replicas {
		if !r.failed() && !r.timedOut() {
			working++
		}
	}
	if int64(working) <= b.number("cluster-migration-barrier") {
		return
	}
	candidate := b.self
	var target *peer
	for _, p := range b.peers {
		replicas := 0
		if p.isMaster() {
			replicas = p.workingReplicas()
		}
		if b.isOrphan(p, replicas) && target == nil && p.slotCount > 0 {
			target = p
		}
		if replicas == most {
			for _, r := range p.replicas {
				if r.name < candidate.name {
					candidate = r
				}
			}
		}
	}
	if target != nil && candidate == b.self && b.now()-target.orphanedAt > orphanDelay {
		b.log(levelNotice, "Migrating to orphaned master "+target.name)
		b.follow(target)
	}
}

// isOrphan reports whether a master has lost its working replicas, and notes since when.
func (b *busNode) isOrphan(p *peer, replicas int) bool {
	orphan := !p.isReplica() && !p.failed() && p.flags&flagMigrateTo != 0 && replicas == 0
	switch {
	case !orphan:
		p.orphanedAt = 0
	case p.orphanedAt == 0:
		p.orphanedAt = b.now()
	}
	return orphan
}

// Restart implements ClusterBus: what nodes.conf holds stays.
// Source: clusterLoadConfig and clusterInit of Redis 7.0.
func (b *busNode) Restart(bool) {
	now := b.now()
	for _, p := range append([]*peer(nil), b.peers...) {
		p.link, p.inbound = nil, nil
		if p.inHandshake() {
			b.deletePeer(p)
		}
		if p.pingSent != 0 {
			p.pingSent = now
		}
		if p.pongReceived != 0 {
			p.pongReceived = now
		}
		if p.isReplica() {
			p.configEpoch = 0 // that of its master counts
		}
		p.failedAt = now
		p.created, p.dataReceived, p.votedAt, p.orphanedAt, p.replOffset, p.reports = now, 0, 0, 0, 0, nil
	}
	b.inbound, b.forgotten, b.slots.disowned = nil, nil, nil
	b.state, b.size, b.firstCheck, b.minorityAt = clusterFails, 1, 0, 0
	b.stateStale = true
	b.nextCron = 0
	b.election, b.manual = election{b: b}, manualFailover{b: b, offset: -1}
	b.sent, b.received = [packetKinds]int64{}, [packetKinds]int64{}
	b.claimKeys()
}

// claimKeys lets a master that finds keys of slots which are not its own serve
// those that nobody has, and import the others.
// Source: verifyClusterConfigWithData of Redis 7.0.
func (b *busNode) claimKeys() {
	if b.self.isReplica() {
		return
	}
	for number := range b.slots.owner {
		owner := b.owner(number)
		if owner == b.self || b.keysInSlot(number) == 0 || b.slots.importing[number] != nil {
			continue
		}
		if owner == nil {
			b.addSlot(b.self, number)
			continue
		}
		b.slots.importing[number] = owner
	}
}
