package topology

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"minikv/cluster"
	"minikv/datastore"
	"minikv/server/engine"
)

// How a watch learns who holds which lock: it looks at the keys of each command
// that may write before it runs, and afterwards.

// mostKeys is how many keys of a command are looked at.
const mostKeys = 64

// lockKeys are the keys of a command that may change locks.
func (w *watch) lockKeys(s *engine.Session, cmd [][]byte) []string {
	m, ok := w.node.process.(*cluster.Member)
	if !ok {
		return nil
	}
	name := strings.ToUpper(string(cmd[0]))
	if name == "MULTI" {
		delete(w.queued, s)
	}
	if !m.Node().MayWrite(cmd) {
		return nil
	}
	var keys []string
	if name == "EXEC" {
		keys = w.queued[s]
		delete(w.queued, s)
	}
	for _, key := range m.Node().KeysOf(cmd) {
		if len(keys) < mostKeys {
			keys = append(keys, string(key))
		}
	}
	return keys
}

// lockStates reads the keys as locks. made says that the command which has just run makes
// strings that want to be alone. changes is the node's count of them.
func (w *watch) lockStates(db int, keys []string, made bool) (states []Lock, changes int64) {
	if len(keys) == 0 {
		return nil, 0
	}
	node := w.node.process.(*cluster.Member).Node()
	now := node.Clock().Wall().UnixMilli()
	states = make([]Lock, len(keys))
	node.Keyspace().Observe(func() {
		for i, key := range keys {
			if node.Keyspace().DB(db).Kind([]byte(key)) == datastore.ZSet {
				continue // at most a semaphore, of which nothing is told
			}
			hint := ""
			if made || w.trace.isToken(key) {
				hint = token
			}
			states[i], _ = decodeLock(node.Keyspace().DB(db), key, hint, now)
		}
	})
	return states, node.Changes()
}

// holdsChanged tells what a command has done to locks.
func (w *watch) holdsChanged(s *engine.Session, db int, keys []string, before, after []Lock) {
	for i, key := range keys {
		for _, one := range w.trace.lockChanged(key, before[i], after[i]) {
			one.Node, one.Client, one.Name, one.DB = w.node.name, s.ID, s.Name, db
			one.Set, one.Sets = w.node.set()
			w.trace.add(&record{Event: one})
		}
	}
}

// queue notes the keys of a command that EXEC will run.
func (w *watch) queue(s *engine.Session, keys []string) {
	if room := mostKeys - len(w.queued[s]); room > 0 {
		w.queued[s] = append(w.queued[s], keys[:min(room, len(keys))]...)
	}
}

// mostLocks is how many keys a trace remembers as locks. When there are more it
// forgets them all, until they are taken again.
const mostLocks = 1 << 16

// watched are those of a command's keys that are looked at. What is read as a lock might be
// anything with a TTL: it counts from when a command makes it that wants to be alone, SET NX
// or a script.
func (tr *Trace) watched(keys []string, cmd [][]byte) (some []string) {
	if len(keys) == 0 {
		return nil
	}
	alone := wantsToBeAlone(cmd)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.locks) > mostLocks || len(tr.hints) > mostLocks {
		clear(tr.locks)
		clear(tr.hints)
	}
	for _, key := range keys {
		addHint(tr.hints, key)
		if alone || tr.locks[key] != "" {
			some = append(some, key)
		}
	}
	return some
}

// lockChanged tells what has happened to a key, if it is or was a lock.
func (tr *Trace) lockChanged(key string, before, after Lock) []Event {
	if len(before.Holders) == 0 && len(after.Holders) == 0 {
		return nil
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.locks[key] = after.Kind
	if len(after.Holders) == 0 {
		delete(tr.locks, key)
	}
	return holdEvents(key, before.Holders, after.Holders, tr.clock.Now().Sub(tr.began))
}

var queuedReply = []byte("+QUEUED\r\n")

// holdEvents compares who held a lock before and after a command.
func holdEvents(key string, before, after []Holder, now time.Duration) (events []Event) {
	find := func(list []Holder, owner string) int {
		return slices.IndexFunc(list, func(h Holder) bool { return h.Owner == owner })
	}
	for _, h := range before {
		if find(after, h.Owner) < 0 {
			events = append(events, Event{Kind: LockFreed, Key: key, Owner: h.Owner, Shared: h.Shared})
		}
	}
	for _, h := range after {
		was := find(before, h.Owner)
		if was >= 0 && before[was].TTL == h.TTL && before[was].Shared == h.Shared {
			continue
		}
		e := Event{Kind: LockHeld, Key: key, Owner: h.Owner, Shared: h.Shared}
		if h.TTL > 0 {
			e.Until = now + min(h.TTL, forever-now)
		}
		events = append(events, e)
	}
	return events
}

// isToken reports whether a key is known as a lock that is a string.
func (tr *Trace) isToken(key string) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.locks[key] == token
}

// makesToken reports whether a command makes a string that wants to be alone: a lock, if it
// has a TTL or not.
func makesToken(cmd [][]byte) bool {
	name := strings.ToUpper(string(cmd[0]))
	return name == "SETNX" || name == "SET" && wantsToBeAlone(cmd)
}

// wantsToBeAlone reports whether a command may be how a lock is taken.
func wantsToBeAlone(cmd [][]byte) bool {
	switch name := strings.ToUpper(string(cmd[0])); name {
	case "SET":
		return slices.ContainsFunc(cmd[min(len(cmd), 3):], func(arg []byte) bool { return bytes.EqualFold(arg, nx) })
	case "SETNX", "HSETNX", "EXEC", "EVAL", "EVALSHA", "FCALL":
		return true
	}
	return false
}

var nx = []byte("NX")

// set is which nodes have copies of what the node has, by the name of the one
// that had it first, and how many such sets hold a lock together.
func (n *Node) set() (name string, sets int) {
	plan := n.topology.cfg.Plan
	if plan.Cluster || plan.Masters == 1 {
		return "", 1
	}
	name = n.topology.nodes[plan.MasterOf(n.id)-1].name
	if plan.Sentinels > 0 {
		return name, 1
	}
	return name, plan.Masters
}
