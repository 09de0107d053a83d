package minikvtest

import (
	"math"
	"slices"
	"time"

	"minikv/cluster"
	"minikv/internal/slot"
	"minikv/server/engine"
)

// FailoverOption changes how a failover goes.
type FailoverOption func(*failover)

type failover struct{ crash bool }

// Crash kills the master first: its replica takes over with what it has, and what had not
// arrived is lost.
func Crash() FailoverOption { return func(f *failover) { f.crash = true } }

// Failover makes a replica of this master the master, waits until it is, and returns it.
// No write is lost, unless Crash is given. On a virtual clock time may pass. A frozen
// master cannot hand over: it takes Crash, or Sentinels. It fails the test if there is no
// replica, or when a minute was not enough.
//
// With Sentinels, and in a cluster, it then waits, at most 5 s, until each node that can
// know of the new master names it, so that a client which asks any of them finds it; a
// Sentinel has published +switch-master by then. With Sentinels that takes some two
// seconds, as they tell each other so often. The one that leads publishes when the other
// replicas follow, which takes longer if one is down. They have a master that was replaced
// follow the new one some ten seconds later: a failover back to it waits for that.
//
// In a cluster the master stops writing until the replica has all, and the replica takes
// over with CLUSTER FAILOVER TAKEOVER. CLUSTER FAILOVER alone may come to nothing soon
// after another failover, as Redis's does.
func (n *Node) Failover(options ...FailoverOption) *Node {
	n.t().Helper()
	var how failover
	for _, option := range options {
		option(&how)
	}
	s, replicas := n.servers, n.followers()
	switch {
	case n.isReplica():
		n.t().Fatalf("minikvtest: %s is a replica; it takes a master to fail over", n.Name())
	case len(replicas) == 0:
		n.t().Fatalf("minikvtest: %s has no replica to fail over to", n.Name())
	}
	if !how.crash && s.plan.Sentinels == 0 {
		n.checkThawed()
	}
	s.top.Settle()
	slot := n.aSlot()
	if how.crash {
		n.Kill()
	}
	if s.plan.Sentinels > 0 {
		return s.failoverBySentinel(replicas)
	}
	next := replicas[0]
	switch {
	case how.crash:
		s.promote(next, replicas[1:])
	case s.plan.Cluster:
		n.handOver(next)
	default:
		s.eventually("failover to "+next.Name(), func() bool { return next.n.TakeOver() == nil })
	}
	s.eventually("failover to "+next.Name(), next.IsMaster)
	if slot >= 0 {
		s.within(mostTelling, 10*time.Millisecond, func() bool { return s.allKnowOwner(slot, next) })
	}
	return next
}

// mostTelling is how long a failover waits for those who cannot know of it.
const mostTelling = 5 * time.Second

// followers are the replicas of a master. Where a node that was replaced may become one,
// it waits for that.
func (n *Node) followers() []*Node {
	n.t().Helper()
	s := n.servers
	replicas := n.replicas()
	may := func(other *Node) bool {
		return other != n && !s.plan.IsSentinel(other.id()) && s.plan.MasterOf(other.id()) == s.plan.MasterOf(n.id()) &&
			!other.Down() && !other.n.Frozen()
	}
	if len(replicas) == 0 && (s.plan.Sentinels > 0 || s.plan.Cluster) && slices.ContainsFunc(s.nodes, may) {
		s.within(mostWaiting, 10*time.Millisecond, func() bool {
			replicas = n.replicas()
			return len(replicas) > 0 || n.isReplica()
		})
	}
	return replicas
}

// isReplica tells whether a node that runs is no master.
func (n *Node) isReplica() (replica bool) {
	n.use(func(m *cluster.Member) { replica = m.Node().IsReplica() })
	return replica
}

// handOver makes a replica the master in the place of n, in a cluster: n stops writing
// until the replica has all and has taken over. CLUSTER FAILOVER does that too, but a
// master that does not know the replica yet takes no notice of it, and the other masters
// refuse their votes for twice the time of DownAfter after a failover.
func (n *Node) handOver(next *Node) {
	n.t().Helper()
	var wrote int64
	n.use(func(m *cluster.Member) {
		wrote = m.Node().Offset()
		m.Node().Pause(engine.PausedByFailover, math.MaxInt64, false)
	})
	defer n.use(func(m *cluster.Member) { m.Node().Unpause(engine.PausedByFailover) })
	n.servers.eventually("failover to "+next.Name(), func() (hasAll bool) {
		next.use(func(m *cluster.Member) {
			link, _, _ := m.Node().MasterLink()
			hasAll = link == engine.LinkConnected && m.Node().Offset() >= wrote
		})
		return hasAll
	})
	next.Do("CLUSTER", "FAILOVER", "TAKEOVER")
	n.servers.within(mostTelling, 10*time.Millisecond, func() bool { return !n.IsMaster() })
}

// use does something with a node that is no Sentinel, if it runs.
func (n *Node) use(f func(m *cluster.Member)) {
	n.n.Try(func(p cluster.Process) {
		if m, ok := p.(*cluster.Member); ok {
			f(m)
		}
	})
}

// failoverBySentinel lets the first Sentinel that runs choose a replica, and returns the one
// to which all of them have led their clients: where others have noticed by themselves that
// the master is gone, it need not be the first choice.
func (s *Servers) failoverBySentinel(replicas []*Node) (next *Node) {
	s.t.Helper()
	var sentinels []*Node
	for _, n := range s.nodes {
		if s.plan.IsSentinel(n.id()) && !n.Down() && !n.n.Frozen() {
			sentinels = append(sentinels, n)
		}
	}
	first := sentinels[:min(len(sentinels), 1)]
	const step = 100 * time.Millisecond
	for _, n := range first {
		var refused error // while it knows of no replica that answers, or the last failover goes on
		if !s.within(mostWaiting, step, func() bool {
			_, refused = n.n.Command("SENTINEL", "FAILOVER", s.plan.MasterName(1))
			return refused == nil || slices.ContainsFunc(replicas, (*Node).IsMaster)
		}) {
			s.t.Fatalf("minikvtest: failover by Sentinel %s: %v", n.Name(), refused)
		}
	}
	isOver := func(all []*Node, master func(*cluster.Sentinel, string) string) func() bool {
		return func() bool {
			i := slices.IndexFunc(replicas, func(r *Node) bool { return r.IsMaster() && s.isTold(all, r, master) })
			if i >= 0 {
				next = replicas[i]
			}
			return i >= 0
		}
	}
	if !s.within(mostTelling, step, isOver(sentinels, (*cluster.Sentinel).WatchedAddress)) { // one may be cut off
		s.eventually("failover by Sentinel", isOver(first, (*cluster.Sentinel).MasterAddress))
	}
	return next
}

// isTold reports whether Sentinels know of a node as the master, all of them that can know
// of something.
func (s *Servers) isTold(sentinels []*Node, master *Node, address func(*cluster.Sentinel, string) string) bool {
	return !slices.ContainsFunc(sentinels, func(n *Node) bool {
		at := n.namedMaster(address)
		return at != "" && at != master.Addr()
	})
}

// namedMaster is the address of the master by a Sentinel's word, "" if none runs here.
func (n *Node) namedMaster(address func(*cluster.Sentinel, string) string) (at string) {
	n.n.Try(func(p cluster.Process) {
		if sentinel, ok := p.(*cluster.Sentinel); ok {
			at = address(sentinel, n.servers.plan.MasterName(1))
		}
	})
	return at
}

// aSlot is one that this master has, -1 if none.
func (n *Node) aSlot() int {
	for number := range slot.Count {
		if n.owns(n, number) {
			return number
		}
	}
	return -1
}

// owns tells whether a node takes another one for the owner of a slot.
func (n *Node) owns(owner *Node, number int) (yes bool) {
	n.use(func(m *cluster.Member) {
		yes = m.Topology() != nil && m.Topology().Slot(number).Owner == owner.Addr()
	})
	return yes
}

// allKnowOwner tells whether all nodes that run take one for the owner of a slot.
func (s *Servers) allKnowOwner(number int, owner *Node) bool {
	return !slices.ContainsFunc(s.nodes, func(n *Node) bool {
		return !n.Down() && !n.n.Frozen() && !n.owns(owner, number)
	})
}

// promote makes a replica of a dead master the master.
func (s *Servers) promote(next *Node, others []*Node) {
	s.t.Helper()
	if s.plan.Cluster {
		next.Do("CLUSTER", "FAILOVER", "TAKEOVER")
		return
	}
	next.Do("REPLICAOF", "NO", "ONE")
	for _, other := range others {
		other.Do("REPLICAOF", next.Host(), next.Port())
	}
}
