package datastore

// Scanning goes in order of creation, and a cursor is the sequence number of
// the last element that was visited, or 0 at both ends. Numbers only grow, so
// whatever is there from the first call to the last is visited.

// Scan looks at count keys behind cursor, in order of their creation, visits those that
// want accepts, and returns the next cursor, 0 at the end. Expired keys count but are not
// visited; a master removes those that want accepts.
func (db *DB) Scan(cursor uint64, count int, want func(key string) bool, visit func(key string, kind Kind)) (
	next uint64,
) {
	places := make([]int, len(db.shards))
	for i := range db.shards {
		places[i] = db.shards[i].search(func(e *slotted[*entry]) bool { return e.val.seq > cursor })
	}
	var stale []string // removed at the end: places must not move before
	defer func() {
		for _, key := range stale {
			db.peek([]byte(key))
		}
	}()
	for ; count > 0; count-- {
		e := db.oldest(places)
		if e == nil {
			return 0
		}
		cursor = e.seq
		switch {
		case !want(e.key):
		case !db.expired(e):
			visit(e.key, e.value.kind)
		case db.keyspace.policy == RemoveExpired:
			stale = append(stale, e.key)
		}
	}
	if db.oldest(places) == nil {
		return 0
	}
	return cursor
}

// oldest returns the oldest entry at places, one in each shard, and moves
// that place on; nil when all are at their ends.
func (db *DB) oldest(places []int) *entry {
	from := -1
	var first *entry
	for i, at := range places {
		if at < len(db.shards[i].entries) {
			if e := db.shards[i].entries[at].val; first == nil || e.seq < first.seq {
				first, from = e, i
			}
		}
	}
	if first != nil {
		places[from] = db.shards[from].next(places[from] + 1)
	}
	return first
}

// HashScan is Scan for the fields of the hash under key.
func (db *DB) HashScan(key []byte, cursor uint64, count int, visit func(field, text string)) (uint64, error) {
	e, err := db.find(key, Hash)
	if e == nil {
		return 0, err
	}
	return e.value.hash.scan(cursor, count, visit), nil
}

// SetScan is Scan for the members of the set under key.
func (db *DB) SetScan(key []byte, cursor uint64, count int, visit func(name string)) (uint64, error) {
	e, err := db.find(key, Set)
	if e == nil {
		return 0, err
	}
	return e.value.set.scan(cursor, count, func(name string, _ struct{}) { visit(name) }), nil
}

// ZScan is Scan for the members of the sorted set under key.
func (db *DB) ZScan(key []byte, cursor uint64, count int, visit func(name string, score float64)) (uint64, error) {
	e, err := db.find(key, ZSet)
	if e == nil {
		return 0, err
	}
	return e.value.zset.scores.scan(cursor, count, visit), nil
}

// scan visits up to count entries behind cursor and returns the next cursor.
func (m *omap[V]) scan(cursor uint64, count int, visit func(key string, val V)) (next uint64) {
	at := m.search(func(e *slotted[V]) bool { return e.seq > cursor })
	for ; at < len(m.entries); at = m.next(at + 1) {
		if count == 0 {
			return cursor
		}
		e := m.entries[at]
		visit(e.key, e.val)
		cursor = e.seq
		count--
	}
	return 0
}

// search returns the position of the first entry for which behind is true, or
// the end. It must be false for a run of entries at the front and true for the
// others.
func (m *omap[V]) search(behind func(e *slotted[V]) bool) int {
	low, high := 0, len(m.entries)
	for low < high {
		middle := (low + high) / 2
		at := min(m.next(middle), high)
		if at == high || behind(&m.entries[at]) {
			high = middle
		} else {
			low = at + 1
		}
	}
	return m.next(low)
}

// next returns the first position from at on that is no tombstone, or the end.
func (m *omap[V]) next(at int) int {
	for at < len(m.entries) && m.entries[at].seq == 0 {
		at++
	}
	return at
}

// pick returns the position of a random entry of a map that is not empty. Every second
// draw may meet a tombstone; a source of chance that meets nothing else gets its neighbour.
func (m *omap[V]) pick(draw func() uint64) int {
	const patience = 100
	at := 0
	for range patience {
		at = int(draw() % uint64(len(m.entries)))
		if m.entries[at].seq != 0 {
			return at
		}
	}
	if at = m.next(at); at == len(m.entries) {
		at = m.next(0)
	}
	return at
}
