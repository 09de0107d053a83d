package cluster

import (
	"strings"

	"minikv/internal/resp"
)

// helloChannel is where Sentinels greet each other, on every server they watch.
const helloChannel = "__sentinel__:hello"

// hello is what a Sentinel says of itself and of a master.
type hello struct {
	addr        address
	id          string
	epoch       uint64
	master      string
	masterAddr  address
	configEpoch uint64
}

// String is a hello as it is published: its eight fields between commas.
func (h hello) String() string {
	return strings.Join([]string{
		h.addr.host, decimal(int64(h.addr.port)), h.id, unsigned(h.epoch),
		h.master, h.masterAddr.host, decimal(int64(h.masterAddr.port)), unsigned(h.configEpoch),
	}, ",")
}

// parseHello reads a hello; ok is false if it has not eight fields.
func parseHello(text string) (h hello, ok bool) {
	f := strings.Split(text, ",")
	if len(f) != 8 {
		return hello{}, false
	}
	return hello{
		addr: address{f[0], int(leadingInt(f[1]))}, id: f[2], epoch: leadingUint(f[3]),
		master: f[4], masterAddr: address{f[5], int(leadingInt(f[6]))}, configEpoch: leadingUint(f[7]),
	}, true
}

// sendHello publishes, on an instance, who this Sentinel is and where it
// believes the master to be.
// Source: sentinelSendHello of Redis 7.0.
func (s *Sentinel) sendHello(ri *instance) {
	if ri.link.disconnected {
		return
	}
	m := ri
	if ri.master != nil {
		m = ri.master
	}
	at := m.currentAddress()
	h := hello{
		addr: s.own(), id: s.id, epoch: s.epoch,
		master: m.name, masterAddr: address{s.announced(at), at.port}, configEpoch: m.configEpoch,
	}
	s.send(ri, func(v resp.Value) {
		if v.Kind != resp.Error {
			ri.lastPublished = s.now()
		}
	}, ri.command("PUBLISH"), helloChannel, h.String())
}

// own is the address at which others find this Sentinel.
func (s *Sentinel) own() address {
	host, port := s.cfg.Directory.Endpoint(s.cfg.ID)
	if s.options.announceHost != "" || s.options.announceNoHost {
		host = s.options.announceHost
	}
	if s.options.announcePort != 0 {
		port = s.options.announcePort
	}
	return address{host, port}
}

// forceHello makes all instances of a master hear the news at the next cron.
// Source: sentinelForceHelloUpdateForMaster of Redis 7.0.
func (s *Sentinel) forceHello(m *instance) {
	past := s.periods.publish + 1
	force := func(ri *instance) {
		if ri.lastPublished >= past {
			ri.lastPublished -= past
		}
	}
	force(m)
	for _, r := range m.replicas {
		force(r)
	}
	for _, other := range m.sentinels {
		force(other)
	}
}

// receiveHello takes what the subscribed connection to an instance brings. The
// Sentinel's own greetings come back, too, and show that the connection lives.
// Source: sentinelReceiveHelloMessages of Redis 7.0.
func (s *Sentinel) receiveHello(ri *instance, v resp.Value) {
	ri.link.pubsubActive = s.now()
	isMessage := (v.Kind == resp.Array || v.Kind == resp.Push) && len(v.List) == 3 && v.List[0].Str == "message"
	if isMessage && !strings.Contains(v.List[2].Str, s.id) {
		s.processHello(v.List[2].Str)
	}
}

// processHello learns from a greeting: another Sentinel, a later epoch, a
// master's newer address.
// Source: sentinelProcessHelloMessage of Redis 7.0.
func (s *Sentinel) processHello(text string) {
	h, ok := parseHello(text)
	if !ok {
		return
	}
	m := s.masters.byName(h.master)
	if m == nil {
		return
	}
	from := m.sentinels.findAt(h.addr, h.id)
	if from == nil {
		from = s.meet(m, h)
	}
	if h.epoch > s.epoch {
		s.newEpoch(h.epoch)
	}
	if from == nil {
		return
	}
	if m.configEpoch < h.configEpoch {
		m.configEpoch = h.configEpoch
		if !m.addr.same(h.masterAddr) {
			s.eventOf("+config-update-from", from)
			s.eventSwitch(m, h.masterAddr)
			s.moveMaster(m, h.masterAddr)
		}
	}
	from.lastHello = s.now()
}

// meet begins to watch a Sentinel, or watches one at its new address. It
// returns nil if that cannot be.
func (s *Sentinel) meet(m *instance, h hello) *instance {
	moved := s.forgetSentinel(m, h.id)
	if moved {
		s.eventOf("+sentinel-address-switch", m,
			"ip "+h.addr.host+" port "+decimal(int64(h.addr.port))+" for "+h.id)
	} else if other := m.sentinels.findAt(h.addr, ""); other != nil {
		s.eventOf("+sentinel-invalid-addr", other)
		for _, one := range s.masters {
			s.forgetSentinel(one, other.runID)
		}
	}
	from, bad := s.newInstance(instSentinel, h.id, h.addr, m)
	if bad != "" {
		return nil
	}
	if !moved {
		s.eventOf("+sentinel", from)
	}
	from.runID = h.id
	s.shareLink(from)
	if moved {
		s.moveSentinel(from)
	}
	s.flush()
	return from
}

// forgetSentinel stops watching the Sentinel with an id; it reports whether
// there was one.
// Source: removeMatchingSentinelFromMaster of Redis 7.0.
func (s *Sentinel) forgetSentinel(m *instance, id string) bool {
	other := m.sentinels.find("", 0, id)
	if id == "" || other == nil {
		return false
	}
	m.sentinels.remove(other)
	s.releaseLink(other)
	return true
}

// moveSentinel gives a Sentinel its new address under the other masters, too.
// Source: sentinelUpdateSentinelAddressInAllMasters of Redis 7.0.
func (s *Sentinel) moveSentinel(from *instance) {
	moved := int64(0)
	for _, m := range s.masters {
		match := m.sentinels.find("", 0, from.runID)
		if match == nil || match == from {
			continue
		}
		match.link.closeCommand()
		match.addr = from.addr
		moved++
	}
	if moved > 0 {
		s.eventOf("+sentinel-address-update", from, decimal(moved)+" additional matching instances")
	}
}

// newEpoch takes over a later epoch.
func (s *Sentinel) newEpoch(epoch uint64) {
	s.epoch = epoch
	s.flush()
	s.event("+new-epoch", unsigned(epoch))
}

// eventSwitch tells clients where a master has gone.
func (s *Sentinel) eventSwitch(m *instance, to address) {
	s.event("+switch-master", m.name+
		" "+s.announced(m.addr)+" "+decimal(int64(m.addr.port))+
		" "+s.announced(to)+" "+decimal(int64(to.port)))
}
