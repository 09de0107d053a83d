package datastore

import "encoding/binary"

// stream writes a stream with its groups.
func (w *dumpWriter) stream(s *StreamData) {
	w.b = append(w.b, dumpStream2)
	w.length(uint64(len(s.nodes)))
	for _, node := range s.nodes {
		key := streamKey(node.master)
		w.text(string(key[:]))
		w.text(string(node.listpack()))
	}
	w.length(uint64(s.length))
	w.id(s.LastID)
	w.id(s.FirstID)
	w.id(s.MaxDeletedID)
	w.length(uint64(s.EntriesAdded))
	w.length(uint64(len(s.groups)))
	for _, g := range s.groups {
		w.group(g)
	}
}

func (w *dumpWriter) id(id StreamID) {
	w.length(id.Millis)
	w.length(id.Seq)
}

func (w *dumpWriter) group(g *Group) {
	w.text(g.Name)
	w.id(g.LastID)
	w.length(uint64(g.EntriesRead))
	w.length(uint64(g.PendingCount()))
	g.EachPending(FirstStreamID, LastStreamID, func(id StreamID, p *Pending) bool {
		w.rawID(id)
		w.b = binary.LittleEndian.AppendUint64(w.b, uint64(p.DeliveredMillis))
		w.length(uint64(p.Deliveries))
		return true
	})
	w.length(uint64(len(g.consumers)))
	for _, c := range g.consumers {
		w.text(c.Name)
		w.b = binary.LittleEndian.AppendUint64(w.b, uint64(c.SeenMillis))
		w.length(uint64(c.PendingCount()))
		c.EachPending(FirstStreamID, LastStreamID, func(id StreamID, _ *Pending) bool {
			w.rawID(id)
			return true
		})
	}
}

func (w *dumpWriter) rawID(id StreamID) {
	key := streamKey(id)
	w.b = append(w.b, key[:]...)
}

// stream reads a stream with its groups, with the counts of Redis 7.0 if full.
func (r *dumpReader) stream(full bool) *StreamData {
	s := &StreamData{}
	for range r.count() {
		key := r.text()
		elements, _, ok := parseListpack([]byte(r.text())) // Redis does not count them either
		if r.bad || !ok || len(key) != 16 || !s.addNode(parseStreamKey(key), elements, r.strict) {
			r.bad = true
			return s
		}
	}
	r.bad = r.bad || r.length() != uint64(s.length)
	s.LastID = r.id()
	if full {
		s.FirstID = r.id()
		s.MaxDeletedID = r.id()
		s.EntriesAdded = int64(r.length())
	} else {
		s.EntriesAdded = int64(s.length)
		s.FixFirst()
		if s.length == 0 {
			s.FirstID = LastStreamID // where Redis's search for it ends
		}
	}
	for range r.count() {
		g := r.group(s, full)
		if r.bad {
			break
		}
		at, exists := s.searchGroup(g.Name)
		if exists {
			r.bad = true
			break
		}
		s.groups = append(s.groups[:at:at], append([]*Group{g}, s.groups[at:]...)...)
	}
	return s
}

func (r *dumpReader) id() StreamID { return StreamID{r.length(), r.length()} }

func (r *dumpReader) rawID() StreamID {
	if b := r.take(16); b != nil {
		return parseStreamKey(string(b))
	}
	return StreamID{}
}

func parseStreamKey(key string) StreamID {
	return StreamID{binary.BigEndian.Uint64([]byte(key[:8])), binary.BigEndian.Uint64([]byte(key[8:]))}
}

func (r *dumpReader) group(s *StreamData, full bool) *Group {
	g := &Group{Name: r.text(), LastID: r.id(), EntriesRead: EntriesReadUnknown}
	if full {
		g.EntriesRead = int64(r.length())
	} else {
		g.EntriesRead = s.distance(g.LastID)
	}
	for range r.count() {
		id := r.rawID()
		p := g.NewPending(id, int64(r.uint64()))
		p.Deliveries = int64(r.length())
	}
	for range r.count() {
		name := []byte(r.text())
		if g.Consumer(name) != nil || r.bad {
			r.bad = true
			break
		}
		c := g.CreateConsumer(name, int64(r.uint64()))
		for range r.count() {
			id := r.rawID()
			p := g.Pending(id)
			if p == nil || p.Consumer != nil {
				r.bad = true
				break
			}
			g.Assign(id, p, c)
		}
	}
	g.EachPending(FirstStreamID, LastStreamID, func(_ StreamID, p *Pending) bool {
		r.bad = r.bad || p.Consumer == nil // nobody's
		return !r.bad
	})
	return g
}

// addNode adds a node of entries as their listpack has them, and reports
// whether that is one; if strict, also what only the way back needs must be right.
func (s *StreamData) addNode(master StreamID, elements []string, strict bool) bool {
	p := packedNode{elements: elements}
	live, deleted, fields := p.int(), p.int(), p.int()
	names := p.texts(fields)
	p.bad = p.int() != 0 && strict || p.bad // the end of the first part
	node := newStreamNode(master, names)
	for !p.bad && len(p.elements) > 0 {
		before := len(p.elements)
		flags := p.int()
		id := StreamID{master.Millis + uint64(p.int()), master.Seq + uint64(p.int())}
		entryFields, values := names, []string(nil)
		if flags&entrySame != 0 {
			values = p.texts(fields)
		} else {
			entryFields, values = p.pairs(p.int())
		}
		taken := before - len(p.elements)
		p.bad = p.int() != int64(taken) && strict || p.bad
		if p.bad || len(node.entries) > 0 && id.Compare(node.entries[len(node.entries)-1].id) <= 0 {
			return false
		}
		node.add(id, entryFields, values)
		if flags&entryDeleted != 0 {
			node.markDeleted(len(node.entries) - 1)
		}
	}
	if p.bad || int64(node.live) != live || int64(len(node.entries)-node.live) != deleted || node.live == 0 {
		return false
	}
	s.nodes = append(s.nodes, node)
	s.length += node.live
	return true
}

// packedNode reads the elements of a stream's listpack.
type packedNode struct {
	elements []string
	bad      bool
}

func (p *packedNode) int() int64 {
	if len(p.elements) == 0 {
		p.bad = true
		return 0
	}
	n, ok := ParseInteger(p.elements[0])
	p.bad = p.bad || !ok
	p.elements = p.elements[1:]
	return n
}

func (p *packedNode) texts(n int64) []string {
	if n < 0 || n > int64(len(p.elements)) {
		p.bad = true
		return nil
	}
	texts := p.elements[:n:n]
	p.elements = p.elements[n:]
	return texts
}

// pairs reads n fields with their values.
func (p *packedNode) pairs(n int64) (fields, values []string) {
	if n < 0 || n > int64(len(p.elements))/2 {
		p.bad = true
		return nil, nil
	}
	words := p.texts(2 * n)
	for i := 0; i < len(words); i += 2 {
		fields, values = append(fields, words[i]), append(values, words[i+1])
	}
	return fields, values
}
