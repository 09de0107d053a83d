package cluster

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"

	"minikv/server/engine"
)

// Member is a Redis node with its links: to its master, to its replicas, and to the rest
// of a cluster. It is not safe for concurrent use.
type Member struct {
	dir     Directory
	post    *Post
	node    *engine.Node
	clock   engine.Clock
	random  func() uint64
	bus     ClusterBus // nil: not in a cluster
	serving *Serving

	up       upstream
	down     downstream
	handover handover

	migrations migrations

	past   *past         // nil: it is not kept
	late   []Message     // what has come while a script ran for too long, and waits for its end
	cronAt time.Duration // on the monotonic clock; 0: nothing needs it
	hushed bool          // see Hush

	dirty []*engine.Session // what Dirty returned last, used again
}

var _ Process = (*Member)(nil)

// ClusterBus is the half of a member that makes it part of a cluster: the machine behind
// the cluster bus, which node owns which slot, and the CLUSTER commands.
type ClusterBus interface {
	engine.Topology
	// Handlers returns the commands that need the cluster.
	Handlers() engine.Handlers
	// ConfigEpoch is that of the slots that the node serves; a replica's is its master's.
	ConfigEpoch() uint64
	// Receive takes every message of the Bus lane, and each Closed with the zero Conn.
	Receive(m Message)
	// Tick does what is due now, as a node's Tick.
	Tick()
	// NextDeadline is as a node's.
	NextDeadline() (wait time.Duration, ok bool)
	// Settle is called before the member waits for the next thing to happen.
	Settle()
	// Restart is as a Process's. It is called after the node has been restarted.
	Restart(keepData bool)
}

// MemberConfig is what a Member is made of.
type MemberConfig struct {
	ID        ID
	Directory Directory // includes the member's own address
	// Node is as for a node alone. The member sets Topology, Handlers and, if it is 0, Port.
	// The parameter replicaof makes it a replica from the start.
	Node engine.Config
	// Bus makes the cluster's half; nil in a topology without a cluster. It is called before
	// the member has its node.
	Bus func(m *Member) ClusterBus
}

// NewMember makes a node with its links. It panics like engine.New on a bad parameter.
func NewMember(cfg MemberConfig) *Member {
	m := &Member{
		dir: cfg.Directory, post: NewPost(cfg.ID), clock: cfg.Node.Clock, random: cfg.Node.Random,
	}
	m.up.m, m.down.m, m.handover.m, m.migrations.m = m, m, m, m
	cfg.Node.Handlers = engine.Handlers{}
	if cfg.Bus != nil {
		m.bus = cfg.Bus(m)
		cfg.Node.Topology = m.bus
		maps.Copy(cfg.Node.Handlers, m.bus.Handlers())
	}
	cfg.Node.Handlers["replicaof"], cfg.Node.Handlers["slaveof"] = m.runReplicaOf, m.runReplicaOf
	cfg.Node.Handlers["failover"] = m.runFailover
	cfg.Node.Handlers["psync"] = m.runTakeover
	cfg.Node.Handlers["migrate"] = m.migrations.run
	if cfg.Node.Port == 0 {
		_, cfg.Node.Port = m.dir.Endpoint(cfg.ID)
	}
	master := strings.Fields(cfg.Node.Parameters["replicaof"])
	cfg.Node.Parameters = maps.Clone(cfg.Node.Parameters)
	delete(cfg.Node.Parameters, "replicaof")
	m.node = engine.New(cfg.Node)
	m.serving = NewServing(m.node, m.post, m.dir)
	if len(master) == 2 {
		port, _ := strconv.Atoi(master[1])
		m.node.StartUnsynced()
		m.Follow(master[0], port)
	}
	return m
}

// ID returns the member's own number.
func (m *Member) ID() ID { return m.post.self }

// Node returns the node itself. Whoever runs commands on it directly must then let the
// member's Dirty and Outbox be fetched.
func (m *Member) Node() *engine.Node { return m.node }

// Topology returns which node owns which slot; nil outside of a cluster.
func (m *Member) Topology() engine.Topology {
	if m.bus == nil {
		return nil
	}
	return m.bus
}

// ClaimOn reports whether the member says that it serves a slot of a cluster, and its
// config epoch: of several that say so, the one with the highest does.
func (m *Member) ClaimOn(number int) (epoch uint64, claims bool) {
	if m.bus == nil || !m.bus.Slot(number).Mine {
		return 0, false
	}
	return m.bus.ConfigEpoch(), true
}

// Post returns the Post through which all parts of the member send.
func (m *Member) Post() *Post { return m.post }

// Directory returns which process listens where.
func (m *Member) Directory() Directory { return m.dir }

// Clock returns the node's clock.
func (m *Member) Clock() engine.Clock { return m.clock }

// Random draws a number from the node's source.
func (m *Member) Random() uint64 { return m.random() }

// NewSession implements Process.
func (m *Member) NewSession(addr string) *engine.Session { return m.node.NewSession(addr) }

// Do implements Process.
func (m *Member) Do(s *engine.Session, cmd [][]byte) { m.node.Do(s, cmd) }

// Full implements Process.
func (m *Member) Full() string { return m.node.Full() }

// Close implements Process.
func (m *Member) Close(s *engine.Session) { m.node.Close(s) }

// Parameter implements Process.
func (m *Member) Parameter(name string) string { return m.node.Parameter(name) }

// ShutdownRequested implements Process.
func (m *Member) ShutdownRequested() *engine.Shutdown { return m.node.ShutdownRequested() }

// Tick implements Process.
func (m *Member) Tick() {
	m.node.Tick()
	if now := m.clock.Mono(); m.cronAt > 0 && now >= m.cronAt {
		m.cronAt = nextCron(now)
		m.up.cron()
		m.down.cron()
	}
	m.migrations.tick()
	if m.bus != nil {
		m.bus.Tick()
	}
}

// Hush stops what the member does once a second unasked: PING and acknowledgements on its
// links, and giving up links that are silent.
func (m *Member) Hush() { m.hushed, m.cronAt = true, 0 }

// nextCron is when replication is next looked after: at every full second of
// the process's life.
func nextCron(now time.Duration) time.Duration { return now.Truncate(time.Second) + time.Second }

// NextDeadline implements Process.
func (m *Member) NextDeadline() (wait time.Duration, ok bool) {
	wait, ok = m.node.NextDeadline()
	wait, ok = sooner(wait, ok)(m.handover.nextDeadline())
	wait, ok = sooner(wait, ok)(m.migrations.nextDeadline())
	if m.cronAt > 0 {
		wait, ok = sooner(wait, ok)(max(m.cronAt-m.clock.Mono(), 0), true)
	}
	if m.bus != nil {
		wait, ok = sooner(wait, ok)(m.bus.NextDeadline())
	}
	return wait, ok
}

// sooner is the earlier of two deadlines, each of which may not be there.
func sooner(a time.Duration, hasA bool) func(b time.Duration, hasB bool) (time.Duration, bool) {
	return func(b time.Duration, hasB bool) (time.Duration, bool) {
		switch {
		case !hasA:
			return b, hasB
		case !hasB:
			return a, true
		}
		return min(a, b), true
	}
}

// Unblocked implements Process.
func (m *Member) Unblocked() *engine.Session { return m.serving.firstOther(m.node.Unblocked) }

// Dirty implements Process.
func (m *Member) Dirty() []*engine.Session {
	if !m.node.Interrupted() {
		m.catchUp()
		m.handover.check()
	}
	if m.bus != nil {
		m.bus.Settle()
	}
	m.dirty = m.dirty[:0]
	for dirty := m.node.Dirty(); len(dirty) > 0; dirty = m.node.Dirty() {
		m.dirty = append(m.dirty, m.serving.Settle(dirty)...)
	}
	if m.node.CutOff() {
		m.dropKilled()
	}
	m.down.pump()
	m.remember()
	m.node.Trim()
	if needed := m.up.host != "" || m.down.busy(); !needed || m.hushed {
		m.cronAt = 0
	} else if m.cronAt == 0 {
		m.cronAt = nextCron(m.clock.Mono())
	}
	return m.dirty
}

// dropKilled closes the links that clients have ended.
func (m *Member) dropKilled() {
	m.down.dropKilled()
	if state, _, _ := m.node.MasterLink(); state != m.up.state {
		m.up.drop()
	}
}

// Outbox implements Process.
func (m *Member) Outbox() []Message { return m.post.Take() }

// Receive implements Process. While a script runs past its time limit, the bus and the
// clients among the other processes are served all the same, as Redis serves them, so
// that a busy node is not taken for one that is down. What concerns replication waits.
// Source: processEventsWhileBlocked of Redis 7.0.
func (m *Member) Receive(msg Message) {
	interrupted := m.node.Interrupted()
	switch {
	case msg.Conn == (Conn{}):
		m.clientsGone(msg)
		if !interrupted {
			m.linksGone(msg)
		}
	case msg.Conn.Lane == Client && msg.Conn.Dialer != m.ID():
		m.serving.Receive(msg)
		return
	case msg.Conn.Lane == Bus && m.bus != nil:
		m.bus.Receive(msg)
		return
	case !interrupted:
		m.receiveLink(msg)
	}
	if interrupted {
		m.late = append(m.late, msg)
	}
}

// receiveLink takes a message of a link of the node's own.
func (m *Member) receiveLink(msg Message) {
	switch {
	case msg.Conn.Lane == Client:
		m.migrations.receive(msg)
	case msg.Conn.Lane == Replication && msg.Conn.Dialer == m.ID():
		m.up.receive(msg)
	case msg.Conn.Lane == Replication:
		m.down.receive(msg)
	case msg.Body != (any)(Closed{}):
		m.post.Close(msg.From, msg.Conn)
	}
}

// clientsGone and linksGone follow the death of another process.
func (m *Member) clientsGone(msg Message) {
	m.serving.Receive(msg)
	if m.bus != nil {
		m.bus.Receive(msg)
	}
}

func (m *Member) linksGone(msg Message) {
	m.migrations.receive(msg)
	m.down.gone(msg.From)
	if m.up.to == msg.From && m.up.conn != (Conn{}) {
		m.up.lost()
	}
}

// catchUp takes what has come while a script ran.
func (m *Member) catchUp() {
	late := m.late
	m.late = nil
	for _, msg := range late {
		if msg.Conn == (Conn{}) {
			m.linksGone(msg)
		} else {
			m.receiveLink(msg)
		}
	}
}

// Restart implements Process.
func (m *Member) Restart(keepData bool) {
	m.serving.Forget()
	m.late = nil
	m.migrations = migrations{m: m}
	m.down = downstream{m: m, number: m.down.number}
	m.handover = handover{m: m}
	m.node.Restart(keepData)
	m.up.restart()
	if m.bus != nil {
		m.bus.Restart(keepData)
	}
}

// runReplicaOf is REPLICAOF and SLAVEOF.
func (m *Member) runReplicaOf(c *engine.Call) resp.Value {
	switch {
	case m.bus != nil:
		return resp.Err("ERR REPLICAOF not allowed in cluster mode.")
	case m.handover.state != noHandover:
		return resp.Err("ERR REPLICAOF not allowed while failing over.")
	}
	host, port, bad := engine.ParseReplicaOf(c.Args)
	switch {
	case bad != "":
		return resp.Err(bad)
	case host == "":
		m.Promote()
	case m.node.FollowsMaster(host, port):
		return engine.AlreadyConnected
	default:
		m.Follow(host, port)
	}
	return resp.OK
}

// runTakeover is what PSYNC … FAILOVER has a replica do first.
func (m *Member) runTakeover(*engine.Call) resp.Value {
	m.Promote()
	return resp.OK
}

// standsStill reports whether the offset must not change, since a replica that is to
// take over compares it: not even a PING is sent.
// Source: replicationCron of Redis 7.0.
func (m *Member) standsStill() bool {
	hands := m.handover.until != 0
	if b, ok := m.bus.(*busNode); ok {
		hands = hands || b.manual.until != 0
	}
	return hands && m.node.Paused()
}

// announced is the address by which the member wants to be known.
func (m *Member) announced() (host string, port int) {
	host, port = m.dir.Endpoint(m.ID())
	if announced := m.node.Parameter("replica-announce-ip"); announced != "" {
		host = announced
	}
	if announced := m.node.Number("replica-announce-port"); announced != 0 {
		port = int(announced)
	}
	return host, port
}

// unixMillis and unixSeconds are the node's wall clock.
func (m *Member) unixMillis() int64  { return m.clock.Wall().UnixMilli() }
func (m *Member) unixSeconds() int64 { return m.clock.Wall().Unix() }
