package engine

import (
	"slices"
	"strings"
)

// What a test asks a node about. None of it changes what clients see.

// KeysOf returns the keys that a command names, as COMMAND GETKEYS finds them; none for a
// command that is unknown or malformed.
func (n *Node) KeysOf(cmd [][]byte) [][]byte {
	if len(cmd) == 0 {
		return nil
	}
	row, bad := n.lookup(cmd)
	if bad != "" || !row.accepts(len(cmd)) {
		return nil
	}
	return row.keys(cmd)
}

// MayWrite reports whether a command can change keys: it has the flag Write, or runs a
// script or a transaction.
func (n *Node) MayWrite(cmd [][]byte) bool {
	if len(cmd) == 0 {
		return false
	}
	row, bad := n.lookup(cmd)
	return bad == "" && (row.Flags&(Write|MayReplicate) != 0 || row.Name == "EXEC")
}

// Changes returns how many changes of keys there were, as rdb_changes_since_last_save of
// INFO counts them.
func (n *Node) Changes() int64 { return n.stats.dirty }

// Waiters counts the clients that wait for news of a key, in any database: those blocked
// in a command on it, those that track it, and those that listen to one of the channels,
// to a pattern for it, or to a channel that begins with family (unless that is ""). Each
// client counts once.
func (n *Node) Waiters(key string, channels []string, family string) int {
	count := 0
	for s := n.sessions.first; s != nil; s = s.next {
		if s.blockedOn(key) || n.tracks(s, key) || s.listens(channels, family) {
			count++
		}
	}
	return count
}

func (s *Session) blockedOn(key string) bool {
	return s.block != nil && slices.ContainsFunc(s.block.keys, func(k watchKey) bool { return k.key == key })
}

// tracks reports whether s would be told of a change of key.
func (n *Node) tracks(s *Session, key string) bool {
	t := &s.tracking
	if !t.on {
		return false
	}
	if one := n.tracking.keys[key]; one != nil && slices.Contains(one.readers, s) {
		return true
	}
	return slices.ContainsFunc(t.prefixes, func(prefix string) bool {
		return prefix != "" && len(prefix) <= len(key) && key[:len(prefix)] == prefix
	})
}

func (s *Session) listens(channels []string, family string) bool {
	named := func(name string) bool {
		return slices.Contains(channels, name) || family != "" && strings.HasPrefix(name, family)
	}
	return slices.ContainsFunc(s.subs.channels.all(), named) || slices.ContainsFunc(s.subs.shards.all(), named) ||
		slices.ContainsFunc(s.subs.patterns.all(), func(pattern string) bool {
			return slices.ContainsFunc(channels, func(name string) bool { return matchGlob(pattern, name) })
		})
}

// Channels returns the channels that clients listen to, sharded ones included, in the
// order of the clients.
func (n *Node) Channels() []string {
	var all []string
	for s := n.sessions.first; s != nil; s = s.next {
		all = append(all, s.subs.channels.all()...)
		all = append(all, s.subs.shards.all()...)
	}
	return all
}
