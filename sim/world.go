package sim

import (
	"strconv"
	"time"

	"minikv/cluster"
	"minikv/internal/memory"
	"minikv/luaengine"
	"minikv/server/engine"
	"minikv/trace"
)

// Config is what a World is made of.
type Config struct {
	Seed    uint64
	Chooser Chooser           // nil: Random(Seed)
	Record  bool              // keep the non-zero draws, for Draws
	Details bool              // fill in the texts of events; changes no result
	Lines   bool              // also tell which lines of scripts ran; changes no result, and takes longer
	Lua     *luaengine.Engine // may be shared by the worlds of one goroutine; nil: a new one

	Plan     cluster.Plan // which servers there are
	Locks    int          // locks lock:1 to lock:N; at least 1
	Delay    Range        // of a message, one way
	Lag      Range        // of replication
	Fence    bool         // the resource refuses writes with a token below the highest that it has seen
	EverySec bool         // servers sync their disks once a second; else at once
	Thefts   bool         // events tell when a request ends what another client had
	Remember bool         // servers can restart without the latest of their data
	Pool     bool         // requests of one client may overtake each other, as over several connections
	Abort    bool         // with Pool: a connection that is closed drops what has not arrived, as of lockclient/goredis
	Sync     bool         // clients check with WAIT whether replicas have what they acquire

	Stray    func(client, stack string)              // see Options; may be nil
	Nodes    func(name string) map[string]string     // returns parameters of a node, by its name; may be nil
	Standing func(name string, now cluster.Standing) // called for each change in a process's place; may be nil

	Observers []func(*trace.Event) // called for each event
}

// Range is from Lo to Hi, both included. Durations are drawn from it.
type Range struct{ Lo, Hi time.Duration }

// World is one simulated world: clients, nodes, a network and a protected resource,
// driven by one event queue. It is not safe for concurrent use.
type World struct {
	cfg   Config
	now   time.Duration
	truth Clock // of clients whose clocks are right
	queue queue
	names []string // of the actors; 0 is nobody

	clients   []*client
	starts    func(c *client) // starts a client whose time has come
	procs     []*process      // by the number of the client, nil until something happens to it; then those of later lives
	nodes     []*node         // masters, then replicas in their masters' order
	directory cluster.Directory
	sentinels []*node
	groups    []*group    // the masters, each with its replicas; of a cluster only one, with all
	layout    []slotRange // of a cluster, as it was made, for clients of Redisson
	resource  *resource
	lockKeys  []lockKey // of locks, if Config.Thefts is set
	claimed   bool      // somebody had something there
	grants    *grants   // nil: nobody looks at them
	leased    bool      // of a lock that a test brings: its key has had a TTL
	nemesis   trace.Actor

	running   *task        // nil while the world itself acts
	goroutine string       // the world's own, where strays are looked for
	idle      []*coroutine // that wait for a task
	cursor    uint64       // the event that the world's own step follows from
	event     trace.Event
	details   []trace.Detail  // of the node that executes
	told      map[string]bool // by SHA1, the scripts whose source an event has told
	events    uint64
	hash      trace.Hash
	drawn     []Draw
	messages  uint64
	armed     int // how often a timer of a client was set
	free      []*message
	calls     []*call                // for further use
	command   command                // memory for the command that a node executes
	doubled   bool                   // a request has arrived twice
	cuts      map[link]int           // by how many partitions each is cut
	cutAt     map[link]time.Duration // when each last was
	stuck     []*message             // between clients and nodes, until a partition heals
	losses    []*rule                // messages that get lost
	doubles   []*rule                // requests that arrive twice
	delays    []*rule                // messages that come late
	heals     int                    // how often all partitions were ended
	calms     int                    // how often all faults were
	stalls    []*stall
	calm      bool // no more faults
	err       error

	untimed *Untimed // nil: time goes on by itself
	struck  []string // kinds of fault that were drawn and have done something
}

// NewWorld makes a world at time 0 in which nothing has happened yet.
func NewWorld(cfg Config) *World {
	memory.SweepSeldom()
	if cfg.Chooser == nil {
		cfg.Chooser = Random(cfg.Seed)
	}
	if cfg.Lua == nil {
		cfg.Lua = NewLua()
	}
	w := &World{cfg: cfg, names: []string{""}, cuts: map[link]int{}, cutAt: map[link]time.Duration{},
		told: map[string]bool{}}
	w.truth.w = w
	if cfg.Stray != nil {
		w.goroutine = goroutine()
	}
	w.nemesis = w.actor("nemesis")
	if cfg.Thefts {
		w.lockKeys = lockKeys(cfg.Locks)
	}
	w.makeNodes()
	w.resource = &resource{actor: w.actor("resource"), fence: cfg.Fence, seen: make([]int64, cfg.Locks+1)}
	return w
}

// command is a command as a process takes it.
type command struct {
	args [][]byte
	buf  []byte // backs args
}

// group is a master with its replicas.
type group struct {
	first  *node // its master at the start
	master *node // its master now
	nodes  []*node
}

// makeNodes makes the servers, connected to each other.
func (w *World) makeNodes() {
	plan := w.cfg.Plan
	names := plan.Names()
	for i, name := range names {
		host := name
		if plan.Sentinels > 0 { // they take addresses only
			host = "10.0.0." + strconv.Itoa(i+1)
		}
		w.directory = append(w.directory, host+":6379")
	}
	for i, name := range names {
		n := w.newNode(name)
		if plan.IsSentinel(n.id()) {
			w.sentinels = append(w.sentinels, n)
			continue
		}
		master := int(plan.MasterOf(n.id())) - 1
		if plan.Cluster {
			master = 0
		}
		if master == i {
			w.groups = append(w.groups, &group{first: n, master: n})
		}
		n.group = w.groups[master]
		n.group.nodes = append(n.group.nodes, n)
	}
	processes, err := plan.Build(w.directory, func(id cluster.ID) engine.Config { return w.nodes[id-1].config() }, nil)
	if err != nil {
		panic("sim: " + err.Error())
	}
	for i, n := range w.nodes {
		n.runs(processes[i])
		n.schedule()
	}
	w.details = w.details[:0]
}

func (w *World) actor(name string) trace.Actor {
	w.names = append(w.names, name)
	return trace.Actor(len(w.names) - 1)
}

// Names returns the names of the run's actors, by trace.Actor.
func (w *World) Names() []string { return w.names }

// Now returns the true time since the run began.
func (w *World) Now() time.Duration { return w.now }

// Events returns how many events there were.
func (w *World) Events() uint64 { return w.events }

// Hash returns the hash of the events so far.
func (w *World) Hash() trace.Hash { return w.hash }

// Draws returns the non-zero draws so far, if Config.Record is set.
func (w *World) Draws() []Draw { return w.drawn }

// Run lets the world go on until the given true time. If a panic of client code stops it
// early, it returns that as an error.
func (w *World) Run(until time.Duration) error {
	for !w.advance(until, 1<<16) {
	}
	return w.err
}

// advance is Run for at most a number of steps; done reports whether the time
// has come, or an error.
func (w *World) advance(until time.Duration, steps int) (done bool) {
	for ; steps > 0 && w.err == nil; steps-- {
		at, ok := w.queue.next()
		if !ok || at > until {
			w.now = until
			return true
		}
		w.now = at
		w.step(w.queue.pop())
	}
	return w.err != nil
}

// Stop unwinds all tasks. The world must not run afterwards.
func (w *World) Stop() {
	for _, p := range w.procs {
		if p == nil {
			continue
		}
		p.dead = true
		for i := range p.tasks {
			p.tasks[i].unwind()
		}
	}
	for _, c := range w.idle {
		c.stop()
	}
	w.idle = nil
}

// step does one thing. What reaches a paused process or a frozen node waits.
func (w *World) step(s step) {
	p, n := s.owner()
	if p != nil && (p.dead || p.paused > 0) {
		p.postpone(s)
		return
	}
	if n != nil && n.paused > 0 {
		n.postpone(s)
		return
	}
	w.cursor = s.cause
	switch s.kind {
	case stepWake:
		if t := s.on.(*task); s.gen == t.gen && t.parked {
			t.timer = -1
			t.resume(w.emit(trace.Event{Kind: trace.Wake, Actor: p.actor}))
		}
	case stepReady:
		if t := s.on.(*task); s.gen == t.gen {
			t.resume(t.cause)
		}
	case stepTimer:
		s.on.(*timer).fire(s.gen)
	case stepArrive:
		w.arrive(s.on.(*message))
	case stepTick:
		n.tick()
	case stepStart:
		w.starts(s.on.(*client))
	case stepRun:
		s.on.(func())()
	case stepErrand:
		s.on.(*errand).run()
	case stepServe:
		s.on.(*node).serve()
	}
}

// catchUp does what had to wait, before anything that comes after it.
func (w *World) catchUp(late []step) {
	for _, s := range late {
		if w.err == nil {
			w.step(s)
		}
	}
}

// at calls f at true time t.
func (w *World) at(t time.Duration, f func()) {
	w.queue.push(max(t, w.now), step{kind: stepRun, on: f})
}

// emit records an event, gives it its number and returns that. Without a cause
// of its own it follows from what the world is doing now.
func (w *World) emit(e trace.Event) uint64 {
	w.events++
	e.N, e.At = w.events, w.now
	if e.Cause == 0 {
		e.Cause = w.cause()
	}
	w.event = e
	w.hash = w.hash.Add(&w.event)
	for _, observe := range w.cfg.Observers {
		observe(&w.event)
	}
	return e.N
}

// note records an event of the running task: what the task does next follows from it.
func (t *task) note(e trace.Event) uint64 {
	e.Actor = t.proc.actor
	t.cause = t.proc.w.emit(e)
	return t.cause
}

// cause is the event from which whatever happens now follows.
func (w *World) cause() uint64 {
	if w.running != nil {
		return w.running.cause
	}
	return w.cursor
}

// following calls f as a consequence of event n.
func (w *World) following(n uint64, f func()) {
	before := w.cursor
	w.cursor = n
	f()
	w.cursor = before
}

// fail stops the run: the first error counts.
func (w *World) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
