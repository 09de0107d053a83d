package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// failoverState is how far a failover is.
type failoverState uint8

// The states of Redis 7.0, in their order.
const (
	failoverNone failoverState = iota
	failoverWaitStart
	failoverSelectReplica
	failoverSendNoOne
	failoverWaitPromotion
	failoverReconfReplicas
	failoverUpdateConfig
)

// failoverNames are the states as SENTINEL MASTER shows them.
var failoverNames = [...]string{
	"none", "wait_start", "select_slave", "send_slaveof_noone", "wait_promotion", "reconf_slaves", "update_config",
}

// simulatedFailure is where SENTINEL SIMULATE-FAILURE ends the process.
type simulatedFailure uint8

const (
	crashAfterElection simulatedFailure = 1 << iota
	crashAfterPromotion
)

// failAt ends the process if that was asked for.
func (s *Sentinel) failAt(point simulatedFailure) {
	if s.failure&point != 0 {
		s.log(levelWarning, "Sentinel CRASH because of SENTINEL simulate-failure")
		s.crashed = true
	}
}

// enterFailover goes on to a state.
func (s *Sentinel) enterFailover(m *instance, state failoverState) {
	m.failover, m.failoverChanged = state, s.now()
}

// startFailoverIfNeeded starts a failover of a master that is objectively down,
// unless one is going on or was tried too short a time ago.
// Source: sentinelStartFailoverIfNeeded of Redis 7.0.
func (s *Sentinel) startFailoverIfNeeded(m *instance) bool {
	if !m.is(instODown) || m.is(instFailover) {
		return false
	}
	if s.now()-m.failoverStarted < m.failoverTimeout*2 {
		if m.delayLogged != m.failoverStarted {
			m.delayLogged = m.failoverStarted
			s.log(levelWarning, "Next failover delay: I will not start a failover before "+
				decimal((m.failoverStarted+m.failoverTimeout*2)/1000))
		}
		return false
	}
	s.startFailover(m)
	return true
}

// startFailover begins a new epoch in which this Sentinel asks for votes.
// Source: sentinelStartFailover of Redis 7.0.
func (s *Sentinel) startFailover(m *instance) {
	s.enterFailover(m, failoverWaitStart)
	m.flags |= instFailover
	s.epoch++
	m.failoverEpoch = s.epoch
	s.event("+new-epoch", unsigned(s.epoch))
	s.eventOf("+try-failover", m)
	m.failoverStarted = s.now() + s.desynchronise()
}

// runFailover does the next step of a failover, if one is going on.
// Source: sentinelFailoverStateMachine of Redis 7.0.
func (s *Sentinel) runFailover(m *instance) {
	if !m.is(instFailover) {
		return
	}
	switch m.failover {
	case failoverWaitStart:
		s.waitStart(m)
	case failoverSelectReplica:
		s.selectReplica(m)
	case failoverSendNoOne:
		s.sendNoOne(m)
	case failoverWaitPromotion: // goes on when INFO tells of the promotion
		if s.now()-m.failoverChanged > m.failoverTimeout {
			s.abortFailover(m, "-failover-abort-slave-timeout")
		}
	case failoverReconfReplicas:
		s.reconfigureNext(m)
	}
}

// abortFailover gives up.
// Source: sentinelAbortFailover of Redis 7.0.
func (s *Sentinel) abortFailover(m *instance, event string) {
	s.eventOf(event, m)
	m.flags &^= instFailover | instForced
	s.enterFailover(m, failoverNone)
	if m.promotedReplica != nil {
		m.promotedReplica.flags &^= instPromoted
		m.promotedReplica = nil
	}
}

// waitStart waits to be elected; a failover that was asked for needs no election.
// Source: sentinelFailoverWaitStart of Redis 7.0.
func (s *Sentinel) waitStart(m *instance) {
	leader := s.electedLeader(m, m.failoverEpoch)
	if !strings.EqualFold(leader, s.id) && !m.is(instForced) {
		if s.now()-m.failoverStarted > min(s.periods.election, m.failoverTimeout) {
			s.abortFailover(m, "-failover-abort-not-elected")
		}
		return
	}
	s.eventOf("+elected-leader", m)
	s.failAt(crashAfterElection)
	s.enterFailover(m, failoverSelectReplica)
	s.eventOf("+failover-state-select-slave", m)
}

// selectReplica chooses whom to promote.
// Source: sentinelFailoverSelectSlave of Redis 7.0.
func (s *Sentinel) selectReplica(m *instance) {
	best := s.bestReplica(m)
	if best == nil {
		s.abortFailover(m, "-failover-abort-no-good-slave")
		return
	}
	s.eventOf("+selected-slave", best)
	best.flags |= instPromoted
	m.promotedReplica = best
	s.enterFailover(m, failoverSendNoOne)
	s.eventOf("+failover-state-send-slaveof-noone", best)
}

// bestReplica is the replica to promote, or nil: of those that are up, heard of
// lately, and were in touch with the master until it went down, the one with the
// lowest priority, then the most data, then the smallest run id.
// Source: sentinelSelectSlave of Redis 7.0.
func (s *Sentinel) bestReplica(m *instance) *instance {
	now := s.now()
	longestLinkDown, infoValid := m.downAfter*10, s.periods.info*3
	if m.is(instSDown) {
		longestLinkDown += now - m.sDownSince
		infoValid = s.periods.ping * 5
	}
	var good instances
	for _, r := range m.replicas {
		bad := r.is(instSDown|instODown) || r.link.disconnected || r.priority == 0 ||
			now-r.link.lastAvailable > s.periods.ping*5 || now-r.infoAt > infoValid ||
			r.masterLinkDown > longestLinkDown
		if !bad {
			good = append(good, r)
		}
	}
	if len(good) == 0 {
		return nil
	}
	return slices.MinFunc(good, comparePromotion)
}

// comparePromotion orders replicas, the best first.
// Source: compareSlavesForPromotion of Redis 7.0.
func comparePromotion(a, b *instance) int {
	switch {
	case a.priority != b.priority:
		return cmp.Compare(a.priority, b.priority)
	case a.offset != b.offset:
		return cmp.Compare(b.offset, a.offset)
	case a.runID == "" || b.runID == "": // unknown comes last
		return cmp.Compare(len(b.runID), len(a.runID))
	}
	return strings.Compare(a.runID, b.runID)
}

// sendNoOne tells the chosen replica that it is a master.
// Source: sentinelFailoverSendSlaveOfNoOne of Redis 7.0.
func (s *Sentinel) sendNoOne(m *instance) {
	r := m.promotedReplica
	if r.link.disconnected {
		if s.now()-m.failoverChanged > m.failoverTimeout {
			s.abortFailover(m, "-failover-abort-slave-timeout")
		}
		return
	}
	s.sendReplicaOf(r, nil)
	s.eventOf("+failover-state-wait-promotion", r)
	s.enterFailover(m, failoverWaitPromotion)
}

// reconfigureNext tells the other replicas, as many at once as is allowed, to
// follow the promoted one.
// Source: sentinelFailoverReconfNextSlave of Redis 7.0.
func (s *Sentinel) reconfigureNext(m *instance) {
	busy := int64(0)
	for _, r := range m.replicas {
		if r.is(instReconfSent | instReconfInProgress) {
			busy++
		}
	}
	for _, r := range m.replicas {
		if busy >= m.parallelSyncs {
			break
		}
		if r.is(instPromoted | instReconfDone) {
			continue
		}
		if r.is(instReconfSent) && s.now()-r.reconfSentAt > s.periods.replicaReconf {
			s.eventOf("-slave-reconf-sent-timeout", r)
			r.flags &^= instReconfSent
			r.flags |= instReconfDone
		}
		if r.is(instReconfSent|instReconfInProgress) || r.link.disconnected {
			continue
		}
		s.sendReplicaOf(r, &m.promotedReplica.addr)
		r.flags |= instReconfSent
		r.reconfSentAt = s.now()
		s.eventOf("+slave-reconf-sent", r)
		busy++
	}
	s.checkFailoverEnd(m)
}

// checkFailoverEnd ends a failover when all replicas that can be reached follow
// the promoted one, or after too long a time.
// Source: sentinelFailoverDetectEnd of Redis 7.0.
func (s *Sentinel) checkFailoverEnd(m *instance) {
	if m.promotedReplica == nil || m.promotedReplica.is(instSDown) {
		return
	}
	left := 0
	for _, r := range m.replicas {
		if !r.is(instPromoted | instReconfDone | instSDown) {
			left++
		}
	}
	late := s.now()-m.failoverChanged > m.failoverTimeout
	if late {
		s.eventOf("+failover-end-for-timeout", m)
	}
	if left == 0 || late {
		s.eventOf("+failover-end", m)
		s.enterFailover(m, failoverUpdateConfig)
	}
	if !late {
		return
	}
	for _, r := range m.replicas {
		if !r.is(instPromoted|instReconfDone|instReconfSent) && !r.link.disconnected {
			s.sendReplicaOf(r, &m.promotedReplica.addr)
			s.eventOf("+slave-reconf-sent-be", r)
			r.flags |= instReconfSent
		}
	}
}

// switchToPromoted ends a failover: the promoted replica is the master.
// Source: sentinelFailoverSwitchToPromotedSlave of Redis 7.0.
func (s *Sentinel) switchToPromoted(m *instance) {
	to := m.addr
	if m.promotedReplica != nil {
		to = m.promotedReplica.addr
	}
	s.eventSwitch(m, to)
	s.moveMaster(m, to)
}
