package cluster

import (
	"time"

	"minikv/server/engine"
)

// Member is a Redis node with its links: to its master, to its replicas, to the
// rest of a cluster.
type Member struct {
	dir     Directory
	post    *Post
	node    *engine.Node
	clock   engine.Clock
	random  func() uint64
	bus     ClusterBus // nil: not in a cluster
	serving *Serving
	dirty   []*engine.Session // what Dirty returned last, used again
}

var _ Process = (*Member)(nil)

// ClusterBus is the half of a member that makes it part of a cluster: the
// machine behind the cluster bus, who owns which slot, and the CLUSTER commands.
type ClusterBus interface {
	engine.Topology
	// Handlers are the commands that need the cluster.
	Handlers() engine.Handlers
	// Receive takes every message of the Bus lane, and Closed with the zero Conn.
	Receive(m Message)
	Tick()
	// NextDeadline is as a node's.
	NextDeadline() (wait time.Duration, ok bool)
	// Restart is as a Process's. The node has been restarted before.
	Restart(keepData bool)
}

// MemberConfig is what a Member is made of.
type MemberConfig struct {
	ID        ID
	Directory Directory // with the member's own address
	// Node is as for a node alone. The member sets Topology, Handlers and, if it
	// is 0, Port. The parameter replicaof makes it a replica from the start.
	Node engine.Config
	// Bus makes the cluster's half, nil in a topology without a cluster. It is
	// called before the member has its node.
	Bus func(m *Member) ClusterBus
}

// NewMember makes a node with its links. It panics like engine.New on a bad parameter.
func NewMember(cfg MemberConfig) *Member {
	m := &Member{
		dir: cfg.Directory, post: NewPost(cfg.ID), clock: cfg.Node.Clock, random: cfg.Node.Random,
	}
	if cfg.Bus != nil {
		m.bus = cfg.Bus(m)
		cfg.Node.Topology = m.bus
		cfg.Node.Handlers = m.bus.Handlers()
	}
	if cfg.Node.Port == 0 {
		_, cfg.Node.Port = m.dir.Endpoint(cfg.ID)
	}
	m.node = engine.New(cfg.Node)
	m.serving = NewServing(m.node, m.post, m.dir)
	return m
}

// ID is the member's own number.
func (m *Member) ID() ID { return m.post.self }

// Node is the node itself. Whoever runs commands on it directly must let the
// member's Dirty and Outbox be fetched afterwards.
func (m *Member) Node() *engine.Node { return m.node }

// Post is what all of the member's parts send through.
func (m *Member) Post() *Post { return m.post }

// Directory is who listens where.
func (m *Member) Directory() Directory { return m.dir }

// Clock is the node's clock.
func (m *Member) Clock() engine.Clock { return m.clock }

// Random draws from the node's source.
func (m *Member) Random() uint64 { return m.random() }

// NewSession implements Process.
func (m *Member) NewSession(addr string) *engine.Session { return m.node.NewSession(addr) }

// Do implements Process.
func (m *Member) Do(s *engine.Session, cmd [][]byte) { m.node.Do(s, cmd) }

// Close implements Process.
func (m *Member) Close(s *engine.Session) { m.node.Close(s) }

// Parameter implements Process.
func (m *Member) Parameter(name string) string { return m.node.Parameter(name) }

// ShutdownRequested implements Process.
func (m *Member) ShutdownRequested() *engine.Shutdown { return m.node.ShutdownRequested() }

// Tick implements Process.
func (m *Member) Tick() {
	m.node.Tick()
	if m.bus != nil {
		m.bus.Tick()
	}
}

// NextDeadline implements Process.
func (m *Member) NextDeadline() (wait time.Duration, ok bool) {
	wait, ok = m.node.NextDeadline()
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

// Dirty implements Process.
func (m *Member) Dirty() []*engine.Session {
	m.dirty = m.dirty[:0]
	for dirty := m.node.Dirty(); len(dirty) > 0; dirty = m.node.Dirty() {
		m.dirty = append(m.dirty, m.serving.Settle(dirty)...)
	}
	return m.dirty
}

// Outbox implements Process.
func (m *Member) Outbox() []Message { return m.post.Take() }

// Receive implements Process.
func (m *Member) Receive(msg Message) {
	switch {
	case msg.Conn == (Conn{}):
		m.serving.Receive(msg)
		if m.bus != nil {
			m.bus.Receive(msg)
		}
	case msg.Conn.Lane == Client:
		if msg.Conn.Dialer != m.ID() {
			m.serving.Receive(msg)
		}
	case msg.Conn.Lane == Bus && m.bus != nil:
		m.bus.Receive(msg)
	case msg.Body != (any)(Closed{}):
		m.post.Close(msg.From, msg.Conn)
	}
}

// Restart implements Process.
func (m *Member) Restart(keepData bool) {
	m.serving.Forget()
	m.node.Restart(keepData)
	if m.bus != nil {
		m.bus.Restart(keepData)
	}
}
