package sim

import (
	"slices"

	"minikv/sim/check"
	"minikv/trace"
)

// grants are which requests may have got their clients their locks. They are kept only where
// somebody checks the order of tokens.
type grants struct {
	keys          []lockKey             // of the locks' own names, by the number of the lock
	makers        map[claim]trace.Actor // who has put a claim there, on whatever node
	before, after []claim               // the latest request
	lock          int32                 // that the latest request may have got its client; 0: none
}

// granting executes a request and notes whether it may have got its client the lock: the
// client puts something under the lock's name, or finds there what it has put there before.
// Where a lock is not under its name, no request is ever noted.
func (n *node) granting(p *process, execute func()) {
	g := n.w.grants
	if g != nil {
		g.lock = 0
	}
	if g == nil || n.engine == nil {
		execute()
		return
	}
	nobody := func(claim) *process { return nil }
	lock := n.w.lockOf(p)
	key := &g.keys[lock]
	g.before = key.claimed(n, g.before[:0], nobody)
	execute()
	g.after = key.claimed(n, g.after[:0], nobody)
	for _, is := range g.before {
		if g.makers[is] == p.actor {
			g.lock = lock
		}
	}
	for _, is := range g.after {
		if !slices.Contains(g.before, is) {
			g.makers[is], g.lock = p.actor, lock
		}
	}
}

// newGrants are those of a number of locks.
func newGrants(locks int) *grants {
	g := &grants{keys: make([]lockKey, locks+1), makers: map[claim]trace.Actor{}}
	for lock := range g.keys {
		name := lockName(int32(lock))
		g.keys[lock] = lockKey{name, []byte(name), []byte(leasesOf(name))}
	}
	return g
}

// heedsGrants reports whether the checks of a scenario look at which requests may have got
// their clients their locks. A search of orders does not: it takes the execution of one
// client's request and the belief of another for things whose order does not matter.
func (r *runner) heedsGrants() bool {
	kind := r.s.World.Load.Kind
	return r.untimed == nil && (TraitsOf(kind).Tokens || kind == OwnKind) &&
		slices.ContainsFunc(r.s.Expect, func(e Expectation) bool { return e.Check == "fencing" })
}

func newFencing(m making) check.Checker {
	return check.NewFencingOf(m.names, func() int32 {
		if g := m.w.grants; g != nil {
			return g.lock
		}
		return 0
	})
}
