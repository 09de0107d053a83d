package engine

import (
	"strconv"

	"minikv/internal/resp"
)

// StreamDB returns the database that is selected at the present end of the stream of
// effects, for whoever begins to read there.
func (n *Node) StreamDB() int {
	switch {
	case n.repl.master != nil:
		return n.repl.master.DB
	case n.effects.db > 0:
		return n.effects.db - 1
	}
	return 0
}

// Recover gives a node that has just been restarted the data of a snapshot and then
// applies the effects that followed it, as from an append-only file. The first effect
// applies to database db. What the node does next begins a new history.
func (n *Node) Recover(s *Snapshot, db int, streams [][]byte) {
	n.keys.Load(s.keys)
	n.forgetMaster()
	for _, stream := range append([][]byte{resp.AppendCommand(nil, "SELECT", strconv.Itoa(db))}, streams...) {
		if err := n.Apply(stream); err != nil {
			panic("engine: recover: " + err.Error()) // a node has recorded it
		}
	}
	n.repl.restart()
	n.effects = effects{}
	n.stats = statistics{}
}
