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

// Servers are the nodes that a test runs, and their network.
type Servers struct {
	t     testing.TB
	top   *topology.Topology
	plan  cluster.Plan
	nodes []*Node
	clock *Clock

	password string // that the nodes were given with Param
	bubble   string // that they run in, see bubble
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

// In is the same servers, for a subtest t that uses those of its parent: what cannot be done
// fails t. The parent's may not be failed from there: without In the whole test binary ends with
// a panic. A bubble of testing/synctest has servers of its own: those from outside fail t.
func (s *Servers) In(t testing.TB) *Servers {
	t.Helper()
	in := newServers(callable(t), s.top, s.plan)
	in.password, in.bubble = s.password, s.bubble
	if bubble() != s.bubble {
		in.t.Fatalf("%v", errBubble)
	}
	return in
}

// Nodes are all nodes: masters, replicas, Sentinels.
func (s *Servers) Nodes() []*Node { return append([]*Node(nil), s.nodes...) }

// Node is the node of that name, m1, r1, s1 …, or address.
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

// NodeFor is the master that has a key, by what the masters that run say now:
// in a cluster the owner of its slot.
func (s *Servers) NodeFor(key string) *Node {
	s.t.Helper()
	for _, n := range s.nodes {
		if owns := false; n.IsMaster() {
			n.n.Try(func(p cluster.Process) {
				m := p.(*cluster.Member)
				owns = m.Topology() == nil || m.Topology().Slot(slot.OfString(key)).Mine
			})
			if owns {
				return n
			}
		}
	}
	s.t.Fatalf("minikvtest: no master that runs has the key %q", key)
	return nil
}

// Addrs are the addresses that a client is given to begin with: those of the
// Sentinels if there are some, otherwise those of all nodes.
func (s *Servers) Addrs() []string {
	var all []string
	for i, n := range s.nodes {
		if s.plan.Sentinels == 0 || s.plan.IsSentinel(cluster.ID(i+1)) {
			all = append(all, n.Addr())
		}
	}
	return all
}

// DialContext connects a client in memory to the node of an address. It is for
// the options of clients: go-redis's Dialer, for a cluster and Sentinels as well. It
// is an error in another bubble of testing/synctest than that of the servers.
func (s *Servers) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if bubble() != s.bubble {
		return nil, errBubble
	}
	return s.top.DialContext(ctx, network, addr)
}

// DialRueidis is DialContext in the form of rueidis's DialCtxFn. Certificates are not looked at.
func (s *Servers) DialRueidis(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return s.DialContext(ctx, "tcp", addr)
}

// patience is how long a test waits for what its clients are to do.
const patience = 10 * time.Second

// WaitBlocked returns when at least n clients wait for word of a key: blocked in
// a pop, listening to a channel of that name or of a lock of that name, as
// Redisson's are called, or tracking the key. It fails the test when they do not come
// within 10 seconds.
func (s *Servers) WaitBlocked(t testing.TB, key string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.top.WaitBlocked(ctx, key, n); err != nil {
		t.Fatalf("minikvtest: %v", err)
	}
}

// Locks tells of every lock in a form that is known; see topology.Lock.
func (s *Servers) Locks() []topology.Lock { return s.top.Locks() }

// Lock tells of one lock, and whether any master has it.
func (s *Servers) Lock(key string) (topology.Lock, bool) { return s.top.Lock(key) }

// Trace is what has happened, an event each, the latest 20,000: what clients sent and were
// answered, not what the test has done by Database or Do.
func (s *Servers) Trace() []topology.Event { return s.top.Trace().Since(0) }

// Overlaps tells when a lock was held by two at once; see topology.Overlaps. What the test
// takes by itself, with Database or Do, is held by nobody.
func (s *Servers) Overlaps(key string) []topology.Overlap { return s.top.Trace().Overlaps(key) }

// showTrace logs the last lines of the trace.
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
}

// Partition cuts the nodes named in a off from those named in b, until Heal.
func (s *Servers) Partition(a, b []string) {
	s.t.Helper()
	s.check(s.top.Partition(a, b))
}

// PartitionOneWay cuts only what the nodes named in from send to those in to.
func (s *Servers) PartitionOneWay(from, to []string) {
	s.t.Helper()
	s.check(s.top.PartitionOneWay(from, to))
}

// Heal ends all partitions; what has waited is delivered.
func (s *Servers) Heal() { s.top.Heal() }

// DropMessages loses the next count messages from one node to another.
func (s *Servers) DropMessages(from, to string, count int) {
	s.t.Helper()
	s.check(s.top.Drop(from, to, count))
}

// DelayMessages lets the next count messages from one node to another come late.
func (s *Servers) DelayMessages(from, to string, count int, by time.Duration) {
	s.t.Helper()
	s.check(s.top.Delay(from, to, count, by))
}

// Close ends all nodes before the test does.
func (s *Servers) Close() { s.top.Close() }

func (s *Servers) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("minikvtest: %v", err)
	}
}

// eventually waits until something is so, on a virtual clock by moving it.
func (s *Servers) eventually(what string, so func() bool) {
	s.t.Helper()
	const most, step = time.Minute, 10 * time.Millisecond
	for waited := time.Duration(0); !so(); waited += step {
		if waited > most {
			s.t.Fatalf("minikvtest: %s: not within %v", what, most)
		}
		if s.top.Clock().Virtual() {
			s.check(s.top.Clock().Advance(step))
		} else {
			time.Sleep(step)
		}
	}
}

// Clock is the time of all servers of a test.
type Clock struct{ servers *Servers }

// Clock is the time that all nodes follow.
func (s *Servers) Clock() *Clock { return s.clock }

// Now is the date, without what Jump and SetClockOffset have added to that of nodes.
func (c *Clock) Now() time.Time { return c.servers.top.Clock().Now() }

// Advance lets time pass on a virtual clock; what falls due on the way happens
// in its order. See topology.Clock.
func (c *Clock) Advance(d time.Duration) {
	c.servers.t.Helper()
	c.servers.check(c.servers.top.Clock().Advance(d))
}

// Next is Advance to the first thing that falls due: it returns how far that
// was, and false when nothing waits for time to pass.
func (c *Clock) Next() (passed time.Duration, ok bool) {
	c.servers.t.Helper()
	passed, ok, err := c.servers.top.Clock().Next()
	c.servers.check(err)
	return passed, ok
}

// Jump sets the wall clocks of all nodes ahead, or back, on a virtual clock and
// on a real one.
func (c *Clock) Jump(by time.Duration) { c.servers.top.Clock().Jump(by) }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
