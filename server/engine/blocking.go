package engine

import (
	"math"
	"slices"
	"sort"

	"minikv/datastore"
	"minikv/internal/resp"
)

// blocking is the clients that wait inside a command, and the commands that
// CLIENT PAUSE holds back.
type blocking struct {
	keys   map[watchKey][]*Session   // who waits for a key, the longest first; nil until used
	ready  []watchKey                // keys that became ready since blocked clients were last tried
	queued map[watchKey]bool         // of these, which have not been looked at
	timed  []*Session                // blocked sessions with a deadline, the earliest first
	count  int                       // blocked sessions
	byKind [datastore.Stream + 1]int // of these, how many wait for a key of a kind

	waiting   []*Session // in WAIT, the longest first
	postponed []*Session // held back by a pause, in order
	unblocked []*Session // whose wait is over, in order, see Node.Unblocked
	pauses    [pauseReasons]pause
}

// blocked is what one session waits for.
type blocked struct {
	args      [][]byte // the command, to run again
	kind      datastore.Kind
	keys      []watchKey
	deadline  int64 // Unix milliseconds; math.MaxInt64: none
	onTimeout resp.Value
	onGone    resp.Value           // the reply when a key is no longer of that kind; None: wait on
	after     []datastore.StreamID // XREAD: of each stream, what the client knows
	replicas  int64                // WAIT: how many; 0: another command
	offset    int64                // WAIT: up to where
	postponed bool
	suspended bool // by Suspend
}

// Block makes the session wait until one of keys is made and is of the given kind (a
// stream: until it gets an entry), and returns what the handler must return. The handler
// then runs again, with Again and Ready set. It may block again; the session then keeps
// its place and its deadline.
//
// When timeoutMillis (0: for ever) have passed, the client gets onTimeout. Where blocking
// is not possible, in transactions and scripts, onTimeout is returned at once.
func (c *Call) Block(kind datastore.Kind, keys [][]byte, timeoutMillis int64, onTimeout resp.Value) resp.Value {
	if !c.mayBlock() {
		return onTimeout
	}
	if c.Again {
		return resp.Value{}
	}
	n, s := c.Node, c.Session
	b := &blocked{args: cloneArgs(c.Args), kind: kind, onTimeout: onTimeout}
	b.deadline = n.deadlineIn(timeoutMillis)
	if n.blocking.keys == nil {
		n.blocking.keys = make(map[watchKey][]*Session)
		n.hearOfNew()
	}
	for _, key := range keys {
		k := watchKey{s.DB, string(key)}
		waiting := n.blocking.keys[k]
		if len(waiting) > 0 && waiting[len(waiting)-1] == s {
			continue // named twice
		}
		b.keys = append(b.keys, k)
		n.blocking.keys[k] = append(waiting, s)
	}
	n.block(s, b)
	return resp.Value{}
}

// mayBlock reports whether the session may be left waiting.
func (c *Call) mayBlock() bool { return !c.Script && !c.InTx && !c.Session.isLink() }

// deadlineIn is now plus a timeout, 0 being for ever.
func (n *Node) deadlineIn(timeoutMillis int64) int64 {
	now := n.nextMillis()
	if timeoutMillis == 0 || timeoutMillis > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + timeoutMillis
}

// block puts s to wait.
func (n *Node) block(s *Session, b *blocked) {
	s.block = b
	n.blocking.count++
	n.blocking.byKind[b.kind]++
	if b.deadline == math.MaxInt64 {
		return
	}
	timed := n.blocking.timed
	at := sort.Search(len(timed), func(i int) bool { return timed[i].block.deadline > b.deadline })
	n.blocking.timed = slices.Insert(timed, at, s)
}

// unblock ends the wait of s without a reply.
func (n *Node) unblock(s *Session) {
	b, bl := s.block, &n.blocking
	s.block = nil
	bl.count--
	bl.byKind[b.kind]--
	for _, key := range b.keys {
		bl.keys[key] = without(bl.keys[key], s)
		if len(bl.keys[key]) == 0 {
			delete(bl.keys, key)
		}
	}
	if len(bl.keys) == 0 {
		bl.keys = nil
		n.hearOfNew()
	}
	bl.timed = without(bl.timed, s)
	bl.waiting = without(bl.waiting, s)
	bl.postponed = without(bl.postponed, s)
	n.markDirty(s)
	if !s.unblocked {
		s.unblocked = true
		bl.unblocked = append(bl.unblocked, s)
	}
}

// without removes one from list, keeping the order.
func without[T comparable](list []T, one T) []T {
	if at := slices.Index(list, one); at >= 0 {
		return slices.Delete(list, at, at+1)
	}
	return list
}

// next is the earliest deadline in Unix milliseconds.
func (b *blocking) next() (at int64, ok bool) {
	if len(b.timed) > 0 {
		at, ok = b.timed[0].block.deadline, true
	}
	for i := range b.pauses {
		if until := b.pauses[i].until; until != 0 && until != math.MaxInt64 && (!ok || until < at) {
			at, ok = until, true
		}
	}
	return at, ok
}

// expireTimeouts ends what has reached its deadline.
func (n *Node) expireTimeouts(now int64) {
	b := &n.blocking
	for len(b.timed) > 0 && b.timed[0].block.deadline <= now {
		n.timeOut(b.timed[0])
	}
	for i := range b.pauses {
		if until := b.pauses[i].until; until != 0 && until <= now {
			n.setPause(PauseReason(i), pause{})
		}
	}
}

// timeOut ends the wait of s with the reply for a timeout.
func (n *Node) timeOut(s *Session) {
	b := s.block
	reply := b.onTimeout
	if b.replicas > 0 {
		reply = resp.Int(n.repl.acked(b.offset))
	}
	n.endWait(s, reply)
}

// endWait ends the wait of s with a reply. Of the command nothing more is counted
// than an error in it: that it was called is, and whoever has cut the wait short
// accounts for it.
func (n *Node) endWait(s *Session, reply resp.Value) {
	n.unblock(s)
	if failure := failureOf(&reply); failure != "" {
		n.stats.countError(failure)
	}
	s.send(reply)
	s.commandDone()
}

// accountEnd accounts for a command of s whose wait somebody has ended, with an error
// that is already counted if failure is not empty.
// Source: updateStatsOnUnblock of Redis 7.0.
func (n *Node) accountEnd(s *Session, args [][]byte, failure string) {
	c := n.push(s)
	c.Cmd, c.Args, c.counted = s.last, args, errorCounted
	c.accountWaited(0, failure)
	n.pop()
}

// hearOfNew has the keyspace tell of new keys if somebody wants to know.
func (n *Node) hearOfNew() {
	n.keys.OnNew = nil
	if n.blocking.keys != nil || n.conf.notify&eventNew != 0 {
		n.keys.OnNew = n.onNew
	}
}

// onNew is the keyspace's report that it made a key where there was none.
func (n *Node) onNew(db int, key string, kind datastore.Kind) {
	n.ready(db, key, kind)
	n.notify(db, "new", key)
}

// waitsInGroup reports whether a blocked client waits for entries as a member of a group.
func (s *Session) waitsInGroup() bool { return s.block.onGone.Kind != resp.None }

// ready has the clients be tried again that are blocked on a key with a value of a kind,
// if anybody waits for that kind.
// Source: signalKeyAsReady of Redis 7.0.
func (n *Node) ready(db int, key string, kind datastore.Kind) {
	if n.blocking.byKind[kind] > 0 {
		n.queueReady(watchKey{db, key})
	}
}

// queueReady puts a key on which clients are blocked behind those that became ready
// before, unless it is among them.
func (n *Node) queueReady(k watchKey) {
	bl := &n.blocking
	if len(bl.keys[k]) == 0 || bl.queued[k] {
		return
	}
	if bl.queued == nil {
		bl.queued = make(map[watchKey]bool)
	}
	bl.queued[k] = true
	bl.ready = append(bl.ready, k)
}

// readyStreams has the clients be tried again that are blocked on streams of a database (-1:
// of all), because all its keys are going to be removed, for a moment at least.
// Source: scanDatabaseForDeletedStreams of Redis 7.0.
func (n *Node) readyStreams(db int) {
	if n.blocking.byKind[datastore.Stream] == 0 {
		return
	}
	n.readyIf(db, func(_ *Session, k watchKey) bool {
		return n.keys.DB(k.db).KeptKind([]byte(k.key)) == datastore.Stream
	})
}

// readySwapped has the clients be tried again that are blocked on a key of a database
// which has got other keys, where there is what somebody waits for, expired or not, or no
// stream any more.
// Source: scanDatabaseForReadyKeys of Redis 7.0.
func (n *Node) readySwapped(db int) {
	n.readyIf(db, func(s *Session, k watchKey) bool {
		kind := n.keys.DB(db).KeptKind([]byte(k.key))
		return n.blocking.byKind[kind] > 0 || s.waitsInGroup() && kind != datastore.Stream
	})
}

// readyIf has the clients be tried again that are blocked on keys of a database (-1: of
// all) which are due.
func (n *Node) readyIf(db int, due func(s *Session, k watchKey) bool) {
	if n.blocking.keys == nil {
		return
	}
	for s := n.sessions.first; s != nil; s = s.next {
		if s.block == nil {
			continue
		}
		for _, k := range s.block.keys {
			if (db < 0 || k.db == db) && due(s, k) {
				n.queueReady(k)
			}
		}
	}
}

// serveReady tries blocked clients again, in the order in which keys became ready
// and, for each key, in which clients came. What they do may ready more keys.
func (n *Node) serveReady() {
	for len(n.blocking.ready) > 0 {
		ready := n.blocking.ready
		n.blocking.ready = nil
		for _, key := range ready {
			delete(n.blocking.queued, key)
			for _, s := range slices.Clone(n.blocking.keys[key]) {
				switch {
				case s.block == nil:
				case !s.waitsInGroup() && n.blocking.byKind[n.keys.DB(key.db).KeptKind([]byte(key.key))] == 0:
					// Nobody waits for its kind, so that it is not looked at, and stays if it has expired.
				case n.keys.DB(key.db).Kind([]byte(key.key)) == s.block.kind:
					n.tryAgain(s, []byte(key.key))
				case s.waitsInGroup():
					b := s.block
					n.endWait(s, b.onGone)
					n.accountEnd(s, b.args, failureOf(&b.onGone))
				default:
					n.flushEffects(true) // the key may just have been found expired
				}
			}
		}
	}
}

// tryAgain runs the command that s is blocked in, a key of which is ready.
func (n *Node) tryAgain(s *Session, key []byte) {
	b := s.block
	c := n.push(s)
	c.Args, c.Again, c.Ready = b.args, true, key
	c.Cmd, _ = n.lookup(b.args)
	began := n.cfg.Clock.Mono()
	c.run(&c.reply)
	reply := c.reply
	if reply.Kind != resp.None {
		n.unblock(s)
		c.propagate()
		c.accountWaited(n.cfg.Clock.Mono()-began, failureOf(&reply))
		if n.cfg.Observe != nil {
			n.observeCall(c, reply)
		}
		s.send(reply)
		s.commandDone()
	}
	n.pop()
	n.sendOwed(s)
	n.flushEffects(true)
}

// waitFor makes the session wait until some replicas have acknowledged what it has written.
func (c *Call) waitFor(replicas, timeoutMillis int64) {
	n, s := c.Node, c.Session
	n.block(s, &blocked{
		args: cloneArgs(c.Args), replicas: replicas, offset: s.writtenTo, deadline: n.deadlineIn(timeoutMillis),
	})
	n.blocking.waiting = append(n.blocking.waiting, s)
	n.repl.asksAcks = len(n.repl.replicas) > 0
}

// checkWaiters ends each WAIT that has its acknowledgements.
func (n *Node) checkWaiters() {
	for _, s := range slices.Clone(n.blocking.waiting) {
		if n.repl.acked(s.block.offset) >= s.block.replicas {
			n.timeOut(s)
		}
	}
}

// releaseWaiters sends away every client blocked in a command that a replica
// cannot serve: the node has just become one.
func (n *Node) releaseWaiters() {
	released := false
	for s := n.sessions.first; s != nil; s = s.next {
		if s.block != nil && !s.block.postponed && !s.block.suspended {
			n.endWait(s, resp.Err(errUnblocked))
			s.closing, released = true, true
		}
	}
	if released {
		n.failRunning()
	}
}

const errUnblocked = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
