// A random test of locks while servers change under the clients. Beside what TestNamedOwners draws, a run
// draws one server, or one with replicas, with Sentinels or in a cluster, and troubles: crashes with and
// without a failover, replicas that lag, masters that are replaced or hand over, slots that move, servers
// that stand still, forget their scripts or close connections, and clients that are cut off. Where
// failovers lose nothing, neither does a lock; where they may, with only one replica that WAIT asks, what
// it has confirmed is not lost, and with RequireReplicas nothing is. Tokens grow, what a cluster refuses is
// repeated, and who waits for a lock gets it soon after the end of all troubles.

package sim

import (
	"flag"
	"slices"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/datastore"
	slots "minikv/internal/slot"
	"minikv/trace"
)

var (
	movingSeed = flag.Uint64("moving.seed", 1, "of the first run of TestMovingServers")
	movingRuns = flag.Int("moving.runs", 150, "how many runs it makes, each with the seed after the last one's")
	movingSite = flag.String("moving.site", "", "server, replicas, sentinels or cluster; \"\": each run draws one")
)

func TestMovingServers(t *testing.T) {
	lua := NewLua()
	for i := range *movingRuns {
		seed := *movingSeed + uint64(i)
		o, name, more := newOwnersRun(seed), *movingSite, ""
		if name == "" {
			name = []string{"server", "replicas", "sentinels", "cluster"}[[]int{0, 0, 0, 0, 1, 1, 1, 1, 2, 3}[o.draw(10)]]
		} else {
			more = "-moving.site " + name
		}
		o.opens(o.movingServers(name), lua)
		o.quiet = 5*time.Second + o.within(20*time.Second)
		o.note("%s: %+v, failovers lose: %v, WAIT: %v, replicas are required: %v", name, o.servers.plan, o.servers.loses,
			o.servers.sync, o.servers.required)
		o.run(o.parties[0], 10*time.Minute, o.open)
		o.report(t, "moving", seed, more)
	}
}

// movingServers draws servers of a kind.
func (o *ownersRun) movingServers(name string) servers {
	at := servers{pool: o.draw(3) == 0, troubles: []trouble{forgetScripts, hangUp, freeze, cutOff}}
	switch name {
	case "server":
		at.plan = cluster.Plan{Masters: 1}
		at.troubles = append(at.troubles, crashBriefly, crashBriefly, crashForLong)
		return at
	case "replicas":
		at.plan = cluster.Plan{Masters: 1, Replicas: 1 + o.draw(3)/2}
		at.troubles = append(at.troubles, crashBriefly, crashForLong, handOver)
	case "sentinels":
		at.plan = cluster.Plan{Masters: 1, Replicas: 1 + o.draw(3)/2, Sentinels: 3, DownAfter: 2 * time.Second,
			FailoverTimeout: 5 * time.Second}
	case "cluster":
		at.plan, at.silence = cluster.Plan{Masters: 3, Replicas: 1, Cluster: true}, 2*time.Second
		at.troubles = append(at.troubles, crashBriefly, handOver)
	}
	at.loses = o.draw(2) == 0
	at.sync = o.draw(2) == 0 || at.loses && o.draw(2) == 0
	at.required = at.sync && o.draw(2) == 0
	at.troubles = append(at.troubles, lag, replaceWithoutLoss, replaceWithoutLoss)
	switch {
	case at.loses:
		at.troubles = append(at.troubles, replaceWithLoss, replaceWithLoss, usurp)
	case at.plan.Cluster:
		at.troubles = append(at.troubles, move, move, moveSlowly, moveSlowly)
	}
	return at
}

// server is the node that has a key, nil while nobody serves it.
func (o *ownersRun) server(key string) *node {
	n := o.w.groups[0].home(key)
	if n.down || o.servers.plan.Cluster && (!n.serves(key) || o.replaced(n)) { // and who was replaced while down
		return nil
	}
	if o.servers.plan.Cluster && living(n.data(), []byte(key)) == datastore.None {
		switch to := o.w.nodeAt(n.member.Topology().Slot(slots.OfString(key)).Migrating); {
		case to == nil:
		case to.down:
			return nil
		default:
			return to
		}
	}
	return n
}

// forgiven tells whether what the server does not have of d may have been lost by a failover: what was
// asked for before it, and what its only replica confirmed is not lost.
func (o *ownersRun) forgiven(d *desk) bool {
	if !o.servers.loses || d.asked > o.forgot {
		return false
	}
	return !o.keeps() || o.isBare(d)
}

// confirms tells whether each master has a replica that can confirm what it is asked to.
func (o *ownersRun) confirms() bool {
	return !slices.ContainsFunc(o.w.nodes, func(n *node) bool {
		return n.engine != nil && !n.down && o.leads(n) && !o.synced(n)
	})
}

// isBare tells whether what d has was granted although no replica was asked to confirm it.
func (o *ownersRun) isBare(d *desk) bool {
	return !o.servers.required && o.bare[d.key+" "+d.held.Owner()]
}

// confirmed notes whether a replica has what a script did with its keys for the owners among its arguments.
// What one of several acquisitions lacks, all of their hold lack.
func (o *ownersRun) confirmed(keys, args []string, confirmed bool) {
	for _, key := range keys {
		for _, owner := range args {
			isOf := func(d *desk) bool { return d.key == key && d.held.Owner() == owner && d.relies() }
			if !confirmed || !slices.ContainsFunc(o.desks, isOf) {
				o.bare[key+" "+owner] = !confirmed
			}
		}
	}
}

// keeps tells whether no failover loses what was confirmed.
func (o *ownersRun) keeps() bool { return o.sync && o.servers.plan.Replicas == 1 && o.kind != "simple" }

// lookAtWaiters demands that a lock that is free is taken soon by somebody who waits for it.
func (o *ownersRun) lookAtWaiters() {
	if o.servers.troubles == nil {
		return
	}
	if o.isHurt() {
		o.hurt = o.w.now
	}
	if o.w.now < o.quiet || o.troubled() {
		o.stirred = o.w.now
	}
	const settles = 6 * time.Second // for servers, after the end of all troubles
	bound := watchdogLease + 4*requestTimeout
	if o.queues() {
		bound += 7 * fairPatience // for places of the dead
	}
	for _, x := range o.waiting {
		n := o.server(x.key)
		if n == nil || living(n.data(), []byte(x.key)) != datastore.None || o.w.now < o.stirred+settles {
			x.since = o.w.now
		}
		if o.w.now > x.since+bound {
			o.breaks("somebody waits for %s, which has been free since %v", x.key, x.since)
		}
	}
}

// watch is told of each event: what a master has not told a replica that takes over is forgotten, and what
// it executes from then on.
func (o *ownersRun) watch(e *trace.Event) {
	for _, n := range o.w.nodes {
		if n.engine == nil || n.down {
			continue
		}
		shard, leads := o.servers.plan.MasterOf(n.id()), !n.engine.IsReplica()
		if leads && !o.led[n] {
			o.forgot, o.newest[shard] = o.w.now, n
		}
		if o.led[n] = leads; leads && o.newest[shard] != n && e.Kind == trace.Execute && e.Actor == n.actor {
			o.forgot = o.w.now
		}
	}
}
