package datastore

const (
	linearMax   = 8    // an omap of up to this many entries is searched without an index
	keepEmptied = 1024 // an emptied omap keeps its memory up to this many entries
)

// omap is a map from string to V that keeps insertion order. Its zero value is
// empty and ready. Entries stand in one dense slice in order of seq; a deleted
// entry stays behind as a tombstone (seq 0) until half of the slice is dead.
// Small maps have neither an index nor tombstones.
type omap[V any] struct {
	entries []slotted[V]
	index   map[string]int32 // position in entries; nil while the map is small
	dead    int
	seq     uint64 // of the newest entry
}

// slotted is one entry of an omap.
type slotted[V any] struct {
	key string
	val V
	seq uint64 // position in insertion order, from 1; 0 for a tombstone
}

func (m *omap[V]) len() int { return len(m.entries) - m.dead }

// find returns the position of key, or -1. Positions hold until the next change.
func (m *omap[V]) find(key []byte) int {
	if m.index != nil {
		if at, ok := m.index[string(key)]; ok {
			return int(at)
		}
		return -1
	}
	for i := range m.entries {
		if m.entries[i].key == string(key) {
			return i
		}
	}
	return -1
}

// get returns the value under key.
func (m *omap[V]) get(key []byte) (val V, ok bool) {
	if at := m.find(key); at >= 0 {
		return m.entries[at].val, true
	}
	return val, false
}

// add appends an entry whose key must not be there yet; the caller gives key away.
func (m *omap[V]) add(key string, val V) {
	m.seq++
	if m.index == nil && len(m.entries) == linearMax {
		m.reindex()
	}
	if m.index != nil {
		m.index[key] = int32(len(m.entries))
	}
	m.entries = append(m.entries, slotted[V]{key, val, m.seq})
}

// set puts val under key and reports whether the key is new.
func (m *omap[V]) set(key []byte, val V) bool {
	if at := m.find(key); at >= 0 {
		m.entries[at].val = val
		return false
	}
	m.add(string(key), val)
	return true
}

// remove deletes the entry at position at.
func (m *omap[V]) remove(at int) {
	last := len(m.entries) - 1
	switch {
	case m.index == nil:
		copy(m.entries[at:], m.entries[at+1:])
		m.entries[last] = slotted[V]{}
		m.entries = m.entries[:last]
		return
	case at == last:
		delete(m.index, m.entries[at].key)
		m.entries[last] = slotted[V]{}
		m.entries = m.entries[:last]
	default:
		delete(m.index, m.entries[at].key)
		m.entries[at] = slotted[V]{}
		m.dead++
	}
	if m.len() == 0 {
		m.clear()
	} else if m.dead > len(m.entries)/2 && m.dead > linearMax {
		m.compact()
	}
}

// clear removes every entry. The memory of a large map is given back.
func (m *omap[V]) clear() {
	if cap(m.entries) > keepEmptied {
		m.entries = nil
	}
	clear(m.entries)
	m.entries, m.index, m.dead = m.entries[:0], nil, 0
}

// each visits the entries in insertion order until visit returns false.
func (m *omap[V]) each(visit func(key string, val V) bool) {
	for i := range m.entries {
		if e := &m.entries[i]; e.seq != 0 && !visit(e.key, e.val) {
			return
		}
	}
}

// clone returns a copy that shares no memory but the strings and the values.
func (m *omap[V]) clone() omap[V] {
	c := omap[V]{entries: make([]slotted[V], 0, m.len()), seq: m.seq}
	for _, e := range m.entries {
		if e.seq != 0 {
			c.entries = append(c.entries, e)
		}
	}
	if len(c.entries) > linearMax {
		c.reindex()
	}
	return c
}

// compact closes the gaps that tombstones leave.
func (m *omap[V]) compact() {
	kept := m.entries[:0]
	for _, e := range m.entries {
		if e.seq != 0 {
			kept = append(kept, e)
		}
	}
	clear(m.entries[len(kept):])
	m.entries, m.dead = kept, 0
	for i := range m.entries {
		m.index[m.entries[i].key] = int32(i)
	}
}

// reindex makes the index of a map without tombstones.
func (m *omap[V]) reindex() {
	m.index = make(map[string]int32, 2*len(m.entries))
	for i := range m.entries {
		m.index[m.entries[i].key] = int32(i)
	}
}

// clone is string(b), interned when b is the text of a small integer.
func clone(b []byte) string {
	if len(b) <= maxInternedLen {
		if n, ok := ParseInteger(b); ok {
			return FormatInteger(n)
		}
	}
	return string(b)
}
