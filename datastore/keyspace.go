package datastore

import (
	"fmt"
	"time"
)

// Options are the parameters of a keyspace. The zero value of a count means
// its default.
type Options struct {
	Databases int          // default 16
	Shards    int          // default 1, at most slot.Count; changes no answer
	Now       func() int64 // the node's wall clock in Unix milliseconds; must be given
}

// ExpiryPolicy is what happens to a key whose deadline has passed.
type ExpiryPolicy uint8

const (
	// RemoveExpired removes it when it is met, and calls OnExpire: a master.
	RemoveExpired ExpiryPolicy = iota
	// HideExpired reads it as missing and keeps it: a replica serving clients.
	HideExpired
	// IgnoreExpiry treats it as alive: a replica applying its master's effects.
	IgnoreExpiry
)

// Keyspace is all the databases of one node.
type Keyspace struct {
	// OnExpire is called after a key was removed because its deadline had
	// passed. It may be nil, and must not change the keyspace.
	OnExpire func(db int, key string)

	// OnNew is called after a key was made where there was none, before it has its value, which
	// will be of that kind; Load and Reload do not call it. It may be nil, and must not call back
	// into the keyspace.
	OnNew func(db int, key string, kind Kind)

	opt      Options
	limits   Limits
	policy   ExpiryPolicy
	observed bool                  // see Observe
	spared   func(key []byte) bool // see Spare
	frozen   bool
	frozenAt int64
	account  bool   // sizes of entries are kept, see Account
	seq      uint64 // of the newest entry
	dbs      []*DB  // up to the last that was used; nil: this one was not
	pool     pool

	accessTime time.Duration
	counting   UseCounting
}

// New returns an empty keyspace. It costs next to nothing until it is used.
func New(opt Options) *Keyspace {
	if opt.Databases == 0 {
		opt.Databases = 16
	}
	if opt.Shards == 0 {
		opt.Shards = 1
	}
	return &Keyspace{opt: opt, limits: DefaultLimits}
}

// Quietly calls do. OnNew is not called for keys that do makes.
func (k *Keyspace) Quietly(do func()) {
	tell := k.OnNew
	k.OnNew = nil
	defer func() { k.OnNew = tell }()
	do()
}

// Databases returns the number of databases.
func (k *Keyspace) Databases() int { return k.opt.Databases }

// DB returns database number index, 0 to Databases()-1. The pointer stays
// valid: flushing and swapping change what it holds.
func (k *Keyspace) DB(index int) *DB {
	if uint(index) < uint(len(k.dbs)) && k.dbs[index] != nil {
		return k.dbs[index]
	}
	return k.open(index)
}

// open makes a database that was not in use yet.
func (k *Keyspace) open(index int) *DB {
	if index < 0 || index >= k.opt.Databases {
		panic(fmt.Sprintf("datastore: no database %d of %d", index, k.opt.Databases))
	}
	for len(k.dbs) <= index {
		k.dbs = append(k.dbs, nil)
	}
	k.dbs[index] = &DB{keyspace: k, index: index}
	return k.dbs[index]
}

// SetExpiry chooses what happens to expired keys. A new keyspace removes them.
func (k *Keyspace) SetExpiry(policy ExpiryPolicy) { k.policy = policy }

// Spare has RemoveExpired keep the keys of which spared is true, as HideExpired does: those
// that a command only reads at a replica which clients may write to. nil spares none.
func (k *Keyspace) Spare(spared func(key []byte) bool) { k.spared = spared }

// Observe has look read without changing anything: it finds no expired key and removes none,
// and that it reads is no access.
func (k *Keyspace) Observe(look func()) {
	k.observed = true
	defer func() { k.observed = false }()
	look()
}

// hides reports whether an expired key is kept.
func (k *Keyspace) hides(key []byte) bool {
	return k.observed || k.policy != RemoveExpired || k.spared != nil && k.spared(key)
}

// Freeze fixes the instant (Unix milliseconds) that decides which keys are
// expired, until Thaw: a script or a transaction sees no key vanish between two of its
// commands.
func (k *Keyspace) Freeze(now int64) { k.frozen, k.frozenAt = true, now }

// Frozen returns the instant of Freeze, if it is in force.
func (k *Keyspace) Frozen() (now int64, ok bool) { return k.frozenAt, k.frozen }

// SetAccessTime sets the present time for the idle times of keys, by a clock of the
// caller's choice.
func (k *Keyspace) SetAccessTime(now time.Duration) { k.accessTime = now }

// Thaw lets the decision follow the clock again.
func (k *Keyspace) Thaw() { k.frozen = false }

// Len returns the number of keys of all databases, including expired ones that are still
// kept.
func (k *Keyspace) Len() int {
	n := 0
	for _, db := range k.dbs {
		if db != nil {
			n += db.Len()
		}
	}
	return n
}

// FlushAll empties every database and returns how many keys there were.
func (k *Keyspace) FlushAll() int {
	n := 0
	for _, db := range k.dbs {
		if db != nil {
			n += db.Flush()
		}
	}
	return n
}

// SwapDB exchanges the contents of two databases.
func (k *Keyspace) SwapDB(a, b int) {
	x, y := k.DB(a), k.DB(b)
	x.space, y.space = y.space, x.space
}

// instant is the time that decides expiry now.
func (k *Keyspace) instant() int64 {
	if k.frozen {
		return k.frozenAt
	}
	return k.opt.Now()
}
