package datastore

import (
	"errors"
	"slices"
	"sort"
)

// ErrStreamID says that an ID is not greater than the stream's last one.
var ErrStreamID = errors.New("datastore: stream ID is not greater than the last one")

// StreamData is a log of entries and the groups that read it. Entries stand in
// nodes, as in Redis, because trimming goes by nodes and XINFO counts them.
// Unlike other values a stream may be empty.
// Source: t_stream.c of Redis 7.0.
type StreamData struct {
	LastID       StreamID // of the newest entry that there ever was, or what XSETID has set
	FirstID      StreamID // of the oldest entry; zero if there is none
	MaxDeletedID StreamID // the greatest ID that XDEL has removed, or what XSETID has set
	EntriesAdded int64    // since the stream was made

	nodes  []*streamNode // in order, none of them without a living entry
	length int
	groups []*Group // by name
}

// StreamLimits are the sizes up to which a node of a stream grows; 0: no limit.
type StreamLimits struct{ NodeBytes, NodeEntries int64 }

// Stream returns the stream under key, nil if the key is missing. The pointer
// is valid until the next command.
func (db *DB) Stream(key []byte) (*StreamData, error) {
	e, err := db.find(key, Stream)
	if e == nil {
		return nil, err
	}
	return e.value.stream, nil
}

// CreateStream puts an empty stream under key, which must be missing.
func (db *DB) CreateStream(key []byte) *StreamData {
	e := db.replace(key, Stream)
	e.value = value{kind: Stream, stream: &StreamData{}}
	return e.value.stream
}

// Len returns the number of entries.
func (s *StreamData) Len() int { return s.length }

// Nodes returns the number of nodes in which the entries are stored.
func (s *StreamData) Nodes() int { return len(s.nodes) }

// Bytes returns the size of the nodes.
func (s *StreamData) Bytes() (bytes int) {
	for _, node := range s.nodes {
		bytes += node.size()
	}
	return bytes
}

// TreeNodes returns the number of nodes of Redis's radix tree over the master IDs of the
// nodes. Source: rax.c of Redis 7.0.
func (s *StreamData) TreeNodes() int {
	keys := make([][16]byte, len(s.nodes))
	for i, node := range s.nodes {
		keys[i] = streamKey(node.master)
	}
	if len(keys) == 0 {
		return 1
	}
	return treeNodes(keys, 0)
}

// treeNodes counts the nodes of the radix tree of sorted keys that are equal
// up to depth: what they share is one node, what follows splits.
func treeNodes(keys [][16]byte, depth int) int {
	first, last := &keys[0], &keys[len(keys)-1]
	if depth == len(first) {
		return 1
	}
	shared := depth
	for shared < len(first) && first[shared] == last[shared] {
		shared++
	}
	if shared > depth {
		return 1 + treeNodes(keys, shared)
	}
	nodes := 1
	for from := 0; from < len(keys); {
		to := from
		for to < len(keys) && keys[to][depth] == keys[from][depth] {
			to++
		}
		nodes += treeNodes(keys[from:to], depth+1)
		from = to
	}
	return nodes
}

// Append adds an entry; words are its fields and values in turn. It fails with
// ErrStreamID.
func (s *StreamData) Append(id StreamID, words [][]byte, limits StreamLimits) error {
	if id.Compare(s.LastID) <= 0 {
		return ErrStreamID
	}
	fields := make([]string, len(words)/2)
	values := make([]string, len(words)/2)
	for i := range fields {
		fields[i], values[i] = clone(words[2*i]), clone(words[2*i+1])
	}
	added := 0
	for _, word := range words {
		added += len(word)
	}
	if len(s.nodes) == 0 || s.nodes[len(s.nodes)-1].isFull(added, limits) {
		s.nodes = append(s.nodes, newStreamNode(id, fields))
	}
	s.nodes[len(s.nodes)-1].add(id, fields, values)
	s.length++
	s.EntriesAdded++
	s.LastID = id
	if s.length == 1 {
		s.FirstID = id
	}
	return nil
}

// Delete removes an entry and reports whether it was there. After the last of several
// deletions FixFirst must be called.
func (s *StreamData) Delete(id StreamID) bool {
	at := s.nodeOf(id)
	if at < 0 {
		return false
	}
	node := s.nodes[at]
	i, ok := node.find(id)
	if !ok || node.entries[i].deleted {
		return false
	}
	s.length--
	if node.live == 1 {
		s.nodes = slices.Delete(s.nodes, at, at+1)
	} else {
		node.markDeleted(i)
	}
	return true
}

// FixFirst sets FirstID to the ID of the oldest entry.
func (s *StreamData) FixFirst() { s.FirstID = s.edge(false) }

// LastEntryID returns the ID of the newest entry that is there, zero if there is none.
func (s *StreamData) LastEntryID() StreamID { return s.edge(true) }

// edge is the ID of the oldest or the newest entry, zero if there is none.
func (s *StreamData) edge(newest bool) (id StreamID) {
	s.Range(FirstStreamID, LastStreamID, newest, func(at StreamID, _, _ []string) bool {
		id = at
		return false
	})
	return id
}

// OldestKept returns the ID of the oldest entry, including one that is only marked as
// deleted; LastStreamID if there is none.
func (s *StreamData) OldestKept() StreamID {
	if len(s.nodes) == 0 {
		return LastStreamID
	}
	return s.nodes[0].master
}

// Has reports whether there is an entry with that ID.
func (s *StreamData) Has(id StreamID) bool {
	at := s.nodeOf(id)
	if at < 0 {
		return false
	}
	i, ok := s.nodes[at].find(id)
	return ok && !s.nodes[at].entries[i].deleted
}

// Range visits the entries from one ID to another, both included, newest first
// if reverse, until visit returns false. The stream must not change meanwhile.
func (s *StreamData) Range(from, to StreamID, reverse bool, visit func(id StreamID, fields, values []string) bool) {
	if reverse {
		s.rangeBack(from, to, visit)
		return
	}
	for at := max(0, s.nodeOf(from)); at < len(s.nodes); at++ {
		node := s.nodes[at]
		for i, _ := node.find(from); i < len(node.entries); i++ {
			e := &node.entries[i]
			if e.id.Compare(to) > 0 {
				return
			}
			if !e.deleted && !visit(e.id, e.fields, e.values) {
				return
			}
		}
	}
}

func (s *StreamData) rangeBack(from, to StreamID, visit func(id StreamID, fields, values []string) bool) {
	for at := s.nodeOf(to); at >= 0; at-- {
		node := s.nodes[at]
		for i := len(node.entries) - 1; i >= 0; i-- {
			e := &node.entries[i]
			if e.id.Compare(from) < 0 {
				return
			}
			if !e.deleted && e.id.Compare(to) <= 0 && !visit(e.id, e.fields, e.values) {
				return
			}
		}
	}
}

// nodeOf returns the number of the node that id would be in, -1 before all of them.
func (s *StreamData) nodeOf(id StreamID) int {
	return sort.Search(len(s.nodes), func(i int) bool { return s.nodes[i].master.Compare(id) > 0 }) - 1
}

// clone copies the stream; only texts are shared.
func (s *StreamData) clone() *StreamData {
	c := *s
	c.nodes = make([]*streamNode, len(s.nodes))
	for i, node := range s.nodes {
		n := *node
		n.entries = slices.Clone(node.entries)
		c.nodes[i] = &n
	}
	c.groups = make([]*Group, len(s.groups))
	for i, group := range s.groups {
		c.groups[i] = group.clone()
	}
	return &c
}
