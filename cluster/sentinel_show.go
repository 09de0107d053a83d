package cluster

import (
	"strings"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// showAll is a list of instances, without replicas that do not want to be known.
// Source: addReplyDictOfRedisInstances of Redis 7.0.
func (s *Sentinel) showAll(list instances) resp.Value {
	shown := []resp.Value{}
	for _, ri := range list {
		if !ri.is(instReplica) || ri.announced {
			shown = append(shown, s.show(ri))
		}
	}
	return resp.List(shown...)
}

// show is the state of an instance, as a map. Times are told as their age.
// Source: addReplySentinelRedisInstance of Redis 7.0.
func (s *Sentinel) show(ri *instance) resp.Value {
	now := s.now()
	age := func(at int64) string {
		if at == 0 {
			return "0"
		}
		return decimal(now - at)
	}
	var entries []resp.Value
	add := func(name, value string) { entries = append(entries, resp.Str(name), resp.Str(value)) }
	link := ri.link
	add("name", ri.name)
	add("ip", s.announced(ri.addr))
	add("port", decimal(int64(ri.addr.port)))
	add("runid", ri.runID)
	add("flags", ri.flagNames())
	add("link-pending-commands", decimal(link.pending))
	add("link-refcount", decimal(link.users))
	if ri.is(instFailover) {
		add("failover-state", failoverNames[ri.failover])
	}
	add("last-ping-sent", age(link.pingPending))
	add("last-ok-ping-reply", decimal(now-link.lastAvailable))
	add("last-ping-reply", decimal(now-link.lastPong))
	if ri.is(instSDown) {
		add("s-down-time", decimal(now-ri.sDownSince))
	}
	if ri.is(instODown) {
		add("o-down-time", decimal(now-ri.oDownSince))
	}
	add("down-after-milliseconds", decimal(ri.downAfter))
	if ri.is(instMaster | instReplica) {
		add("info-refresh", age(ri.infoAt))
		add("role-reported", roleName(ri.roleReported))
		add("role-reported-time", decimal(now-ri.roleReportedAt))
	}
	switch {
	case ri.is(instMaster):
		ri.showMaster(add)
	case ri.is(instReplica):
		ri.showReplica(add)
	default:
		add("last-hello-message", decimal(now-ri.lastHello))
		add("voted-leader", orUnknown(ri.leader))
		add("voted-leader-epoch", decimal(int64(ri.leaderEpoch)))
	}
	return resp.Pairs(entries...)
}

// showMaster is what only masters have.
func (ri *instance) showMaster(add func(name, value string)) {
	add("config-epoch", decimal(int64(ri.configEpoch)))
	add("num-slaves", decimal(int64(len(ri.replicas))))
	add("num-other-sentinels", decimal(int64(len(ri.sentinels))))
	add("quorum", decimal(ri.quorum))
	add("failover-timeout", decimal(ri.failoverTimeout))
	add("parallel-syncs", decimal(ri.parallelSyncs))
}

// showReplica is what only replicas have.
func (ri *instance) showReplica(add func(name, value string)) {
	status := "err"
	if ri.masterLinkUp {
		status = "ok"
	}
	announced := "0"
	if ri.announced {
		announced = "1"
	}
	add("master-link-down-time", decimal(ri.masterLinkDown))
	add("master-link-status", status)
	add("master-host", orUnknown(ri.masterHost))
	add("master-port", decimal(int64(ri.masterPort)))
	add("slave-priority", decimal(ri.priority))
	add("slave-repl-offset", decimal(ri.offset))
	add("replica-announced", announced)
}

func orUnknown(text string) string {
	if text == "" {
		return "?"
	}
	return text
}

func roleName(role instanceFlags) string {
	if role == instMaster {
		return "master"
	}
	return "slave"
}

// shownFlags are the flags in the order in which they are shown.
var shownFlags = []struct {
	flag instanceFlags
	name string
}{
	{instSDown, "s_down"}, {instODown, "o_down"}, {instMaster, "master"}, {instReplica, "slave"},
	{instSentinel, "sentinel"}, {0, "disconnected"}, {instMasterDown, "master_down"},
	{instFailover, "failover_in_progress"}, {instPromoted, "promoted"}, {instReconfSent, "reconf_sent"},
	{instReconfInProgress, "reconf_inprog"}, {instReconfDone, "reconf_done"}, {instForced, "force_failover"},
	{instScriptKillSent, "script_kill_sent"}, {instRebooted, "master_reboot"},
}

// flagNames are an instance's flags between commas.
func (ri *instance) flagNames() string {
	var names []string
	for _, one := range shownFlags {
		if ri.is(one.flag) || one.flag == 0 && ri.link.disconnected {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ",")
}

// runInfoCache is SENTINEL INFO-CACHE name [name ...]: the last INFO of each
// master and its replicas, with its age in milliseconds.
func (s *Sentinel) runInfoCache(c *engine.Call) resp.Value {
	var entries []resp.Value
	for _, m := range s.masters {
		asked := false
		for _, name := range c.Args[2:] {
			asked = asked || resp.CString(name) == m.name
		}
		if !asked {
			continue
		}
		cached := []resp.Value{s.cachedInfo(m)}
		for _, r := range m.replicas {
			cached = append(cached, s.cachedInfo(r))
		}
		entries = append(entries, resp.Str(m.name), resp.List(cached...))
	}
	return resp.List(entries...)
}

func (s *Sentinel) cachedInfo(ri *instance) resp.Value {
	if !ri.infoKnown {
		return resp.List(resp.Zero, resp.Null)
	}
	return resp.List(resp.Int(s.now()-ri.infoAt), resp.Str(ri.info))
}
