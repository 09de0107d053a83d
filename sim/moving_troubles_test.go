// What may happen to the servers of TestMovingServers. Each trouble ends by itself.

package sim

import (
	"slices"
	"time"

	slots "minikv/internal/slot"
	"minikv/server/engine"
	"minikv/trace"
)

// trouble is one thing that happens now, or does nothing where it cannot.
type trouble func(o *ownersRun)

// stir has troubles happen until all is to be quiet.
func (o *ownersRun) stir() {
	if len(o.servers.troubles) == 0 {
		return
	}
	o.w.at(o.w.now+300*time.Millisecond+o.within(4*time.Second), func() {
		if o.busy == 0 || o.broken != "" {
			return
		}
		if o.w.now >= o.quiet {
			o.note("- quiet")
			o.site.fates = 0
			return
		}
		o.servers.troubles[o.draw(len(o.servers.troubles))](o)
		o.stir()
	})
}

// soon does something after a time.
func (o *ownersRun) soon(d time.Duration, f func()) { o.w.at(o.w.now+d, f) }

// nemesis applies the verbs of stories.
func (o *ownersRun) nemesis() *runner { return &runner{w: o.w, clients: o.w.clients} }

// anyNode is a node that is up, and no Sentinel; masters tells that it is a master.
func (o *ownersRun) anyNode(masters bool) *node {
	var some []*node
	for _, n := range o.w.nodes {
		if n.engine != nil && !n.down && (!masters || o.leads(n)) {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[o.draw(len(some))]
}

// leads tells whether a node is a master, as far as the world knows.
func (o *ownersRun) leads(n *node) bool {
	if !o.servers.plan.Cluster {
		return n.group.master == n
	}
	return !n.engine.IsReplica() && !o.replaced(n)
}

// shard is the nodes that have the same data as n, with it.
func (o *ownersRun) shard(n *node) (nodes []*node) {
	for _, other := range o.w.nodes {
		if other.engine != nil && o.servers.plan.MasterOf(other.id()) == o.servers.plan.MasterOf(n.id()) {
			nodes = append(nodes, other)
		}
	}
	return nodes
}

// replaced tells whether another node is master in the place of n.
func (o *ownersRun) replaced(n *node) bool {
	if !o.servers.plan.Cluster {
		return n.group.master != n
	}
	return slices.ContainsFunc(o.shard(n), func(other *node) bool {
		return other != n && other.leads && other.ledSince > n.ledSince
	})
}

// replicas are those of a master that are up.
func (o *ownersRun) replicas(m *node) []*node {
	return slices.DeleteFunc(o.shard(m), func(n *node) bool { return n == m || n.down || !n.engine.IsReplica() })
}

// isHurt tells whether a server is out of order, or cut off.
func (o *ownersRun) isHurt() bool {
	outOfOrder := func(n *node) bool { return n.down || n.paused > 0 || n.held > 0 }
	return len(o.w.cuts) > 0 || o.w.now < o.handing || slices.ContainsFunc(o.w.nodes, outOfOrder)
}

// troubled tells whether something is wrong with a server, or with a slot.
func (o *ownersRun) troubled() bool {
	standsStill := func(n *node) bool { return n.engine != nil && n.engine.Paused() }
	return o.isHurt() || slices.ContainsFunc(o.w.nodes, standsStill) || o.isOpen()
}

// isOpen tells whether a slot is on its way, or not everybody knows whose it is.
func (o *ownersRun) isOpen() bool {
	if !o.servers.plan.Cluster {
		return false
	}
	for _, key := range movable {
		owner := ""
		for _, n := range o.w.nodes {
			s := n.member.Topology().Slot(slots.OfString(key))
			if s.Migrating != "" || s.Importing || owner != "" && s.Owner != owner {
				return true
			}
			owner = s.Owner
		}
	}
	return false
}

// sane tells whether all servers are up, with one master in each shard, so that one may be replaced.
func (o *ownersRun) sane() bool {
	if o.troubled() {
		return false
	}
	return !slices.ContainsFunc(o.w.nodes, func(n *node) bool {
		return n.engine != nil && !n.engine.IsReplica() && !o.leads(n)
	})
}

// orders runs a command at a node by hand.
func (o *ownersRun) orders(n *node, args ...string) {
	o.note("- %s: %v", n.name, args)
	n.meddle(trace.Event{Kind: trace.Command, Actor: o.w.nemesis, Peer: n.actor}, args...)
}

func forgetScripts(o *ownersRun) {
	if n := o.anyNode(false); n != nil {
		o.orders(n, "SCRIPT", "FLUSH")
	}
}

// hangUp has a node close its connections with a client.
func hangUp(o *ownersRun) {
	if n := o.anyNode(true); n != nil {
		o.orders(n, "CLIENT", "KILL", "ADDR", o.parties[o.draw(len(o.parties))].p.name())
	}
}

// briefly is for less than it takes to believe that a request is lost.
func (o *ownersRun) briefly() time.Duration {
	return 10*time.Millisecond + o.within(requestTimeout*8/10)
}

func freeze(o *ownersRun) {
	if n := o.anyNode(false); n != nil && n.paused == 0 {
		d := o.briefly()
		o.note("- %s stands still for %v", n.name, d)
		n.pause(d)
	}
}

// cutOff cuts a client off from a node, in one direction or both.
func cutOff(o *ownersRun) {
	n, pt := o.anyNode(true), o.parties[o.draw(len(o.parties))]
	if n == nil || len(o.w.cuts) > 0 {
		return
	}
	args := []string{pt.p.name(), n.name}
	if o.draw(2) == 0 {
		slices.Reverse(args)
	}
	d, way := o.briefly(), []string{"one", "both"}[o.draw(2)]
	o.note("- %v are cut off from each other, %s way, for %v", args, way, d)
	applyPartition(o.nemesis(), Step{Args: args, Opts: []Option{{"way", way}, {"for", DurationText(d)}}})
}

// crashBriefly has a master crash and come back before anybody would replace it.
func crashBriefly(o *ownersRun) { o.crash(o.anyNode(true), o.within(400*time.Millisecond)) }

// crashForLong is for where nobody would replace it.
func crashForLong(o *ownersRun) { o.crash(o.anyNode(true), o.within(4*time.Second)) }

func (o *ownersRun) crash(n *node, d time.Duration) {
	busy := slices.ContainsFunc(o.w.nodes, func(n *node) bool { return n.engine != nil && n.engine.Paused() })
	if n == nil || busy || o.servers.plan.Replicas > 0 && !o.sane() && !o.isOpen() {
		return
	}
	o.note("- %s crashes for %v", n.name, d)
	n.crash()
	o.soon(d, func() {
		if n.down {
			o.note("- %s is back", n.name)
			n.restart("keep")
		}
	})
}

// lag holds back what a master sends to a replica.
func lag(o *ownersRun) {
	if m := o.anyNode(true); m != nil {
		for _, r := range o.replicas(m) {
			o.holdsBack(r, o.within(2500*time.Millisecond))
		}
	}
}

func (o *ownersRun) holdsBack(r *node, d time.Duration) {
	if r.held > 0 || d == 0 {
		return
	}
	o.note("- %s hears nothing of its master for %v", r.name, d)
	applyHold(o.nemesis(), Step{Args: []string{r.name}, Opts: []Option{{"for", DurationText(d)}}})
}

// replaceWithoutLoss has a master crash as soon as its replicas have all that it has, and be replaced.
func replaceWithoutLoss(o *ownersRun) {
	if m := o.anyNode(true); m != nil {
		o.replaceWhen(m, o.synced, 500)
	}
}

// synced tells whether the replicas of a master have all that it has.
func (o *ownersRun) synced(m *node) bool {
	replicas := o.replicas(m)
	online := 0
	for _, r := range m.engine.Replicas() {
		if r.State == engine.ReplicaOnline {
			online++
		}
	}
	return len(replicas) == len(o.shard(m))-1 && online == len(replicas) &&
		!slices.ContainsFunc(replicas, func(r *node) bool { return r.engine.Offset() != m.engine.Offset() })
}

// replaceWhen has a master crash and be replaced once it may, if that is soon.
func (o *ownersRun) replaceWhen(m *node, may func(m *node) bool, tries int) {
	switch {
	case tries == 0:
	case o.sane() && o.leads(m) && len(o.replicas(m)) > 0 && may(m):
		o.replace(m)
	default:
		o.soon(time.Millisecond, func() { o.replaceWhen(m, may, tries-1) })
	}
}

// replaceWithLoss has a master crash and be replaced while its replicas hear nothing of it.
func replaceWithLoss(o *ownersRun) {
	m := o.anyNode(true)
	if m == nil || !o.sane() {
		return
	}
	d := 10*time.Millisecond + o.within(4*time.Second)
	for _, r := range o.replicas(m) {
		o.holdsBack(r, d+time.Second)
	}
	o.soon(d, func() {
		if !m.down && o.leads(m) {
			o.replace(m)
		}
	})
}

// replace has a master crash, and come back as a replica when another node has its place.
func (o *ownersRun) replace(m *node) {
	o.note("- %s crashes, and is to be replaced", m.name)
	o.forgot = o.w.now
	m.crash()
	if !o.w.governs() {
		o.soon(o.within(time.Second), func() {
			if r := o.replicas(m); m.down && o.leads(m) && len(r) > 0 {
				o.promote(r[o.draw(len(r))])
			}
		})
	}
	o.returns(m, o.w.now)
}

func (o *ownersRun) promote(r *node) {
	o.note("- %s takes over", r.name)
	o.forgot = o.w.now
	r.promote()
}

// returns has a crashed master come back when it was replaced some time ago, and clients know, or nobody
// replaces it.
func (o *ownersRun) returns(m *node, since time.Duration) {
	o.soon(time.Second, func() {
		switch {
		case !m.down:
		case (!o.replaced(m) || o.isFollowed(m)) && o.w.now < since+time.Minute:
			o.returns(m, since)
		default:
			o.soon(o.within(3*time.Second), func() {
				o.note("- %s is back", m.name)
				m.restart("keep")
				o.demote(m)
			})
		}
	})
}

// isFollowed tells whether a client takes a node for the master, outside of a cluster: there the node
// itself knows better.
func (o *ownersRun) isFollowed(m *node) bool {
	follows := func(pt *party) bool { return pt.p.masterOf(m.group) == m }
	return !o.servers.plan.Cluster && slices.ContainsFunc(o.parties, follows)
}

// demote has a node follow who took its place, where nobody else sees to that.
func (o *ownersRun) demote(m *node) {
	if !o.w.governs() && m.group.master != m {
		m.member.Follow(o.w.directory.Endpoint(m.group.master.id()))
		m.settle(0)
	}
}

// usurp has a replica take over while its master serves on.
func usurp(o *ownersRun) {
	m := o.anyNode(true)
	if m == nil || !o.sane() {
		return
	}
	r := o.replicas(m)
	if len(r) == 0 {
		return
	}
	next := r[o.draw(len(r))]
	switch {
	case o.servers.plan.Cluster:
		o.forgot = o.w.now
		o.orders(next, "CLUSTER", "FAILOVER", "TAKEOVER")
	case o.servers.plan.Sentinels > 0:
		o.orders(o.w.sentinels[o.draw(len(o.w.sentinels))], "SENTINEL", "FAILOVER", "mymaster")
	default:
		o.promote(next)
		o.soon(o.within(2*time.Second), func() { o.demote(m) })
	}
}

// handOver has a master give its place to a replica that has caught up.
func handOver(o *ownersRun) {
	m := o.anyNode(true)
	if m == nil || !o.sane() {
		return
	}
	r := o.replicas(m)
	if len(r) == 0 {
		return
	}
	o.handing = o.w.now + 6*time.Second // Redis gives up after five
	if o.servers.plan.Cluster {
		o.orders(r[o.draw(len(r))], "CLUSTER", "FAILOVER")
		return
	}
	for _, behind := range r {
		o.holdsBack(behind, o.within(600*time.Millisecond))
	}
	o.orders(m, "FAILOVER", "TIMEOUT", "900")
	o.handedOver(m, 3000)
}

// handedOver tells the clients who has taken over.
func (o *ownersRun) handedOver(m *node, tries int) {
	if tries == 0 {
		return
	}
	for _, n := range o.shard(m) {
		if n == m || n.down || n.engine.IsReplica() || !m.engine.IsReplica() {
			continue
		}
		o.note("- %s has taken over", n.name)
		n.group.master, n.leads, m.leads = n, true, false
		for _, pt := range o.parties {
			pt.p.conn(n).announce()
		}
		return
	}
	o.soon(time.Millisecond, func() { o.handedOver(m, tries-1) })
}

// movable are keys whose slots may move.
var movable = []string{"a", "b", "a'", "b'"}

// move moves a slot at once.
func move(o *ownersRun) {
	if key, to, ok := o.begins("open"); ok {
		o.finishes(key, to)
	}
}

// moveSlowly has a slot be open for a while.
func moveSlowly(o *ownersRun) {
	if key, to, ok := o.begins("open"); ok {
		d := 10*time.Millisecond + o.within(3*time.Second)
		o.soon(o.within(d), func() { o.moves(key, to, "keys") })
		o.soon(d, func() { o.finishes(key, to) })
	}
}

// begins begins to move a slot.
func (o *ownersRun) begins(step string) (key string, to *node, ok bool) {
	to = o.anyNode(true)
	if to == nil || !o.sane() {
		return "", nil, false
	}
	key = movable[o.draw(len(movable))]
	if to.group.home(key) == to {
		return "", nil, false // else it would come back from who replaces it
	}
	o.note("- the slot of %s moves to %s", key, to.name)
	o.moves(key, to, step)
	return key, to, true
}

// moves does one step of that, if nobody is in trouble and no other node has replaced to: of a
// slot that such a node is given nobody would hear.
func (o *ownersRun) moves(key string, to *node, step string) {
	from := to.group.home(key)
	if from.down || to.down || from.engine.Paused() || to.engine.Paused() || !o.leads(to) {
		return
	}
	o.note("- the slot of %s from %s to %s: %s", key, from.name, to.name, step)
	applyMove(o.nemesis(), Step{Verb: "move", Args: []string{key, to.name}, Opts: []Option{{"step", step}}})
}

// finishes has all keys of an open slot move, and then the slot.
func (o *ownersRun) finishes(key string, to *node) {
	from := to.group.home(key)
	switch slot := slots.OfString(key); {
	case from == to || o.broken != "":
		return
	case from.data().CountInSlot(slot) > 0:
		o.moves(key, to, "keys")
	default:
		o.moves(key, to, "close")
	}
	o.soon(20*time.Millisecond, func() { o.finishes(key, to) })
}
