package engine

import "fmt"

// ReplicationState describes, for comparing the states that runs have reached, where the
// node stands in replication. All offsets are counted back from the node's own, so that
// the number of bytes that have gone by makes no difference.
func (n *Node) ReplicationState() string {
	r := &n.repl
	text := fmt.Sprintf("%s %d %d %v %v %d", r.link, r.heardAt, r.downSince, r.unsynced, r.asksAcks, n.effects.db)
	for _, one := range r.replicas {
		text += fmt.Sprintf(" %s %d %d", one.State, r.offset-one.Offset, one.AckedAt)
	}
	return text
}

// HistoryState describes, for comparing states, what nodes that stand no further back
// than offset since can learn of the node's history: its names, and the effects since
// then.
func (n *Node) HistoryState(since int64) string {
	r := &n.repl
	text := fmt.Sprint(r.id, " ", r.logging, r.offset-since)
	if r.oldID != "" {
		text += fmt.Sprint(" ", r.oldID, r.oldEnd-since)
	}
	if r.first > since {
		text += fmt.Sprint(" from ", r.first-since)
	}
	stream, _ := n.EffectsSince(max(since, r.first))
	return text + " " + string(stream)
}

// ReplicationState describes, like the node's, what s may wait for with WAIT, and what it
// waits for: nothing if all replicas have all that it has written.
func (s *Session) ReplicationState() string {
	n := s.node
	text := ""
	if n.repl.acked(s.writtenTo) < int64(len(n.repl.replicas)) {
		text = fmt.Sprint(n.repl.offset - s.writtenTo)
	}
	if b := s.block; b != nil {
		text += fmt.Sprintf(" waits %d %d %d", b.replicas, n.repl.offset-b.offset, b.deadline)
	}
	return text
}
