package cluster

import (
	"time"

	"minikv/server/engine"
)

// Sentinel is one Redis Sentinel. As a client it watches masters, their replicas and
// other Sentinels, and it has a replica promoted when enough Sentinels agree that a
// master is down. It follows sentinel.c of Redis 7.0 function by function. It is not safe
// for concurrent use.
type Sentinel struct {
	cfg     SentinelConfig
	post    *Post
	node    *engine.Node // speaks with the Sentinel's clients
	serving *Serving
	dirty   []*engine.Session // what Dirty returned last, used again

	id      string    // 40 hexadecimal digits
	epoch   uint64    // the latest that was heard of
	masters instances // in the order in which they were added
	links   []*instanceLink

	tilt         bool // the clock or the process did something odd: only watch
	tiltSince    int64
	previousCron int64         // by the wall clock, in Unix milliseconds
	nextCron     time.Duration // by the monotonic clock
	started      bool

	options sentinelOptions
	periods sentinelPeriods
	failure simulatedFailure
	crashed bool // SENTINEL SIMULATE-FAILURE has struck
	saved   savedSentinel
}

var _ Process = (*Sentinel)(nil)

// SentinelConfig is what a Sentinel is made of.
type SentinelConfig struct {
	ID        ID
	Directory Directory // includes the Sentinel's own address
	// Node is as for a node alone. The Sentinel sets Mode, Handlers and, if it is 0, Port.
	Node    engine.Config
	Masters []WatchedMaster
	// Event is called with each event as it is published: its channel, such as
	// "+switch-master", and its text. It may be nil.
	Event func(channel, text string)
}

// WatchedMaster is a master as a configuration file describes it to a Sentinel. Fields
// that are 0 have Redis's default.
type WatchedMaster struct {
	Name   string
	Host   string
	Port   int
	Quorum int // how many Sentinels must agree that it is down; at least 1

	User     string // used with the password, at the master and its replicas; "": default
	Password string // "": none

	DownAfter       time.Duration // silence after which it is believed to be down; default 30 s
	FailoverTimeout time.Duration // default 3 min
}

// sentinelOptions are the parameters of SENTINEL CONFIG.
type sentinelOptions struct {
	resolveHostnames, announceHostnames bool
	announceHost                        string
	announceNoHost                      bool // SENTINEL CONFIG has set an empty announce-ip
	announcePort                        int
	user, password                      string
}

// NewSentinel makes a Sentinel. It panics if a master could not be added with SENTINEL
// MONITOR. A master that is given by a host name turns resolve-hostnames and
// announce-hostnames on.
func NewSentinel(cfg SentinelConfig) *Sentinel {
	s := &Sentinel{cfg: cfg, post: NewPost(cfg.ID), periods: defaultPeriods()}
	for _, w := range cfg.Masters {
		if !isIP(w.Host) {
			s.options.resolveHostnames, s.options.announceHostnames = true, true
		}
	}
	cfg.Node.Mode = sentinelMode
	cfg.Node.Handlers = s.handlers()
	if cfg.Node.Port == 0 {
		_, cfg.Node.Port = cfg.Directory.Endpoint(cfg.ID)
	}
	s.node = engine.New(cfg.Node)
	s.serving = NewServing(s.node, s.post, cfg.Directory)
	s.id = randomID(cfg.Node.Random)
	for _, w := range cfg.Masters {
		m, bad := s.addMaster(w.Name, w.Host, w.Port, w.Quorum)
		if bad != "" {
			panic("cluster: sentinel: master " + w.Name + ": " + bad)
		}
		m.configure(w)
	}
	s.flush()
	return s
}

// configure takes over what differs from the defaults.
func (ri *instance) configure(w WatchedMaster) {
	ri.user, ri.password = w.User, w.Password
	if w.DownAfter > 0 {
		ri.downAfter = w.DownAfter.Milliseconds()
	}
	if w.FailoverTimeout > 0 {
		ri.failoverTimeout = w.FailoverTimeout.Milliseconds()
	}
}

// ID returns the Sentinel's own number.
func (s *Sentinel) ID() ID { return s.post.self }

// Node returns what the Sentinel's clients speak with. Whoever runs commands on it
// directly must then let Dirty and Outbox be fetched.
func (s *Sentinel) Node() *engine.Node { return s.node }

// Epoch returns the latest epoch that the Sentinel has heard of.
func (s *Sentinel) Epoch() uint64 { return s.epoch }

// MasterAddress returns where the Sentinel sends clients that ask for a master, as
// "host:port"; "" if it watches no master of that name.
func (s *Sentinel) MasterAddress(name string) string {
	m := s.masters.byName(name)
	if m == nil {
		return ""
	}
	return m.currentAddress().String()
}

// WatchedAddress is that of the master that the Sentinel watches under a name, as
// "host:port"; "" when there is none. While it leads a failover that is still the old one:
// the address is another as soon as it has published +switch-master.
func (s *Sentinel) WatchedAddress(name string) string {
	m := s.masters.byName(name)
	if m == nil {
		return ""
	}
	return m.addr.String()
}

// NewSession implements Process.
func (s *Sentinel) NewSession(addr string) *engine.Session { return s.node.NewSession(addr) }

// Full implements Process.
func (s *Sentinel) Full() string { return s.node.Full() }

// Do implements Process.
func (s *Sentinel) Do(session *engine.Session, cmd [][]byte) { s.node.Do(session, cmd) }

// Close implements Process.
func (s *Sentinel) Close(session *engine.Session) { s.node.Close(session) }

// Parameter implements Process.
func (s *Sentinel) Parameter(name string) string { return s.node.Parameter(name) }

// ShutdownRequested implements Process. A failure that SENTINEL SIMULATE-FAILURE has
// asked for ends the process, too.
func (s *Sentinel) ShutdownRequested() *engine.Shutdown {
	if s.crashed {
		return &engine.Shutdown{NoSave: true, Now: true, Force: true}
	}
	return s.node.ShutdownRequested()
}

// Unblocked implements Process.
func (s *Sentinel) Unblocked() *engine.Session { return s.serving.firstOther(s.node.Unblocked) }

// Dirty implements Process.
func (s *Sentinel) Dirty() []*engine.Session {
	s.dirty = s.dirty[:0]
	for dirty := s.node.Dirty(); len(dirty) > 0; dirty = s.node.Dirty() {
		s.dirty = append(s.dirty, s.serving.Settle(dirty)...)
	}
	if s.crashed {
		return nil
	}
	return s.dirty
}

// Outbox implements Process.
func (s *Sentinel) Outbox() []Message {
	out := s.post.Take()
	if s.crashed {
		return nil
	}
	return out
}

// Receive implements Process.
func (s *Sentinel) Receive(m Message) {
	switch {
	case s.crashed:
	case m.Conn == (Conn{}):
		s.receiveOwn(m)
		s.serving.Receive(m)
	case m.Conn.Lane != Client:
		if m.Body != (any)(Closed{}) {
			s.post.Close(m.From, m.Conn)
		}
	case m.Conn.Dialer == s.ID():
		s.receiveOwn(m)
		if m.From == s.ID() { // it watches itself
			s.serving.Receive(m)
		}
	default:
		s.serving.Receive(m)
	}
}

// receiveOwn takes a message of a connection that the Sentinel has dialed.
func (s *Sentinel) receiveOwn(m Message) {
	for _, link := range s.links {
		if link.receive(m) {
			return // the message may have changed the links
		}
	}
}

// Tick implements Process. The work of a Sentinel is done by its cron.
func (s *Sentinel) Tick() {
	if s.crashed {
		return
	}
	s.node.Tick()
	s.start()
	if now := s.cfg.Node.Clock.Mono(); now >= s.nextCron {
		s.cron()
		s.nextCron = now + s.cronPeriod()
	}
}

// NextDeadline implements Process.
func (s *Sentinel) NextDeadline() (wait time.Duration, ok bool) {
	wait = max(s.nextCron-s.cfg.Node.Clock.Mono(), 0)
	if other, has := s.node.NextDeadline(); has {
		wait = min(wait, other)
	}
	return wait, true
}

// Restart implements Process. The only data of a Sentinel is its configuration file, to
// which every change is written; so it is kept in any case.
func (s *Sentinel) Restart(bool) {
	s.serving.Forget()
	s.node.Restart(true)
	s.links = nil
	s.tilt, s.tiltSince, s.previousCron, s.nextCron = false, 0, 0, 0
	s.started, s.crashed, s.failure = false, false, 0
	s.periods = defaultPeriods()
	s.load(s.saved)
}

// start is the first thing a process does: it says whom it watches.
func (s *Sentinel) start() {
	if s.started {
		return
	}
	s.started = true
	s.previousCron = s.now()
	for _, m := range s.masters {
		s.eventOf("+monitor", m, "quorum "+decimal(m.quorum))
	}
}

// cron is done 10 to 19 times a second, at random so that Sentinels that were
// started together do not all ask for votes at once and split them.
// Source: sentinelTimer of Redis 7.0.
func (s *Sentinel) cron() {
	s.checkTilt()
	s.handle(s.masters)
}

// cronPeriod draws how long it is until the next cron.
func (s *Sentinel) cronPeriod() time.Duration {
	const baseHertz = 10
	hertz := baseHertz + s.cfg.Node.Random()%baseHertz
	return time.Duration(1000/hertz) * time.Millisecond
}

// checkTilt looks for signs that the process stood still or its clock was moved.
// Source: sentinelCheckTiltCondition of Redis 7.0.
func (s *Sentinel) checkTilt() {
	now := s.now()
	if delta := now - s.previousCron; delta < 0 || delta > s.periods.tiltTrigger {
		s.tilt = true
		s.tiltSince = now
		s.event("+tilt", "#tilt mode entered")
	}
	s.previousCron = now
}

// handle does what is due for instances and, of masters, for all that belong to them.
// Source: sentinelHandleDictOfRedisInstances of Redis 7.0.
func (s *Sentinel) handle(list instances) {
	var promoted *instance
	for _, ri := range list {
		s.handleOne(ri)
		if ri.is(instMaster) {
			s.handle(ri.replicas)
			s.handle(ri.sentinels)
			if ri.failover == failoverUpdateConfig {
				promoted = ri
			}
		}
	}
	if promoted != nil {
		s.switchToPromoted(promoted)
	}
}

// handleOne watches one instance and, unless in tilt, acts on what is seen.
// Source: sentinelHandleRedisInstance of Redis 7.0.
func (s *Sentinel) handleOne(ri *instance) {
	s.reconnect(ri)
	s.sendPeriodic(ri)
	if s.tilt {
		if s.now()-s.tiltSince < s.periods.tilt {
			return
		}
		s.tilt = false
		s.event("-tilt", "#tilt mode exited")
	}
	s.checkSubjectivelyDown(ri)
	if ri.is(instMaster) {
		s.checkObjectivelyDown(ri)
		if s.startFailoverIfNeeded(ri) {
			s.askOthers(ri, true)
		}
		s.runFailover(ri)
		s.askOthers(ri, false)
	}
}

// now is the Sentinel's wall clock in Unix milliseconds.
func (s *Sentinel) now() int64 { return s.cfg.Node.Clock.Wall().UnixMilli() }

// desynchronise is a random delay that keeps Sentinels from trying at once, in milliseconds.
func (s *Sentinel) desynchronise() int64 {
	const most = 1000
	return int64(s.cfg.Node.Random() % most)
}
