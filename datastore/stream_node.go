package datastore

import (
	"encoding/binary"
	"slices"
)

// streamNode is a run of entries that Redis keeps in one listpack. Entries
// whose fields are those of the first one do not repeat them.
type streamNode struct {
	master  StreamID // of the first entry; IDs are kept as differences to it
	fields  []string // of the first entry
	entries []streamEntry
	live    int // entries that are not deleted
	bytes   int // of the listpack, the counts of entries apart
}

type streamEntry struct {
	id      StreamID
	fields  []string // the node's own slice when they are the same
	values  []string
	same    bool // as the node's fields
	deleted bool // it stays in its place, marked
}

// maxNodeBytes is the most a node may hold whatever the configuration says.
const maxNodeBytes = 1 << 30

func newStreamNode(master StreamID, fields []string) *streamNode {
	n := &streamNode{master: master, fields: fields}
	n.bytes = lpHeader + 1 + lpIntSize(int64(len(fields))) + lpIntSize(0)
	for _, field := range fields {
		n.bytes += lpTextSize(field)
	}
	return n
}

// size is the size of the node's listpack.
func (n *streamNode) size() int {
	return n.bytes + lpIntSize(int64(n.live)) + lpIntSize(int64(len(n.entries)-n.live))
}

// isFull reports whether an entry of so many bytes needs a new node.
func (n *streamNode) isFull(added int, limits StreamLimits) bool {
	most := limits.NodeBytes
	if most == 0 || most > maxNodeBytes {
		most = maxNodeBytes
	}
	return int64(n.size()+added) >= most ||
		limits.NodeEntries > 0 && int64(len(n.entries)) >= limits.NodeEntries
}

// add appends an entry, whose ID must be the greatest.
func (n *streamNode) add(id StreamID, fields, values []string) {
	e := streamEntry{id: id, fields: fields, values: values, same: slices.Equal(fields, n.fields)}
	if e.same {
		e.fields = n.fields
	}
	n.bytes += n.entrySize(&e)
	n.entries = append(n.entries, e)
	n.live++
}

// entrySize is what an entry adds to the listpack.
func (n *streamNode) entrySize(e *streamEntry) int {
	size := lpIntSize(0) + lpIntSize(int64(e.id.Millis-n.master.Millis)) + lpIntSize(int64(e.id.Seq-n.master.Seq)) +
		lpIntSize(e.elements())
	for _, text := range e.values {
		size += lpTextSize(text)
	}
	if !e.same {
		size += lpIntSize(int64(len(e.fields)))
		for _, text := range e.fields {
			size += lpTextSize(text)
		}
	}
	return size
}

// elements counts what the entry has in the listpack, the count itself apart.
func (e *streamEntry) elements() int64 {
	if e.same {
		return int64(len(e.values)) + 3
	}
	return 2*int64(len(e.values)) + 4
}

// find returns the position of id among the entries, or where it would be.
func (n *streamNode) find(id StreamID) (at int, ok bool) {
	return slices.BinarySearchFunc(n.entries, id, func(e streamEntry, id StreamID) int { return e.id.Compare(id) })
}

func (n *streamNode) markDeleted(at int) {
	n.entries[at].deleted = true
	n.live--
}

const (
	entryDeleted = 1
	entrySame    = 2
)

// listpack is the node as Redis writes it.
func (n *streamNode) listpack() []byte {
	w := newListpack()
	w.int(int64(n.live))
	w.int(int64(len(n.entries) - n.live))
	w.int(int64(len(n.fields)))
	for _, field := range n.fields {
		w.text(field)
	}
	w.int(0)
	for i := range n.entries {
		e := &n.entries[i]
		flags := int64(0)
		if e.deleted {
			flags |= entryDeleted
		}
		if e.same {
			flags |= entrySame
		}
		w.int(flags)
		w.int(int64(e.id.Millis - n.master.Millis))
		w.int(int64(e.id.Seq - n.master.Seq))
		if !e.same {
			w.int(int64(len(e.fields)))
		}
		for j, text := range e.values {
			if !e.same {
				w.text(e.fields[j])
			}
			w.text(text)
		}
		w.int(e.elements())
	}
	return w.bytes()
}

// streamKey is an ID as a key of Redis's radix tree.
func streamKey(id StreamID) (key [16]byte) {
	binary.BigEndian.PutUint64(key[:], id.Millis)
	binary.BigEndian.PutUint64(key[8:], id.Seq)
	return key
}
