package datastore

import (
	"errors"
	"time"
)

// Errors of the operations on values. The texts on the wire are the engine's.
var (
	ErrWrongType  = errors.New("datastore: key holds another type")
	ErrNotInteger = errors.New("datastore: value is not an integer")
	ErrOverflow   = errors.New("datastore: integer would overflow")
)

// Kind is the type of a value.
type Kind uint8

// The kinds of value. None is the kind of a missing key.
const (
	None Kind = iota
	String
	List
	Set
	ZSet
	Hash
	Stream
)

// String returns the name that TYPE replies.
func (k Kind) String() string {
	return [...]string{"none", "string", "list", "set", "zset", "hash", "stream"}[k]
}

// value is what stands under a key: its kind says which field is in use. The text of
// a string is in buffer if there is one, and else in str.
type value struct {
	kind Kind
	form form
	str  string
	hash *omap[string]
	list *deque
	zset *sorted
	set  *omap[struct{}]

	stream *StreamData
	buffer *buffer
}

// clone copies the value; only immutable strings are shared.
func (v value) clone() value {
	switch v.kind {
	case String:
		v.text()
	case Hash:
		h := v.hash.clone()
		v.hash = &h
	case List:
		v.list = v.list.clone()
	case ZSet:
		v.zset = v.zset.clone()
	case Set:
		s := v.set.clone()
		v.set = &s
	case Stream:
		v.stream = v.stream.clone()
	}
	return v
}

// length counts the elements of an aggregate.
func (v value) length() int {
	switch v.kind {
	case Hash:
		return v.hash.len()
	case List:
		return v.list.len()
	case ZSet:
		return v.zset.len()
	case Set:
		return v.set.len()
	}
	if v.buffer != nil {
		return len(v.buffer.bytes)
	}
	return len(v.str)
}

// entry is a key with its value.
type entry struct {
	key      string
	value    value
	seq      uint64 // creation order within the keyspace
	slot     int
	deadline int64 // Unix milliseconds or NoDeadline
	size     int64 // bytes that the account holds for it
	heapAt   int   // position in the heap of deadlines, -1 if none
	accessed time.Duration
	uses     uses
	newer    *entry
	older    *entry // neighbours in the list of the slot
}

// pool keeps freed entries and small values for reuse.
type pool struct {
	entries []*entry
	hashes  []*omap[string]
	lists   []*deque
	zsets   []*sorted
	sets    []*omap[struct{}]
}

const (
	poolMax   = 64 // freed objects of a kind that are kept
	poolSized = 16 // room for this many elements at most in a value that is kept
)

// take removes and returns the last of free, or makes a new one.
func take[T any](free *[]*T) *T {
	last := len(*free) - 1
	if last < 0 {
		return new(T)
	}
	object := (*free)[last]
	(*free)[last] = nil
	*free = (*free)[:last]
	return object
}

// give keeps an object that has been reset, unless enough are kept.
func give[T any](free *[]*T, object *T) {
	if len(*free) < poolMax {
		*free = append(*free, object)
	}
}

// newValue returns an empty value of a kind.
func (p *pool) newValue(kind Kind) value {
	v := value{kind: kind}
	switch kind {
	case Hash:
		v.hash = take(&p.hashes)
	case List:
		v.list = take(&p.lists)
	case ZSet:
		v.zset = take(&p.zsets)
	case Set:
		v.set = take(&p.sets)
	}
	return v
}

// freeValue takes back a value that no key holds any more.
func (p *pool) freeValue(v value) {
	switch {
	case v.kind == Hash && cap(v.hash.entries) <= poolSized:
		v.hash.clear()
		give(&p.hashes, v.hash)
	case v.kind == List && len(v.list.ring) <= poolSized:
		v.list.clear()
		give(&p.lists, v.list)
	case v.kind == ZSet && cap(v.zset.scores.entries) <= poolSized:
		v.zset.clear()
		give(&p.zsets, v.zset)
	case v.kind == Set && cap(v.set.entries) <= poolSized:
		v.set.clear()
		give(&p.sets, v.set)
	}
}
