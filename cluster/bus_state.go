package cluster

import "strconv"

// updateState finds out whether the cluster works: all slots are served and
// this node is not among a minority of the masters.
// Source: clusterUpdateState of Redis 7.0.
func (b *busNode) updateState() {
	b.stateStale = false
	now := b.now()
	if b.firstCheck == 0 {
		b.firstCheck = now
	}
	if b.self.isMaster() && b.state == clusterFails && now-b.firstCheck < writableDelay {
		return // the next period looks again
	}
	state := clusterOK
	if b.yes("cluster-require-full-coverage") && !b.covered() {
		state = clusterFails
	}
	reachable := 0
	b.size = 0
	for _, p := range b.peers {
		if p.isMaster() && p.slotCount > 0 {
			b.size++
			if p.flags&(flagFail|flagPFail) == 0 {
				reachable++
			}
		}
	}
	if reachable < b.quorum() {
		state = clusterFails
		b.minorityAt = now
	}
	if state == b.state {
		return
	}
	delay := min(max(b.timeout(), minRejoinDelay), maxRejoinDelay)
	if state == clusterOK && b.self.isMaster() && now-b.minorityAt < delay {
		return
	}
	b.log(levelWarning, "Cluster state changed: "+state.String())
	b.state = state
}

// covered reports whether every slot is served by a node that has not failed.
func (b *busNode) covered() bool {
	for _, s := range b.slots.owner {
		if s == 0 || b.seats[s].failed() {
			return false
		}
	}
	return true
}

// quorum is the majority of the masters with slots.
func (b *busNode) quorum() int { return b.size/2 + 1 }

// maxEpoch is the greatest epoch that this node has heard of.
func (b *busNode) maxEpoch() uint64 {
	highest := b.currentEpoch
	for _, p := range b.peers {
		highest = max(highest, p.configEpoch)
	}
	return highest
}

// bumpEpoch gives this node the greatest configEpoch of all without asking
// anybody. It reports false when it has it already.
// Source: clusterBumpConfigEpochWithoutConsensus of Redis 7.0.
func (b *busNode) bumpEpoch() bool {
	if b.self.configEpoch != 0 && b.self.configEpoch == b.maxEpoch() {
		return false
	}
	b.currentEpoch++
	b.self.configEpoch = b.currentEpoch
	b.log(levelWarning, "New configEpoch set to "+strconv.FormatUint(b.self.configEpoch, 10))
	return true
}

// resolveCollision gives one of two masters with the same configEpoch another
// one: the one with the smaller name.
// Source: clusterHandleConfigEpochCollision of Redis 7.0.
func (b *busNode) resolveCollision(sender *peer) {
	if sender.configEpoch != b.self.configEpoch || !sender.isMaster() || !b.self.isMaster() ||
		sender.name <= b.self.name {
		return
	}
	b.currentEpoch++
	b.self.configEpoch = b.currentEpoch
	b.log(levelVerbose, "WARNING: configEpoch collision with node "+sender.name+
		". configEpoch set to "+strconv.FormatUint(b.self.configEpoch, 10))
}

// follow makes this node a replica of a master.
// Source: clusterSetMaster of Redis 7.0.
func (b *busNode) follow(master *peer) {
	if b.self.isMaster() {
		b.self.flags = b.self.flags&^(flagMaster|flagMigrateTo) | flagReplica
		b.closeSlots()
	} else if b.self.master != nil {
		b.self.master.removeReplica(b.self)
	}
	b.self.master = master
	master.addReplica(b.self)
	b.m.Follow(master.host, master.port)
	b.manual.reset()
}

// markFailing flags a silent node FAIL when the majority of the masters finds
// it silent, and tells everyone.
// Source: markNodeAsFailingIfNeeded of Redis 7.0.
func (b *busNode) markFailing(p *peer) {
	if !p.timedOut() || p.failed() {
		return
	}
	failures := b.freshReports(p)
	if b.self.isMaster() {
		failures++
	}
	if failures < b.quorum() {
		return
	}
	b.log(levelNotice, "Marking node "+p.name+" as failing (quorum reached).")
	b.setFailed(p)
	b.broadcastFail(p.name)
}

func (b *busNode) setFailed(p *peer) {
	p.flags = p.flags&^flagPFail | flagFail
	p.failedAt = b.now()
	b.stateStale = true
}

// clearFailing takes FAIL from a node that answers again: at once from one
// without slots, after a while from a master whose slots nobody has taken.
// Source: clearNodeFailureIfNeeded of Redis 7.0.
func (b *busNode) clearFailing(p *peer) {
	switch {
	case p.isReplica():
		b.log(levelNotice, "Clear FAIL state for node "+p.name+": replica is reachable again.")
	case p.slotCount == 0:
		b.log(levelNotice, "Clear FAIL state for node "+p.name+": master without slots is reachable again.")
	case b.now()-p.failedAt > b.timeout()*failUndoFactor:
		b.log(levelNotice, "Clear FAIL state for node "+p.name+
			": is reachable again and nobody is serving its slots after some time.")
	default:
		return
	}
	p.flags &^= flagFail
	b.stateStale = true
}
