package datastore

import (
	"slices"

	"minikv/internal/slot"
)

const pageSlots = 128 // slots of a page: tables of slots are made page by page

// space is the contents of one database. Its zero value is empty.
type space struct {
	shards []omap[*entry] // each over slot.Count/len(shards) slots; nil until used
	pages  []*slotPage    // slot.Count/pageSlots pages, each nil until used
	due    deadlines
	keys   int
	used   int64 // bytes, while there is an account
}

// slotPage is the lists of consecutive slots.
type slotPage [pageSlots]slotList

// slotList links the entries of one slot, newest first.
type slotList struct {
	newest *entry
	count  int
}

// shard returns the index that key belongs to, made at need.
func (s *space) shard(key []byte, shards int) *omap[*entry] {
	if s.shards == nil {
		s.shards = make([]omap[*entry], shards)
	}
	if shards == 1 {
		return &s.shards[0]
	}
	return &s.shards[slot.Of(key)*shards/slot.Count]
}

// find returns the entry of key, expired or not, or nil.
func (s *space) find(key []byte, shards int) *entry {
	if s.keys == 0 {
		return nil
	}
	e, _ := s.shard(key, shards).get(key)
	return e
}

// insert adds an entry whose key must not be there.
func (s *space) insert(e *entry, key []byte, shards int) {
	s.shard(key, shards).add(e.key, e)
	e.slot = slot.Of(key)
	list := s.slot(e.slot, true)
	e.older = list.newest
	if e.older != nil {
		e.older.newer = e
	}
	list.newest = e
	list.count++
	s.keys++
}

// remove takes an entry out of the index and out of its slot.
func (s *space) remove(e *entry, key []byte, shards int) {
	index := s.shard(key, shards)
	index.remove(index.find(key))
	list := s.slot(e.slot, false)
	list.unlink(e)
	list.count--
	s.keys--
}

// putBehind makes an entry the next older one of newer, which is in the same slot.
func (s *space) putBehind(e, newer *entry) {
	s.slot(e.slot, false).unlink(e)
	e.newer, e.older, newer.older = newer, newer.older, e
	if e.older != nil {
		e.older.newer = e
	}
}

// unlink takes an entry out of the links.
func (l *slotList) unlink(e *entry) {
	if e.newer == nil {
		l.newest = e.older
	} else {
		e.newer.older = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	}
	e.newer, e.older = nil, nil
}

// slot returns the list of a slot; without create, nil when none was ever made.
func (s *space) slot(number int, create bool) *slotList {
	page, at := number/pageSlots, number%pageSlots
	if s.pages == nil {
		if !create {
			return nil
		}
		s.pages = make([]*slotPage, slot.Count/pageSlots)
	}
	if s.pages[page] == nil {
		if !create {
			return nil
		}
		s.pages[page] = new(slotPage)
	}
	return &s.pages[page][at]
}

// ordered returns all entries, oldest first.
func (s *space) ordered() []*entry {
	all := make([]*entry, 0, s.keys)
	for i := range s.shards {
		s.shards[i].each(func(_ string, e *entry) bool {
			all = append(all, e)
			return true
		})
	}
	if len(s.shards) > 1 {
		slices.SortFunc(all, func(a, b *entry) int {
			if a.seq < b.seq {
				return -1
			}
			return 1
		})
	}
	return all
}
