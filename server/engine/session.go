package engine

import (
	"slices"
	"time"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Session is one client of a node. The shell reads the exported fields and takes the
// bytes out of Out between calls of the node. It sets only LocalAddr and Waiting, besides
// emptying Out.
type Session struct {
	ID    int64  // 1, 2, 3, … in the order of NewSession
	Out   []byte // replies and pushes to send, in order; the shell empties it
	Addr  string // the client's address, for CLIENT LIST
	Name  string // given by CLIENT SETNAME or HELLO, or ""
	DB    int    // the selected database
	Proto int    // 2 or 3

	LocalAddr string // the address the client connected to, for CLIENT LIST; the shell may set it

	Waiting func() int // bytes of replies that the client has not taken, for CLIENT LIST; the shell may set it

	node       *Node
	prev, next *Session // neighbours in the node's list, by ID
	created    time.Duration
	lastUsed   time.Duration
	last       *Command      // the last command that was known; nil: none yet
	latest     *datastore.DB // that was asked for; nil: none yet

	user          *user // whom its commands are run as
	authenticated bool
	dirty         bool // on the node's list for Dirty
	closing       bool
	overflowed    bool // more was to be sent than its hard limit allows
	link          link // what of replication goes over it
	readOnly      bool // READONLY: reads on a cluster's replica
	asking        bool // ASKING: for the next command
	reply         replyMode

	query     queryBuffer
	written   replyBuffer
	subs      subscriptions
	block     *blocked // nil: not blocked
	unblocked bool     // on the node's list for Unblocked
	writtenTo int64    // replication offset after its last write: what WAIT waits for
	*special           // read at any time; written after own has been called
}

// special is what most sessions never have. Those share one that is empty: there
// may be hundreds of thousands of them.
type special struct {
	tx       transaction
	running  []queuedCommand // those of the EXEC that runs now; nil: none does
	held     [][]byte        // the command that a pause held back; nil: none, or it still does
	tracking trackingState
	outside  outside
	monitors bool // MONITOR: is shown all commands
	noEvict  bool
}

// ordinary is that of sessions without anything special. Nobody writes to it.
var ordinary special

// own is the special part of s, which is going to be written to.
func (s *Session) own() *special {
	if s.special == &ordinary {
		s.special = &special{}
	}
	return s.special
}

// replyMode is what CLIENT REPLY has chosen: any of the following, or nothing.
// Source: CLIENT_REPLY_OFF, _SKIP and _SKIP_NEXT of Redis 7.0.
type replyMode uint8

const (
	replyOff      replyMode = 1 << iota // replies are silenced
	replySkip                           // the current command's is
	replySkipNext                       // the next one's will be; in EXEC it is the one behind EXEC
)

// silenced reports whether there is to be no reply.
func (m replyMode) silenced() bool { return m&(replyOff|replySkip) != 0 }

// NewSession makes the session of a new client that connects from addr
// ("127.0.0.1:50000").
func (n *Node) NewSession(addr string) *Session {
	s := n.session(addr)
	n.sessions.add(s)
	n.stats.connections++
	return s
}

// Full returns the error for a client that is one too many, and counts it as sent away;
// "" if there is room. Connections between the nodes of a cluster take room as well.
// Source: acceptCommonHandler of Redis 7.0.
func (n *Node) Full() string {
	if int64(n.sessions.count+n.clusterConnections()) < n.conf.number("maxclients") {
		return ""
	}
	n.stats.refused++
	if n.cfg.Topology != nil {
		return "ERR max number of clients + cluster connections reached"
	}
	return "ERR max number of clients reached"
}

// clusterConnections are those of the cluster's bus, one in each direction.
// Source: getClusterConnectionsCount of Redis 7.0.
func (n *Node) clusterConnections() int {
	if n.cfg.Topology == nil {
		return 0
	}
	return 2 * n.cfg.Topology.Others()
}

// session is a new client that nobody sees yet.
func (n *Node) session(addr string) *Session {
	n.lastID++
	now := n.cfg.Clock.Mono()
	return &Session{
		ID: n.lastID, Addr: addr, Proto: 2, node: n, created: now, lastUsed: now,
		user: n.access.root, authenticated: n.access.open(),
		written: newReplyBuffer(now), special: &ordinary,
	}
}

// Close ends a client and leaves nothing of it behind: subscriptions, watched
// keys, a blocking command, replies on the way. It is harmless to repeat.
func (n *Node) Close(s *Session) {
	s.closing = true
	if s.block != nil {
		n.unblock(s)
	}
	if s.unblocked {
		s.unblocked = false
		n.blocking.unblocked = without(n.blocking.unblocked, s)
	}
	n.unsubscribeAll(s)
	n.unwatch(s)
	n.stopMonitoring(s)
	n.stopTracking(s)
	n.detachOutside(s)
	s.endTransaction()
	n.sessions.remove(s)
}

// Blocked reports whether s waits inside a command, or a command of s waits for its turn.
// Later commands of s must then wait too.
func (s *Session) Blocked() bool { return s.block != nil || s.held != nil }

// Closing reports whether the shell must close the connection once Out is sent, for
// example after QUIT or CLIENT KILL.
func (s *Session) Closing() bool { return s.closing }

// Subscribed reports whether s has any subscription.
func (s *Session) Subscribed() bool { return s.subs.count() > 0 }

// Channels returns the channels that s listens to, without patterns and sharded channels,
// in the order of their subscription. The caller must not change the slice.
func (s *Session) Channels() []string { return s.subs.channels.all() }

// Authenticated reports whether s may run commands; until then the shell
// holds it to tighter protocol limits.
func (s *Session) Authenticated() bool { return s.authenticated || s.node.access.open() }

// db is the selected database.
func (s *Session) db() *datastore.DB {
	if db := s.latest; db != nil && db.Index() == s.DB {
		return db
	}
	return s.open()
}

// open is db after another was selected. The keyspace of a node outlives its
// sessions.
func (s *Session) open() *datastore.DB {
	s.latest = s.node.keys.DB(s.DB)
	return s.latest
}

// send appends a reply, unless CLIENT REPLY has silenced the session.
func (s *Session) send(v resp.Value) { s.sendReply(&v) }

// Reply sends a reply to what is no request, such as a protocol error, which counts among
// the errors of the node.
// Source: afterErrorReply of Redis 7.0.
func (s *Session) Reply(v resp.Value) {
	if failure := failureOf(&v); failure != "" {
		s.node.stats.countError(failure)
	}
	s.send(v)
}

// sendReply is send of a reply that stays where it is.
func (s *Session) sendReply(v *resp.Value) {
	if !s.reply.silenced() && !s.isLink() {
		s.append(v)
	}
}

// append adds to Out, unless a replica outside of the process is at the other end: that has
// nothing to ask, and is sent away.
// Source: logInvalidUseAndFreeClientAsync of Redis 7.0.
func (s *Session) append(v *resp.Value) {
	if s.outside.replica {
		s.closing = true
		return
	}
	if s.overflowed || (len(v.List) > 0 || len(v.Str) > leastOutput) && s.overflows(v) {
		return
	}
	s.Out = resp.AppendTo(s.Out, v, s.Proto)
}

// leastOutput is how many bytes may wait for a client under any limit, as Redis counts what
// is beyond its first buffer.
const leastOutput = 16 << 10

// overflows reports whether a reply is more than may ever wait for the client. Nothing of it
// is written then, as it may be more than there is memory, and the shell sends the client away.
// Source: closeClientOnOutputBufferLimitReached of Redis 7.0.
func (s *Session) overflows(v *resp.Value) bool {
	limit := s.node.conf.hardNormal
	if s.Subscribed() {
		limit = s.node.conf.hardPubSub
	}
	if limit == 0 || !v.Exceeds(max(limit, leastOutput)-len(s.Out)) {
		return false
	}
	s.overflowed, s.closing, s.Out = true, true, nil
	s.node.markDirty(s)
	return true
}

// Overflowed reports whether the client is to be sent away because of a hard limit of
// client-output-buffer-limit, without what waits for it.
func (s *Session) Overflowed() bool { return s.overflowed }

// push appends a message that no command of s asked for; CLIENT REPLY does not
// silence it.
func (s *Session) push(v resp.Value) {
	s.append(&v)
	s.node.markDirty(s)
}

// commandDone moves CLIENT REPLY SKIP on by one command.
func (s *Session) commandDone() {
	if s.reply != 0 {
		skip := s.reply&replySkipNext != 0
		s.reply &= replyOff
		if skip {
			s.reply |= replySkip
		}
	}
}

// emptyDone is what is left of a request without arguments.
// Source: resetClient of Redis 7.0.
func (s *Session) emptyDone() {
	s.asking = s.asking && s.tx.active
	if s.tracking.caching && !s.tx.active {
		s.tracking.caching = false
	}
	s.commandDone()
}

// eachSession calls do for every session, in the order of their IDs. It may
// close it.
func (n *Node) eachSession(do func(s *Session)) {
	for s := n.sessions.first; s != nil; {
		next := s.next
		do(s)
		s = next
	}
}

// kick ends the connection of s; the caller's own still gets its reply, another one's
// loses those of this turn.
func (c *Call) kick(s *Session) {
	if s.link != noLink {
		c.Node.cut(s)
		return
	}
	if s != c.Session {
		c.Node.drop(s)
		return
	}
	s.closing = true
	c.Node.markDirty(s)
}

// condemn is kick, in a transaction at the end of that: until then s is seen and counted, and is
// served what it waits for.
// Source: freeClientAsync of Redis 7.0.
func (c *Call) condemn(s *Session) {
	switch {
	case !c.InTx || s == c.Session || s.link != noLink:
		c.kick(s)
	case !slices.Contains(c.Node.condemned, s):
		c.Node.condemned = append(c.Node.condemned, s)
	}
}

// dropCondemned ends the connections that a transaction was to end.
func (n *Node) dropCondemned() {
	for _, s := range n.condemned {
		n.drop(s)
	}
	n.condemned = nil
}

// drop ends the connection of s, which loses its replies of this turn.
func (n *Node) drop(s *Session) {
	s.closing = true
	n.markDirty(s)
	n.Close(s)
	s.Out = s.Out[:0]
}

// sessionList is the sessions of a node in the order of their IDs, but for the one
// to the master, which keeps its ID over interruptions.
type sessionList struct {
	first, last *Session
	count       int
}

func (l *sessionList) add(s *Session) {
	s.prev = l.last
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
	l.count++
}

// remove takes s out, if it is in.
func (l *sessionList) remove(s *Session) {
	if s.prev == nil && l.first != s {
		return
	}
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	l.count--
}

// byID finds a session, or nil.
func (l *sessionList) byID(id int64) *Session {
	for s := l.first; s != nil; s = s.next {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// sendArrayHeader begins an array reply whose n elements follow one by one.
func (s *Session) sendArrayHeader(n int) {
	if !s.reply.silenced() && !s.isLink() {
		s.Out = resp.AppendArrayHeader(s.Out, n)
	}
}
