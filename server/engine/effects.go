package engine

import (
	"strconv"

	"minikv/internal/resp"
)

// effects gathers what the running top-level command sends to replicas.
type effects struct {
	pending  []byte // encoded commands, SELECTs included
	ops      int    // how many of them are not SELECT
	selected int    // bytes of the SELECT that pending begins with
	muted    bool   // redis.set_repl: the running script keeps its effects to itself
	db       int    // the database that the stream has selected, plus one; 0: none yet
}

// change is a key that a command changed, for the observer.
type change struct {
	db  int
	key string
}

// Changed reports that the command has changed key, or removed it. Transactions that
// watch the key will fail, clients blocked on it are tried again, and event ("set",
// "del", "hset"; "" for none) goes to keyspace notifications. A command that calls it at
// least once is propagated to replicas.
func (c *Call) Changed(key []byte, event string) {
	if !c.quiet {
		c.ChangedIn(c.DB.Index(), key, event)
		return
	}
	c.changes++
	c.Node.stats.dirty++
}

// ChangedIn is Changed for a key of another database.
func (c *Call) ChangedIn(db int, key []byte, event string) {
	c.tell(db, key)
	c.changedUntold(db, key, event)
}

// tell tells those of a change who watch or track the key, or are blocked on it.
func (c *Call) tell(db int, key []byte) {
	n := c.Node
	if n.watched != nil || n.blocking.keys != nil {
		n.touch(db, string(key))
	}
	if n.tracking.inUse() {
		n.invalidate(string(key), c.writer())
	}
}

// changedUntold is ChangedIn without tell: for what nobody is told of, or not in this order.
func (c *Call) changedUntold(db int, key []byte, event string) {
	n := c.Node
	c.changes++
	n.stats.dirty++
	if n.conf.maxMemory > 0 {
		n.keys.DB(db).Resize(key)
	}
	if event != "" && n.conf.notify != 0 {
		n.notify(db, event, string(key))
	}
	if n.cfg.Observe != nil {
		n.changed = append(n.changed, change{db, string(key)})
	}
}

// Amounts says that what Changed has reported once counts as n changes in
// rdb_changes_since_last_save of INFO.
func (c *Call) Amounts(n int) { c.Node.stats.dirty += int64(n) - 1 }

// writer is who a change by this command counts as its own: nobody for a
// script's, so that in broadcasting mode NOLOOP does not hide it.
func (c *Call) writer() *Session {
	if c.Script {
		return nil
	}
	return c.Session
}

// Notify publishes a keyspace event and does nothing else that Changed does.
func (c *Call) Notify(key []byte, event string) {
	if c.Node.conf.notify != 0 {
		c.Node.notify(c.DB.Index(), event, string(key))
	}
}

// Flush empties database db (-1: all of them), as FLUSHDB and FLUSHALL do. It is
// propagated even if there was nothing to remove; only those watched keys that were there
// count as changed.
func (c *Call) Flush(db int) {
	n := c.Node
	c.forced = true
	n.tellEmptied(db)
	if db < 0 {
		n.stats.dirty += int64(n.keys.FlushAll())
	} else {
		n.stats.dirty += int64(n.keys.DB(db).Flush())
	}
}

// tellEmptied tells who watches, tracks or waits for streams that a database (-1: all) is
// going to be emptied, if only for a moment.
// Source: signalFlushedDb and emptyData of Redis 7.0.
func (n *Node) tellEmptied(db int) {
	n.touchPresent(db)
	n.invalidateAll()
	n.readyStreams(db)
}

// Replicate sends args to replicas in place of the command itself; several
// calls send several commands. It may be called whether or not anything has
// changed. The arguments are read during the call.
func (c *Call) Replicate(args ...[]byte) {
	c.replicated = true
	c.Node.replicateIn(c.DB.Index(), args...)
}

// ReplicateNothing keeps the command from being propagated although it has changed something.
func (c *Call) ReplicateNothing() { c.replicated = true }

// ReplicateAnyway propagates the command although it has changed nothing; PUBLISH needs
// that.
func (c *Call) ReplicateAnyway() { c.forced = true }

// ReplicateDeadline sends PEXPIREAT key unixMillis [option ...] in place of a command
// that gives key a deadline.
func (c *Call) ReplicateDeadline(key []byte, unixMillis int64, options ...[]byte) {
	c.replicated = true
	if c.Node.repl.logging {
		c.Replicate(append([][]byte{[]byte("PEXPIREAT"), key, strconv.AppendInt(nil, unixMillis, 10)}, options...)...)
	}
}

// propagate sends the command itself, if it has changed something and nothing
// took its place.
func (c *Call) propagate() {
	if !c.replicated && (c.changes > 0 || c.forced) {
		c.Node.replicateIn(c.DB.Index(), c.Args...)
	}
}

// deletion is the command that replicas are sent for a key that is gone: UNLINK
// if a parameter has Redis free its memory later.
func (n *Node) deletion(parameter string) []byte {
	if n.conf.yes(parameter) {
		return []byte("UNLINK")
	}
	return []byte("DEL")
}

// recording reports whether effects are recorded now.
func (n *Node) recording() bool { return n.repl.logging && !n.effects.muted && !n.repl.isReplica() }

// replicateIn appends one command to the effects of the running one. Nothing
// is encoded while nobody will ever read it.
func (n *Node) replicateIn(db int, args ...[]byte) {
	if !n.recording() {
		return
	}
	e := &n.effects
	if e.db != db+1 {
		e.db = db + 1
		e.pending = resp.AppendCommand(e.pending, "SELECT", strconv.Itoa(db))
		if e.ops == 0 {
			e.selected = len(e.pending)
		}
	}
	e.pending = resp.AppendCommand(e.pending, args...)
	e.ops++
}

// flushEffects moves the effects of the command that has ended into the log:
// more than one of them as a transaction, so that a replica shows all or none,
// behind the selection of its database. Those that belong together by chance
// alone, such as keys that expired, are no transaction.
// Source: propagatePendingCommands of Redis 7.0.
func (n *Node) flushEffects(together bool) {
	e := &n.effects
	if e.ops == 0 {
		return
	}
	if e.ops == 1 || !together {
		n.repl.append(e.pending)
	} else {
		n.repl.append(e.pending[:e.selected])
		n.repl.append(multiEffect)
		n.repl.append(e.pending[e.selected:])
		n.repl.append(execEffect)
	}
	e.pending, e.ops, e.selected = e.pending[:0], 0, 0
}

var (
	multiEffect = resp.AppendCommand(nil, "MULTI")
	execEffect  = resp.AppendCommand(nil, "EXEC")
)
