package minikvtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/internal/slot"
	"minikv/server/engine"
	"minikv/topology"
)

// Servers are the nodes that a test runs, and their network. A method that cannot do what
// it is asked fails the test that Run was given, as t.Fatalf does, unless it says
// otherwise.
type Servers struct {
	t     testing.TB
	top   *topology.Topology
	plan  cluster.Plan
	nodes []*Node
	clock *Clock

	password string      // that the nodes were given with Param
	bubble   string      // that they run in, see bubble
	tls      *tls.Config // the clients' side; nil: ports speak plain TCP
}

func newServers(t testing.TB, top *topology.Topology, plan cluster.Plan) *Servers {
	s := &Servers{t: t, top: top, plan: plan}
	s.clock = &Clock{s}
	for _, n := range top.Nodes() {
		node := &Node{servers: s, n: n}
		node.Database = node.DB(0)
		s.nodes = append(s.nodes, node)
	}
	return s
}

func checkParameters(t testing.TB, parameters map[string]string) {
	t.Helper()
	for name, value := range parameters {
		if err := engine.ValidateParameter(name, value); err != nil {
			t.Fatalf("minikvtest: parameter %s %q: %v", name, value, err)
		}
	}
}

func checkUsers(t testing.TB, users [][]string) {
	t.Helper()
	for _, words := range users {
		if err := engine.ValidateUser(words); err != nil {
			t.Fatalf("minikvtest: user %q: %v", words[0], err)
		}
	}
}

// In returns the same servers for t, a subtest that uses the servers of its parent: what
// cannot be done fails t. Without In a failure there would be the parent's, which ends
// the whole test binary with a panic. A bubble of testing/synctest has servers of its
// own: servers from outside fail t.
func (s *Servers) In(t testing.TB) *Servers {
	t.Helper()
	in := newServers(callable(t), s.top, s.plan)
	in.password, in.bubble, in.tls = s.password, s.bubble, s.tls
	if bubble() != s.bubble {
		in.t.Fatalf("%v", errBubble)
	}
	return in
}

// Nodes returns all nodes: masters, then replicas, then Sentinels.
func (s *Servers) Nodes() []*Node { return append([]*Node(nil), s.nodes...) }

// Node returns the node with that name, such as m1, r1 or s1, or with that address. It
// fails the test if there is none.
func (s *Servers) Node(name string) *Node {
	s.t.Helper()
	for _, n := range s.nodes {
		if n.Name() == name || n.Addr() == name {
			return n
		}
	}
	s.t.Fatalf("minikvtest: there is no node %q: there are %s", name, strings.Join(s.plan.Names(), ", "))
	return nil
}

// NodeFor returns the master that is responsible for a key, by what the masters that run
// say now: in a cluster the owner of the key's slot. Where several say so, as one that was
// replaced goes on for some seconds, it is in a cluster the one with the highest config
// epoch, otherwise the one that most Sentinels name. It fails the test if there is none.
func (s *Servers) NodeFor(key string) *Node {
	s.t.Helper()
	var found *Node
	if s.plan.Cluster {
		found = s.ownerOf(slot.OfString(key))
	} else {
		found = s.mostNamed()
	}
	if found == nil {
		s.t.Fatalf("minikvtest: no master that runs has the key %q", key)
	}
	return found
}

// ownerOf is the node of a cluster that owns a slot; nil if none that runs says so.
func (s *Servers) ownerOf(number int) *Node {
	owner := s.top.SlotOwner(number)
	for _, n := range s.nodes {
		if n.n == owner {
			return n
		}
	}
	return nil
}

// mostNamed is the master that runs, of several the one that most Sentinels name; nil if
// there is none.
func (s *Servers) mostNamed() (found *Node) {
	most := -1
	for _, n := range s.nodes {
		if !n.IsMaster() {
			continue
		}
		if named := s.naming(n); named > most {
			found, most = n, named
		}
	}
	return found
}

// naming is how many Sentinels that run name a node as the master.
func (s *Servers) naming(master *Node) (count int) {
	for _, n := range s.nodes {
		if n.namedMaster((*cluster.Sentinel).MasterAddress) == master.Addr() {
			count++
		}
	}
	return count
}

// Addrs returns the addresses that a client is given to begin with: those of the
// Sentinels if there are any, otherwise those of all nodes.
func (s *Servers) Addrs() []string {
	var all []string
	for i, n := range s.nodes {
		if s.plan.Sentinels == 0 || s.plan.IsSentinel(cluster.ID(i+1)) {
			all = append(all, n.Addr())
		}
	}
	return all
}

// TLSConfig returns the clients' side of TLS: it trusts the servers, and has a client's
// certificate that they trust. Each call returns another one. It is nil if the servers run
// without the option TLS.
func (s *Servers) TLSConfig() *tls.Config { return s.tls.Clone() }

// DialContext connects a client in memory to the node with that address. It is meant for
// the options of clients, such as go-redis's Dialer, also for a cluster and for
// Sentinels. In another bubble of testing/synctest than that of the servers it returns an
// error. It does not fail the test.
func (s *Servers) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if bubble() != s.bubble {
		return nil, errBubble
	}
	return s.top.DialContext(ctx, network, addr)
}

// DialRueidis is DialContext in the form of rueidis's DialCtxFn. It speaks no TLS,
// whatever the servers' ports speak.
func (s *Servers) DialRueidis(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return s.DialContext(ctx, "tcp", addr)
}

// patience is how long a test waits for what its clients are to do.
const patience = 10 * time.Second

// WaitBlocked returns when at least n clients wait for news of a key: they are blocked in
// a pop of it, track it, or listen to a channel of that name or to the channel of a lock
// of that name, as Redisson names it. It fails t when there are fewer after 10 seconds,
// which do not follow a virtual Clock.
func (s *Servers) WaitBlocked(t testing.TB, key string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.top.WaitBlocked(ctx, key, n); err != nil {
		t.Fatalf("minikvtest: %v", err)
	}
}

// Locks returns every lock whose form is known; see topology.Lock.
func (s *Servers) Locks() []topology.Lock { return s.top.Locks() }

// Lock returns one lock; false if no master has it.
func (s *Servers) Lock(key string) (topology.Lock, bool) { return s.top.Lock(key) }

// Trace returns the latest 20,000 events: what clients sent and were answered, and what
// happened to nodes. What the test itself does by Database or Do is not among them.
func (s *Servers) Trace() []topology.Event { return s.top.Trace().Since(0) }

// Overlaps returns the times in which two owners held a lock at once; see
// topology.Overlaps. Locks that the test itself takes, by Database or Do, do not count.
func (s *Servers) Overlaps(key string) []topology.Overlap { return s.top.Trace().Overlaps(key) }

// showTrace logs the last lines of the trace, and the rules that struck nothing.
func (s *Servers) showTrace(lines int) {
	events := s.Trace()
	if lines <= 0 || len(events) == 0 {
		return
	}
	var text strings.Builder
	if left := len(events) - lines; left > 0 {
		fmt.Fprintf(&text, "… %d events before\n", left)
		events = events[left:]
	}
	for _, e := range events {
		text.WriteString(e.String() + "\n")
	}
	s.t.Logf("minikvtest: what the servers saw:\n%s", text.String())
	for _, f := range s.top.Faults() {
		if f.Struck == 0 {
			s.t.Logf("minikvtest: fault that struck nothing (commands that matched: %d): %s", f.Seen, f.Fault)
		}
	}
}

// Partition cuts the nodes named in a off from those named in b, in both directions,
// until Heal. What they send each other meanwhile waits. Clients are not cut off.
func (s *Servers) Partition(a, b []string) {
	s.t.Helper()
	s.check(s.top.Partition(a, b))
}

// PartitionOneWay cuts only what the nodes named in from send to those named in to.
func (s *Servers) PartitionOneWay(from, to []string) {
	s.t.Helper()
	s.check(s.top.PartitionOneWay(from, to))
}

// Heal ends all partitions and delivers what has waited.
func (s *Servers) Heal() { s.top.Heal() }

// DropMessages loses the next count messages from one node to another. They and what
// follows them arrive a second later, as over TCP.
func (s *Servers) DropMessages(from, to string, count int) {
	s.t.Helper()
	s.check(s.top.Drop(from, to, count))
}

// DelayMessages delays each of the next count messages from one node to another.
func (s *Servers) DelayMessages(from, to string, count int, by time.Duration) {
	s.t.Helper()
	s.check(s.top.Delay(from, to, count, by))
}

// Close ends all nodes before the test does. It may be called more than once.
func (s *Servers) Close() { s.top.Close() }

func (s *Servers) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("minikvtest: %v", err)
	}
}

// mostWaiting is how long servers may take to do what a test asks of them.
const mostWaiting = time.Minute

// eventually waits until something is so, on a virtual clock by moving it.
func (s *Servers) eventually(what string, so func() bool) {
	s.t.Helper()
	if !s.within(mostWaiting, 10*time.Millisecond, so) {
		s.t.Fatalf("minikvtest: %s: not within %v", what, mostWaiting)
	}
}

// within waits likewise, looks after each step, and reports whether it came to be so.
func (s *Servers) within(most, step time.Duration, so func() bool) bool {
	s.t.Helper()
	for waited := time.Duration(0); !so(); waited += step {
		if waited > most {
			return false
		}
		if s.top.Clock().Virtual() {
			s.check(s.top.Clock().Advance(step))
		} else {
			time.Sleep(step)
		}
	}
	return true
}

// Clock is the time of all servers of a test.
type Clock struct{ servers *Servers }

// Clock returns the clock that all nodes follow.
func (s *Servers) Clock() *Clock { return s.clock }

// Now returns the date, without what Jump and SetClockOffset have added for nodes.
func (c *Clock) Now() time.Time { return c.servers.top.Clock().Now() }

// Advance lets time pass on a virtual clock. What falls due on the way happens in its
// order; see topology.Clock. On a real clock, or for d below 0, it fails the test.
func (c *Clock) Advance(d time.Duration) {
	c.servers.t.Helper()
	c.servers.check(c.servers.top.Clock().Advance(d))
}

// Next advances a virtual clock to the first thing that falls due, and returns how far
// that was; ok is false when nothing waits for time to pass. On a real clock it fails the
// test.
func (c *Clock) Next() (passed time.Duration, ok bool) {
	c.servers.t.Helper()
	passed, ok, err := c.servers.top.Clock().Next()
	c.servers.check(err)
	return passed, ok
}

// Jump sets the wall clocks of all nodes ahead, or back if by is negative, on a virtual
// clock and on a real one.
func (c *Clock) Jump(by time.Duration) { c.servers.top.Clock().Jump(by) }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
