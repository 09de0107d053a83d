package sim

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"
	"minikv/trace"
)

// books tell what the servers count as taken of a lock. A promise is never
// judged by them alone: an audit puts them beside what clients believe.
type books struct {
	// taken is how much is taken.
	taken func(w *World, load *Workload, lock int32) int64
	// by is how much of it one client has taken; nil where servers do not know.
	by func(w *World, lock int32, client string) int64
	// counter is what the number that is the lock begins with; nil for other locks.
	counter func(load *Workload) int
}

var (
	hashBooks   = books{taken: hashTaken, by: hashTakenBy}
	stringBooks = books{taken: stringTaken}
	permitBooks = books{taken: permitsTaken, counter: func(l *Workload) int { return l.Permits }}
	leasedBooks = books{taken: leasedTaken, counter: func(l *Workload) int { return l.Permits }}
	latchBooks  = books{taken: nothingTaken, counter: func(l *Workload) int { return l.Count }}
	multiBooks  = books{taken: multiTaken}
	noBooks     = books{taken: nothingTaken}
)

func checkAudit(w *Spec, s Step) error {
	if w.Load.Kind == OwnKind {
		return errors.New("lock=own: how servers count a lock that a test brings is unknown")
	}
	return checkNothing(w, s)
}

// applyAudit compares what servers count with what clients believe: for each
// client that waits for no answer now, and for each lock as soon as none of its
// clients does. What a server that is down has in memory counts for nothing.
func applyAudit(r *runner, _ Step) {
	by := findKind(r.s.World.Load.Kind).books.by
	for lock := int32(1); lock <= int32(r.s.World.Locks()); lock++ {
		knows := by != nil && !r.w.isDown(lock)
		for _, c := range r.clients {
			if p := c.process(); knows && c.lock == lock && !p.dead && !p.waits() {
				r.audit(lock, p.actor, by(r.w, lock, p.id()), int64(len(p.holding)))
			}
		}
		r.auditLock(lock, time.Millisecond)
	}
}

// isDown reports whether no server is up that could say what is taken of a lock.
func (w *World) isDown(lock int32) bool {
	return !slices.ContainsFunc(w.groups, func(g *group) bool { return !g.home(lockName(lock)).down })
}

// auditLock looks at what is taken of a lock by whomever. What is under way may have
// been done or not, and servers may be down: so long it looks again a little later. A lock
// of several masters counts as taken when one of them says so.
// Where servers know whose it is, a client's belief stands for what they count for it, and
// for nobody else's.
func (r *runner) auditLock(lock int32, later time.Duration) {
	books, believed := findKind(r.s.World.Load.Kind).books, int64(0)
	again := func() { r.auditLock(lock, min(2*later, time.Second)) }
	if r.w.isDown(lock) {
		r.w.at(r.w.now+later, again)
		return
	}
	for _, c := range r.clients {
		p := c.process()
		switch {
		case c.lock != lock:
		case !p.dead && p.waits():
			r.w.at(r.w.now+later, again)
			return
		case books.by != nil:
			believed += min(int64(len(p.holding)), books.by(r.w, lock, p.id()))
		default:
			believed += int64(len(p.holding))
		}
	}
	r.audit(lock, 0, books.taken(r.w, &r.s.World.Load, lock), believed)
}

func (r *runner) audit(lock int32, whose trace.Actor, taken, believed int64) {
	e := trace.Event{Kind: trace.Audit, Actor: r.w.nemesis, Peer: whose, Lock: lock, A: taken, B: believed}
	if r.w.cfg.Details {
		e.Key = lockName(lock)
	}
	r.w.emit(e)
}

// waits reports whether a request of p has no answer yet, or one that came this very
// moment, by which p has yet to go.
func (p *process) waits() bool {
	if slices.ContainsFunc(p.tasks, func(t *task) bool { return !t.parked && !t.ended }) {
		return true
	}
	for _, c := range p.conns {
		if c != nil && len(c.pending) > 0 {
			return true
		}
	}
	return false
}

// hash reads a hash on a master: fields and values in turn; none where it is down.
func (g *group) hash(key string) []resp.Value {
	home := g.home(key)
	if home.down {
		return nil
	}
	return home.byHand("HGETALL", key).List
}

// holds adds up the hold counts of a lock's hash for the clients that count.
func (g *group) holds(key string, counts func(client string) bool) (n int64) {
	fields := g.hash(key)
	for i := 0; i+1 < len(fields); i += 2 {
		client, _, _ := strings.Cut(fields[i].Str, ":")
		if count, ok := toReply(&fields[i+1]).Integer(); ok && counts(client) {
			n += count
		}
	}
	return n
}

func hashTaken(w *World, _ *Workload, lock int32) int64 {
	return w.groups[0].holds(lockName(lock), func(string) bool { return true })
}

func hashTakenBy(w *World, lock int32, client string) int64 {
	return w.groups[0].holds(lockName(lock), func(owner string) bool { return owner == client })
}

func stringTaken(w *World, _ *Workload, lock int32) int64 {
	taken := int64(0)
	for _, g := range w.groups {
		if home := g.home(lockName(lock)); !home.down {
			taken = max(taken, home.byHand("EXISTS", lockName(lock)).Int)
		}
	}
	return taken
}

// multiTaken leaves out members of who still asks for others of them.
func multiTaken(w *World, _ *Workload, lock int32) int64 {
	asks := func(c *client, id string) bool {
		return c.process().asking && !c.process().dead && c.process().id() == id
	}
	hasAll := func(id string) bool {
		return !slices.ContainsFunc(w.clients, func(c *client) bool { return asks(c, id) })
	}
	taken := int64(0)
	for i := range members {
		taken = max(taken, w.groups[i%len(w.groups)].holds(memberName(lock, i), hasAll))
	}
	return taken
}

func nothingTaken(*World, *Workload, int32) int64 { return 0 }

// left is the number of permits that a semaphore has.
func (w *World) left(lock int32) int64 {
	v := w.groups[0].home(lockName(lock)).byHand("GET", lockName(lock))
	n, _ := toReply(&v).Integer()
	return n
}

func permitsTaken(w *World, load *Workload, lock int32) int64 {
	return int64(load.Permits) - w.left(lock)
}

// leasedTaken leaves out permits whose lease has ended: they come back when
// somebody asks for one.
func leasedTaken(w *World, load *Workload, lock int32) int64 {
	m := w.groups[0].home(lockName(lock))
	now := strconv.FormatInt(m.clock.Wall().UnixMilli(), 10)
	ended := m.byHand("ZCOUNT", leasesOf(lockName(lock)), "0", now)
	return int64(load.Permits) - w.left(lock) - ended.Int
}
