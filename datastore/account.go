package datastore

// Account sets whether the sizes of all keys are recorded from now on, so that Bytes
// costs nothing. Whoever changes a value must then call Resize.
func (k *Keyspace) Account(on bool) {
	if on == k.account {
		return
	}
	k.account = on
	for _, db := range k.dbs {
		if db == nil {
			continue
		}
		db.used = 0
		for _, e := range db.ordered() {
			e.size = 0
			if on {
				db.resize(e)
			}
		}
	}
}

// Accounts reports whether sizes are recorded.
func (k *Keyspace) Accounts() bool { return k.account }

// Resize measures key again for Account.
func (db *DB) Resize(key []byte) {
	if e := db.space.find(key, db.keyspace.opt.Shards); e != nil && db.keyspace.account {
		db.resize(e)
	}
}

func (db *DB) resize(e *entry) {
	size := e.bytes()
	db.used += size - e.size
	e.size = size
}

// Candidate is a key that may be evicted to make room for others.
type Candidate struct {
	Key      string
	Deadline int64 // Unix milliseconds or NoDeadline
	Idle     int64 // nanoseconds since it was last used
	Uses     int   // 0 to 255, see DB.Uses
}

// Sample draws up to n keys, perhaps the same one twice; with volatile only keys with a
// deadline.
func (db *DB) Sample(draw func() uint64, n int, volatile bool) []Candidate {
	var found []Candidate
	heap := db.due.nodes
	if db.keys == 0 || volatile && len(heap) == 0 {
		return nil
	}
	for range n {
		if volatile {
			found = append(found, db.candidate(heap[draw()%uint64(len(heap))].entry))
		} else {
			found = append(found, db.candidate(db.randomEntry(draw)))
		}
	}
	return found
}

// RandomKey returns a key that has not expired, chosen by draw. On a master, expired keys
// that are drawn are removed. Where they stay, one of them is returned after a hundred
// tries. Source: dbRandomKey of Redis 7.0.
func (db *DB) RandomKey(draw func() uint64) (key string, ok bool) {
	const mostTries = 100
	for tries := 1; db.keys > 0; tries++ {
		e := db.randomEntry(draw)
		key = e.key
		if !db.expired(e) || db.keyspace.policy != RemoveExpired && tries == mostTries {
			return key, true
		}
		db.peek([]byte(key))
	}
	return "", false
}

// randomEntry draws one of the entries, of which there must be some.
func (db *DB) randomEntry(draw func() uint64) *entry {
	at := int(draw() % uint64(db.keys))
	for i := range db.shards {
		shard := &db.shards[i]
		if at < shard.len() {
			return shard.entries[shard.pick(draw)].val
		}
		at -= shard.len()
	}
	panic("datastore: keys are not counted rightly")
}

func (db *DB) candidate(e *entry) Candidate {
	k := db.keyspace
	return Candidate{e.key, e.deadline, int64(k.accessTime - e.accessed), int(k.decayed(e.uses))}
}
