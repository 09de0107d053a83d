package cluster

import (
	"time"

	"minikv/server/engine"
)

// Times of the bus, from cluster.h of Redis 7.0.
const (
	busPeriod         = 100 * time.Millisecond // of the bus's own tasks
	busPortOffset     = 10000                  // from a node's port to that of its bus
	forgetTTL         = 60_000                 // milliseconds for which a forgotten node stays out
	manualTimeout     = 5000                   // milliseconds for a manual failover
	manualPauseFactor = 2                      // writes are held back for so many manualTimeouts
	failUndoFactor    = 2                      // node timeouts after which a failed master may come back
	minRejoinDelay    = 500                    // milliseconds a master waits after a partition
	maxRejoinDelay    = 5000
	writableDelay     = 2000 // milliseconds a master waits after a start
	orphanDelay       = 5000 // milliseconds a master must have been without replicas
)

// Levels of the log, as in redis.log.
const (
	levelDebug = iota
	levelVerbose
	levelNotice
	levelWarning
)

// clusterState is whether a node finds that the cluster works.
type clusterState uint8

const (
	clusterFails clusterState = iota
	clusterOK
)

func (s clusterState) String() string {
	if s == clusterOK {
		return "ok"
	}
	return "fail"
}

// busNode is the half of a member that makes it part of a cluster: what it knows of
// the other nodes and of the slots, how it finds out which of them are silent,
// and how a replica is elected in the place of its master.
// Source: cluster.c of Redis 7.0.
type busNode struct {
	m         *Member
	logger    func(level int, text string)
	self      *peer
	peers     []*peer          // self included, in the order in which they became known
	byName    map[string]*peer // the same
	seats     []*peer          // the same by seat
	inbound   []*busLink       // in the order of their dialing
	forgotten []forgotten
	slots     slotTable

	currentEpoch  uint64
	lastVoteEpoch uint64
	state         clusterState
	stateStale    bool // something has changed that state follows from
	size          int  // masters with slots
	silent        int  // nodes flagged PFAIL, counted once a period

	firstCheck int64 // Unix milliseconds of the first look at the state; 0: none yet
	minorityAt int64 // when this node was last among a minority
	nextCron   time.Duration
	loops      uint64 // periods so far
	pings      uint64 // packets with gossip sent so far
	election   election
	manual     manualFailover
	sent       [packetKinds]int64
	received   [packetKinds]int64
}

// forgotten is a node that must not become known again for a while.
type forgotten struct {
	name  string
	until int64 // Unix milliseconds
}

var _ ClusterBus = (*busNode)(nil)

// BusConfig is what a bus is made of.
type BusConfig struct {
	Log func(level int, text string) // receives what Redis would log; nil: discarded
}

// newBus makes a node that knows no other node, as redis-server without a nodes.conf. The
// node needs cluster-enabled yes.
func newBus(m *Member, cfg BusConfig) *busNode {
	b := &busNode{m: m, logger: cfg.Log, byName: map[string]*peer{}, seats: []*peer{nil}, size: 1}
	b.election.b = b
	b.manual = manualFailover{b: b, offset: -1}
	b.slots.migrating, b.slots.importing = map[int]*peer{}, map[int]*peer{}
	b.self = b.addPeer(randomID(m.random), flagSelf|flagMaster)
	_, port := m.dir.Endpoint(m.ID())
	b.self.setAddress("", port, port+busPortOffset)
	return b
}

func (b *busNode) node() *engine.Node { return b.m.node }
func (b *busNode) post() *Post        { return b.m.post }

// now is the node's wall clock in Unix milliseconds.
func (b *busNode) now() int64 { return b.m.clock.Wall().UnixMilli() }

func (b *busNode) number(name string) int64 { return b.node().Number(name) }

func (b *busNode) yes(name string) bool { return b.node().Parameter(name) == "yes" }

// timeout is cluster-node-timeout in milliseconds.
func (b *busNode) timeout() int64 { return b.number("cluster-node-timeout") }

// random draws a number from 0 to n-1.
func (b *busNode) random(n int) int { return int(b.m.random() % uint64(n)) }

func (b *busNode) log(level int, text string) {
	if b.logger != nil {
		b.logger(level, text)
	}
}

// Receive implements ClusterBus.
func (b *busNode) Receive(m Message) {
	if m.Conn == (Conn{}) {
		b.gone(m.From)
	} else {
		b.receiveBus(m)
	}
	b.Settle()
}

// Tick implements ClusterBus.
func (b *busNode) Tick() {
	if now := b.m.clock.Mono(); now >= b.nextCron {
		b.nextCron = now + busPeriod
		b.cron()
		b.node().RedirectBlocked()
	}
	b.Settle()
}

// NextDeadline implements ClusterBus.
func (b *busNode) NextDeadline() (wait time.Duration, ok bool) {
	return max(b.nextCron-b.m.clock.Mono(), 0), true
}

// Settle implements ClusterBus: it does what follows from what has just happened,
// unless a script runs, behind which it is called again.
// Source: clusterBeforeSleep of Redis 7.0, which processEventsWhileBlocked leaves out.
func (b *busNode) Settle() {
	if b.node().Interrupted() {
		return
	}
	if b.self.isReplica() {
		b.manual.check()
		if b.election.due {
			b.election.handle()
		}
	}
	if b.stateStale {
		b.updateState()
	}
}

// Slot implements engine.Topology.
func (b *busNode) Slot(number int) engine.SlotState {
	owner := b.owner(number)
	if owner == nil {
		return engine.SlotState{Importing: b.slots.importing[number] != nil}
	}
	s := engine.SlotState{Owner: owner.address, Mine: owner == b.self, MyMaster: owner == b.self.master}
	if !s.Mine {
		s.Owner = b.redirection(owner)
	} else if to := b.slots.migrating[number]; to != nil {
		s.Migrating = b.redirection(to)
	}
	s.Importing = b.slots.importing[number] != nil && !s.Mine
	return s
}

// ConfigEpoch implements ClusterBus.
func (b *busNode) ConfigEpoch() uint64 { return b.self.head().configEpoch }

// Others implements engine.Topology.
func (b *busNode) Others() int { return len(b.peers) - 1 }

// Down implements engine.Topology.
func (b *busNode) Down() (down, readsAllowed bool) {
	down = b.state != clusterOK
	return down, down && b.yes("cluster-allow-reads-when-down")
}
