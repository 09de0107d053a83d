package cluster

import "slices"

// sentinelPeriods are the times that SENTINEL DEBUG shows and changes, in
// milliseconds.
type sentinelPeriods struct {
	info, ping, ask, publish   int64
	downAfter, failoverTimeout int64 // of masters that say nothing else
	tiltTrigger, tilt          int64
	replicaReconf              int64 // a replica that was told its new master is waited for
	minReconnect               int64 // a connection is not closed for silence before this age
	election                   int64
	scriptRuntime, scriptRetry int64 // of no effect: no script is ever run
}

func defaultPeriods() sentinelPeriods {
	return sentinelPeriods{
		info: 10_000, ping: 1000, ask: 1000, publish: 2000, downAfter: 30_000, failoverTimeout: 180_000,
		tiltTrigger: 2000, tilt: 30_000, replicaReconf: 10_000, minReconnect: 15_000, election: 10_000,
		scriptRuntime: 60_000, scriptRetry: 30_000,
	}
}

// table lists the periods by their names, in the order of SENTINEL DEBUG.
func (p *sentinelPeriods) table() []namedPeriod {
	return []namedPeriod{
		{"INFO-PERIOD", &p.info}, {"PING-PERIOD", &p.ping}, {"ASK-PERIOD", &p.ask},
		{"PUBLISH-PERIOD", &p.publish}, {"DEFAULT-DOWN-AFTER", &p.downAfter},
		{"DEFAULT-FAILOVER-TIMEOUT", &p.failoverTimeout}, {"TILT-TRIGGER", &p.tiltTrigger},
		{"TILT-PERIOD", &p.tilt}, {"SLAVE-RECONF-TIMEOUT", &p.replicaReconf},
		{"MIN-LINK-RECONNECT-PERIOD", &p.minReconnect}, {"ELECTION-TIMEOUT", &p.election},
		{"SCRIPT-MAX-RUNTIME", &p.scriptRuntime}, {"SCRIPT-RETRY-DELAY", &p.scriptRetry},
	}
}

type namedPeriod struct {
	name   string
	millis *int64
}

// savedSentinel is what a Sentinel writes to its configuration file.
type savedSentinel struct {
	epoch   uint64
	options sentinelOptions
	masters []savedMaster
}

// savedMaster is a master in the configuration file.
type savedMaster struct {
	settings
	name      string
	addr      address
	replicas  []address
	sentinels []savedPeer
}

// savedPeer is another Sentinel in the configuration file.
type savedPeer struct {
	addr address
	id   string
}

// flush writes the configuration file: what a Sentinel knows after a restart.
// Source: rewriteConfigSentinelOption of Redis 7.0.
func (s *Sentinel) flush() {
	if s.crashed {
		return
	}
	saved := savedSentinel{epoch: s.epoch, options: s.options}
	for _, m := range s.masters {
		one := savedMaster{settings: m.settings, name: m.name, addr: m.currentAddress()}
		one.renamed = slices.Clone(m.renamed)
		for _, r := range m.replicas {
			addr := r.addr
			if addr.same(one.addr) { // it is written as the master, and the master in its place
				addr = m.addr
			}
			one.replicas = append(one.replicas, addr)
		}
		for _, other := range m.sentinels {
			one.sentinels = append(one.sentinels, savedPeer{other.addr, other.runID})
		}
		saved.masters = append(saved.masters, one)
	}
	s.saved = saved
}

// load reads the configuration file.
func (s *Sentinel) load(saved savedSentinel) {
	s.epoch, s.options, s.masters = saved.epoch, saved.options, nil
	s.options.announceNoHost = false // in a file an empty announce-ip is none
	for _, one := range saved.masters {
		m, bad := s.newInstance(instMaster, one.name, one.addr, nil)
		if bad != "" {
			panic("cluster: sentinel: a bad configuration was saved: " + bad)
		}
		m.settings = one.settings
		m.renamed = slices.Clone(one.renamed)
		for _, addr := range one.replicas {
			_, _ = s.newInstance(instReplica, "", addr, m) // the same one twice is one
		}
		for _, peer := range one.sentinels {
			if other, bad := s.newInstance(instSentinel, peer.id, peer.addr, m); bad == "" {
				other.runID = peer.id
				s.shareLink(other)
			}
		}
	}
	s.flush()
}
