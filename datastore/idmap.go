package datastore

import (
	"slices"
	"sort"
)

// idMap is an ordered map from StreamID to V, in chunks of up to chunkMax
// entries, none of them empty. Its zero value is empty.
type idMap[V any] struct {
	chunks [][]withID[V]
	count  int
}

type withID[V any] struct {
	id  StreamID
	val V
}

func (m *idMap[V]) len() int { return m.count }

// search returns where id is or would be: in chunk at, position i.
func (m *idMap[V]) search(id StreamID) (at, i int, found bool) {
	at = sort.Search(len(m.chunks), func(at int) bool {
		chunk := m.chunks[at]
		return chunk[len(chunk)-1].id.Compare(id) >= 0
	})
	if at == len(m.chunks) {
		return at, 0, false
	}
	i, found = slices.BinarySearchFunc(m.chunks[at], id, func(e withID[V], id StreamID) int { return e.id.Compare(id) })
	return at, i, found
}

func (m *idMap[V]) get(id StreamID) (val V, ok bool) {
	at, i, found := m.search(id)
	if !found {
		return val, false
	}
	return m.chunks[at][i].val, true
}

// set puts val under id, over what is there.
func (m *idMap[V]) set(id StreamID, val V) {
	at, i, found := m.search(id)
	if found {
		m.chunks[at][i].val = val
		return
	}
	m.count++
	if at == len(m.chunks) { // behind everything
		if at == 0 || len(m.chunks[at-1]) >= chunkMax {
			m.chunks = append(m.chunks, []withID[V]{{id, val}})
			return
		}
		at, i = at-1, len(m.chunks[at-1])
	}
	chunk := slices.Insert(m.chunks[at], i, withID[V]{id, val})
	m.chunks[at] = chunk
	if len(chunk) > chunkMax {
		upper := slices.Clone(chunk[chunkMax/2:])
		clear(chunk[chunkMax/2:])
		m.chunks[at] = chunk[:chunkMax/2]
		m.chunks = slices.Insert(m.chunks, at+1, upper)
	}
}

// remove deletes id and reports whether it was there.
func (m *idMap[V]) remove(id StreamID) bool {
	at, i, found := m.search(id)
	if !found {
		return false
	}
	m.count--
	m.chunks[at] = slices.Delete(m.chunks[at], i, i+1)
	if len(m.chunks[at]) == 0 {
		m.chunks = slices.Delete(m.chunks, at, at+1)
	}
	return true
}

// ceiling returns the first entry at or behind id.
func (m *idMap[V]) ceiling(id StreamID) (at StreamID, val V, ok bool) {
	chunk, i, _ := m.search(id)
	if chunk == len(m.chunks) {
		return at, val, false
	}
	e := m.chunks[chunk][i]
	return e.id, e.val, true
}

// last returns the entry with the greatest ID; the map must not be empty.
func (m *idMap[V]) last() (StreamID, V) {
	chunk := m.chunks[len(m.chunks)-1]
	e := chunk[len(chunk)-1]
	return e.id, e.val
}
