package engine

import (
	"math"
	"strings"

	"minikv/datastore"
)

// maxmemory: what a node does when its data, as it is estimated, has outgrown it.
// Source: evict.c of Redis 7.0.

const (
	errOOM       = "OOM command not allowed when used memory > 'maxmemory'."
	errScriptOOM = "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
)

// makeRoom evicts keys until the data fits, and reports whether it does not. While commands
// are held back nothing may change, and room is not looked for.
func (n *Node) makeRoom() (outOfMemory bool) {
	if paused, _ := n.blocking.paused(); paused {
		return false
	}
	if n.conf.maxMemory == 0 || n.depth > 1 || n.repl.isReplica() && n.conf.yes("replica-ignore-maxmemory") {
		return false
	}
	policy := n.conf.get("maxmemory-policy")
	for uint64(n.usedMemory()) > n.conf.maxMemory {
		if policy == "noeviction" || !n.evictOne(policy) {
			return true
		}
	}
	return false
}

// useCounting is how the keyspace counts uses: not at all unless the policy asks for it.
func (n *Node) useCounting() datastore.UseCounting {
	if !n.tracksFrequency() {
		return datastore.UseCounting{}
	}
	return datastore.UseCounting{
		Draw: n.cfg.Random, LogFactor: n.conf.number("lfu-log-factor"), Decay: n.conf.number("lfu-decay-time"),
	}
}

// evictOne removes the best key of a sample from every database, and reports
// whether there was any.
func (n *Node) evictOne(policy string) bool {
	volatile := strings.HasPrefix(policy, "volatile-")
	samples := int(n.conf.number("maxmemory-samples"))
	best, bestDB, bestRank := datastore.Candidate{}, -1, int64(math.MinInt64)
	for i := range n.keys.Databases() {
		for _, one := range n.keys.DB(i).Sample(n.cfg.Random, samples, volatile) {
			rank := one.Idle
			switch {
			case policy == "volatile-ttl":
				rank = -one.Deadline
			case strings.HasSuffix(policy, "-lfu"):
				rank = int64(-one.Uses)
			case strings.HasSuffix(policy, "-random"):
				rank = int64(n.cfg.Random() >> 1)
			}
			if bestDB < 0 || rank > bestRank {
				best, bestDB, bestRank = one, i, rank
			}
		}
	}
	if bestDB < 0 {
		return false
	}
	key := []byte(best.Key)
	n.keys.DB(bestDB).Delete(key)
	n.stats.evicted++
	n.stats.dirty++
	n.touch(bestDB, best.Key)
	n.invalidate(best.Key, nil)
	n.notify(bestDB, "evicted", best.Key)
	n.replicateIn(bestDB, n.deletion("lazyfree-lazy-eviction"), key)
	n.flushEffects(false)
	return true
}

// refusesForMemory reports whether a command must not run while there is no room:
// one that needs room, and whatever a transaction would keep.
func (c *Call) refusesForMemory(flags Flag) bool {
	if flags&DenyOOM != 0 {
		return true
	}
	switch c.Cmd.full {
	case "exec", "discard", "quit", "reset":
		return false
	}
	return c.Session.tx.active
}
