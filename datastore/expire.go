package datastore

import "math"

// NoDeadline is the deadline of a key that does not expire.
const NoDeadline int64 = -1

// KeepDeadline, given to SetString, leaves the deadline as it is.
const KeepDeadline int64 = -2

// Deadline returns when key expires, in Unix milliseconds or NoDeadline, and
// whether the key is there.
func (db *DB) Deadline(key []byte) (unixMillis int64, ok bool) {
	e := db.peek(key)
	if e == nil {
		return NoDeadline, false
	}
	return e.deadline, true
}

// SetDeadline gives key a deadline in Unix milliseconds, or takes it away (NoDeadline).
// It reports whether key exists. A deadline in the past is accepted: the key is then
// expired at once.
func (db *DB) SetDeadline(key []byte, unixMillis int64) bool {
	e := db.lookup(key)
	if e != nil {
		db.setDeadline(e, unixMillis)
	}
	return e != nil
}

// Expiring returns the number of keys with a deadline, and the mean time that they have
// left at now (Unix milliseconds), in milliseconds. If there are more than 10,000, the
// mean is that of a sample, evenly spread.
func (db *DB) Expiring(now int64) (keys int, meanTTLMillis int64) {
	keys = len(db.due.nodes)
	if keys == 0 {
		return 0, 0
	}
	step := keys/mostMeasured + 1
	measured := int64((keys + step - 1) / step)
	rest := int64(0)
	for i := 0; i < keys; i += step {
		left := max(0, db.due.nodes[i].entry.deadline-now)
		meanTTLMillis += left / measured // the sum of all may overflow
		rest += left % measured
	}
	return keys, meanTTLMillis + rest/measured
}

// NextExpiry returns the first instant, in Unix milliseconds, at which
// ExpireDue has something to remove, and whether there is one.
func (k *Keyspace) NextExpiry() (unixMillis int64, ok bool) {
	if k.policy != RemoveExpired {
		return 0, false
	}
	for _, db := range k.dbs {
		if db == nil {
			continue
		}
		e := db.due.first()
		if e == nil || e.deadline == math.MaxInt64 {
			continue // no instant is later
		}
		if !ok || e.deadline+1 < unixMillis {
			unixMillis, ok = e.deadline+1, true
		}
	}
	return unixMillis, ok
}

// ExpireDue removes up to max keys that are expired at now (Unix
// milliseconds), in order of database, deadline and creation, and returns
// their number. It removes nothing unless the policy is RemoveExpired.
func (k *Keyspace) ExpireDue(now int64, max int) int {
	n := 0
	if k.policy != RemoveExpired {
		return n
	}
	for _, db := range k.dbs {
		for db != nil && n < max {
			e := db.due.first()
			if e == nil || now <= e.deadline {
				break
			}
			db.expire(e, []byte(e.key))
			n++
		}
	}
	return n
}

// expired reports whether the deadline of e has passed.
// Source: keyIsExpired of Redis 7.0, which says now > when.
func (db *DB) expired(e *entry) bool {
	k := db.keyspace
	return e.deadline != NoDeadline && k.policy != IgnoreExpiry && k.instant() > e.deadline
}

// expire removes an expired entry and tells so.
func (db *DB) expire(e *entry, key []byte) {
	name := e.key
	db.drop(e, key)
	if db.keyspace.OnExpire != nil {
		db.keyspace.OnExpire(db.index, name)
	}
}

// setDeadline changes the deadline of an entry.
func (db *DB) setDeadline(e *entry, unixMillis int64) {
	e.deadline = unixMillis
	if unixMillis == NoDeadline {
		db.due.remove(e)
	} else {
		db.due.update(e)
	}
}

// deadlines is a heap of the entries that have a deadline, the earliest first.
// A node's time may be earlier than its entry's deadline, never later: a
// renewal only writes the entry, and first puts the node right when its old
// time comes up. Entries know their position, so none stays behind.
type deadlines struct {
	nodes []dueNode
}

type dueNode struct {
	at    int64
	entry *entry
}

// before orders nodes by time, then by creation.
func (d *deadlines) before(a, b dueNode) bool {
	return a.at < b.at || a.at == b.at && a.entry.seq < b.entry.seq
}

// update puts an entry in its place after its deadline has changed.
func (d *deadlines) update(e *entry) {
	if e.heapAt < 0 {
		d.nodes = append(d.nodes, dueNode{e.deadline, e})
		e.heapAt = len(d.nodes) - 1
		d.up(e.heapAt)
	} else if node := &d.nodes[e.heapAt]; e.deadline < node.at {
		node.at = e.deadline
		d.up(e.heapAt)
	}
}

// remove takes an entry out, if it is in.
func (d *deadlines) remove(e *entry) {
	at := e.heapAt
	if at < 0 {
		return
	}
	e.heapAt = -1
	last := len(d.nodes) - 1
	moved := d.nodes[last]
	d.nodes[last] = dueNode{}
	d.nodes = d.nodes[:last]
	if at < last {
		d.put(at, moved)
		d.up(at)
		d.down(moved.entry.heapAt)
	}
}

// first returns the entry with the earliest deadline, or nil.
func (d *deadlines) first() *entry {
	for len(d.nodes) > 0 {
		top := &d.nodes[0]
		if top.at == top.entry.deadline {
			return top.entry
		}
		top.at = top.entry.deadline
		d.down(0)
	}
	return nil
}

func (d *deadlines) put(at int, n dueNode) {
	d.nodes[at] = n
	n.entry.heapAt = at
}

func (d *deadlines) up(at int) {
	n := d.nodes[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !d.before(n, d.nodes[parent]) {
			break
		}
		d.put(at, d.nodes[parent])
		at = parent
	}
	d.put(at, n)
}

func (d *deadlines) down(at int) {
	n := d.nodes[at]
	for {
		child := 2*at + 1
		if child >= len(d.nodes) {
			break
		}
		if child+1 < len(d.nodes) && d.before(d.nodes[child+1], d.nodes[child]) {
			child++
		}
		if !d.before(d.nodes[child], n) {
			break
		}
		d.put(at, d.nodes[child])
		at = child
	}
	d.put(at, n)
}
