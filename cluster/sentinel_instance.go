package cluster

import (
	"strconv"
	"strings"
)

// instance is a server that a Sentinel watches: a master, a replica of one, or
// another Sentinel. Times are Unix milliseconds of the Sentinel's wall clock; 0
// is never.
// Source: sentinelRedisInstance of Redis 7.0.
type instance struct {
	settings
	flags instanceFlags
	name  string // a replica's is "host:port", a Sentinel's its id
	runID string // "" until known
	addr  address
	link  *instanceLink

	lastPublished     int64 // hello to it
	lastHello         int64 // from it, of a Sentinel
	lastMasterDownAt  int64 // its answer to is-master-down-by-addr
	sDownSince        int64
	oDownSince        int64
	rebootSince       int64
	infoAt            int64  // when INFO was last read
	info              string // the last INFO
	infoKnown         bool
	roleReported      instanceFlags
	roleReportedAt    int64
	replicaConfChange int64     // when it last named another master
	master            *instance // of a replica or a Sentinel
	leader            string    // whom this Sentinel voted for; of a Sentinel: whom that one did; "": nobody

	// Of a master:
	replicas, sentinels instances
	failoverEpoch       uint64
	failover            failoverState
	failoverChanged     int64
	failoverStarted     int64
	delayLogged         int64 // the failoverStarted for which the delay was logged
	promotedReplica     *instance

	// Of a replica:
	masterLinkDown int64 // for how long its link is down, in milliseconds
	priority       int64
	announced      bool
	reconfSentAt   int64
	masterHost     string // that it follows, as it says; "" until known
	masterPort     int
	masterLinkUp   bool
	offset         int64
}

// settings are what the configuration file has of a master, but for its name and address.
// Times are in milliseconds.
type settings struct {
	configEpoch     uint64 // when its address was agreed on
	leaderEpoch     uint64 // of the vote for its leader; of a Sentinel: of that one's vote
	quorum          int64
	downAfter       int64 // of any instance
	rebootDownAfter int64 // 0: a reboot is no reason
	failoverTimeout int64
	parallelSyncs   int64
	user, password  string
	renamed         []renamedCommand
}

// renamedCommand is what a command is called on a master and its replicas.
type renamedCommand struct{ from, to string }

// instanceFlags are what an instance is and how it seems to be.
type instanceFlags uint32

// The flags, in the order in which they are shown.
const (
	instSDown instanceFlags = 1 << iota
	instODown
	instMaster
	instReplica
	instSentinel
	instMasterDown // of a Sentinel: it says that the master is down
	instFailover   // of a master: a failover is going on
	instPromoted   // of a replica: chosen to become the master
	instReconfSent // REPLICAOF was sent
	instReconfInProgress
	instReconfDone
	instForced // of a master: by SENTINEL FAILOVER
	instScriptKillSent
	instRebooted
)

func (ri *instance) is(flags instanceFlags) bool { return ri.flags&flags != 0 }

// kind is the word for what an instance is, in events.
func (ri *instance) kind() string {
	switch {
	case ri.is(instMaster):
		return "master"
	case ri.is(instReplica):
		return "slave"
	}
	return "sentinel"
}

// instances is a table of them, in the order in which they were added.
type instances []*instance

func (l instances) byName(name string) *instance {
	for _, ri := range l {
		if ri.name == name {
			return ri
		}
	}
	return nil
}

// find is the instance with an address and a run id; "" is any of either.
// Source: getSentinelRedisInstanceByAddrAndRunID of Redis 7.0.
func (l instances) find(host string, port int, runID string) *instance {
	for _, ri := range l {
		if runID != "" && ri.runID != runID {
			continue
		}
		if host == "" || ri.addr.same(address{host, port}) {
			return ri
		}
	}
	return nil
}

// findAt is find with an address that may be empty, at which there is nobody.
func (l instances) findAt(addr address, runID string) *instance {
	if addr.host == "" {
		return nil
	}
	return l.find(addr.host, addr.port, runID)
}

func (l *instances) remove(ri *instance) { *l = without(*l, ri) }

const (
	errDuplicateMaster = "ERR Duplicate master name."
	errInvalidPort     = "ERR Invalid port number."
)

// newInstance makes an instance that nothing is known about. owner is the
// master it belongs to, nil for a master. bad is an error text or "".
// Source: createSentinelRedisInstance of Redis 7.0.
func (s *Sentinel) newInstance(
	kind instanceFlags, name string, addr address, owner *instance,
) (ri *instance, bad string) {
	if addr.port < 0 || addr.port > 65535 {
		return nil, errInvalidPort
	}
	if !s.resolves(addr.host) {
		return nil, "ERR Can't resolve instance hostname."
	}
	table, duplicate := &s.masters, errDuplicateMaster
	switch kind {
	case instReplica:
		name = joinAddress(s.announced(addr), addr.port)
		table, duplicate = &owner.replicas, "ERR Duplicate hostname and port for replica."
	case instSentinel:
		table, duplicate = &owner.sentinels, "ERR Duplicate runid for sentinel."
	}
	if table.byName(name) != nil {
		return nil, duplicate
	}
	now := s.now()
	ri = &instance{
		settings: settings{
			downAfter: s.periods.downAfter, failoverTimeout: s.periods.failoverTimeout, parallelSyncs: 1,
		},
		flags: kind, name: name, addr: addr, master: owner, link: s.newLink(),
		lastPublished: now, lastHello: now, lastMasterDownAt: now,
		roleReported: kind & (instMaster | instReplica), roleReportedAt: now, replicaConfChange: now,
		priority: defaultPriority, announced: true,
	}
	if owner != nil {
		ri.downAfter = owner.downAfter
		ri.quorum = owner.quorum
	}
	*table = append(*table, ri)
	return ri, ""
}

const defaultPriority = 100

// addMaster begins to watch a master. bad is an error text or "".
func (s *Sentinel) addMaster(name, host string, port, quorum int) (m *instance, bad string) {
	switch {
	case quorum <= 0:
		return nil, errQuorum
	case !s.resolves(host):
		return nil, "ERR Invalid IP address or hostname specified"
	}
	m, bad = s.newInstance(instMaster, name, address{host, port}, nil)
	if bad == "" {
		m.quorum = int64(quorum)
	}
	return m, bad
}

// release lets go of the connections to instances that are not watched any more.
func (s *Sentinel) release(list instances) {
	for _, ri := range list {
		s.release(ri.replicas)
		s.release(ri.sentinels)
		s.releaseLink(ri)
	}
}

// resetMaster forgets what is known of a master, all but its Sentinels unless
// they are to be forgotten as well.
// Source: sentinelResetMaster of Redis 7.0.
func (s *Sentinel) resetMaster(m *instance, keepSentinels bool) {
	s.release(m.replicas)
	m.replicas = nil
	if !keepSentinels {
		s.release(m.sentinels)
		m.sentinels = nil
	}
	m.link.closeCommand()
	m.link.closePubSub()
	m.flags &= instMaster
	m.leader = ""
	m.failover, m.failoverChanged, m.failoverStarted, m.promotedReplica = failoverNone, 0, 0, nil
	m.runID, m.masterHost = "", ""
	now := s.now()
	m.link.pingPending, m.link.lastPing, m.link.lastAvailable, m.link.lastPong = now, 0, now, now
	m.roleReported, m.roleReportedAt = instMaster, now
}

// moveMaster resets a master that has moved to another address. Its other
// replicas and the old address are watched as its replicas. Nothing happens if
// to is none.
// Source: sentinelResetMasterAndChangeAddress of Redis 7.0.
func (s *Sentinel) moveMaster(m *instance, to address) {
	if to.port < 0 || to.port > 65535 || !s.resolves(to.host) {
		return
	}
	var replicas []address
	for _, r := range m.replicas {
		if !r.addr.same(to) {
			replicas = append(replicas, r.addr)
		}
	}
	if !to.same(m.addr) {
		replicas = append(replicas, m.addr)
	}
	s.resetMaster(m, true)
	m.addr = to
	m.oDownSince, m.sDownSince = 0, 0
	for _, addr := range replicas {
		if r, bad := s.newInstance(instReplica, "", addr, m); bad == "" {
			s.eventOf("+slave", r)
		}
	}
	s.flush()
}

// currentAddress is where clients are sent: the promoted replica as soon as it
// is a master.
// Source: sentinelGetCurrentMasterAddress of Redis 7.0.
func (ri *instance) currentAddress() address {
	if ri.is(instFailover) && ri.promotedReplica != nil && ri.failover >= failoverReconfReplicas {
		return ri.promotedReplica.addr
	}
	return ri.addr
}

// command is the name of a command on an instance, which may have renamed it.
// Source: sentinelInstanceMapCommand of Redis 7.0.
func (ri *instance) command(name string) string {
	m := ri
	if ri.master != nil {
		m = ri.master
	}
	for _, r := range m.renamed {
		if strings.EqualFold(r.from, name) {
			return r.to
		}
	}
	return name
}

// looksSane reports whether a master is up, by its own word a master, and the
// word is fresh.
// Source: sentinelMasterLooksSane of Redis 7.0.
func (s *Sentinel) looksSane(m *instance) bool {
	return m.is(instMaster) && m.roleReported == instMaster && !m.is(instSDown|instODown) &&
		s.now()-m.infoAt < s.periods.info*2
}

// upFor reports whether an instance was not seen to be down for so long.
// Source: sentinelRedisInstanceNoDownFor of Redis 7.0.
func (s *Sentinel) upFor(ri *instance, millis int64) bool {
	latest := max(ri.sDownSince, ri.oDownSince)
	return latest == 0 || s.now()-latest > millis
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// unsigned is how epochs are told to others. In replies they are signed.
func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }
