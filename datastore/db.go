package datastore

import "time"

// DB is one database. Methods that take a key see an expired key as missing.
// Those named after a type fail with ErrWrongType when the key holds another.
type DB struct {
	keyspace *Keyspace
	index    int
	found    bool // by the latest lookup
	space
}

// Index returns the number of the database, as SELECT takes it.
func (db *DB) Index() int { return db.index }

// Len returns the number of keys, including expired ones that are still kept, as DBSIZE
// does.
func (db *DB) Len() int { return db.keys }

// Exists reports whether key is there.
func (db *DB) Exists(key []byte) bool { return db.peek(key) != nil }

// Kept reports whether key is there, expired or not.
func (db *DB) Kept(key []byte) bool { return db.KeptKind(key) != None }

// Stale reports whether key has expired and is still kept.
func (db *DB) Stale(key []byte) bool {
	e := db.space.find(key, db.keyspace.opt.Shards)
	return e != nil && db.expired(e)
}

// Touch counts as an access to key, and reports whether key exists.
func (db *DB) Touch(key []byte) bool { return db.lookup(key) != nil }

// Found reports whether the latest operation on a value found its key, whatever
// it found there.
func (db *DB) Found() bool { return db.found }

// Idle returns how long ago key was last accessed. Looking at its type, its deadline or
// its existence is not an access.
func (db *DB) Idle(key []byte) time.Duration {
	if e := db.peek(key); e != nil {
		return db.keyspace.accessTime - e.accessed
	}
	return 0
}

// SetIdle makes Idle of key be idle now.
func (db *DB) SetIdle(key []byte, idle time.Duration) {
	if e := db.peek(key); e != nil {
		e.accessed = db.keyspace.accessTime - idle
	}
}

// Kind returns the type of the value under key, None if it is missing.
func (db *DB) Kind(key []byte) Kind {
	if e := db.peek(key); e != nil {
		return e.value.kind
	}
	return None
}

// KeptKind is Kind, also for a key that has expired and is still kept.
func (db *DB) KeptKind(key []byte) Kind {
	if e := db.space.find(key, db.keyspace.opt.Shards); e != nil {
		return e.value.kind
	}
	return None
}

// LiveKind is Kind, but does not remove a key that has expired.
func (db *DB) LiveKind(key []byte) Kind {
	if e := db.space.find(key, db.keyspace.opt.Shards); e != nil && !db.expired(e) {
		return e.value.kind
	}
	return None
}

// Delete removes key and reports whether it was there.
func (db *DB) Delete(key []byte) bool {
	e := db.lookup(key)
	if e != nil {
		db.drop(e, key)
	}
	return e != nil
}

// Renew has fill put another value under key, and reports whether there was one. If so the key
// is no new one: it keeps its place among those of its slot, and OnNew is not called.
func (db *DB) Renew(key []byte, fill func()) (existed bool) {
	old := db.lookup(key)
	if old == nil {
		fill()
		return false
	}
	newer := ""
	behind := old.newer != nil
	if behind {
		newer = old.newer.key // the entry itself may be dropped meanwhile
	}
	db.drop(old, key)
	db.keyspace.Quietly(fill)
	shards := db.keyspace.opt.Shards
	e, next := db.space.find(key, shards), db.space.find([]byte(newer), shards)
	if behind && e != nil && next != nil {
		db.putBehind(e, next)
	}
	return true
}

// Remove removes key, expired or not, and reports whether it was kept.
func (db *DB) Remove(key []byte) bool {
	e := db.space.find(key, db.keyspace.opt.Shards)
	if e != nil {
		db.drop(e, key)
	}
	return e != nil
}

// Rename moves the value and the deadline of one key to another, replacing
// what is there. It reports whether from was there.
func (db *DB) Rename(from, to []byte) bool {
	if string(from) == string(to) {
		return db.Touch(from)
	}
	return db.Move(from, db, to)
}

// Move is Rename into a database of the same keyspace. If the names are equal, it must be
// another database.
func (db *DB) Move(from []byte, target *DB, to []byte) bool {
	e := db.lookup(from)
	if e == nil {
		return false
	}
	moved := *e
	e.value = value{}
	db.drop(e, from)
	target.put(to, moved.value, moved.deadline).uses = moved.uses
	return true
}

// Copy puts a copy of the value and the deadline under from into a database of
// the same keyspace, replacing what is there. It reports whether from was there.
func (db *DB) Copy(from []byte, target *DB, to []byte) bool {
	e := db.lookup(from)
	if e == nil {
		return false
	}
	v := e.value.clone()
	if v.kind == String && v.form == formPlain {
		v.form = formCopied
	}
	target.put(to, v, e.deadline)
	return true
}

// put makes an entry of a value that belongs to no other. It is a new one, even
// if there is one already.
func (db *DB) put(key []byte, v value, deadline int64) *entry {
	if old := db.peek(key); old != nil {
		db.drop(old, key)
	}
	e := db.replace(key, v.kind)
	e.value = v
	db.setDeadline(e, deadline)
	return e
}

// Keys returns the keys that are not expired, in order of their creation.
func (db *DB) Keys() []string {
	keys := make([]string, 0, db.keys)
	for _, e := range db.ordered() {
		if !db.expired(e) {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// KeysInSlot returns up to limit keys of a slot, newest first, as CLUSTER
// GETKEYSINSLOT does; expired keys that are still kept are among them.
func (db *DB) KeysInSlot(slot, limit int) []string {
	list := db.slot(slot, false)
	if list == nil {
		return nil
	}
	keys := make([]string, 0, min(limit, list.count))
	for e := list.newest; e != nil && len(keys) < limit; e = e.older {
		keys = append(keys, e.key)
	}
	return keys
}

// CountInSlot counts the keys of a slot, as CLUSTER COUNTKEYSINSLOT does.
func (db *DB) CountInSlot(slot int) int {
	if list := db.slot(slot, false); list != nil {
		return list.count
	}
	return 0
}

// Flush removes every key and returns how many there were.
func (db *DB) Flush() int {
	n := db.keys
	db.space = space{}
	return n
}

// lookup returns the living entry of key, or nil, and notes the access.
func (db *DB) lookup(key []byte) *entry {
	e := db.peek(key)
	if db.keyspace.observed {
		return e
	}
	db.found = e != nil
	if e != nil {
		e.accessed = db.keyspace.accessTime
		if db.keyspace.counting.Draw != nil {
			e.uses = db.keyspace.use(e.uses)
		}
	}
	return e
}

// peek returns the living entry of key, or nil.
func (db *DB) peek(key []byte) *entry {
	e := db.space.find(key, db.keyspace.opt.Shards)
	if e == nil || !db.expired(e) {
		return e
	}
	if !db.keyspace.hides(key) {
		db.expire(e, key)
	}
	return nil
}

// find returns the living entry of key, or nil, and ErrWrongType when it is of
// another kind.
func (db *DB) find(key []byte, kind Kind) (*entry, error) {
	e := db.lookup(key)
	if e != nil && e.value.kind != kind {
		return nil, ErrWrongType
	}
	return e, nil
}

// ensure is find, making an empty value where there is none. The caller must
// put something in it.
func (db *DB) ensure(key []byte, kind Kind) (*entry, error) {
	e, err := db.find(key, kind)
	if e == nil && err == nil {
		e = db.replace(key, kind)
		e.value = db.keyspace.pool.newValue(kind)
	}
	return e, err
}

// replace puts a new entry under key, over what is there. The caller gives it a value of the
// given kind.
func (db *DB) replace(key []byte, kind Kind) *entry {
	k := db.keyspace
	old := db.peek(key) // tells of it if it is expired
	if old == nil && k.hides(key) {
		old = db.space.find(key, k.opt.Shards)
	}
	used := k.unused()
	if old != nil {
		if k.counting.Draw != nil {
			used = k.use(old.uses)
		}
		db.drop(old, key)
	}
	k.seq++
	e := take(&k.pool.entries)
	*e = entry{key: string(key), seq: k.seq, deadline: NoDeadline, heapAt: -1, accessed: k.accessTime, uses: used}
	db.insert(e, key, k.opt.Shards)
	if old == nil && k.OnNew != nil {
		k.OnNew(db.index, e.key, kind)
	}
	return e
}

// drop removes an entry and keeps its memory for reuse.
func (db *DB) drop(e *entry, key []byte) {
	db.used -= e.size
	db.due.remove(e)
	db.remove(e, key, db.keyspace.opt.Shards)
	db.keyspace.pool.freeValue(e.value)
	*e = entry{}
	give(&db.keyspace.pool.entries, e)
}

// dropEmpty drops an entry whose value has lost its last element.
func (db *DB) dropEmpty(e *entry, key []byte) {
	if e.value.length() == 0 {
		db.drop(e, key)
	}
}
