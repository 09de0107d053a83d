package sim

import (
	"fmt"
	"slices"
	"strconv"

	"minikv/internal/resp"
	"minikv/trace"
)

func checkEvict(w *Spec, s Step) error {
	if err := s.shape(1, "key", "spare"); err != nil {
		return err
	}
	if _, err := number(Option{"key", s.opt("key")}, 1, 1_000_000); err != nil {
		return err
	}
	if s.opt("spare") != "" {
		if _, err := onOff(Option{"spare", s.opt("spare")}); err != nil {
			return err
		}
	}
	return w.known(s.Args[0], aMaster|aReplica)
}

// applyEvict removes a key of a node, as maxmemory does: the key=N-th by name,
// counted round. With spare=on it does so only where more than a majority of the masters
// agree on who has the lock.
func applyEvict(r *runner, s Step) {
	n := r.node(s.Args[0])
	if n.down || n.group.master != n {
		return
	}
	var keys []string
	for _, v := range n.byHand("KEYS", "*").List {
		keys = append(keys, v.Str)
	}
	if len(keys) == 0 || s.opt("spare") == "on" && !r.w.spare(n) {
		return
	}
	slices.Sort(keys)
	at, _ := strconv.Atoi(s.opt("key"))
	key := keys[(at-1)%len(keys)]
	n.meddle(trace.Event{Kind: trace.Evict, Actor: r.w.nemesis, Peer: n.actor, A: int64(at), Text: key}, "DEL", key)
}

// spare tells whether more than a majority of the masters have the world's first
// lock for the same owner as n, so that n's word is not needed.
func (w *World) spare(n *node) bool {
	owner, same := n.ownerOf(lockName(1)), 0
	for _, g := range w.groups {
		if !g.master.down && g.master.ownerOf(lockName(1)) == owner {
			same++
		}
	}
	return owner == "" || same > len(w.groups)/2+1
}

// ownerOf is the owner at a key: a string, or the fields of a hash.
func (n *node) ownerOf(key string) string {
	v := n.byHand("GET", key)
	if v.Kind != resp.Error {
		return v.Str
	}
	return fmt.Sprint(n.byHand("HKEYS", key).List)
}

func drawEvict(c record) Step {
	key := strconv.FormatUint(1+c.draw(fieldGroup, 4), 10)
	return Step{Verb: "evict", Args: []string{c.keeper(fieldOther)}, Opts: []Option{{"key", key}}}
}

func drawEvictSpare(c record) Step {
	s := drawEvict(c)
	s.Opts = append(s.Opts, Option{"spare", "on"})
	return s
}
