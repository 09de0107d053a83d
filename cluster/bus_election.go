package cluster

import (
	"strconv"

	"minikv/internal/slot"
	"minikv/server/engine"
)

// election is a replica's attempt to take the place of its master. Times are
// Unix milliseconds.
// Source: clusterHandleSlaveFailover of Redis 7.0.
type election struct {
	b     *busNode
	due   bool // handle must be called before the process waits
	at    int64
	asked bool // for votes
	votes int
	rank  int // how many replicas of the master have more of its data
	epoch uint64
}

// minAuthTimeout is the shortest time for which votes are waited for, in milliseconds.
const minAuthTimeout = 2000

// handle does the next step, if the master has failed or a manual failover may begin.
func (e *election) handle() {
	e.due = false
	b := e.b
	now := b.now()
	master, manual := b.self.master, b.manual.until != 0 && b.manual.mayStart
	timeout := max(2*b.timeout(), minAuthTimeout)
	switch {
	case b.self.isMaster() || master == nil || !master.failed() && !manual || master.slotCount == 0:
		return
	case b.yes("cluster-replica-no-failover") && !manual:
		return
	case !manual && e.dataTooOld():
		return
	case now-e.at > 2*timeout:
		e.schedule(now)
		return
	}
	if !e.asked && b.manual.until == 0 {
		if rank := e.currentRank(); rank > e.rank {
			e.at += int64(rank-e.rank) * 1000
			e.rank = rank
		}
	}
	switch {
	case now < e.at, now-e.at > timeout:
	case !e.asked:
		e.ask()
	case e.votes >= b.quorum():
		e.win()
	}
}

// dataTooOld reports whether the replica has been out of touch with its master
// for too long to take its place.
func (e *election) dataTooOld() bool {
	b := e.b
	factor := b.number("cluster-replica-validity-factor")
	if factor == 0 {
		return false
	}
	state, heard, lost := b.node().MasterLink()
	since := lost
	if state == engine.LinkConnected {
		since = heard
	}
	age := (b.now()/1000 - since) * 1000
	if age > b.timeout() {
		age -= b.timeout()
	}
	return age > b.number("repl-ping-replica-period")*1000+b.timeout()*factor
}

// schedule plans the election: soon, later for a replica with less data.
func (e *election) schedule(now int64) {
	b := e.b
	e.asked, e.votes, e.rank = false, 0, e.currentRank()
	e.at = now + 500 + int64(b.random(500)) + int64(e.rank)*1000
	if b.manual.until != 0 {
		e.at, e.rank, e.due = now, 0, true
	}
	b.log(levelWarning, "Start of election delayed for "+strconv.FormatInt(e.at-now, 10)+" milliseconds (rank #"+
		strconv.Itoa(e.rank)+", offset "+strconv.FormatInt(b.node().Offset(), 10)+").")
	b.broadcastPong(true)
}

// currentRank counts the siblings that have more of the master's data.
func (e *election) currentRank() int {
	rank := 0
	for _, r := range e.b.self.master.replicas {
		if r != e.b.self && r.flags&flagNoFailover == 0 && r.replOffset > e.b.node().Offset() {
			rank++
		}
	}
	return rank
}

// ask asks all masters for their votes.
func (e *election) ask() {
	b := e.b
	b.currentEpoch++
	e.epoch, e.asked = b.currentEpoch, true
	b.log(levelWarning, "Starting a failover election for epoch "+strconv.FormatUint(e.epoch, 10)+".")
	msg := b.header(authRequestPacket)
	msg.forced = b.manual.until != 0
	b.broadcast(msg)
	b.stateStale = true
}

// win makes this node the master.
func (e *election) win() {
	b := e.b
	b.log(levelWarning, "Failover election won: I'm the new master.")
	if b.self.configEpoch < e.epoch {
		b.self.configEpoch = e.epoch
		b.log(levelWarning, "configEpoch set to "+strconv.FormatUint(e.epoch, 10)+" after successful failover")
	}
	b.replaceMaster()
}

// replaceMaster makes this node a master with all slots of its own.
// Source: clusterFailoverReplaceYourMaster of Redis 7.0.
func (b *busNode) replaceMaster() {
	old := b.self.master
	if b.self.isMaster() || old == nil {
		return
	}
	b.setMaster(b.self)
	b.m.Promote()
	for number := 0; number < slot.Count; number++ {
		if b.slots.owner[number] == old.seat {
			b.deleteSlot(number)
			b.addSlot(b.self, number)
		}
	}
	b.updateState()
	b.broadcastPong(false)
	b.manual.reset()
}

// vote gives this node's vote to a replica that asks for it, or not.
// Source: clusterSendFailoverAuthIfNeeded of Redis 7.0.
func (e *election) vote(candidate *peer, msg *packet) {
	b := e.b
	if bad := e.denial(candidate, msg); bad != "" {
		b.log(levelWarning, "Failover auth denied to "+candidate.name+": "+bad)
		return
	}
	candidate.master.votedAt = b.now()
	b.lastVoteEpoch = b.currentEpoch
	b.sendTo(candidate, b.header(authAckPacket))
	b.log(levelWarning, "Failover auth granted to "+candidate.name+" for epoch "+
		strconv.FormatUint(b.currentEpoch, 10))
}

// denial is why a candidate does not get the vote, or "".
func (e *election) denial(candidate *peer, msg *packet) string {
	b := e.b
	master := candidate.master
	switch {
	case b.self.isReplica() || b.self.slotCount == 0:
		return "I'm not a master with slots"
	case msg.currentEpoch < b.currentEpoch:
		return "reqEpoch (" + strconv.FormatUint(msg.currentEpoch, 10) + ") < curEpoch(" +
			strconv.FormatUint(b.currentEpoch, 10) + ")"
	case b.lastVoteEpoch == b.currentEpoch:
		return "already voted for epoch " + strconv.FormatUint(b.currentEpoch, 10)
	case candidate.isMaster():
		return "it is a master node"
	case master == nil:
		return "I don't know its master"
	case !master.failed() && !msg.forced:
		return "its master is up"
	case b.now()-master.votedAt < 2*b.timeout():
		return "can't vote about this master before " +
			strconv.FormatInt(2*b.timeout()-(b.now()-master.votedAt), 10) + " milliseconds"
	}
	for number, s := range b.slots.owner {
		if s != 0 && msg.slots.has(number) && b.seats[s].configEpoch > msg.configEpoch {
			return "slot " + strconv.Itoa(number) + " epoch (" + strconv.FormatUint(b.seats[s].configEpoch, 10) +
				") > reqEpoch (" + strconv.FormatUint(msg.configEpoch, 10) + ")"
		}
	}
	return ""
}

// voted counts a vote.
func (e *election) voted(sender *peer, msg *packet) {
	if sender.isMaster() && sender.slotCount > 0 && msg.currentEpoch >= e.epoch {
		e.votes++
		e.due = true
	}
}
