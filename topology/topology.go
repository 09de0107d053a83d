package topology

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server/engine"
)

// Config says what a topology is and how it runs. The zero value of a field, unless its
// comment says otherwise, means none.
type Config struct {
	Plan cluster.Plan // which nodes there are; see cluster.Plan
	Host string       // where the nodes listen; "": 127.0.0.1
	Port int          // of the first node; the others have the ports after it, up to 65535; 0: free ports
	// Announce is the host by which nodes tell clients of each other; "": Host, or 127.0.0.1
	// if they listen on all addresses.
	Announce string
	// Node is what every node is made with: parameters and what INFO shows. The
	// topology sets the clock, the random source, the script environment, the
	// limit of scripts and the port.
	Node engine.Config
	// Own returns parameters of a single node, by the node's name; they override those in
	// Node. It may be nil.
	Own   func(name string) map[string]string
	Delay time.Duration // of a message between nodes
	Lag   time.Duration // how long messages from masters to their replicas take; at least Delay
	// TLS is what the nodes' ports speak; nil: plain TCP. Connections in memory are always
	// plain, and so is what nodes tell each other.
	TLS *tls.Config
	// InMemory opens no port: clients reach the nodes only through Dial and DialContext. A
	// topology made in a bubble of testing/synctest lives by the bubble's time.
	InMemory bool
	// Virtual makes the topology's clock stand still until it is moved.
	Virtual bool
	// Begin is the date at which a virtual clock begins, 1970 or later; zero: the computer's
	// date.
	Begin time.Time
	// Seed is what every random choice depends on; 0: choices differ each time.
	Seed uint64
	// Trace is how many events Topology.Trace keeps. 0: there is no trace, unless Told or
	// Unsupported is set.
	Trace int
	// Told is called with each event of the trace as it happens. It may be nil, must not
	// wait and must not use the topology.
	Told func(Event)
	// Unsupported is called for each command of a client that redis-server knows and minikv
	// does not. It may be nil, and must not use the topology.
	Unsupported func(node, command string)
	// Control answers the command MINIKV of any client; nil: there is no such command. It is
	// called on the connection of that client and holds up nobody else.
	Control func(n *Node, args []string) resp.Value
	// Grown starts the nodes as they are after running for a while: masters, replicas,
	// Sentinels and the nodes of a cluster already know what they tell each other only now
	// and then.
	Grown bool
	// Remember keeps the past of every node, for Node.RestartLosing.
	Remember bool
	// Event is called with what each Sentinel publishes; it may be nil, and must not wait.
	Event func(sentinel, channel, text string)
	// Standing is called for each change in a node's place; it may be nil, and must not
	// wait.
	Standing func(name string, s cluster.Standing)
	// Log receives what Redis would log; nil: it is discarded.
	Log func(name string, level int, text string)
}

// Topology is a set of running nodes. It must be closed. Its methods and those of its
// nodes may be called by several goroutines.
type Topology struct {
	cfg     Config
	nodes   []*Node
	clock   *Clock
	network *network
	faults  faults
	trace   *Trace       // nil: there is none
	used    signal       // a node was used
	clients atomic.Int64 // that were connected in memory
	running sync.WaitGroup
	closing sync.Once
	closed  atomic.Bool // or about to be: no node is started any more

	finish sync.Once
	done   chan struct{} // closed when SHUTDOWN has ended the last node
}

// Start runs a topology. When it returns, all nodes listen and replicas follow their
// masters. An error means that cfg makes no sense, or that an address cannot be used.
func Start(cfg Config) (*Topology, error) {
	if err := cfg.Plan.Check(); err != nil {
		return nil, err
	}
	if cfg.Delay < 0 || cfg.Lag < 0 {
		return nil, fmt.Errorf("topology: delay %v, lag %v: expected at least 0", cfg.Delay, cfg.Lag)
	}
	if cfg.Virtual && !cfg.Begin.IsZero() && cfg.Begin.UnixMilli() < 0 {
		return nil, fmt.Errorf("topology: begin at %v: expected 1970 or later", cfg.Begin)
	}
	if cfg.TLS != nil && cfg.InMemory {
		return nil, errors.New("topology: TLS in memory: expected ports, as nothing else speaks it")
	}
	cfg = cfg.complete()
	names := cfg.Plan.Names()
	addresses, err := listen(cfg, len(names))
	if err != nil {
		return nil, err
	}
	t := &Topology{cfg: cfg, done: make(chan struct{})}
	t.clock = newTopologyClock(t, cfg)
	t.faults.draw = t.random(0)
	if cfg.Trace > 0 || cfg.Told != nil || cfg.Unsupported != nil {
		t.trace = newTrace(t.clock, max(cfg.Trace, 1), cfg.Told)
	}
	t.network = newNetwork(t.clock, cfg.Delay, max(cfg.Lag, cfg.Delay))
	directory := make(cluster.Directory, len(names))
	for i, name := range names {
		directory[i] = cfg.Announce + ":" + strconv.Itoa(addresses[i].Port)
		n := &Node{
			topology: t, id: cluster.ID(i + 1), name: name, listening: addresses[i],
			address: net.JoinHostPort(cfg.Announce, strconv.Itoa(addresses[i].Port)),
			clock:   newClock(t.clock, cfg.youth()),
		}
		n.inbox = newInbox(t.clock, n.receive)
		t.nodes = append(t.nodes, n)
	}
	t.network.nodes = t.nodes
	processes, err := cfg.Plan.Build(directory, func(id cluster.ID) engine.Config {
		return t.nodes[id-1].config(cfg.Node, cfg.Log)
	}, t.sentinelEvent)
	if err != nil {
		releaseAll(addresses)
		return nil, err
	}
	for i, n := range t.nodes {
		n.process = processes[i]
		if t.trace != nil {
			n.watch = newWatch(n, t.trace)
		}
		if m, ok := n.process.(*cluster.Member); ok && cfg.Remember {
			m.Remember()
		}
	}
	t.growUp(processes)
	for _, n := range t.nodes {
		n.open() // before any of them sends
	}
	for _, n := range t.nodes {
		n.start()
	}
	return t, nil
}

// complete fills in what was left to be chosen.
func (cfg Config) complete() Config {
	if cfg.Log == nil {
		cfg.Log = func(string, int, string) {}
	}
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if cfg.Announce == "" {
		cfg.Announce = cfg.Host
		if ip := net.ParseIP(cfg.Host); ip != nil && ip.IsUnspecified() {
			cfg.Announce = "127.0.0.1"
		}
	}
	return cfg
}

// How nodes grow up: in so many steps of Redis's cron, 30 s, in which masters
// ping their replicas, Sentinels ask everybody, and every node of a cluster hears
// from every other: each second it pings one that it has not heard from for long.
const growingSteps, growingStep = 300, 100 * time.Millisecond

// youth is how long the nodes have been running when clients come.
func (cfg Config) youth() time.Duration {
	if !cfg.Grown || cfg.Plan.Size() == cfg.Plan.Masters && !cfg.Plan.Cluster {
		return 0
	}
	return growingSteps * growingStep
}

// growUp lets the nodes' youth pass.
func (t *Topology) growUp(processes []cluster.Process) {
	for left := t.cfg.youth(); left > 0; left -= growingStep {
		for _, n := range t.nodes {
			n.clock.skip(growingStep)
		}
		cluster.Connect(processes)
	}
}

// Clock returns the time that all nodes follow.
func (t *Topology) Clock() *Clock { return t.clock }

// random is a source of numbers for one use.
func (t *Topology) random(use uint64) func() uint64 {
	if t.cfg.Seed == 0 {
		return rand.Uint64
	}
	return rand.New(rand.NewPCG(t.cfg.Seed, use)).Uint64
}

// sentinelEvent hands on what a Sentinel publishes.
func (t *Topology) sentinelEvent(id cluster.ID, channel, text string) {
	if t.cfg.Event != nil {
		t.cfg.Event(t.nodes[id-1].name, channel, text)
	}
}

// Nodes returns the nodes in the order of their IDs. The caller must not change the
// slice.
func (t *Topology) Nodes() []*Node { return t.nodes }

// Node returns the node with that name, m1, r1, …, or that address; nil if there is none.
func (t *Topology) Node(name string) *Node {
	for _, n := range t.nodes {
		if n.name == name || n.address == name {
			return n
		}
	}
	return nil
}

// Done returns a channel that is closed when a client's SHUTDOWN has ended the last
// running node.
func (t *Topology) Done() <-chan struct{} { return t.done }

func (t *Topology) checkDone() {
	for _, n := range t.nodes {
		if !n.Down() {
			return
		}
	}
	t.finish.Do(func() { close(t.done) })
}

// Close ends all nodes and waits for their goroutines. It may be called more than once.
func (t *Topology) Close() {
	t.closing.Do(func() {
		t.closed.Store(true)
		for _, n := range t.nodes {
			n.inbox.close()
			n.Kill()
			n.listening.release()
		}
		t.used.happened() // who waits for clients waits in vain
	})
	t.running.Wait()
}
