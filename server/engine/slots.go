package engine

import (
	"math"
	"slices"

	"minikv/internal/resp"
	"minikv/internal/slot"
)

// What happens to a node as the slots of a cluster come and go. These methods
// may be called inside a handler or between the node's calls.

// RemoveSlot removes all keys of a slot that another node has taken over. As in Redis 7.0
// nobody is told, not even the replicas, which keep the keys. Source: delKeysInSlot of
// Redis 7.0.
func (n *Node) RemoveSlot(number int) {
	for _, key := range n.keys.DB(0).KeysInSlot(number, math.MaxInt) {
		n.keys.DB(0).Delete([]byte(key))
	}
}

// RemoveMigrated removes keys of a database that another node has taken over by MIGRATE,
// in one DEL.
func (n *Node) RemoveMigrated(db int, keys []string) {
	del := [][]byte{[]byte("DEL")}
	for _, key := range keys {
		if n.keys.DB(db).Delete([]byte(key)) {
			del = append(del, []byte(key))
			n.stats.dirty++
			n.touch(db, key)
			n.invalidate(key, nil)
			n.notify(db, "del", key)
		}
	}
	if len(del) > 1 {
		n.replicateIn(db, del...)
	}
	n.settleOutside()
}

// RemoveAll empties the node without telling its replicas, because it has left its
// master.
func (n *Node) RemoveAll() {
	n.tellEmptied(-1)
	n.keys.FlushAll()
}

// UnsubscribeSlot ends all subscriptions to the sharded channels of a slot.
// Source: removeChannelsInSlot of Redis 7.0.
func (n *Node) UnsubscribeSlot(number int) {
	if len(n.pubsub.shards) == 0 {
		return
	}
	for _, name := range names(n.pubsub.shards, nil).List {
		if slot.OfString(name.Str) != number {
			continue
		}
		for _, s := range slices.Clone(n.pubsub.shards[name.Str]) {
			n.unsubscribe(s, &shardKind, [][]byte{[]byte(name.Str)})
		}
	}
}

// RedirectBlocked sends away the clients that are blocked on keys which are no longer
// served here. Source: clusterRedirectBlockedClientIfNeeded of Redis 7.0.
func (n *Node) RedirectBlocked() {
	if n.blocking.keys == nil {
		return
	}
	for s := n.sessions.first; s != nil; s = s.next {
		if s.block == nil || len(s.block.keys) == 0 {
			continue
		}
		if bad := n.redirectBlocked(s); bad != "" {
			n.endWait(s, resp.Err(bad))
		}
	}
}

// redirectBlocked is why a blocked client cannot wait here any longer, or "".
func (n *Node) redirectBlocked(s *Session) string {
	if down, _ := n.cfg.Topology.Down(); down {
		return errClusterDown
	}
	number := slot.OfString(s.block.keys[0].key)
	state := n.cfg.Topology.Slot(number)
	cmd, _ := n.lookup(s.block.args)
	reads := s.readOnly && cmd.Flags&Write == 0 && state.MyMaster
	switch {
	case state.Mine, state.Importing, reads:
		return ""
	case state.Owner == "":
		return errSlotUnbound
	}
	return movedTo(number, state.Owner)
}

// settleOutside does what the end of a command does, unless one is running.
func (n *Node) settleOutside() {
	if n.depth == 0 {
		n.settle(nil)
	}
}
