package engine

import (
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Transactions, https://redis.io/docs/latest/develop/interact/transactions/

var transactionCommands = []Command{
	{Name: "MULTI", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "transaction", Run: runMulti},
	{Name: "EXEC", Arity: 1, Flags: NoScript | Loading | Stale | SkipSlowlog, Groups: "transaction", Run: runExec},
	{Name: "DISCARD", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "transaction",
		Run: runDiscard},
	{Name: "WATCH", Arity: -2, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "transaction", Run: runWatch},
	{Name: "UNWATCH", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "transaction",
		Run: runUnwatch},
}

// transaction is what MULTI and WATCH have prepared in a session.
type transaction struct {
	active  bool // MULTI has begun
	spoiled bool // a command was refused: EXEC aborts
	touched bool // a watched key has changed: EXEC does nothing
	queue   []queuedCommand
	flags   Flag // of all queued commands together
	lacks   Flag // flags that one of them, at least, does not have
	watched []*watchedKey
}

type queuedCommand struct {
	cmd  *Command
	args [][]byte
}

// watchedKey is a key that a session's transaction depends on.
type watchedKey struct {
	watchKey
	session *Session
	stale   bool // it had expired before it was watched, and is still kept: its removal changes nothing
}

// watchKey is a key in its database.
type watchKey struct {
	db  int
	key string
}

// runMulti is MULTI.
func runMulti(c *Call) resp.Value {
	if c.Session.tx.active {
		return resp.Err("ERR MULTI calls can not be nested")
	}
	c.Session.own().tx.active = true
	return resp.OK
}

// runDiscard is DISCARD.
func runDiscard(c *Call) resp.Value {
	if !c.Session.tx.active {
		return resp.Err("ERR DISCARD without MULTI")
	}
	c.Node.discard(c.Session)
	return resp.OK
}

// runExec is EXEC. Its reply is written piece by piece, so that messages which
// a queued command sends to the session itself come out where Redis puts them. However
// long it takes, no key expires meanwhile but for the scripts in it.
// Source: execCommand, call and keyIsExpired of Redis 7.0.
func runExec(c *Call) resp.Value {
	n, s := c.Node, c.Session
	if !s.tx.active {
		return resp.Err("ERR EXEC without MULTI")
	}
	n.findExpiredWatches(s)
	tx := s.tx
	n.discard(s)
	switch {
	case tx.spoiled:
		return resp.Err(errExecAbort)
	case tx.touched:
		return resp.NullList
	}
	s.own().running = tx.queue
	s.sendArrayHeader(len(tx.queue))
	n.keys.Freeze(n.nowMillis())
	defer n.keys.Thaw()
	failed := false // by what was denied behind the last one that ran
	for _, queued := range tx.queue {
		ends := s.closing // an earlier one has ended the connection: what follows has no reply
		inner := n.push(s)
		inner.Cmd, inner.Args, inner.InTx = queued.cmd, queued.args, true
		var reply resp.Value
		if reply, failed = inner.deniedNow(); failed {
			inner.reply = reply
		} else {
			inner.execute(&inner.reply)
		}
		if !ends {
			s.send(inner.reply)
		}
		n.pop()
	}
	s.own().running = nil
	if failed {
		n.stats.of(c.Cmd).failed++
	}
	return resp.Value{}
}

// runWatch is WATCH key [key ...].
func runWatch(c *Call) resp.Value {
	n, s := c.Node, c.Session
	if s.tx.active {
		return resp.Err("ERR WATCH inside MULTI is not allowed")
	}
	for _, key := range c.Args[1:] {
		k := watchKey{c.DB.Index(), string(key)}
		if slices.ContainsFunc(n.watched[k], func(one *watchedKey) bool { return one.session == s }) {
			continue
		}
		if n.watched == nil {
			n.watched = make(map[watchKey][]*watchedKey)
		}
		one := &watchedKey{k, s, c.DB.Stale(key)}
		tx := &s.own().tx
		tx.watched = append(tx.watched, one)
		n.watched[k] = append(n.watched[k], one)
	}
	return resp.OK
}

// runUnwatch is UNWATCH.
func runUnwatch(c *Call) resp.Value {
	c.Node.unwatch(c.Session)
	return resp.OK
}

// enqueue keeps a command for EXEC.
func (tx *transaction) enqueue(c *Call) {
	if tx.spoiled || tx.touched {
		return // it will not run
	}
	tx.queue = append(tx.queue, queuedCommand{c.Cmd, cloneArgs(c.Args)})
	flags := c.scriptFlags(c.Cmd.Flags)
	tx.flags |= flags
	tx.lacks |= ^flags
}

// inMulti are the commands between a session's MULTI and the end of its EXEC; open is
// whether it is there.
func (s *Session) inMulti() (queue []queuedCommand, open bool) {
	if s.running != nil {
		return s.running, true
	}
	return s.tx.queue, s.tx.active
}

// discard ends a session's transaction and its watches.
func (n *Node) discard(s *Session) {
	n.unwatch(s)
	s.endTransaction()
}

func (s *Session) endTransaction() {
	if s.special != &ordinary {
		s.tx = transaction{}
	}
}

// unwatch ends a session's watches.
func (n *Node) unwatch(s *Session) {
	if len(s.tx.watched) == 0 {
		return
	}
	for _, one := range s.tx.watched {
		k := one.watchKey
		n.watched[k] = without(n.watched[k], one)
		if len(n.watched[k]) == 0 {
			delete(n.watched, k)
		}
	}
	if len(n.watched) == 0 {
		n.watched = nil
	}
	s.tx.watched = nil
	s.tx.touched = false
}

// findExpiredWatches sees watched keys that have expired since as changed.
func (n *Node) findExpiredWatches(s *Session) {
	for _, one := range s.tx.watched {
		if !one.stale && n.keys.DB(one.db).Stale([]byte(one.key)) {
			s.tx.touched = true
		}
	}
}

// touch marks a key as changed: transactions that watch it will fail, and if it was a
// stream and is none any more, clients blocked on its groups are told.
// Source: touchWatchedKey of Redis 7.0.
func (n *Node) touch(db int, key string) {
	k := watchKey{db, key}
	for _, one := range n.watched[k] {
		if !one.stale {
			one.session.tx.touched = true
		} else if !n.keys.DB(db).Kept([]byte(key)) {
			one.stale = false
		}
	}
	waiting := n.blocking.keys[k]
	if slices.ContainsFunc(waiting, (*Session).waitsInGroup) && n.keys.DB(db).Kind([]byte(key)) != datastore.Stream {
		n.queueReady(k)
	}
}

// touchPresent marks the watched keys of a database (-1: of all) that are there
// as changed.
func (n *Node) touchPresent(db int) {
	if n.watched == nil {
		return
	}
	for i := range n.keys.Databases() {
		if db < 0 || i == db {
			n.touchReplaced(n.keys.DB(i), nil)
		}
	}
}

// touchReplaced marks the watched keys of a database as changed that are in it, or
// in the one that takes its place; nil: none does.
// Source: touchAllWatchedKeysInDb of Redis 7.0.
func (n *Node) touchReplaced(old, replacement *datastore.DB) {
	for s := n.sessions.first; s != nil; s = s.next {
		for _, one := range s.tx.watched {
			if one.db == old.Index() && one.changes(old, replacement) {
				s.tx.touched = true
			}
		}
	}
}

// changes reports whether a watched key differs between its database and the one
// that takes its place.
func (one *watchedKey) changes(old, replacement *datastore.DB) bool {
	key := []byte(one.key)
	comes := replacement != nil && replacement.Kept(key)
	switch {
	case !old.Kept(key) && !comes:
		return false
	case one.stale && !comes:
		one.stale = false
		return false
	case one.stale && replacement.Stale(key):
		return false
	case !one.stale && !old.Kept(key) && replacement.Stale(key):
		one.stale = true
		return false
	}
	return true
}
