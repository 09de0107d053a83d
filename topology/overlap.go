package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Overlap is a time in which two owners held a lock that they must not hold together:
// each had been granted it, neither had given it back, and the lease of neither had ended
// by the topology's clock.
type Overlap struct {
	Key           string
	First, Second string        // the owners; Second came later
	From, To      time.Duration // since the topology began, as Event.At
}

// forever is the end of a hold that nothing ends.
const forever = time.Duration(math.MaxInt64)

// String returns the overlap as one line.
func (o Overlap) String() string {
	end := "for ever"
	if o.To != forever {
		end = fmt.Sprintf("to %.3fs", o.To.Seconds())
	}
	return fmt.Sprintf("%s was held by %s and by %s from %.3fs %s", o.Key, o.First, o.Second, o.From.Seconds(), end)
}

// Overlaps returns the overlaps of one key in a timeline. It knows only locks whose form
// Locks knows.
//
// A hold begins when a command, on any node, has made an owner appear in the key. It ends
// when a command of the holder or of somebody else removes the owner, or with its lease.
// A server that dies or loses its data ends no hold: its client was told yes, and
// believes so until its lease is over. Where there are several independent masters, an
// owner holds while more than half of them say so.
//
// A command does not tell in whose name it comes. So a DEL from somebody who has no right
// to it ends the hold, and makes no overlap: check that the owner is still there.
func Overlaps(events []Event, key string) []Overlap {
	return overlapsOf(quorums(claimsOf(events, key)), key)
}

// overlapsOf are those of holds, which are in the order in which they began.
func overlapsOf(holds []hold, key string) []Overlap {
	var found []Overlap
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			from, to := max(a.from, b.from), min(a.to, b.to)
			if from < to && a.owner.db == b.owner.db && base(a.owner) != base(b.owner) && !(a.shared && b.shared) {
				found = append(found, Overlap{key, a.owner.name, b.owner.name, from, to})
			}
		}
	}
	return found
}

// base is an owner without what Redisson adds while it writes: whoever writes
// may read as well.
func base(o owner) string { return strings.TrimSuffix(o.name, ":write") }

// hold is a time in which somebody held a lock.
type hold struct {
	owner    owner
	shared   bool
	from, to time.Duration
}

// claim is who holds what on which set of nodes.
type claim struct {
	owner
	set string
}

// owner is who holds a key of a database.
type owner struct {
	db   int
	name string
}

// claimsOf are what owners hold of a key on single sets of nodes, each in the order in
// which they began, and how many sets there are.
func claimsOf(events []Event, key string) (bySet map[claim][]hold, sets int) {
	bySet, sets = map[claim][]hold{}, 1
	for _, e := range events {
		if e.Key != key {
			continue
		}
		sets = max(sets, e.Sets)
		who := claim{owner{e.DB, e.Owner}, e.Set}
		own := bySet[who]
		last := len(own) - 1
		open := last >= 0 && own[last].to > e.At
		until := e.Until
		if until == 0 {
			until = forever
		}
		switch {
		case e.Kind == LockHeld && open:
			own[last].to = until
		case e.Kind == LockHeld:
			bySet[who] = append(own, hold{who.owner, e.Shared, e.At, until})
		case e.Kind == LockFreed && open:
			own[last].to = e.At
		}
	}
	return bySet, sets
}

// quorums turns what owners hold on single sets of nodes into what they hold, in the
// order in which that began.
func quorums(bySet map[claim][]hold, sets int) []hold {
	byOwner := map[owner][]hold{}
	for who, holds := range bySet {
		byOwner[who.owner] = append(byOwner[who.owner], holds...)
	}
	var all []hold
	for _, holds := range byOwner {
		all = append(all, together(holds, sets/2+1)...)
	}
	slices.SortFunc(all, func(a, b hold) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.owner.name, b.owner.name))
	})
	return all
}

// together is when at least that many of one owner's holds last at once.
func together(holds []hold, quorum int) (found []hold) {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, h := range holds {
		if h.from < h.to {
			edges = append(edges, edge{h.from, 1}, edge{h.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step))
	})
	count := 0
	for _, e := range edges {
		was := count
		count += e.step
		switch {
		case was < quorum && count >= quorum:
			found = append(found, hold{holds[0].owner, holds[0].shared, e.at, forever})
		case was >= quorum && count < quorum:
			found[len(found)-1].to = e.at
		}
	}
	return found
}
