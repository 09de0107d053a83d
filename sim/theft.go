package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/datastore"
	"minikv/sim/check"
	"minikv/trace"
)

// claim is what a client has on one node: the field of a key, the token in a string,
// or a permit.
type claim struct{ key, of string }

// claims are who has what on one node: the process whose request put it there, or on the
// node from which it has come. They are kept only where somebody checks for theft.
type claims struct {
	owners        map[claim]*process
	before, after []claim // the latest request, or message of another node
}

// watched executes a request and tells of each claim of another client that it
// has ended, though its time had not come.
func (n *node) watched(p *process, execute func()) (stolen []*process) {
	if !n.w.cfg.Thefts {
		execute()
		return nil
	}
	c := &n.claims
	c.change(n, execute, func(claim) *process { return p })
	for _, was := range c.before {
		if owner := c.owners[was]; owner != nil && owner.actor != p.actor && !slices.Contains(c.after, was) {
			stolen = append(stolen, owner)
		}
	}
	return stolen
}

// inherits has the node take what another tells it: what is taken there, and so here, has
// the owner that it has there.
func (n *node) inherits(from *node, take func()) {
	if !n.w.cfg.Thefts || from == nil {
		take()
		return
	}
	n.claims.change(n, take, func(is claim) *process { return from.claims.owners[is] })
}

// change notes what is taken before and after something that happens, and whose the new is.
func (c *claims) change(n *node, happen func(), whose func(claim) *process) {
	if c.owners == nil {
		c.owners = map[claim]*process{}
	}
	owner := func(is claim) *process { return cmp.Or(c.owners[is], whose(is)) }
	c.before = n.claimed(c.before[:0], owner)
	happen()
	c.after = n.claimed(c.after[:0], owner)
	for _, is := range c.after {
		n.w.claimed = true
		if !slices.Contains(c.before, is) {
			c.owners[is] = whose(is)
		}
	}
}

// ownTheft is the check of theft for a lock that a test brings: where that keeps nothing
// under its name, or a number, no theft is seen, which is no verdict.
type ownTheft struct {
	*check.Theft
	r *runner
}

// Result implements check.Checker.
func (c ownTheft) Result(end time.Duration) check.Result {
	r := c.Theft.Result(end)
	if r.Verdict == check.Holds && !c.r.w.claimed {
		r.Verdict = check.Unknown
		r.Reason = "no server ever had a hash, or a text that is no number, under the lock's own name, Client.Key: " +
			"only there thefts are seen"
	}
	return r
}

// steals tells of thefts.
func (n *node) steals(p *process, stolen []*process, cause uint64) {
	for _, owner := range stolen {
		n.w.emit(trace.Event{Kind: trace.Steal, Actor: p.actor, Peer: owner.actor, Cause: cause})
	}
}

// claimed appends all that is taken on the node and has not ended, in the order of
// the keys. To look removes nothing that has expired. A Sentinel has nothing.
func (n *node) claimed(taken []claim, owner func(claim) *process) []claim {
	if n.engine == nil {
		return taken
	}
	for i := range n.w.lockKeys {
		taken = n.w.lockKeys[i].claimed(n, taken, owner)
	}
	return taken
}

// lockKey is where a lock may be: its key, and that of its leases.
type lockKey struct {
	name        string
	key, leases []byte
}

// lockKeys are those of a number of locks, by name.
func lockKeys(locks int) (list []lockKey) {
	var names []string
	for lock := int32(1); lock <= int32(locks); lock++ {
		names = append(names, lockName(lock))
		for i := range members {
			names = append(names, memberName(lock, i))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, lockKey{name, []byte(name), []byte(leasesOf(name))})
	}
	return list
}

func (k *lockKey) claimed(n *node, taken []claim, owner func(claim) *process) []claim {
	db, first := n.engine.Keyspace().DB(0), len(taken)
	kind := living(db, k.key)
	switch {
	case kind == datastore.Hash:
		mode, _, _ := db.HashGet(k.key, modeField)
		_ = db.HashEach(k.key, func(field, _ string) {
			if field != "mode" && (mode != "read" || living(db, k.timer(field)) != datastore.None) {
				taken = append(taken, claim{k.name, field})
			}
		})
	case living(db, k.leases) == datastore.ZSet: // permits, whether or not somebody counts the free ones
		permits := n.byHand("ZRANGE", string(k.leases), "0", "-1", "WITHSCORES").List
		for i := 0; i+1 < len(permits); i += 2 {
			if is := (claim{k.name, permits[i].Str}); !n.isOver(permits[i+1].Str, owner(is)) {
				taken = append(taken, is)
			}
		}
	}
	if kind == datastore.String && len(taken) == first {
		if owner, _, _ := db.String(k.key); !isNumber(owner) {
			taken = append(taken, claim{k.name, owner})
		}
	}
	slices.SortFunc(taken[first:], func(a, b claim) int { return strings.Compare(a.of, b.of) })
	return taken
}

// isOver tells whether the deadline of a permit has passed: it is a date of its owner, as
// whose it counts, and nothing to the server.
func (n *node) isOver(deadline string, owner *process) bool {
	clock := &n.clock
	if owner != nil {
		clock = owner.clock
	}
	date, err := strconv.ParseInt(deadline, 10, 64)
	return err == nil && date <= clock.Wall().UnixMilli()
}

var modeField = []byte("mode")

// timer is the key of the lease of one who reads.
func (k *lockKey) timer(of string) []byte { return []byte(timersBy(k.name, of) + ":1") }

// isNumber reports whether a lock's text is how many permits there are.
func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// living is the kind of what is under a key and has not expired.
func living(db *datastore.DB, key []byte) datastore.Kind {
	if db.Stale(key) {
		return datastore.None
	}
	return db.Kind(key)
}
