package minikvtest

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/internal/slot"
	"minikv/topology"
)

// Node is one server process: a Redis node or a Sentinel. Its embedded Database is
// database 0.
type Node struct {
	*Database
	servers *Servers
	n       *topology.Node
}

// Name returns m1, r1, s1 ….
func (n *Node) Name() string { return n.n.Name() }

// Addr returns "host:port". In memory that is only a name for DialContext.
func (n *Node) Addr() string { return n.n.Address() }

// Host returns the host of the address.
func (n *Node) Host() string { host, _, _ := net.SplitHostPort(n.Addr()); return host }

// Port returns the port of the address.
func (n *Node) Port() string { _, port, _ := net.SplitHostPort(n.Addr()); return port }

// URL returns redis://host:port, or redis://default:password@host:port if the nodes were
// given a password with Param("requirepass", …). With the option TLS it begins with
// rediss.
func (n *Node) URL() string {
	u := url.URL{Scheme: "redis", Host: n.Addr()}
	if n.servers.tls != nil {
		u.Scheme = "rediss"
	}
	if password := n.servers.password; password != "" {
		u.User = url.UserPassword("default", password)
	}
	return u.String()
}

// Dial connects a client in memory; see Servers.DialContext.
func (n *Node) Dial() (net.Conn, error) {
	return n.servers.DialContext(context.Background(), "tcp", n.Addr())
}

// DB returns a database of the node. An index that SELECT would refuse fails the test
// when the database is used.
func (n *Node) DB(index int) *Database { return &Database{node: n, index: index} }

// Do runs a command, as somebody at a console does, and returns the reply as redis-cli
// shows it. An error reply fails the test. Do waits for the reply: let a client in a
// goroutine send what blocks, such as BLPOP or WAIT, above all where time stands still.
func (n *Node) Do(args ...string) string {
	n.t().Helper()
	return resp.Describe(n.do(args...))
}

// Down reports whether the process has been killed, or was shut down.
func (n *Node) Down() bool { return n.n.Down() }

// IsMaster reports whether the node runs and is a master. It is false while the node is
// frozen.
func (n *Node) IsMaster() (master bool) {
	n.use(func(m *cluster.Member) { master = !m.Node().IsReplica() })
	return master
}

// Kill ends the process at once, as SIGKILL does. It does nothing if the process is down.
func (n *Node) Kill() { n.n.Kill() }

// Restarting says what a node has lost when it starts again.
type Restarting struct {
	everything bool
	latest     time.Duration
}

// LoseData lets the node start without data.
func LoseData() Restarting { return Restarting{everything: true} }

// LoseLast lets the node start with the data that it had d before it ended, as from a
// disk that was synced then. It needs the option Remember.
func LoseLast(d time.Duration) Restarting { return Restarting{latest: d} }

// Restart starts the process, after killing it if it runs. It keeps all its data, unless
// how says otherwise; the last of several counts.
func (n *Node) Restart(how ...Restarting) {
	n.t().Helper()
	var r Restarting
	for _, one := range how {
		r = one
	}
	if r.latest != 0 {
		n.servers.check(n.n.RestartLosing(r.latest))
		return
	}
	n.servers.check(n.n.Restart(!r.everything))
}

// checkThawed fails the test if the node would not answer until somebody thaws it.
func (n *Node) checkThawed() {
	n.t().Helper()
	if n.n.Frozen() {
		n.t().Fatalf("minikvtest: %s is frozen and answers nothing: Thaw it first", n.Name())
	}
}

// Freeze stops the process, as SIGSTOP does: connections stay open and nothing is
// answered. Until Thaw, what the test asks of the node's data fails the test.
func (n *Node) Freeze() { n.t().Helper(); n.servers.check(n.n.Freeze()) }

// Thaw lets a frozen process go on.
func (n *Node) Thaw() { n.t().Helper(); n.servers.check(n.n.Thaw()) }

// Slow makes every command of the node's clients take that long; 0 ends it. On a real
// clock the node does nothing else meanwhile, and what it is doing takes no more time
// once Slow is called again, or the node is frozen or killed. On a virtual one each
// command waits by itself, for as long as Slow said when it came.
func (n *Node) Slow(each time.Duration) { n.n.Slow(each) }

// SetClockOffset puts the node's wall clock ahead of Clock.Now by d, or behind it if d is
// negative. It replaces what was set before.
func (n *Node) SetClockOffset(d time.Duration) { n.n.SetClockOffset(d) }

// SetClockRate makes the node's clocks run rate times as fast as Clock; 1 is normal. A
// rate that is not more than 0 fails the test.
func (n *Node) SetClockRate(rate float64) {
	n.t().Helper()
	n.servers.check(n.n.SetClockRate(rate))
}

// HoldReplication keeps back what the node sends its replicas or, on a replica, what its
// master sends it. It fails the test on a master without replicas.
func (n *Node) HoldReplication() {
	n.t().Helper()
	n.eachLink(func(r *topology.Node) { n.servers.check(r.HoldReplication()) })
}

// ReleaseReplication delivers what HoldReplication has kept back.
func (n *Node) ReleaseReplication() { n.eachLink((*topology.Node).ReleaseReplication) }

// eachLink calls f with the receiving ends of the node's links.
func (n *Node) eachLink(f func(*topology.Node)) {
	replicas := n.replicas()
	if len(replicas) == 0 {
		f(n.n)
	}
	for _, r := range replicas {
		f(r.n)
	}
}

// replicas are the nodes that run and follow this one now.
func (n *Node) replicas() (all []*Node) {
	for _, other := range n.servers.nodes {
		if other != n && other.follows(n) {
			all = append(all, other)
		}
	}
	return all
}

func (n *Node) follows(master *Node) (yes bool) {
	port, _ := strconv.Atoi(master.Port())
	n.use(func(m *cluster.Member) { yes = m.Node().FollowsMaster(master.Host(), port) })
	return yes
}

// id is the node's number in the plan.
func (n *Node) id() cluster.ID { return cluster.ID(slices.Index(n.servers.nodes, n) + 1) }

// MoveSlot makes the node, a master of a cluster, the owner of the slot of a key, and
// moves all keys of that slot to it. It waits until both masters serve: one that has just
// started takes the cluster for down for two seconds more.
func (n *Node) MoveSlot(key string) {
	n.t().Helper()
	n.checkThawed()
	number := slot.OfString(key)
	if n.servers.plan.Cluster {
		both := func() bool { return n.serves() && n.servers.NodeFor(key).serves() }
		n.servers.eventually("slot "+strconv.Itoa(number)+" can move: the cluster serves", both)
	}
	n.servers.check(n.n.OpenSlot(number))
	for moved := 1; moved > 0; {
		var err error
		moved, err = n.n.MoveKeys(number, 100)
		n.servers.check(err)
	}
	n.servers.check(n.n.CloseSlot(number))
}

// serves tells whether a node of a cluster takes that for whole.
func (n *Node) serves() (yes bool) {
	n.use(func(m *cluster.Member) {
		down, _ := m.Topology().Down()
		yes = !down
	})
	return yes
}

// Info returns a field of INFO, such as connected_clients; it fails the test if there is
// none. Each call of Database and Do, this one too, counts there as a client of its own.
func (n *Node) Info(field string) string {
	n.t().Helper()
	for line := range strings.Lines(n.do("INFO", "everything").Str) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	n.t().Fatalf("minikvtest: INFO has no field %q", field)
	return ""
}
