package topology

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"minikv/cluster"
	"minikv/luaengine"
	"minikv/server"
	"minikv/server/engine"
)

// Node is one process of a topology: a Redis node or a Sentinel.
type Node struct {
	topology  *Topology
	id        cluster.ID
	name      string
	address   string // that clients are told
	listening address
	process   cluster.Process
	clock     *clock
	standing  cluster.Standing // that Config.Standing was told last; under the server's gate
	inbox     *inbox
	limit     atomic.Pointer[func() string] // of the present server
	slow      atomic.Int64                  // how long each command takes, in ns
	pace      signal                        // slow, down or frozen has changed
	frozen    atomic.Bool                   // or about to be
	overdue   atomic.Bool                   // virtual: Tick is to be called without the clock having moved
	due       atomic.Pointer[deadline]      // virtual: when Tick is to be called next; nil: the process has to be asked
	watch     *watch                        // nil: there is no trace
	ticking   bool                          // virtual: under the server's gate: Tick has just been called
	looking   bool                          // under the server's gate: it is only looked at

	changing sync.Mutex     // held by who kills or starts the process
	life     sync.RWMutex   // held for reading by whoever uses the server
	down     atomic.Bool    // the server is closed, or about to be
	server   *server.Server // the present one, or the latest
	endedAt  time.Duration  // when that was, by the node's clock
}

// Name returns m1, r1, s1, …, as cluster.Plan counts.
func (n *Node) Name() string { return n.name }

// Address returns where clients find the node, "host:port".
func (n *Node) Address() string { return n.address }

// Down reports whether the process has been killed, or was shut down.
func (n *Node) Down() bool { return n.down.Load() }

// Do calls f with the node's process while nobody else uses it; it waits while the node
// is frozen. It returns false, without a call, if the process is down.
func (n *Node) Do(f func(p cluster.Process)) (done bool) { return n.use((*server.Server).Do, f) }

// use is Do, by a method of the server's.
func (n *Node) use(do func(*server.Server, func(server.Machine)), f func(p cluster.Process)) (done bool) {
	n.life.RLock()
	defer n.life.RUnlock()
	if n.down.Load() {
		return false
	}
	do(n.server, func(server.Machine) {
		if !n.down.Load() { // it may have been killed while it was frozen
			f(n.process)
			done = true
		}
	})
	return done
}

// Try is Do, but does not wait for a frozen node: it returns false.
func (n *Node) Try(f func(p cluster.Process)) (done bool) {
	return n.use(func(s *server.Server, f func(server.Machine)) { s.TryDo(f) }, f)
}

// receive lets a goroutine deliver what arrives, until the topology ends.
func (n *Node) receive() {
	n.topology.running.Add(1)
	go func() {
		defer n.topology.running.Done()
		n.inbox.run(n.deliver, n.tickOverdue)
	}()
}

// deliver hands over what has arrived, one by one, also while a script runs for too
// long. For a process that is down its computer answers.
func (n *Node) deliver(messages []cluster.Message) {
	for _, m := range messages {
		received := n.use((*server.Server).Visit, func(p cluster.Process) { p.Receive(m) })
		if !received && m.Body != (any)(cluster.Closed{}) {
			n.topology.network.sendAll([]cluster.Message{cluster.Nobody(m)})
		}
	}
}

// errKeepsPort goes to the log: others know a node by its address.
var errKeepsPort = errors.New("CONFIG SET port: not possible at a node of a topology: start minikv with another --port")

// config is what the node is made with.
func (n *Node) config(base engine.Config, log func(name string, level int, text string)) engine.Config {
	base.Clock = n.clock
	base.Parameters = maps.Clone(base.Parameters)
	delete(base.Parameters, "port") // it is the first node's; each has its own, by its address
	delete(base.Parameters, "tls-port")
	if n.topology.cfg.TLS != nil {
		base.Parameters = withTLS(base.Parameters, n.listening.Port)
	}
	if own := n.topology.cfg.Own; own != nil {
		if base.Parameters == nil {
			base.Parameters = map[string]string{}
		}
		maps.Copy(base.Parameters, own(n.name))
	}
	base.Random = n.topology.random(uint64(n.id))
	base.Lua = luaengine.New(engine.Resolve)
	base.Limit = func() string {
		if limit := n.limit.Load(); limit != nil {
			return (*limit)()
		}
		return ""
	}
	base.Log = func(level int, text string) { log(n.name, level, text) }
	base.Rebind = func(string, int) error {
		base.Log(server.LevelWarning, errKeepsPort.Error())
		return errKeepsPort
	}
	base.TLS = n.topology.cfg.TLS != nil
	if !n.topology.cfg.InMemory {
		base.Dial = func(host string, port int, timeout time.Duration) (engine.Peer, error) {
			return n.server.Reach(host, port, timeout)
		}
	}
	return base
}

// withTLS adds to parameters what they are in a Redis that speaks TLS alone, to everybody.
func withTLS(parameters map[string]string, port int) map[string]string {
	if parameters == nil {
		parameters = map[string]string{}
	}
	parameters["port"], parameters["tls-port"] = "0", strconv.Itoa(port)
	parameters["tls-cluster"], parameters["tls-replication"] = "yes", "yes"
	return parameters
}

// open makes the node's server: from then on others may send to the process.
func (n *Node) open() {
	n.server = server.New(server.Config{
		Machine: func(limit func() string) server.Machine {
			n.limit.Store(&limit)
			return machine{n.process, n}
		},
		Log:      func(level int, text string) { n.topology.cfg.Log(n.name, level, text) },
		After:    n.afterUse,
		Before:   n.before,
		Untimed:  n.clock.base.virtual,
		Shutdown: n.endByRequest,
	})
}

// start lets the process do what it begins with, and serve clients.
func (n *Node) start() {
	n.server.Do(func(server.Machine) { n.process.Tick() })
	if listener := n.listening.listener; listener != nil {
		if encryption := n.topology.cfg.TLS; encryption != nil {
			listener = tls.NewListener(listener, encryption)
		}
		n.topology.running.Add(1)
		go n.serve(n.server, listener)
	}
}

// afterUse sends what the process has for others. It runs under the server's gate.
func (n *Node) afterUse() {
	if told := n.topology.cfg.Standing; told != nil || n.watch != nil {
		if now := cluster.StandingOf(n.process); now != n.standing {
			if n.standing.Role != "" {
				n.noteNode("is now %s", now)
			}
			n.standing = now
			if told != nil {
				told(n.name, now)
			}
		}
	}
	// Also when it is being killed: what it has done may be answered.
	n.topology.network.sendAll(n.process.Outbox())
	if !n.looking {
		n.topology.used.happened()
	}
	n.looking = false
	if !n.clock.base.virtual {
		return
	}
	next := n.deadline()
	n.due.Store(next)
	if next.by(n.clock.base.Now()) && !n.ticking {
		n.overdue.Store(true)
		n.inbox.nudge()
	}
	n.ticking = false
}

// tickOverdue calls Tick if the node was left with something to do at once.
func (n *Node) tickOverdue() {
	if n.overdue.Swap(false) {
		n.tick()
	}
}

func (n *Node) serve(s *server.Server, listener net.Listener) {
	defer n.topology.running.Done()
	if err := s.Serve(listener); !errors.Is(err, server.ErrClosed) {
		n.topology.cfg.Log(n.name, server.LevelWarning, err.Error())
	}
}

// endByRequest ends a process whose client has sent SHUTDOWN.
func (n *Node) endByRequest() {
	n.changing.Lock()
	defer n.changing.Unlock()
	select {
	case <-n.server.ShutdownRequested(): // it was not restarted in the meantime
		n.end()
		n.topology.checkDone()
	default:
	}
}

// Kill ends the process at once, as SIGKILL does: its connections break. It does nothing
// if the process is down.
func (n *Node) Kill() {
	n.changing.Lock()
	defer n.changing.Unlock()
	n.end()
}

// end is Kill for who holds the lock.
func (n *Node) end() {
	if n.down.Swap(true) {
		return
	}
	if !n.topology.closed.Load() {
		n.noteNode("is killed")
	}
	n.endedAt = n.clock.Mono()
	n.pace.happened()
	n.server.Close()
	if !n.topology.closed.Load() {
		n.listening.close() // it may not have been served yet
	}
	n.frozen.Store(false)
	n.life.Lock()
	defer n.life.Unlock()
	n.process.Outbox() // nobody sends it
	n.topology.network.bury(n.id)
}

// Restart starts the process, after killing it if it runs, with its data or without. An
// error means that its address is taken, or that the topology is closed.
func (n *Node) Restart(keepData bool) error {
	return n.restart(func() {
		n.noteNode("is started, data kept: %t", keepData)
		n.process.Restart(keepData)
	})
}

// RestartLosing is Restart with the data that the node had latest before the process
// ended, as from a disk that was synced then. It needs Config.Remember, and reaches back
// at least a minute, or 16 MiB of writes. It is an error for a Sentinel.
func (n *Node) RestartLosing(latest time.Duration) error {
	if latest < 0 {
		return fmt.Errorf("topology: restart %s: lose %v: expected 0 or more", n.name, latest)
	}
	m, ok := n.process.(*cluster.Member)
	if !ok || !n.topology.cfg.Remember {
		return fmt.Errorf("topology: restart %s: only a Redis node goes back, and only with Config.Remember", n.name)
	}
	return n.restart(func() {
		n.noteNode("is started without the latest %v of its data", latest)
		m.RestartAt(n.endedAt - latest)
	})
}

func (n *Node) restart(process func()) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if n.topology.closed.Load() {
		return fmt.Errorf("topology: restart %s: %w", n.name, server.ErrClosed)
	}
	n.end()
	if err := n.listening.openAgain(); err != nil {
		return fmt.Errorf("topology: restart %s: %w", n.name, err)
	}
	n.life.Lock()
	defer n.life.Unlock()
	process()
	if n.watch != nil {
		n.watch.reset()
	}
	n.down.Store(false)
	n.open()
	n.start()
	return nil
}

// Freeze stops the process, as SIGSTOP does: connections stay open and nothing is
// answered. It returns an error if the process is down.
func (n *Node) Freeze() error {
	return n.withServer(func(s *server.Server) {
		n.noteNode("is frozen")
		n.frozen.Store(true)
		n.pace.happened()
		s.Freeze()
	})
}

// Thaw lets a frozen process go on. It returns an error if the process is down.
func (n *Node) Thaw() error {
	return n.withServer(func(s *server.Server) {
		n.noteNode("is thawed")
		s.Thaw()
		n.due.Store(nil) // its clock may have been set meanwhile
		n.frozen.Store(false)
		n.overdue.Store(true)
		n.inbox.nudge()
	})
}

func (n *Node) withServer(f func(*server.Server)) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if n.down.Load() {
		return fmt.Errorf("topology: %s is down", n.name)
	}
	f(n.server)
	return nil
}

// Frozen reports whether the process is frozen.
func (n *Node) Frozen() bool { return n.frozen.Load() }
