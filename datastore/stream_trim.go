package datastore

import "slices"

// Trim says which entries of a stream are removed.
type Trim struct {
	ByID   bool     // entries before MinID are removed; otherwise all but the newest MaxLen
	MinID  StreamID // with ByID
	MaxLen int64
	Approx bool  // only whole nodes are removed
	Limit  int64 // at most about so many entries are removed; 0: no limit
}

// Trim removes the oldest entries and returns how many there were.
// Source: streamTrim of Redis 7.0.
func (s *StreamData) Trim(t Trim) (removed int64) {
	whole := 0
	for _, node := range s.nodes {
		live := int64(node.live)
		if !t.ByID && int64(s.length) <= t.MaxLen || t.Limit > 0 && removed+live > t.Limit {
			break
		}
		if t.ByID && node.entries[len(node.entries)-1].id.Compare(t.MinID) >= 0 ||
			!t.ByID && int64(s.length)-live < t.MaxLen {
			if !t.Approx {
				removed += s.trimWithin(node, t)
			}
			break
		}
		whole++
		removed += live
		s.length -= node.live
	}
	s.nodes = slices.Delete(s.nodes, 0, whole)
	if removed > 0 {
		s.FixFirst()
	}
	return removed
}

// trimWithin marks the oldest entries of a node.
func (s *StreamData) trimWithin(node *streamNode, t Trim) (removed int64) {
	for i := range node.entries {
		if t.ByID && node.entries[i].id.Compare(t.MinID) >= 0 || !t.ByID && int64(s.length) <= t.MaxLen {
			break
		}
		if !node.entries[i].deleted {
			node.markDeleted(i)
			s.length--
			removed++
		}
	}
	return removed
}
