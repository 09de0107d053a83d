package cluster

import (
	"strings"

	"minikv/internal/resp"
)

// checkSubjectivelyDown decides whether this Sentinel believes an instance to be
// down: it does not answer, or a master has called itself a replica, or was
// restarted, for too long. A connection that stays silent is dialed anew.
// Source: sentinelCheckSubjectivelyDown of Redis 7.0.
func (s *Sentinel) checkSubjectivelyDown(ri *instance) {
	now, link := s.now(), ri.link
	silent := int64(0)
	switch {
	case link.pingPending != 0:
		silent = now - link.pingPending
	case link.disconnected:
		silent = now - link.lastAvailable
	}
	s.checkConnections(ri, now)
	down := silent > ri.downAfter ||
		ri.is(instMaster) && ri.roleReported == instReplica &&
			now-ri.roleReportedAt > ri.downAfter+s.periods.info*2 ||
		ri.is(instRebooted) && now-ri.rebootSince > ri.rebootDownAfter
	switch {
	case down && !ri.is(instSDown):
		s.eventOf("+sdown", ri)
		ri.sDownSince = now
		ri.flags |= instSDown
	case !down && ri.is(instSDown):
		s.eventOf("-sdown", ri)
		ri.flags &^= instSDown | instScriptKillSent
	}
}

// checkConnections closes connections that are old enough and give no sign of life.
func (s *Sentinel) checkConnections(ri *instance, now int64) {
	link := ri.link
	if link.command != nil && now-link.commandSince > s.periods.minReconnect && link.pingPending != 0 &&
		now-link.pingPending > ri.downAfter/2 && now-link.lastPong > ri.downAfter/2 {
		link.closeCommand()
	}
	if link.pubsub != nil && now-link.pubsubSince > s.periods.minReconnect &&
		now-link.pubsubActive > s.periods.publish*3 {
		link.closePubSub()
	}
}

// checkObjectivelyDown decides whether enough Sentinels believe a master to be down.
// Source: sentinelCheckObjectivelyDown of Redis 7.0.
func (s *Sentinel) checkObjectivelyDown(m *instance) {
	agreed := int64(0)
	if m.is(instSDown) {
		agreed = 1
		for _, other := range m.sentinels {
			if other.is(instMasterDown) {
				agreed++
			}
		}
	}
	down := m.is(instSDown) && agreed >= m.quorum
	switch {
	case down && !m.is(instODown):
		s.eventOf("+odown", m, "#quorum "+decimal(agreed)+"/"+decimal(m.quorum))
		m.flags |= instODown
		m.oDownSince = s.now()
	case !down && m.is(instODown):
		s.eventOf("-odown", m)
		m.flags &^= instODown
	}
}

// askOthers asks the other Sentinels whether they believe a master to be down,
// and for their votes during a failover: each once in a while, or all at once.
// Source: sentinelAskMasterStateToOtherSentinels of Redis 7.0.
func (s *Sentinel) askOthers(m *instance, atOnce bool) {
	now := s.now()
	for _, other := range m.sentinels {
		age := now - other.lastMasterDownAt
		if age > s.periods.ask*5 {
			other.flags &^= instMasterDown
			other.leader = ""
		}
		if !m.is(instSDown) || other.link.disconnected || !atOnce && age < s.periods.ask {
			continue
		}
		candidate := "*"
		if m.failover > failoverNone {
			candidate = s.id
		}
		s.send(other, func(v resp.Value) { s.receiveMasterDown(other, v) },
			other.command("SENTINEL"), "is-master-down-by-addr", s.announced(m.addr), decimal(int64(m.addr.port)),
			unsigned(s.epoch), candidate)
	}
}

// receiveMasterDown takes another Sentinel's opinion and vote.
// Source: sentinelReceiveIsMasterDownReply of Redis 7.0.
func (s *Sentinel) receiveMasterDown(other *instance, v resp.Value) {
	if v.Kind != resp.Array || len(v.List) != 3 || v.List[0].Kind != resp.Integer ||
		v.List[1].Kind != resp.Bulk || v.List[2].Kind != resp.Integer {
		return
	}
	other.lastMasterDownAt = s.now()
	other.flags &^= instMasterDown
	if v.List[0].Int == 1 {
		other.flags |= instMasterDown
	}
	leader, epoch := v.List[1].Str, uint64(v.List[2].Int)
	if leader == "*" {
		return
	}
	if other.leaderEpoch != epoch {
		s.log(levelWarning, other.name+" voted for "+leader+" "+unsigned(epoch))
	}
	other.leader, other.leaderEpoch = leader, epoch
}

// vote votes for a candidate, unless there was a vote in that epoch or a later
// one already; it returns the vote that counts, "" for none, and its epoch.
// Whoever votes for another waits before trying a failover itself.
// Source: sentinelVoteLeader of Redis 7.0.
func (s *Sentinel) vote(m *instance, epoch uint64, candidate string) (leader string, leaderEpoch uint64) {
	if epoch > s.epoch {
		s.newEpoch(epoch)
	}
	if m.leaderEpoch < epoch && s.epoch <= epoch {
		m.leader, m.leaderEpoch = candidate, s.epoch
		s.flush()
		s.event("+vote-for-leader", m.leader+" "+unsigned(m.leaderEpoch))
		if !strings.EqualFold(m.leader, s.id) {
			m.failoverStarted = s.now() + s.desynchronise()
		}
	}
	return m.leader, m.leaderEpoch
}

// electedLeader is who has won the election of an epoch, or "": the winner needs
// the votes of a majority of all Sentinels, and of the quorum.
// Source: sentinelGetLeader of Redis 7.0.
func (s *Sentinel) electedLeader(m *instance, epoch uint64) string {
	votes := tally{counts: map[string]int64{}}
	for _, other := range m.sentinels {
		if other.leader != "" && other.leaderEpoch == s.epoch {
			votes.add(other.leader)
		}
	}
	candidate := votes.winner
	if candidate == "" {
		candidate = s.id
	}
	if mine, at := s.vote(m, epoch, candidate); mine != "" && at == epoch {
		votes.add(mine)
	}
	majority := int64(len(m.sentinels)+1)/2 + 1
	if votes.most < majority || votes.most < m.quorum {
		return ""
	}
	return votes.winner
}

// tally counts votes.
type tally struct {
	counts map[string]int64
	winner string // has the most votes, the first to have so many; "" without votes
	most   int64
}

func (t *tally) add(name string) {
	t.counts[name]++
	if t.counts[name] > t.most {
		t.most, t.winner = t.counts[name], name
	}
}
