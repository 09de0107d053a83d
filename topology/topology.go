package topology

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"minikv/cluster"
	"minikv/server/engine"
)

// Config says what runs.
type Config struct {
	Plan cluster.Plan
	Host string // where the nodes listen; "": 127.0.0.1
	Port int    // of the first node, the others follow; 0: free ports
	// Announce is the host by which nodes tell clients of each other; "": Host,
	// or 127.0.0.1 when they listen everywhere.
	Announce string
	// Node is what every node is made with: parameters and what INFO shows. The
	// topology sets the clock, the random source, the script environment, the
	// limit of scripts and the port.
	Node engine.Config
	// Own are parameters of single nodes, by name; they come before Node's. It may be nil.
	Own   func(name string) map[string]string
	Delay time.Duration // of a message between nodes
	Lag   time.Duration // of what a master sends its replicas; at least Delay is taken
	// Remember keeps the past of every node, for Node.RestartLosing.
	Remember bool
	// Event is told what each Sentinel publishes; it may be nil, and must not wait.
	Event func(sentinel, channel, text string)
	// Standing is told of each change in a node's place; it may be nil, and must not wait.
	Standing func(name string, s cluster.Standing)
	// Log receives what Redis would log; nil: nobody reads it.
	Log func(name string, level int, text string)
}

// Topology is a number of nodes that run. It must be closed.
type Topology struct {
	cfg     Config
	nodes   []*Node
	network *network
	running sync.WaitGroup
	closing sync.Once

	finish sync.Once
	done   chan struct{} // closed when SHUTDOWN has ended the last node
}

// Start runs a topology. All nodes listen when it returns, replicas follow
// their masters.
func Start(cfg Config) (*Topology, error) {
	if err := cfg.Plan.Check(); err != nil {
		return nil, err
	}
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
	names := cfg.Plan.Names()
	listeners, err := listen(cfg.Host, cfg.Port, len(names))
	if err != nil {
		return nil, err
	}
	t := &Topology{
		cfg: cfg, network: newNetwork(cfg.Delay, max(cfg.Lag, cfg.Delay)), done: make(chan struct{}),
	}
	directory := make(cluster.Directory, len(names))
	for i, name := range names {
		address := listeners[i].Addr().(*net.TCPAddr)
		directory[i] = cfg.Announce + ":" + strconv.Itoa(address.Port)
		n := &Node{
			topology: t, id: cluster.ID(i + 1), name: name, listening: address.String(), address: directory[i],
			clock: newClock(), inbox: newInbox(),
		}
		t.nodes = append(t.nodes, n)
	}
	t.network.nodes = t.nodes
	processes, err := cfg.Plan.Build(directory, func(id cluster.ID) engine.Config {
		return t.nodes[id-1].config(cfg.Node, cfg.Log)
	}, t.sentinelEvent)
	if err != nil {
		closeAll(listeners)
		return nil, err
	}
	for i, n := range t.nodes {
		n.process = processes[i]
		if m, ok := n.process.(*cluster.Member); ok && cfg.Remember {
			m.Remember()
		}
	}
	for i, n := range t.nodes {
		n.start(listeners[i])
		t.running.Add(1)
		go func() {
			defer t.running.Done()
			n.inbox.run(n.deliver)
		}()
	}
	return t, nil
}

// listen opens the addresses of all nodes, or none.
func listen(host string, port, count int) (listeners []net.Listener, err error) {
	for i := range count {
		next := 0
		if port != 0 {
			next = port + i
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("topology: node %d of %d: %w", i+1, count, err)
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}

// sentinelEvent hands on what a Sentinel publishes.
func (t *Topology) sentinelEvent(id cluster.ID, channel, text string) {
	if t.cfg.Event != nil {
		t.cfg.Event(t.nodes[id-1].name, channel, text)
	}
}

// Nodes are the nodes in the order of their IDs.
func (t *Topology) Nodes() []*Node { return t.nodes }

// Node finds a node by its name, m1, r1, …, or its address; nil if there is none.
func (t *Topology) Node(name string) *Node {
	for _, n := range t.nodes {
		if n.name == name || n.address == name {
			return n
		}
	}
	return nil
}

// Done is closed when a client's SHUTDOWN has left no node that runs.
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
		for _, n := range t.nodes {
			n.inbox.close()
			n.Kill()
		}
	})
	t.running.Wait()
}
