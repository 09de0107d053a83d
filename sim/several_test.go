// A random test of locks on several servers. Tasks of two or three clients take Redlocks, and several locks
// as one, on three to five servers. Meanwhile requests and replies are lost or late, servers cannot be
// reached, stand still or start again, without their data only when no lease can last any more, clients
// stand still, and clocks drift. While a hold may be relied on, a majority or all of the servers have a
// lease of it that lasts as long; who asks gets an answer in time, and what is free when the faults have
// ended; and in the end nothing is left.

package sim

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"minikv/cluster"
	"minikv/lockclient"
	"minikv/luaengine"
)

var (
	severalSeed = flag.Uint64("several.seed", 1, "of the first run of TestSeveralServers")
	severalRuns = flag.Int("several.runs", 300, "how many runs it makes, each with the seed after the last one's")
)

func TestSeveralServers(t *testing.T) {
	lua := NewLua()
	for i := range *severalRuns {
		seed := *severalSeed + uint64(i)
		r := newSeveralRun(seed, lua)
		r.run(r.auditor, 10*time.Minute, r.open)
		r.report(t, "several", seed)
	}
}

// severalRun is one run.
type severalRun struct {
	office
	auditor  *party // who looks, and carries what is late
	sites    []*site
	offers   []*offer
	options  []lockclient.Option
	fates    int
	pace     time.Duration   // of a task, at most: from one act to the next
	troubles []func(s *site) // that may strike, none: the servers are well
	mishaps  int             // that are under way
	leases   bool            // of fixed length are asked for
	quits    bool            // one party more closes clients, and is not there at the end
	shared   map[string]bool // the owners in whose name several may ask
	takers   map[*task]map[string]string
	gaveUp   bool // somebody, to give something back
}

// offer is a lock that is asked for.
type offer struct {
	kind    string
	key     string
	mixed   bool     // others name its key as a lock of another kind, whose waiters nobody wakes
	sites   []int    // the only one, or those of a Redlock
	members []*offer // of a Multi
}

func newSeveralRun(seed uint64, lua *luaengine.Engine) *severalRun {
	masters := []int{3, 3, 3, 4, 5}[mix(seed)%5]
	w := NewWorld(Config{Seed: seed, Lua: lua, Plan: cluster.Plan{Masters: masters}, Locks: 1,
		Delay: Range{time.Millisecond, 5 * time.Millisecond}})
	w.addClients(5, 1, &Workload{}, nil)
	r := &severalRun{office: office{diary: diary{w: w, seed: mix(seed)}}, shared: map[string]bool{},
		takers: map[*task]map[string]string{}}
	r.auditor = r.newParty(0)
	r.home = func(place int, _ string) *node { return w.groups[place].master }
	r.fates, r.leases = []int{0, 4, 12, 30}[r.draw(4)], r.draw(3) > 0
	r.pace = []time.Duration{1200, 1200, 300, 30}[r.draw(4)] * time.Millisecond
	for n := range masters {
		s := &site{number: n, group: w.groups[n], timid: true, carrier: r.auditor,
			fates: r.fates * []int{0, 1, 1, 2}[r.draw(4)]}
		if r.draw(2) == 0 {
			s.kinds = []int{r.draw(6), r.draw(6)}
		}
		r.sites = append(r.sites, s)
	}
	if r.draw(4) > 0 {
		all := []func(*site){r.cutsOff, r.standsStill, r.restarts, r.loses, r.stallsParty}
		for range 1 + r.draw(len(all)) {
			r.troubles = append(r.troubles, all[r.draw(len(all))])
		}
	}
	if r.draw(4) == 0 {
		r.options = append(r.options, lockclient.Compat316())
	}
	parties := 2 + r.draw(2)
	if r.quits = r.draw(4) == 0; r.quits {
		parties++
	}
	for n := range parties {
		r.addParty(n + 1)
	}
	if r.draw(2) == 0 {
		r.drift()
	}
	r.note("%d masters, %d parties, %d%% of all requests meet a fate, %d troubles, leases are fixed: %v, acts within %v",
		masters, len(r.parties), r.fates, len(r.troubles), r.leases, r.pace)
	r.note("the last party quits: %v", r.quits)
	r.makeOffers()
	return r
}

// drift has the clocks run at rates that differ by less than lockclient allows for.
func (r *severalRun) drift() {
	rate := func() int64 { return int64(r.draw(9_000_001)) - 4_500_000 }
	for _, n := range r.w.nodes {
		n.clock.setRate(rate())
		n.reschedule()
	}
	for _, pt := range r.parties {
		pt.p.setRate(rate())
	}
}

func (r *severalRun) addParty(n int) {
	pt := r.newParty(n)
	origins := r.draw(2) // one for all, or not
	for n, s := range r.sites {
		hears := lockclient.WithObserver(func(e lockclient.Event) { r.hears(n, e) })
		by := r.within(time.Minute) * time.Duration(origins)
		r.hiresAhead(by, pt, fmt.Sprintf("%s%d", pt.name, n), s, append(slices.Clone(r.options), hears)...)
	}
	r.parties = append(r.parties, pt)
}

// makeOffers draws what is asked for: locks that have servers and keys in common.
func (r *severalRun) makeOffers() {
	all, kinds := []string{"mutex", "mutex", "fair", "fenced", "spin", "rw", "rw", "nonreentrant", "simple", "mixed"},
		map[string]string{}
	for _, key := range []string{"a", "b", "c"} {
		kinds[key] = all[r.draw(len(all))]
	}
	for range 2 + r.draw(3) {
		switch r.draw(5) {
		case 0:
			r.offers = append(r.offers, r.quorum("redlock", "p"))
		case 1:
			r.offers = append(r.offers, r.quorum("hash", "h"))
		case 2: // that exclude the quorum
			r.offers = append(r.offers, r.excluder())
		default:
			r.offers = append(r.offers, r.multi(kinds))
		}
	}
	for _, of := range r.offers {
		r.note("offer: %s", of)
	}
}

// some draws so many sites, in any order.
func (r *severalRun) some(n int) []int {
	list := make([]int, len(r.sites))
	for i := range list {
		j := r.draw(i + 1)
		list[i], list[j] = list[j], i
	}
	return list[:min(n, len(list))]
}

// quorum draws a Redlock: on all servers, as a rule.
func (r *severalRun) quorum(kind, key string) *offer {
	n := len(r.sites)
	if r.draw(6) == 0 {
		n -= 1 + r.draw(2)
	}
	return &offer{kind: kind, key: key, sites: r.some(n)}
}

// excluder draws several locks that leave no quorum where they are: all as one kind.
func (r *severalRun) excluder() *offer {
	kind, key := []string{"mutex", "fair", "spin", "nonreentrant", "rw", "simple", "simple"}[r.draw(7)], "h"
	if kind == "simple" {
		key = "p"
	}
	of := &offer{kind: "multi"}
	for _, n := range r.some(len(r.sites)/2 + 1 + r.draw(2)) {
		mixed := kind != "mutex" && kind != "simple" // its waiters are not woken by a HashRedlock
		of.members = append(of.members, &offer{kind: kind, key: key, mixed: mixed, sites: []int{n}})
	}
	return of
}

func (r *severalRun) multi(kinds map[string]string) *offer {
	of := &offer{kind: "multi"}
	for range 1 + r.draw(4) {
		key := []string{"a", "a", "b", "c"}[r.draw(4)]
		kind := kinds[key]
		switch {
		case r.draw(12) == 0 && !of.has("redlock"):
			of.members = append(of.members, r.quorum("redlock", "P"))
			continue
		case r.draw(12) == 0 && !of.has("hash"):
			of.members = append(of.members, r.quorum("hash", "H"))
			continue
		case kind == "mixed":
			kind = []string{"mutex", "fenced", "spin", "fair", "nonreentrant"}[r.draw(5)]
		}
		mixed := kinds[key] == "mixed"
		of.members = append(of.members, &offer{kind: kind, key: key, mixed: mixed, sites: []int{r.draw(len(r.sites))}})
	}
	if r.draw(12) == 0 {
		of = &offer{kind: "multi", members: []*offer{of, {kind: "mutex", key: "d", sites: []int{r.draw(len(r.sites))}}}}
	}
	return of
}

// String is the offer for people.
func (of *offer) String() string {
	if of.kind == "multi" {
		return fmt.Sprintf("multi%v", of.members)
	}
	return fmt.Sprintf("%s %s at %v", of.kind, of.key, of.sites)
}

// has tells whether the offer is, or has a member, of a kind.
func (of *offer) has(kind ...string) bool {
	return slices.Contains(kind, of.kind) ||
		slices.ContainsFunc(of.members, func(m *offer) bool { return m.has(kind...) })
}

// isMixed tells whether waiters for the offer may be waiting for a lock of another kind.
func (of *offer) isMixed() bool { return of.mixed || slices.ContainsFunc(of.members, (*offer).isMixed) }

// deal is how one party names the lock of an offer.
type deal struct {
	of    *offer
	lock  *lockclient.Lock
	ahead time.Duration // by which the lock's clock is ahead of the party's
	reads bool
	parts []*deal
}

// deal names the lock of an offer, its members and servers in any order.
func (r *severalRun) deal(pt *party, of *offer) *deal {
	d := &deal{of: of}
	switch of.kind {
	case "redlock", "hash":
		var clients []*lockclient.Client
		order := r.shuffled(len(of.sites))
		for _, i := range order {
			clients = append(clients, pt.clients[of.sites[i]])
		}
		d.ahead = pt.ahead[of.sites[order[0]]]
		name := lockclient.Redlock
		if of.kind == "hash" {
			name = lockclient.HashRedlock
		}
		d.lock = name(of.key, clients...)
	case "multi":
		var locks []*lockclient.Lock
		for _, i := range r.shuffled(len(of.members)) {
			part := r.deal(pt, of.members[i])
			d.parts, locks = append(d.parts, part), append(locks, part.lock)
		}
		d.lock = lockclient.Multi(locks...)
		d.ahead = d.first().ahead
	default:
		d.lock, d.reads = r.named(pt.clients[of.sites[0]], of.kind, of.key)
		d.ahead = pt.ahead[of.sites[0]]
	}
	return d
}

// first is the member of a Multi whose client keeps it.
func (d *deal) first() *deal {
	return slices.MinFunc(d.parts, func(a, b *deal) int { return strings.Compare(a.lock.Key(), b.lock.Key()) })
}

// shuffled are the numbers below n.
func (r *severalRun) shuffled(n int) []int {
	list := make([]int, n)
	for i := range list {
		j := r.draw(i + 1)
		list[i], list[j] = list[j], i
	}
	return list
}

// shares are what an acquisition has where. Of a Multi the owners of the members are those that the
// observers have heard of.
func (d *deal) shares(owner string, members map[string]string) (list []share) {
	of := d.of
	for _, part := range d.parts {
		list = append(list, part.shares(members[part.id()], members)...)
	}
	if of.kind != "multi" {
		list = append(list, share{places: of.sites, need: len(of.sites)/2 + 1, key: of.key, owner: owner, reads: d.reads,
			text: of.has("redlock", "simple"), quorum: of.has("redlock", "hash")})
	}
	return list
}

// id is what the observers know a member by.
func (d *deal) id() string {
	switch {
	case d.of.kind == "rw" && !d.reads:
		return fmt.Sprintf("%d/%s:write", d.of.sites[0], d.of.key)
	case strings.ToUpper(d.of.key) == d.of.key:
		return d.of.key // of a Redlock: whichever client is its first
	}
	return fmt.Sprintf("%d/%s", d.of.sites[0], d.of.key)
}

// hears is told of what happens to locks, and notes what the task that runs has of a Multi so far.
func (r *severalRun) hears(site int, e lockclient.Event) {
	r.note("%s hears at %d: %s %s %v", e.Owner, site, e.Kind, e.Key, e.Err)
	id, members := fmt.Sprintf("%d/%s", site, e.Key), r.takers[r.w.running]
	switch {
	case strings.HasSuffix(e.Owner, ":write"):
		id += ":write"
	case strings.ToUpper(e.Key) == e.Key:
		id = e.Key
	}
	r.gaveUp = r.gaveUp || e.Kind == lockclient.GivenBack && e.Err != nil
	switch {
	case members == nil:
	case e.Kind == lockclient.Failed && members[id+":write"] == e.Owner+":write":
		r.shared[e.Owner] = true // a Multi has asked to read in the name in which it writes
	case e.Kind == lockclient.Released:
		delete(members, id)
	case e.Kind == lockclient.Acquired && members[id] == "": // else it may be a Multi of that alone
		members[id] = e.Owner
	}
}
