package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/datastore"
	"minikv/trace"
)

// process is one client: its tasks, its clock, its connections. A crash ends
// all of them at once.
type process struct {
	w       *World
	clock   *Clock // the world's true one, until it differs from that
	actor   trace.Actor
	live    int32 // how many tasks have not ended
	life    int32 // 1, 2, 3, …: another after each restart of the client
	dead    bool
	asking  bool // for a lock, without an answer yet
	choices draws
	entropy uint64 // n-th random word, not a choice: identities and jitter
	tasks   []*task
	timers  []*timer
	conns   []*conn // by node
	holding []*Belief
	paused  time.Duration // 0: running; else the true time at which it resumes

	toResource *conn
	reconnects func(attempt int32) time.Duration // Redisson's pauses before it connects again; nil: go-redis's
	ways       *ways                             // nil: as the world was made
	deferred   *deferred                         // what reached it while it was paused
}

// deferred is what waits for the end of a pause.
type deferred struct{ steps []step }

// name is c1, c2, …
func (p *process) name() string { return p.w.names[p.actor] }

// id is by what servers know it: its name, and another one after each restart.
func (p *process) id() string {
	if p.life == 1 {
		return p.name()
	}
	return p.name() + "." + strconv.Itoa(int(p.life))
}

// ownClock is the process's clock, which is going to differ from the true one.
func (p *process) ownClock() *Clock {
	if p.clock == &p.w.truth {
		clock := p.w.truth
		p.clock = &clock
	}
	return p.clock
}

// check stops whatever runs in a dead process: its Runtime is inert. Where strays
// are looked for, it ends them.
func (p *process) check() {
	if p.w.cfg.Stray != nil && p.w.isStray(goroutine()) {
		p.w.cfg.Stray(p.name(), string(debug.Stack()))
		runtime.Goexit()
	}
	if !p.dead {
		return
	}
	if t := p.w.running; t != nil {
		t.refuse()
	}
	panic(stopped{})
}

// isStray reports whether a goroutine is neither the world's own nor that of the
// task that runs.
func (w *World) isStray(name string) bool {
	if t := w.running; t != nil {
		return t.on.name != name
	}
	return w.goroutine != name
}

// maxTasks is how many tasks of a client may be under way at a time.
const maxTasks = 1 << 17

// spawn makes a task that starts now. It costs no coroutine until it runs.
func (p *process) spawn(body func()) {
	if p.live >= maxTasks {
		panic(fmt.Sprintf("%d functions that it gave to its Runtime's Go are still under way", p.live))
	}
	t := &task{proc: p, body: body, timer: -1, parked: true}
	p.tasks = append(p.tasks, t)
	p.live++
	t.ready(p.w.cause())
}

// taskEnded forgets a task. Ended tasks are swept once they are the majority.
func (p *process) taskEnded() {
	p.live--
	if p.dead || len(p.tasks) < 8 || int(p.live) > len(p.tasks)/2 {
		return
	}
	kept := p.tasks[:0]
	for _, t := range p.tasks {
		if !t.ended {
			kept = append(kept, t)
		}
	}
	clear(p.tasks[len(kept):])
	p.tasks = kept
}

// crash ends the process: its beliefs end, its wake-ups are dropped, its
// Runtime is inert. The coroutines are unwound when the run ends.
func (p *process) crash() {
	if p.dead {
		return
	}
	n := p.w.emit(trace.Event{Kind: trace.Crash, Actor: p.w.nemesis, Peer: p.actor, A: p.leaseLeft()})
	p.dead = true
	p.deferred = nil
	for _, b := range append([]*Belief(nil), p.holding...) {
		p.w.endBelief(b, trace.Lost, n, "its process has crashed")
	}
	for _, c := range p.conns {
		if c != nil {
			c.hangUp(n)
		}
	}
}

// leaseLeft is for how long the server will keep the lock that the process
// holds, in ns of true time. It is 0 where that cannot be said: the process
// holds nothing, or believes so and the server has another's lock, there are several
// masters, or a request is under way that may change it. It is negative if the lock had a
// TTL and has lost it.
func (p *process) leaseLeft() int64 {
	if len(p.holding) == 0 || len(p.w.groups) != 1 {
		return 0
	}
	lock := p.holding[0].lock
	key := lockName(lock)
	m := p.w.groups[0].home(key)
	mayChange := func(k *call) bool { return !k.unheeded }
	if m.index < len(p.conns) && p.conns[m.index] != nil && slices.ContainsFunc(p.conns[m.index].pending, mayChange) ||
		p.mayStillAsk(m) {
		return 0
	}
	db := m.engine.Keyspace().DB(0)
	deadline, ok := db.Deadline([]byte(key))
	if !ok || p.isAnothers(db, lock) {
		return 0
	}
	if deadline == datastore.NoDeadline {
		return p.w.lostTTL(db, lock)
	}
	left := time.UnixMilli(deadline).Sub(m.clock.Wall())
	return int64(m.clock.until(m.clock.Mono()+left) - p.w.now)
}

// lostTTL is -1 for a lock without a TTL that somebody has, and 0 if it may be without one by
// design: as a number, or that of a test of which no key ever had one.
func (w *World) lostTTL(db *datastore.DB, lock int32) int64 {
	key := []byte(lockName(lock))
	kind, text := living(db, key), ""
	if kind == datastore.String {
		text, _ = db.PeekString(key)
	}
	isTaken := kind == datastore.Hash || kind == datastore.String && !isNumber(text)
	if isTaken && (!w.isOwn() || w.leased) {
		return -1
	}
	return 0
}

// notesLease notes whether a test's lock has a TTL after a request of one of its clients.
func (n *node) notesLease(p *process) {
	w := n.w
	if w.leased || n.engine == nil || !w.isOwn() {
		return
	}
	deadline, ok := n.engine.Keyspace().DB(0).Deadline([]byte(lockName(w.lockOf(p))))
	w.leased = ok && deadline != datastore.NoDeadline
}

// mayStillAsk reports whether a request of the process that may change something is on its
// way to a node, or waits there: also one that it has given up, or that comes twice.
func (p *process) mayStillAsk(n *node) bool {
	counts := func(m *message) bool {
		return m.kind == msgRequest && m.conn.p == p && m.conn.n == n && m.place != pubsubPlace &&
			(m.call == nil || !m.call.unheeded)
	}
	arrives := func(s step) bool {
		m, is := s.on.(*message)
		return is && counts(m)
	}
	if slices.ContainsFunc(p.w.stuck, counts) || slices.ContainsFunc(n.line.waiting, counts) ||
		slices.ContainsFunc(n.deferred, arrives) ||
		slices.ContainsFunc(p.w.queue.slab, func(q queued) bool { return q.kind == stepArrive && arrives(q.step) }) {
		return true
	}
	if u := p.w.untimed; u != nil {
		return slices.ContainsFunc(u.lines, func(l line) bool { return slices.ContainsFunc(l.steps, arrives) })
	}
	return false
}

// isAnothers reports whether a lock is another client's: it names that one as its
// owner, in a hash's field or as its text, or somebody else believes to have it. Where
// it names this one it is this one's.
func (p *process) isAnothers(db *datastore.DB, lock int32) bool {
	key, mine := []byte(lockName(lock)), false
	others := slices.ContainsFunc(p.w.procs, func(o *process) bool {
		return o != nil && o != p && slices.ContainsFunc(o.holding, func(b *Belief) bool { return b.lock == lock })
	})
	names := func(owner, _ string) {
		id, _, _ := strings.Cut(owner, ":")
		name, _, _ := strings.Cut(id, ".") // of any of its lives
		mine = mine || id == p.id()
		others = others || slices.Contains(p.w.names, name)
	}
	switch living(db, key) {
	case datastore.Hash:
		_ = db.HashEach(key, names)
	case datastore.String:
		text, _, _ := db.String(key)
		names(text, "")
	}
	return others && !mine
}

// pause stops the process for d: what reaches it waits. Pauses may overlap.
func (p *process) pause(d time.Duration) {
	if p.dead {
		return
	}
	w := p.w
	n := w.emit(trace.Event{Kind: trace.Pause, Actor: w.nemesis, Peer: p.actor, A: int64(d)})
	until := w.now + d
	p.paused = max(p.paused, until)
	w.at(until, func() { p.resumeAt(until, n) })
}

// postpone keeps a step that reached a paused process; for a dead one it is lost.
func (p *process) postpone(s step) {
	switch s.kind {
	case stepWake:
		if t := s.on.(*task); s.gen == t.gen {
			t.timer = -1
		}
	case stepTimer:
		if tm := s.on.(*timer); s.gen == tm.gen {
			tm.id = -1
		}
	}
	if !p.dead {
		if p.deferred == nil {
			p.deferred = &deferred{}
		}
		p.deferred.steps = append(p.deferred.steps, s)
	}
}

func (p *process) resumeAt(until time.Duration, cause uint64) {
	if p.dead || p.paused != until {
		return
	}
	p.paused = 0
	p.w.emit(trace.Event{Kind: trace.Resume, Actor: p.actor, Cause: cause})
	if late := p.deferred; late != nil {
		p.deferred = nil
		p.w.catchUp(late.steps)
	}
}

// random returns the process's next random word: a function of the seed, the
// process and n, never a recorded draw.
func (p *process) random() uint64 {
	p.entropy++
	return mix(mix(p.w.cfg.Seed^uint64(p.choices.stream)) + p.entropy)
}
