package sim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"minikv/lockclient"
	"minikv/trace"
)

// Belief is a client's belief that it holds a lock. It begins when lock() returns and
// ends when the client calls unlock(), is told that the lock is lost, or crashes.
type Belief struct {
	p     *process
	lock  int32
	token int64 // fencing token, 0 without one
	over  bool
	reads trace.Actor // the client, if it is a writer that reads in this belief; else nobody
	ctx   *simCtx     // that tells of its loss
	hook  hook        // in it
}

// beginBelief records that a task's lock() has returned.
func (t *task) beginBelief(lock int32, h holding, reads trace.Actor) *Belief {
	b := &Belief{p: t.proc, lock: lock, reads: reads}
	if token, ok := h.Token(); ok {
		b.token = int64(token)
	}
	e := trace.Event{Kind: trace.Hold, Lock: lock, A: b.token, Peer: reads}
	if until := h.Until(); until > 0 {
		e.B = int64(until - t.proc.clock.Mono())
	}
	if t.proc.w.cfg.Details {
		e.Key = lockName(lock)
	}
	t.note(e)
	t.proc.holding = append(t.proc.holding, b)
	return b
}

// endBelief records how a belief ended; the first end counts.
func (w *World) endBelief(b *Belief, kind trace.Kind, cause uint64, text string) uint64 {
	if b.over {
		return 0
	}
	b.over = true
	for i, other := range b.p.holding {
		if other == b {
			b.p.holding = append(b.p.holding[:i], b.p.holding[i+1:]...)
			break
		}
	}
	e := trace.Event{Kind: kind, Actor: b.p.actor, Peer: b.reads, Lock: b.lock, A: b.token, Cause: cause, Text: text}
	if w.cfg.Details {
		e.Key = lockName(b.lock)
	}
	return w.emit(e)
}

func lockName(lock int32) string { return "lock:" + strconv.Itoa(int(lock)) }

// Workload is what each client does: rounds of lock, work, write to the
// resource, unlock, think.
type Workload struct {
	Kind      string        // lock=: the kind of lock
	TTL       time.Duration // the lease that the watchdog renews
	Renew     bool          // the watchdog renews the lease; else the lease is fixed
	Lease     Range         // the fixed lease
	Hold      Range         // time between lock and write
	Think     Range         // time between unlock and the next lock
	Rounds    int           // 0: for ever
	Wait      time.Duration // limit of lock(); 0: none
	Broken    bool          // profile=redisson: a release deletes the lock, whosever it is
	Scales    bool          // hold is one of the durations that matter to a lease, at most Hold.Hi
	Guards    int           // how many clients, the last ones, take nothing and only ask whether the lock is free
	Once      bool          // lock() is a single attempt
	Redisson  bool          // clients behave as Redisson's, else they are lockclient's
	OneOrder  bool          // of lock=multi: all clients name the locks in one order
	Cancel    time.Duration // after which the context of lock() is cancelled; 0: never
	Reenter   int           // how often a holder takes the lock again, before it works
	Readers   int           // of lock=rw or own: how many clients, the first ones, read; the others write
	Permits   int           // of a semaphore: how many there are
	Count     int           // of a latch: what it counts down from
	Waiters   int           // of lock=latch: how many clients, the first ones, wait; the others count down
	Downgrade bool          // of lock=rw: writers go on reading after they have written
	FairWait  time.Duration // of lock=fair: see lockclient.WithFairWait; 0: the default
	Required  bool          // nothing is granted, renewed or counted without a replica's word
	Compat    int           // how many clients, the first ones, speak the protocol of Redisson 3.16
}

// addClients makes the clients of a workload, which share a number of locks. They do
// nothing, and take little memory, until they are started.
func (w *World) addClients(count, locks int, load *Workload, own *Own) {
	list := make([]client, count)
	w.clients, w.procs = make([]*client, count), make([]*process, count)
	w.names = slices.Grow(w.names, count)
	if load.Redisson && w.cfg.Plan.Cluster {
		w.layout = w.slotsNow(w.nodes[0])
	}
	for i := range list {
		w.clients[i] = &list[i]
		list[i] = client{w: w, load: load, own: own, actor: w.actor("c" + strconv.Itoa(i+1)), number: i + 1,
			lock: int32(i%locks) + 1}
	}
}

// isOwn reports whether the clients' lock is one that a test brings.
func (w *World) isOwn() bool { return len(w.clients) > 0 && w.clients[0].load.Kind == OwnKind }

// lockOf is the lock of the client whose process p is.
func (w *World) lockOf(p *process) int32 { return w.clients[p.actor-w.clients[0].actor].lock }

// newProcess makes a process of a client.
func (w *World) newProcess(actor trace.Actor, life int32) *process {
	p := &process{w: w, actor: actor, life: life, clock: &w.truth}
	p.choices = w.newDraws("client/" + p.id())
	return p
}

// client is one process of the workload.
type client struct {
	w      *World
	p      *process // nil until something happens to it
	load   *Workload
	own    *Own // of lock=own
	number int
	actor  trace.Actor
	lock   int32
	stage
}

// stage is how far a client's process has come. One that starts again in its place begins
// at the first.
type stage struct {
	started bool
	got     bool // what it asked for last
	done    bool // with its rounds; what it has begun elsewhere may still go on
	last    bool // it is in its last round, in a world where waiting for nothing only makes more orders
}

func (c *client) name() string { return c.w.names[c.actor] }

// process is the client's process, made when it is first asked for.
func (c *client) process() *process {
	if c.p == nil {
		c.p = c.w.newProcess(c.actor, 1)
		c.w.procs[c.number-1] = c.p
	}
	return c.p
}

// processes are those of all clients, made for all.
func (w *World) processes() []*process {
	for _, c := range w.clients {
		c.process()
	}
	return w.procs
}

// reads tells whether the client is a reader.
func (c *client) reads() bool { return c.number <= c.load.Readers }

// start starts the client; a second start, or one after a crash, does nothing.
func (c *client) start() {
	if c.started || c.process().dead {
		return
	}
	c.started = true
	n := c.p.w.emit(trace.Event{Kind: trace.Start, Actor: c.p.actor})
	c.p.w.following(n, func() { c.p.spawn(c.run()) })
}

// clients makes the process's lock clients, one for each master.
func (c *client) clients() []*lockclient.Client {
	opts := []lockclient.Option{lockclient.WithWatchdog(c.load.TTL), lockclient.WithID(c.p.id())}
	if c.load.FairWait > 0 {
		opts = append(opts, lockclient.WithFairWait(c.load.FairWait))
	}
	if c.load.Required {
		opts = append(opts, lockclient.RequireReplicas(1))
	}
	if c.number <= c.load.Compat {
		opts = append(opts, lockclient.Compat316())
	}
	var list []*lockclient.Client
	for _, g := range c.p.w.groups {
		list = append(list, lockclient.New(&transport{p: c.p, group: g}, clientRuntime{c.p}, opts...))
	}
	return list
}

// part is what the client does, as its profile has it.
func (c *client) part() part {
	switch {
	case c.load.Redisson && c.guards():
		return c.redissonGuarding()
	case c.load.Redisson:
		return redissonPart(c)
	case c.guards():
		return c.guarding()
	}
	return findKind(c.load.Kind).part(c, c.clients())
}

// context is that of all that the client does. It never ends; the code of a test
// gets one of this simulation, so that it is seen if it mixes in others.
func (c *client) context() context.Context {
	if c.load.Kind == OwnKind {
		return &simCtx{p: c.p, parent: context.Background()}
	}
	return context.Background()
}

// run returns what the client's first task does. While the client waits, a method
// would take a frame more on its stack, of which there may be a million.
func (c *client) run() func() {
	return func() {
		root, part := c.context(), c.part()
		t := c.p.running()
		c.p.watchSentinels()
		c.p.findMasters(t)
		for round := 1; c.load.Rounds == 0 || round <= c.load.Rounds; round++ {
			c.last = c.p.w.untimed != nil && round == c.load.Rounds
			if more := part.round(t, root); !more || c.got && c.p.w.calm || c.last {
				break
			}
			t.sleep(nil, time.Duration(c.p.choices.span(c.load.Think)))
		}
		t.notesEnd()
		c.done = true
	}
}

// backOff waits after a failed lock().
func (c *client) backOff(t *task) {
	if !c.last {
		t.sleep(nil, retryAfter)
	}
}

// notesEnd is apart from run, in the frame of which an event would lie for as long
// as the client lives.
//
//go:noinline
func (t *task) notesEnd() { t.note(trace.Event{Kind: trace.End}) }

// note records an event about the client's lock.
func (c *client) note(t *task, kind trace.Kind) {
	e := trace.Event{Kind: kind, Lock: c.lock}
	if c.p.w.cfg.Details {
		e.Key = lockName(c.lock)
	}
	t.note(e)
}

// failed records an error, and whether it tells of a loss.
func (c *client) failed(t *task, kind trace.Kind, err error) {
	e := trace.Event{Kind: kind, Lock: c.lock}
	if errors.Is(err, lockclient.ErrLost) || errors.Is(err, errMonitorState) {
		e.A = 1
	}
	if c.p.w.cfg.Details {
		e.Key, e.Text = lockName(c.lock), err.Error()
	}
	t.note(e)
}
