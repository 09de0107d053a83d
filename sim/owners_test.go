// A random test of locks on one server. Tasks of two clients act in the name of owners whom they share,
// or in one that was drawn: they lock, re-enter, extend, unlock and force, all as one kind of lock or each
// as any. One of the clients may be closed before the others are done. Requests and replies are lost
// or late. Beside what each test of locks demands, tokens grow, errors are documented, a lock that is
// relied on is said to be held, work under a lock goes on as long as that; where all goes well no lock is
// lost, and in the end nothing is left.

package sim

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/luaengine"
	"minikv/trace"
)

var (
	ownersSeed = flag.Uint64("owners.seed", 1, "of the first run of TestNamedOwners")
	ownersRuns = flag.Int("owners.runs", 1000, "how many runs it makes, each with the seed after the last one's")
)

func TestNamedOwners(t *testing.T) {
	lua := NewLua()
	for i := range *ownersRuns {
		seed := *ownersSeed + uint64(i)
		o := newOwnersRun(seed)
		o.opens(servers{plan: cluster.Plan{Masters: 1}}, lua)
		o.run(o.parties[0], 10*time.Minute, o.open)
		o.report(t, "owners", seed)
	}
}

// ownersRun is one run.
type ownersRun struct {
	office
	servers  servers
	site     site // of them all
	kind     string
	forces   bool // somebody forces locks
	quits    bool // the second client is closed before the end
	leases   bool // of fixed length are asked for
	old      bool // the protocol of 3.16 is spoken
	waiting  []*waiter
	forcing  int                        // requests under way that force a
	forced   time.Duration              // when the last one was over
	forgot   time.Duration              // when servers last did, or what is executed may be forgotten
	bare     map[string]bool            // by key and owner: what it has no replica was asked to confirm
	tokens   map[string]map[uint64]bool // by key, those that were drawn
	highest  map[string]uint64          // by key, of tokens that were given out
	quiet    time.Duration              // from when on nothing happens to servers and requests
	hurt     time.Duration              // when one was last seen out of order
	stirred  time.Duration              // when servers were last seen in trouble
	unsure   map[string]bool            // by key, whether the outcome of a request was unknown
	led      map[*node]bool             // who was a master when last looked at
	newest   map[cluster.ID]*node       // by shard, who became one last
	executed time.Duration              // when a server last executed something
	handing  time.Duration              // until when a master may be giving its place to another node
}

// servers are what a run has, and what may happen to them.
type servers struct {
	plan     cluster.Plan
	silence  time.Duration // after which the nodes of a cluster take one for dead
	pool     bool          // requests of one client may overtake each other
	loses    bool          // failovers may forget
	sync     bool          // clients check with WAIT what they acquire
	required bool          // and rely on nothing that no replica has confirmed
	troubles []trouble     // nil: none
}

// lockKinds are what a run locks: where they are mixed, each acquisition draws one.
var lockKinds = []string{"mutex", "mutex", "fair", "fair", "rw", "rw", "rw", "fenced", "fenced", "spin", "nonreentrant",
	"nonreentrant-fair", "simple", "multi", "mixed", "mixed"}

// newOwnersRun draws the first things about a run. opens draws the rest.
func newOwnersRun(seed uint64) *ownersRun {
	o := &ownersRun{bare: map[string]bool{}, unsure: map[string]bool{}, tokens: map[string]map[uint64]bool{},
		highest: map[string]uint64{}, led: map[*node]bool{}, newest: map[cluster.ID]*node{}}
	o.seed = mix(seed)
	o.home = func(_ int, key string) *node { return o.server(key) }
	o.excuses = func(d *desk) bool { return d.key == "a" && o.forcing > 0 }
	o.forgives = o.forgiven
	return o
}

// opens has the run stand on its servers.
func (o *ownersRun) opens(at servers, lua *luaengine.Engine) {
	o.servers, o.sync = at, at.sync
	cfg := Config{Seed: o.seed, Lua: lua, Plan: at.plan, Locks: 1, Delay: Range{time.Millisecond, 5 * time.Millisecond},
		Lag: Range{time.Millisecond, 5 * time.Millisecond}, Sync: at.sync, Pool: at.pool}
	cfg.Observers = append(cfg.Observers, func(e *trace.Event) {
		if e.Kind == trace.Execute {
			o.executed = e.At
		}
	})
	if at.loses {
		cfg.Observers = append(cfg.Observers, o.watch)
	}
	spec := Spec{Cluster: at.plan.Cluster, Silence: at.silence}
	cfg.Nodes = spec.parameters
	o.w = NewWorld(cfg)
	o.w.addClients(2, 1, &Workload{}, nil)
	o.kind = lockKinds[o.draw(len(lockKinds))]
	o.site = site{group: o.w.groups[0], fates: []int{0, 4, 12, 30}[o.draw(4)], slow: at.troubles != nil,
		confirmed: o.confirmed}
	o.forces, o.leases = o.draw(5) == 0 && o.kind != "multi", o.draw(3) > 0
	o.old = o.draw(4) == 0
	o.quits = at.troubles == nil && o.draw(6) == 0
	o.note("%s, 3.16: %v, %d%% of all requests meet a fate, locks are forced: %v, leases are fixed: %v, one quits: %v",
		o.kind, o.old, o.site.fates, o.forces, o.leases, o.quits)
	options := []lockclient.Option{lockclient.WithObserver(o.hears)}
	if o.old {
		options = append(options, lockclient.Compat316())
	}
	if at.required {
		options = append(options, lockclient.RequireReplicas(1))
	}
	for n := range o.w.clients {
		pt := o.newParty(n)
		o.parties = append(o.parties, pt)
		o.hires(pt, pt.name, &o.site, options...)
	}
}

// open lets everybody work, and looks at what they leave.
func (o *ownersRun) open() {
	names := []string{"me", "me", "me", "", "you", "you", ""}
	o.busy = len(names)
	for n, pt := range o.parties {
		pt.p.spawn(func() {
			pt.p.watchSentinels()
			pt.p.findMasters(pt.p.running())
			for i, name := range names {
				if i/4 == n {
					pt.rt.Go(func() {
						o.work(fmt.Sprintf("task %d", i), pt, name)
						o.busy--
					})
				}
			}
		})
	}
	o.stir()
	boss := o.parties[0]
	if o.quits {
		o.quit(o.parties[1])
	}
	for o.busy > 0 && o.broken == "" {
		boss.sleep(o.within(200*time.Millisecond) + time.Millisecond)
		o.look()
	}
	if o.calm() && o.kind != "simple" { // which an Extend may prolong that comes as it ends
		boss.sleep(3 * time.Second)
		o.nothingIsLeft("redisson_lock_token", "redisson_unlock_latch")
	}
	o.closes(boss)
}

// quit has a party close its client after a while: who waits there is told, and holds nothing.
func (o *ownersRun) quit(pt *party) {
	pt.p.spawn(func() {
		pt.sleep(o.within(12 * time.Second))
		o.note("%s quits", pt.name)
		o.closed = true
		pt.client().Close()
		o.look()
	})
}

// closes waits until nothing is left, which takes a while at most, and demands that it stays so.
func (o *ownersRun) closes(boss *party) {
	o.site.fates = 0
	o.empties(boss)
	if (o.servers.troubles != nil || o.closed) && o.queues() {
		o.asksOnceMore(boss)
		o.empties(boss)
	}
	o.nothingIsLeft("redisson_lock_token")
}

// empties waits until nothing has been left for a while, or that takes too long: where servers have no
// troubles, for as long as the latter.
func (o *ownersRun) empties(boss *party) {
	most := 2*longestLease + 30*time.Second
	stays := most
	if o.servers.troubles != nil {
		most += time.Minute // after which a master is back that nobody could replace
		stays = 4 * time.Second
	}
	end := o.w.now + most
	for empty := o.w.now; o.w.now < end && o.w.now < empty+stays; boss.sleep(500 * time.Millisecond) {
		if o.leftover("redisson_lock_token") != "" || o.troubled() || o.servers.required && !o.confirms() {
			empty = o.w.now
		}
	}
}

// queues tells whether waiters have places on the server.
func (o *ownersRun) queues() bool {
	return strings.HasSuffix(o.kind, "fair") || o.kind == "multi" || o.kind == "mixed"
}

// asksOnceMore has somebody ask for each lock. That ends the places of waiters who left while no server
// could be told, or that a failover has brought back.
func (o *ownersRun) asksOnceMore(pt *party) {
	for _, key := range []string{"a", "b"} {
		l, _ := o.lock(pt.client(), key)
		if o.kind == "mixed" {
			l = lockclient.Multi(pt.client().Fair(key), pt.client().Fair(key+"'"))
		}
		held, err := l.TryLock(pt.root, lockclient.Wait(requestTimeout))
		if err == nil {
			err = held.Unlock(pt.root)
		}
		if err != nil {
			o.breaks("in the end somebody asks for %s: %v", key, err)
		}
	}
}

// calm tells of a run in which no lock can be lost.
func (o *ownersRun) calm() bool {
	return o.site.fates == 0 && !o.forces && !o.quits && !o.leases && o.servers.troubles == nil
}

// hears is told of what happens to locks: where all goes well none is lost but by the end of a fixed lease.
func (o *ownersRun) hears(e lockclient.Event) {
	o.note("%s hears: %s %s %v", e.Owner, e.Kind, e.Key, e.Err)
	o.unsure[e.Key] = o.unsure[e.Key] || errors.Is(e.Err, lockclient.ErrUnknown)
	eventful := o.site.fates > 0 || o.forces || o.quits || o.servers.troubles != nil
	if e.Kind != lockclient.Lost || o.busy == 0 || eventful {
		return
	}
	if !o.leases && o.kind != "simple" {
		o.breaks("%s has lost %s, and nothing has happened", e.Owner, e.Key)
	}
	if o.unsure[e.Key] || ownerOf(e.Owner) != e.Owner || o.w.now < o.executed+10*time.Millisecond {
		return // as a reader it may have prolonged the lock; or an answer that says more may be under way
	}
	reads := o.ask(0, "HEXISTS", e.Key, "mode").Int == 1
	text := o.ask(0, "TYPE", e.Key).Str == "string"
	left, _ := o.left(0, share{key: e.Key, owner: e.Owner, reads: reads, text: text})
	if most := longestLease/100 + 20*time.Millisecond; left > most {
		o.breaks("%s has lost %s, which the server keeps for another %v, and nothing has happened", e.Owner, e.Key, left)
	}
}

// look also demands that nobody waits for what is free.
func (o *ownersRun) look() {
	o.office.look()
	o.lookAtWaiters()
}

// waiter is somebody who waits for a lock.
type waiter struct {
	key   string
	since time.Duration // it has been free for so long, and somebody could have known
}
