package sim

import (
	"maps"
	"slices"
	"strconv"

	"minikv/trace"
)

// claims are who has what on one node: by key and field, the process whose
// request put it there. They are kept only where somebody checks for theft.
type claims map[string]*process

// watched executes a request and tells of each claim of another client that it
// has ended, though its time had not come.
func (n *node) watched(p *process, execute func()) (stolen []*process) {
	if !n.w.cfg.Thefts {
		execute()
		return nil
	}
	before := n.claimed()
	execute()
	after := n.claimed()
	if n.claims == nil {
		n.claims = claims{}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if owner := n.claims[name]; !after[name] && owner != nil && owner.actor != p.actor {
			stolen = append(stolen, owner)
		}
	}
	for name := range after { //tidy:unordered each sets its own
		if !before[name] {
			n.claims[name] = p
		}
	}
	return stolen
}

// steals tells of thefts.
func (n *node) steals(p *process, stolen []*process, cause uint64) {
	for _, owner := range stolen {
		n.w.emit(trace.Event{Kind: trace.Steal, Actor: p.actor, Peer: owner.actor, Cause: cause})
	}
}

// claimed are the names of all that is taken on the node and has not ended.
func (n *node) claimed() map[string]bool {
	noted := len(n.w.details)
	defer func() { n.w.details = n.w.details[:noted] }() // nobody did what follows
	taken := map[string]bool{}
	for lock := int32(1); lock <= int32(n.w.cfg.Locks); lock++ {
		keys := []string{lockName(lock)}
		for i := range members {
			keys = append(keys, memberName(lock, i))
		}
		for _, key := range keys {
			n.claimedAt(key, taken)
		}
	}
	return taken
}

func (n *node) claimedAt(key string, taken map[string]bool) {
	switch n.byHand("TYPE", key).Str {
	case "hash":
		for _, field := range n.byHand("HKEYS", key).List {
			timer := "{" + key + "}:" + field.Str + ":rwlock_timeout:1"
			reads := n.byHand("HGET", key, "mode").Str == "read"
			if field.Str == "mode" || reads && n.byHand("EXISTS", timer).Int == 0 {
				continue
			}
			taken[key+" "+field.Str] = true
		}
	case "string":
		if permits := n.byHand("ZRANGEBYSCORE", "{"+key+"}:timeout",
			"("+strconv.FormatInt(n.clock.Wall().UnixMilli(), 10), "+inf").List; len(permits) > 0 {
			for _, id := range permits {
				taken[key+" "+id.Str] = true
			}
			return
		}
		owner := n.byHand("GET", key).Str
		if _, err := strconv.Atoi(owner); err != nil { // else it is a number of permits
			taken[key+" "+owner] = true
		}
	}
}
