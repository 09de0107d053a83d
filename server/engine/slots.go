package engine

import (
	"math"
	"slices"

	"minikv/datastore"
	"minikv/internal/resp"
	"minikv/internal/slot"
)

// What happens to a node as the slots of a cluster come and go. These methods
// may be called inside a handler or between the node's calls.

// RemoveSlot removes all keys of a slot that another node has taken over. As in
// Redis 7.0 nobody is told, not even the replicas, which keep them.
// Source: delKeysInSlot of Redis 7.0.
func (n *Node) RemoveSlot(number int) {
	for _, key := range n.keys.DB(0).KeysInSlot(number, math.MaxInt) {
		n.keys.DB(0).Delete([]byte(key))
	}
}

// RemoveMigrated removes keys of a database that another node has taken over
// from MIGRATE, in one DEL.
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

// RemoveAll empties the node without telling its replicas: it has left its master.
func (n *Node) RemoveAll() {
	n.touchPresent(-1)
	n.invalidateAll()
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

// RedirectBlocked sends away the clients that are blocked on keys which are not
// served here any more.
// Source: clusterRedirectBlockedClientIfNeeded of Redis 7.0.
func (n *Node) RedirectBlocked() {
	if n.blocking.keys == nil {
		return
	}
	for s := n.sessions.first; s != nil; s = s.next {
		if s.block == nil || len(s.block.keys) == 0 {
			continue
		}
		if bad := n.redirectBlocked(s); bad != "" {
			n.unblock(s)
			s.send(resp.Err(bad))
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

// PauseReason is why commands are held back. Each reason has a pause of its own.
type PauseReason uint8

// The reasons.
const (
	PausedByClient    PauseReason = iota // CLIENT PAUSE
	PausedByFailover                     // the node hands over to a replica
	PausedByMigration                    // MIGRATE waits for the other node
	pauseReasons
)

// pause is how long, and whether reads are held back as well.
type pause struct {
	until int64 // Unix milliseconds; 0: not paused
	all   bool
}

// Pause holds back commands that write, or all, until a date in Unix
// milliseconds or until Unpause. A pause for the same reason is made longer and
// stricter, never less.
func (n *Node) Pause(reason PauseReason, until int64, all bool) {
	p := &n.blocking.pauses[reason]
	p.until, p.all = max(p.until, until), p.all || all
	n.applyExpiryPolicy()
}

// Unpause ends a pause, and runs what was held back if no other one is left.
func (n *Node) Unpause(reason PauseReason) {
	n.blocking.pauses[reason] = pause{}
	n.applyExpiryPolicy()
	n.settleOutside()
}

// Paused reports whether commands are held back, for whatever reason.
func (n *Node) Paused() bool {
	some, _ := n.blocking.paused()
	return some
}

// PausedForAll reports whether all commands of clients are held back, not writes only.
func (n *Node) PausedForAll() bool {
	_, all := n.blocking.paused()
	return all
}

// settleOutside does what the end of a command does, unless one is running.
func (n *Node) settleOutside() {
	if n.depth == 0 {
		n.settle(nil)
	}
}

// paused reports whether commands are held back, and whether reads are.
func (b *blocking) paused() (some, all bool) {
	for i := range b.pauses {
		some = some || b.pauses[i].until != 0
		all = all || b.pauses[i].all
	}
	return some, all
}

// expiryPolicy is what a node does about expired keys: a replica hides what a
// master removes; so does a master while commands are held back and nothing may
// change.
func (n *Node) expiryPolicy() datastore.ExpiryPolicy {
	if some, _ := n.blocking.paused(); some || n.repl.isReplica() {
		return datastore.HideExpired
	}
	return datastore.RemoveExpired
}
