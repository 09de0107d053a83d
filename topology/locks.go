package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/cluster"
	"minikv/datastore"
)

// Lock is the state of one lock on one node, as its keys tell it.
type Lock struct {
	Node string `json:"node"` // the node's name
	DB   int    `json:"db"`
	Key  string `json:"key"`
	// Kind is token (a string that names its owner), mutex, fair, fenced, read,
	// write, permits (Redisson's, hashes and sorted sets), zset (a semaphore
	// whose holders are in a sorted set), semaphore or latch (a number).
	Kind    string        `json:"kind"`
	Owner   string        `json:"owner,omitempty"`   // the first of Holders
	Count   int64         `json:"count"`             // how often that owner holds it; of a semaphore or latch its number
	TTL     time.Duration `json:"ttl"`               // of the lock, by the node's clock; 0: none
	Holders []Holder      `json:"holders,omitempty"` // none if it is free, or only a number
	Queue   []string      `json:"queue,omitempty"`   // of a fair lock: the waiters, the next one first
	Waiters int           `json:"waiters,omitempty"` // clients that wait for news of it
}

// Holder is an owner that holds a lock.
type Holder struct {
	Owner  string        `json:"owner"`
	Count  int64         `json:"count"` // how many times it holds it
	TTL    time.Duration `json:"ttl"`   // 0: none
	Shared bool          `json:"shared,omitempty"`
}

// Redisson's names, a lock's own name being in braces unless it has some.
const (
	fairQueue    = "redisson_lock_queue:"
	fairTimeouts = "redisson_lock_timeout:"
	tokenCounter = "redisson_lock_token:"
	unlockLatch  = "redisson_unlock_latch:"
	readTimer    = ":rwlock_timeout"
	permitTable  = ":timeout"

	lockChannel   = "redisson_lock__channel:"
	rwChannel     = "redisson_rwlock:"
	permitChannel = "redisson_sc:"
	latchChannel  = "redisson_countdownlatch__channel__"
)

// noDeadline is the deadline of a permit without one, in Redisson's number.
const noDeadline = 922337203685477

// python-redis-lock keeps lock:NAME, and its waiters pop from lock-signal:NAME.
const pythonLock, pythonSignal = "lock:", "lock-signal:"

// tagged is a name with braces, as Redisson puts it into names of its own.
func tagged(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

// wakingChannels are the channels that tell of a lock: that of its very name, for locks with a
// channel of their own, and those of the libraries that have such. Sources: Redisson; Spring
// Integration's RedisLockRegistry, one channel for all locks of a registry;
// simple-redis-mutex, one for all locks; keyspace notifications.
func wakingChannels(key string, databases int) []string {
	name := tagged(key)
	channels := []string{key, lockChannel + name, rwChannel + name, permitChannel + name, latchChannel + "{" + key + "}"}
	for i := range len(key) {
		if key[i] == ':' {
			channels = append(channels, key[:i]+"-channel")
		}
	}
	if strings.HasPrefix(key, simpleMutex) {
		channels = append(channels, simpleMutex+"locks-releases")
	}
	for i := range databases {
		channels = append(channels, "__keyspace@"+strconv.Itoa(i)+"__:"+key)
	}
	return channels
}

const simpleMutex = "@simple-redis-mutex:"

// waiters counts the clients of a node that wait for word of a lock.
func waiters(m *cluster.Member, key string) int {
	n := m.Node()
	waiting := n.Waiters(key, wakingChannels(key, n.Keyspace().Databases()), lockChannel+tagged(key)+":")
	if name, ok := strings.CutPrefix(key, pythonLock); ok {
		waiting += n.Waiters(pythonSignal+name, nil, "")
	}
	return waiting
}

// Locks returns all locks of a known form on all masters that are not frozen, in the
// order of nodes, databases and keys.
//
// Some forms cannot be told from other data. Every string with a TTL is taken for a lock
// with a token; one without a TTL only if SETNX, or SET with NX, has made it and the
// trace has seen that. Semaphores and latches that are mere numbers are known by their
// channels: while somebody waits for them, or if the trace has seen them in use. What has
// more than 1024 holders is no lock, nor is what its readers hold more often, or what has a
// longer name than 2048 bytes, or is held by somebody who has.
func (t *Topology) Locks() []Lock {
	var all []Lock
	for _, n := range t.nodes {
		n.Try(func(p cluster.Process) {
			m, ok := p.(*cluster.Member)
			if !ok || m.Node().IsReplica() {
				return
			}
			hints := n.hints(m)
			space := m.Node().Keyspace()
			space.Observe(func() {
				for i := range space.Databases() {
					keys := space.DB(i).Keys()
					slices.Sort(keys)
					for _, key := range keys {
						if l, ok := n.lock(m, space.DB(i), key, hints[key]); ok {
							all = append(all, l)
						}
					}
				}
			})
		})
	}
	return all
}

// Lock returns the state of one lock; ok is false if no master has the key, or its form
// is unknown. A number is taken for a semaphore.
func (t *Topology) Lock(key string) (l Lock, ok bool) {
	for _, n := range t.nodes {
		n.Try(func(p cluster.Process) {
			m, member := p.(*cluster.Member)
			if ok || !member || m.Node().IsReplica() {
				return
			}
			space := m.Node().Keyspace()
			space.Observe(func() {
				for i := 0; i < space.Databases() && !ok; i++ {
					l, ok = n.lock(m, space.DB(i), key, cmp.Or(n.hints(m)[key], "semaphore"))
				}
			})
		})
	}
	return l, ok
}

// hints are the kinds of locks that their channels tell, or how they were made, by key.
func (n *Node) hints(m *cluster.Member) map[string]string {
	hints := map[string]string{}
	for _, channel := range m.Node().Channels() {
		addHint(hints, channel)
	}
	if tr := n.topology.trace; tr != nil {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		for key, kind := range tr.hints {
			hints[key] = kind
		}
		for key, kind := range tr.locks {
			if kind == token {
				hints[key] = token
			}
		}
	}
	return hints
}

// addHint notes what a channel tells about a lock.
func addHint(hints map[string]string, channel string) {
	kind, name := "semaphore", ""
	if after, ok := strings.CutPrefix(channel, permitChannel); ok {
		name = after
	} else if after, ok := strings.CutPrefix(channel, latchChannel); ok {
		kind, name = "latch", after
	}
	if name == "" {
		return
	}
	hints[name] = kind
	if inner, ok := strings.CutPrefix(name, "{"); ok {
		hints[strings.TrimSuffix(inner, "}")] = kind
	}
}

// lock is a key's state as a lock, with its waiters.
func (n *Node) lock(m *cluster.Member, db *datastore.DB, key, hint string) (l Lock, ok bool) {
	l, ok = decodeLock(db, key, hint, m.Clock().Wall().UnixMilli())
	if ok {
		l.Node, l.DB, l.Key = n.name, db.Index(), key
		l.Waiters = waiters(m, key)
	}
	return l, ok
}

// isHelper reports whether a key belongs to a lock but is none itself.
func isHelper(key string) bool {
	for _, prefix := range []string{fairQueue, fairTimeouts, tokenCounter, unlockLatch, pythonSignal} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.Contains(key, readTimer+":") || strings.HasSuffix(key, permitTable) && strings.Contains(key, "{")
}
