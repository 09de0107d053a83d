package engine

import (
	"slices"

	"minikv/internal/resp"
)

// Transactions, https://redis.io/docs/latest/develop/interact/transactions/

var transactionCommands = []Command{
	{Name: "MULTI", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "fast transaction",
		Run: runMulti},
	{Name: "EXEC", Arity: 1, Flags: NoScript | Loading | Stale | SkipSlowlog, Groups: "slow transaction",
		Run: runExec},
	{Name: "DISCARD", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "fast transaction",
		Run: runDiscard},
	{Name: "WATCH", Arity: -2, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Keys: keyRange(1, -1, 1),
		Groups: "fast transaction", Run: runWatch},
	{Name: "UNWATCH", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, Groups: "fast transaction",
		Run: runUnwatch},
}

// transaction is what MULTI and WATCH have prepared in a session.
type transaction struct {
	active  bool // MULTI has begun
	spoiled bool // a command was refused: EXEC aborts
	touched bool // a watched key has changed: EXEC does nothing
	queue   []queuedCommand
	flags   Flag // of all queued commands together
	watched []watchKey
}

type queuedCommand struct {
	cmd  *Command
	args [][]byte
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
	c.Session.tx.active = true
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
// a queued command sends to the session itself come out where Redis puts them.
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
	s.sendArrayHeader(len(tx.queue))
	for _, queued := range tx.queue {
		inner := n.push(s)
		inner.Cmd, inner.Args, inner.InTx = queued.cmd, queued.args, true
		var reply resp.Value
		inner.execute(&reply)
		s.send(reply)
		n.pop()
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
		c.DB.Exists(key) // removes it if it is expired, so that this is no change later
		k := watchKey{c.DB.Index(), string(key)}
		if slices.Contains(s.tx.watched, k) {
			continue
		}
		if n.watched == nil {
			n.watched = make(map[watchKey][]*Session)
		}
		s.tx.watched = append(s.tx.watched, k)
		n.watched[k] = append(n.watched[k], s)
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
	tx.flags |= c.Cmd.Flags
}

// discard ends a session's transaction and its watches.
func (n *Node) discard(s *Session) {
	n.unwatch(s)
	s.tx = transaction{}
}

// unwatch ends a session's watches.
func (n *Node) unwatch(s *Session) {
	for _, k := range s.tx.watched {
		n.watched[k] = without(n.watched[k], s)
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

// findExpiredWatches looks at each watched key, so that those which have
// expired are removed and seen as changed.
func (n *Node) findExpiredWatches(s *Session) {
	for _, k := range s.tx.watched {
		n.keys.DB(k.db).Exists([]byte(k.key))
	}
}

// touch marks a key as changed: transactions that watch it will fail, clients
// blocked on it are tried again.
func (n *Node) touch(db int, key string) {
	k := watchKey{db, key}
	for _, s := range n.watched[k] {
		s.tx.touched = true
	}
	if len(n.blocking.keys[k]) > 0 {
		n.blocking.ready = append(n.blocking.ready, k)
	}
}

// touchPresent marks the watched keys of a database (-1: of all) that are there
// as changed.
func (n *Node) touchPresent(db int) {
	if n.watched == nil {
		return
	}
	for s := n.sessions.first; s != nil; s = s.next {
		for _, k := range s.tx.watched {
			if (db < 0 || k.db == db) && n.keys.DB(k.db).Exists([]byte(k.key)) {
				s.tx.touched = true
			}
		}
	}
}
