package engine

import (
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/luaengine"
	"minikv/trace"
)

// Version is the redis-server release whose behaviour a node shows.
const Version = "7.0.15"

// Clock is one node's own view of time. In a simulation the clocks of nodes disagree.
type Clock interface {
	// Wall is the date this node believes. It may jump. Redis follows it for
	// TTLs, blocking timeouts, WAIT, PAUSE, node timeouts and Sentinel.
	Wall() time.Time
	// Mono is the time since this node started. It never goes back, but may run
	// fast or slow against others. Script time is measured with it.
	Mono() time.Duration
}

// Config is what a shell gives a node. Clock and Random are required, and Lua to run
// scripts.
type Config struct {
	Clock    Clock
	Random   func() uint64      // the node's source: run id, RANDOMKEY
	Lua      *luaengine.Engine  // shared by the nodes of a shell or search worker; its Resolver is Resolve
	Observe  func(trace.Detail) // called with each step; nil: nobody watches
	Topology Topology           // nil: standalone
	Handlers Handlers           // nil: the node is alone
	Mode     *Mode              // nil: the node serves keys
	Limit    func() string      // see luaengine.Host.Limit; nil: no limit
	// Log receives what Redis would log, with a level as redis.log has it; nil: it is discarded.
	Log  func(level int, text string)
	Save func(file []byte) error // writes all data, in the format of redis-server's data file; nil: data is not saved
	// Rebind makes the server listen on another port: parameter is "port" or "tls-port", and
	// 0 is none. Nil: CONFIG SET only stores the number.
	Rebind func(parameter string, port int) error
	TLS    bool                 // the server can speak it: it has a certificate
	Dial   Dial                 // connects to other servers, for MIGRATE; nil: none can be reached
	Sleep  func(time.Duration)  // for DEBUG SLEEP: nothing else happens meanwhile; nil: there is no such command
	Step   func(luaengine.Step) // called before each statement of scripts; Observe hears which begins; nil: neither
	Shards int                  // of the keyspace; 0: 1. It changes no answer.

	Port       int               // the port that INFO and CONFIG GET show
	Parameters map[string]string // redis.conf parameters that differ from their defaults; see ValidateParameter
	ProcessID  int
	Executable string     // full path, for INFO
	ConfigFile string     // full path, for INFO
	Users      [][]string // from redis.conf, each a name and its rules; see ValidateUser
	ACLFile    File       // the file of users; nil: none
	Rewrites   File       // the configuration file, for CONFIG REWRITE; nil: none
	OS         string     // for INFO, such as "Linux 6.1.0 x86_64"

	SystemMemory int64 // of the machine in bytes, for INFO; 0: unknown
}

// Node is one Redis server. It is not safe for concurrent use.
type Node struct {
	cfg   Config
	keys  *datastore.Keyspace
	conf  configuration
	stats statistics
	runID string // made when it is first asked for

	access   access
	sessions sessionList
	idleAt   time.Duration // before which nobody has been silent for too long
	lastID   int64
	slow     slowlog
	latency  []latencyEvent // by name
	monitors []*Session     // have sent MONITOR
	dirty    []*Session     // in the order in which they got output
	handed   []*Session     // what Dirty returned last, used again

	condemned []*Session // whom the transaction that runs sends away when it is over

	savedAt     int64               // Unix seconds; 0: never
	rewritten   *datastore.Snapshot // by the latest BGREWRITEAOF, for DEBUG LOADAOF; nil: none
	outOfMemory bool                // when the running command of a client began

	depth    int
	calls    [maxDepth]Call // one for each level: client, EXEC, script, woken client
	elements []resp.Value   // of the latest reply that is a short list, see Call.list

	effects   effects
	repl      replication
	watched   map[watchKey][]*watchedKey
	changed   []change // by the running command, for the observer
	pubsub    pubsub
	blocking  blocking
	tracking  tracking
	scripts   scripting
	functions functions
	shutdown  *Shutdown
	ending    ending
}

// maxDepth is how deep calls can nest: a client's EXEC, its EVAL, the
// script's command; and a blocked client that is served at the end.
const maxDepth = 4

// New makes an empty node. It costs next to nothing until it is used. It panics if a
// parameter or a user is not valid: check them with ValidateParameter and ValidateUser.
func New(cfg Config) *Node {
	n := &Node{cfg: cfg}
	n.conf.load(cfg.Parameters)
	n.access.begin(n.conf.get("requirepass"))
	if cfg.Users != nil || cfg.ACLFile != nil {
		n.configure(cfg.Users)
	}
	n.reset()
	return n
}

// reset gives the node an empty keyspace, as after a start without data.
func (n *Node) reset() {
	n.keys = datastore.New(datastore.Options{
		Databases: int(n.conf.number("databases")),
		Shards:    n.cfg.Shards,
		Now:       n.nowMillis,
	})
	n.keys.OnExpire = n.onExpire
	n.applyLimits()
	n.applyExpiryPolicy()
}

// Restart is a crash and a start: sessions, subscriptions, the script cache, the
// replication log and statistics are gone. With keepData the keyspace stays, and its
// deadlines remain dates; without it the keyspace is empty. The node keeps its
// configuration, its users and its role. The shell must drop its connections.
func (n *Node) Restart(keepData bool) {
	for n.sessions.first != nil {
		n.Close(n.sessions.first)
	}
	n.dirty, n.handed = nil, nil
	n.blocking = blocking{}
	n.tracking = tracking{}
	n.scripts = scripting{}
	n.effects = effects{}
	n.repl.restart()
	n.stats = statistics{}
	n.slow = slowlog{}
	n.latency = nil
	n.savedAt, n.rewritten = 0, nil
	n.access.log = nil
	n.runID, n.idleAt = "", 0
	n.shutdown, n.ending = nil, ending{}
	if !keepData {
		n.reset()
		n.functions = functions{}
	}
	n.functions.reload(n)
	n.applyExpiryPolicy()
}

// Do runs one command of a client; cmd[0] is its name. It appends replies and pushes to
// the Out of any session, in the order of execution, and may leave s blocked. A blocked
// session must not send another command. Unblocked returns the sessions whose waits have
// ended. cmd is read only during the call.
//
// An empty cmd only ends what an earlier command said about the one that follows it:
// ASKING, CLIENT REPLY SKIP and CLIENT CACHING.
//
// While Do runs a script, the shell may call it again for another session from within
// Config.Limit: that client is then told BUSY, and can kill the script.
func (n *Node) Do(s *Session, cmd [][]byte) {
	if s.closing {
		return
	}
	if len(cmd) == 0 {
		s.emptyDone()
		return
	}
	n.markDirty(s)
	s.lastUsed = n.cfg.Clock.Mono()
	s.query.complete()
	if s.lastUsed >= n.stats.rates.next {
		n.sampleRates()
	}
	n.perform(s, cmd, s.lastUsed)
}

// perform runs one command of s and does what follows from it. now is the time.
func (n *Node) perform(s *Session, cmd [][]byte, now time.Duration) {
	n.keys.SetAccessTime(now)
	n.slow.since = now
	n.serve(s, cmd)
	n.markDirty(s) // while a script ran, another client's output may have been fetched
	if n.depth == 0 {
		n.settle(s)
		n.dropCondemned()
		if s.closing {
			n.Close(s) // nothing more reaches it, nobody sees it
		}
	}
}

// Tick does what is due at the node's present time: it ends blocking commands, WAIT and
// PAUSE, and removes expired keys. Like Do it may end sessions' waits: see Unblocked.
func (n *Node) Tick() {
	now := n.nowMillis()
	n.expireTimeouts(now)
	n.activeExpiry(now)
	if at, ok := n.limitDue(); ok && at <= now {
		n.limitTracked()
		n.tracking.limitAt = 0
	}
	n.sendIdleAway()
	n.flushEffects(false)
	n.pingOutside(now)
	n.settle(nil)
}

// NextDeadline returns how long, by the node's wall clock, until Tick has something to
// do: 0 when it is overdue, false when nothing waits for time to pass.
func (n *Node) NextDeadline() (time.Duration, bool) {
	at, ok := n.blocking.next()
	if due, has := n.limitDue(); has && (!ok || due < at) {
		at, ok = due, true
	}
	if next, has := n.keys.NextExpiry(); has && n.expiresKeys() && (!ok || next < at) {
		at, ok = next, true
	}
	if n.ending.request != nil && (!ok || n.ending.until < at) {
		at, ok = n.ending.until, true
	}
	if n.pings() && (!ok || n.repl.pingAt < at) {
		at, ok = n.repl.pingAt, true
	}
	wait := time.UnixMilli(at).Sub(n.cfg.Clock.Wall())
	if n.limitsIdle() {
		if idle := n.idleAt - n.cfg.Clock.Mono(); !ok || idle < wait {
			wait, ok = idle, true
		}
	}
	if !ok {
		return 0, false
	}
	return max(wait, 0), true
}

// Dirty returns the sessions whose Out has grown, or that became unblocked or closing,
// since the last call, in the order in which that happened. The slice is valid until the
// next call.
//
// It also ends a turn of Redis's event loop: clients that track keys by prefix are then
// told what has changed.
func (n *Node) Dirty() []*Session {
	if n.depth == 0 && (n.tracking.prefixes != nil || n.repl.outside != nil) { // no script is interrupted
		n.broadcast()
		n.feedOutside()
	}
	if n.depth == 0 && n.cfg.Handlers == nil {
		n.Trim()
	}
	n.dirty, n.handed = n.handed[:0], n.dirty
	for _, s := range n.handed {
		s.dirty = false
	}
	return n.handed
}

// Interrupted reports whether a script is between two of its steps, and the shell has
// come in from within Config.Limit.
func (n *Node) Interrupted() bool { return n.depth > 0 }

// Keyspace returns the node's data, for inspection and for command families that other
// packages register. Writes through it are not replicated.
func (n *Node) Keyspace() *datastore.Keyspace { return n.keys }

// Clock is the node's clock.
func (n *Node) Clock() Clock { return n.cfg.Clock }

// markDirty puts s on the list for Dirty.
func (n *Node) markDirty(s *Session) {
	if !s.dirty && !s.isLink() {
		s.dirty = true
		n.dirty = append(n.dirty, s)
	}
}

// push opens a call for s, one level deeper.
func (n *Node) push(s *Session) *Call { return n.pushIn(s, s.db()) }

// pushIn is push with the database that s has selected.
func (n *Node) pushIn(s *Session, db *datastore.DB) *Call {
	c := &n.calls[n.depth]
	n.depth++
	// Member by member, because a literal would be made elsewhere and copied. The
	// reply is set by whoever runs the command.
	c.Node, c.Session, c.DB, c.Proto = n, s, db, s.Proto
	c.Cmd, c.Args, c.Ready, c.changes, c.reply.Kind = nil, nil, nil, 0, resp.None
	c.Script, c.InTx, c.Again, c.replicated = false, false, false, false
	c.forced, c.plain, c.quiet, c.counted = false, false, false, 0
	return c
}

// pop ends the innermost call.
func (n *Node) pop() { n.depth-- }

// serve runs one command of s.
func (n *Node) serve(s *Session, cmd [][]byte) {
	c := n.push(s)
	c.Args = cmd
	c.process()
	if s.block == nil || !s.block.postponed {
		c.forgetCaching()
	}
	n.pop()
	if n.depth == 0 && n.tracking.owed != nil {
		n.sendOwed(s)
	}
	if s.block == nil { // else it is not done yet
		s.commandDone()
	}
}

// settle finishes a top-level command of s (nil: Tick): it moves its effects to the
// replication log and serves blocked clients whose keys became ready, whose effects
// are others.
func (n *Node) settle(s *Session) {
	if s != nil && n.effects.ops == 0 && len(n.blocking.ready) == 0 {
		s.writtenTo = n.repl.offset // all that there is to do
		return
	}
	n.flushEffects(s == nil || s.last == nil || !s.last.anyKeys)
	n.serveReady()
	if s != nil {
		s.writtenTo = n.repl.offset
	}
}

// activeExpiry removes the keys that are expired, a bounded number at once.
func (n *Node) activeExpiry(now int64) {
	const most = 1000
	if n.expiresKeys() {
		began := n.cfg.Clock.Mono()
		n.keys.ExpireDue(now, most)
		taken := n.cfg.Clock.Mono() - began
		n.stats.expiring += taken
		n.noteLatency("expire-cycle", taken)
	}
}

// expiresKeys reports whether keys expire without being asked for.
func (n *Node) expiresKeys() bool { return !n.conf.noExpire && !n.conf.noCron }

// onExpire is the keyspace's report that it removed an expired key: unlike with other
// changes who tracks it is told after those who listen to events.
// Source: deleteExpiredKeyAndPropagate of Redis 7.0.
func (n *Node) onExpire(db int, key string) {
	n.stats.expired++
	if n.recording() {
		n.replicateIn(db, n.deletion("lazyfree-lazy-expire"), []byte(key))
	}
	n.touch(db, key)
	n.notify(db, "expired", key)
	n.invalidate(key, nil)
	if n.cfg.Observe != nil {
		n.cfg.Observe(trace.Detail{What: trace.Expired, Key: key})
	}
}

// nowMillis is the node's wall clock in Unix milliseconds.
func (n *Node) nowMillis() int64 { return n.cfg.Clock.Wall().UnixMilli() }

// nextMillis is nowMillis, or one more if that has begun already: what lasts from
// then on for a number of milliseconds lasts no less.
// Source: handleBlockedClientsTimeout of Redis 7.0, which ends a wait behind its
// deadline, not at it.
func (n *Node) nextMillis() int64 {
	return n.cfg.Clock.Wall().Add(time.Millisecond - 1).UnixMilli()
}

// seconds is the time since the node started, in whole seconds.
func (n *Node) seconds() int64 { return int64(n.cfg.Clock.Mono() / time.Second) }

// RunID returns the node's 40 hexadecimal digits, as INFO shows them.
func (n *Node) RunID() string {
	if n.runID == "" {
		n.runID = n.randomHex()
	}
	return n.runID
}

// randomHex draws 40 hexadecimal digits.
func (n *Node) randomHex() string {
	const digits = "0123456789abcdef"
	text := make([]byte, 40)
	var bits uint64
	for i := range text {
		if i%16 == 0 {
			bits = n.cfg.Random()
		}
		text[i] = digits[bits&15]
		bits >>= 4
	}
	return string(text)
}

// Random draws a number from the node's source.
func (c *Call) Random() uint64 { return c.Node.cfg.Random() }

// observeCall tells the observer about a command that ran, and the keys it changed.
func (n *Node) observeCall(c *Call, reply resp.Value) {
	n.cfg.Observe(trace.Detail{What: trace.Called, Text: describeCommand(c.Args), Reply: resp.Describe(reply)})
	for _, one := range n.changed {
		key := []byte(one.key)
		n.cfg.Observe(trace.Detail{
			What: trace.Changed, Key: one.key, Text: n.keys.DB(one.db).Describe(key),
		})
	}
	n.changed = n.changed[:0]
}
