package cluster

import (
	"math"
	"strconv"
	"strings"
)

// refresh reads what a master or replica says of itself, and acts on it unless
// in tilt.
// Source: sentinelRefreshInstanceInfo of Redis 7.0.
func (s *Sentinel) refresh(ri *instance, info string) {
	ri.info, ri.infoKnown = info, true
	ri.masterLinkDown = 0
	role := instanceFlags(0)
	for line := range strings.SplitSeq(info, "\r\n") {
		s.readInfo(ri, line, &role)
	}
	ri.infoAt = s.now()
	if role != ri.roleReported {
		s.roleChanged(ri, role)
	}
	if s.tilt || !ri.is(instReplica) {
		return // a master that calls itself a replica is down before long
	}
	if role == instMaster {
		s.becameMaster(ri)
	}
	if role == instReplica {
		s.checkFollows(ri)
		s.checkReconfigured(ri)
	}
}

// readInfo reads one line of INFO. role is what the lines before said.
func (s *Sentinel) readInfo(ri *instance, line string, role *instanceFlags) {
	name, value, _ := strings.Cut(line, ":")
	switch {
	case name == "run_id" && len(value) >= 40:
		s.readRunID(ri, value[:40])
	case ri.is(instMaster) && len(name) > len("slave") && strings.HasPrefix(name, "slave") && isDigit(name[len("slave")]):
		s.readReplica(ri, value)
	case name == "master_link_down_since_seconds":
		ri.masterLinkDown = leadingInt(value) * 1000
	case name == "role" && strings.HasPrefix(value, "master"):
		*role = instMaster
	case name == "role" && strings.HasPrefix(value, "slave"):
		*role = instReplica
	case *role == instReplica:
		s.readReplication(ri, name, value)
	}
}

// readRunID notices that a server has been restarted.
func (s *Sentinel) readRunID(ri *instance, runID string) {
	if ri.runID != "" && ri.runID != runID {
		s.eventOf("+reboot", ri)
		if ri.is(instMaster) && ri.rebootDownAfter != 0 {
			ri.flags |= instRebooted
			ri.rebootSince = s.now()
		}
	}
	ri.runID = runID
}

// readReplica begins to watch a replica that a master lists:
// ip=127.0.0.1,port=9999,…
func (s *Sentinel) readReplica(m *instance, value string) {
	_, host, hasHost := strings.Cut(value, "ip=")
	_, port, hasPort := strings.Cut(value, "port=")
	if !hasHost || !hasPort {
		return
	}
	host, _, _ = strings.Cut(host, ",")
	addr := address{host, int(leadingInt(port))}
	if m.replicas.find(addr.host, addr.port, "") != nil {
		return
	}
	if r, bad := s.newInstance(instReplica, "", addr, m); bad == "" {
		s.eventOf("+slave", r)
		s.flush()
	}
}

// readReplication reads what a replica says of its replication.
func (s *Sentinel) readReplication(ri *instance, name, value string) {
	switch name {
	case "master_host":
		if !strings.EqualFold(ri.masterHost, value) {
			ri.masterHost = value
			ri.replicaConfChange = s.now()
		}
	case "master_port":
		if port := int(leadingInt(value)); ri.masterPort != port {
			ri.masterPort = port
			ri.replicaConfChange = s.now()
		}
	case "master_link_status":
		ri.masterLinkUp = strings.EqualFold(value, "up")
	case "slave_priority":
		ri.priority = leadingInt(value)
	case "slave_repl_offset":
		ri.offset = leadingInt(value)
	case "replica_announced":
		ri.announced = leadingInt(value) != 0
	}
}

// roleChanged notes that an instance calls itself something else than before.
func (s *Sentinel) roleChanged(ri *instance, role instanceFlags) {
	now := s.now()
	ri.roleReported, ri.roleReportedAt = role, now
	word := "master"
	if role != instMaster {
		word = "slave"
		ri.replicaConfChange = now
	}
	event := "-role-change"
	if ri.flags&(instMaster|instReplica) == role {
		event = "+role-change"
	}
	s.eventOf(event, ri, "new reported role is "+word)
}

// becameMaster handles a replica that calls itself a master: the promotion that
// was waited for, or a server that is to be made a replica again.
func (s *Sentinel) becameMaster(ri *instance) {
	m := ri.master
	if ri.is(instPromoted) && m.is(instFailover) && m.failover == failoverWaitPromotion {
		m.configEpoch = m.failoverEpoch
		s.enterFailover(m, failoverReconfReplicas)
		s.flush()
		s.eventOf("+promoted-slave", ri)
		s.failAt(crashAfterPromotion)
		s.eventOf("+failover-state-reconf-slaves", m)
		s.forceHello(m)
		return
	}
	wait := s.periods.publish * 4 // time for a newer configuration to come
	if !ri.is(instPromoted) && s.looksSane(m) && s.upFor(ri, wait) && s.now()-ri.roleReportedAt > wait {
		s.sendReplicaOf(ri, &m.addr)
		s.eventOf("+convert-to-slave", ri)
	}
}

// checkFollows sees to it that a replica follows its master.
func (s *Sentinel) checkFollows(ri *instance) {
	m := ri.master
	if ri.masterPort == m.addr.port && m.addr.sameHost(ri.masterHost) {
		return
	}
	wait := m.failoverTimeout
	if s.looksSane(m) && s.upFor(ri, wait) && s.now()-ri.replicaConfChange > wait {
		s.sendReplicaOf(ri, &m.addr)
		s.eventOf("+fix-slave-config", ri)
	}
}

// checkReconfigured notes how far a replica is that was told to follow the
// promoted one.
func (s *Sentinel) checkReconfigured(ri *instance) {
	if ri.is(instReconfSent) && ri.masterHost != "" {
		to := ri.master.promotedReplica.addr
		if to.sameHost(ri.masterHost) && to.port == ri.masterPort {
			ri.flags &^= instReconfSent
			ri.flags |= instReconfInProgress
			s.eventOf("+slave-reconf-inprog", ri)
		}
	}
	if ri.is(instReconfInProgress) && ri.masterLinkUp {
		ri.flags &^= instReconfInProgress
		ri.flags |= instReconfDone
		s.eventOf("+slave-reconf-done", ri)
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// leadingInt is the number that text begins with, as C's strtoll reads it.
func leadingInt(text string) int64 {
	text = strings.TrimLeft(text, " ")
	negative := strings.HasPrefix(text, "-")
	if negative {
		text = text[1:]
	}
	var n int64
	for i := 0; i < len(text) && isDigit(text[i]); i++ {
		digit := int64(text[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			n = math.MaxInt64
			break
		}
		n = n*10 + digit
	}
	if negative {
		return -n
	}
	return n
}

// leadingUint is leadingInt without a sign, as C's strtoull reads it: what is
// negative is counted from the end.
func leadingUint(text string) uint64 {
	text = strings.TrimLeft(text, " ")
	digits := strings.TrimPrefix(text, "-")
	end := 0
	for end < len(digits) && isDigit(digits[end]) {
		end++
	}
	n, err := strconv.ParseUint(digits[:end], 10, 64) // which gives the largest if there are too many
	if digits != text && err == nil {
		return -n
	}
	return n
}
