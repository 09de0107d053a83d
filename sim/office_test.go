// What the random tests of locks have in common. Whatever their tasks do, they demand that never do two
// owners have what excludes the other; that while a hold may be relied on servers have a lease of it
// that lasts as long; and that who cannot rely on one any more has been told.

package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/internal/resp"
	"minikv/lockclient"
)

// office is what a run of locks is made of: who has what.
type office struct {
	diary
	parties []*party
	busy    int // tasks under way
	desks   []*desk

	// home finds the node that has a key of a server, nil while nobody serves it.
	home func(place int, key string) *node
	// excuses, if not nil, tells of what may be gone although somebody relies on it.
	excuses func(d *desk) bool
	// forgives, if not nil, tells whether servers may have forgotten what they do not have of d.
	forgives func(d *desk) bool
}

// desk is where one acquisition is believed in.
type desk struct {
	party   *party
	held    *lockclient.Held
	key     string
	shares  []share
	ahead   time.Duration // by which the clock that its Until is told by is ahead of the party's
	asked   time.Duration // or when the oldest one of its hold was
	excused bool          // the lock was forced, or forgotten, and its client may not know yet
	given   bool          // back
}

// share is what an acquisition has on the servers: need of the places.
type share struct {
	places     []int
	need       int
	key, owner string
	reads      bool
	text       bool // it is a string
	quorum     bool // it is a Redlock's
}

// named names a lock on one server.
func (o *office) named(c *lockclient.Client, kind, key string) (l *lockclient.Lock, reads bool) {
	switch kind {
	case "fair":
		return c.Fair(key), false
	case "fenced":
		return c.Fenced(key), false
	case "spin":
		return c.Spin(key), false
	case "nonreentrant":
		return c.NonReentrant(key), false
	case "nonreentrant-fair":
		return c.NonReentrantFair(key), false
	case "simple":
		return c.Simple(key), false
	case "rw":
		if o.draw(2) == 0 {
			return c.RW(key).R(), true
		}
		return c.RW(key).W(), false
	}
	return c.Mutex(key), false
}

// sits enters an acquisition: nobody else may rely on what excludes it.
func (o *office) sits(d *desk) {
	for _, other := range o.desks {
		if !d.excludes(other) {
			continue
		}
		for _, one := range []*desk{d, other} {
			if o.forgives != nil && !o.isThere(one) && o.forgives(one) {
				one.excused = true
			}
		}
		if o.trusted(d) && o.trusted(other) {
			o.breaks("%s has %s, and so has %s, until %v", d.held.Owner(), d.key, other.held.Owner(), other.until())
		}
	}
	o.desks = append(o.desks, d)
}

// anyOwner is one that a party has, or had, "" if there is none yet: also one whom nobody named.
// That of a Redlock is nobody else's.
func (o *office) anyOwner(pt *party) string {
	of := slices.DeleteFunc(slices.Clone(o.desks), func(d *desk) bool {
		return d.party != pt || slices.ContainsFunc(d.shares, func(s share) bool { return s.quorum })
	})
	if len(of) == 0 {
		return ""
	}
	return ownerOf(of[o.draw(len(of))].held.Owner())
}

// ownerOf is an owner on either side.
func ownerOf(owner string) string { return strings.TrimSuffix(owner, ":write") }

// excludes tells whether two acquisitions exclude each other.
func (d *desk) excludes(other *desk) bool {
	for _, a := range d.shares {
		for _, b := range other.shares {
			if a.excludes(b) || a.outnumbers(other) || b.outnumbers(d) {
				return true
			}
		}
	}
	return false
}

// excludes tells whether two shares cannot both be met.
func (c share) excludes(other share) bool {
	if c.key != other.key || c.reads && other.reads || ownerOf(c.owner) == ownerOf(other.owner) {
		return false
	}
	all := slices.Clone(c.places)
	for _, place := range other.places {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return c.need+other.need > len(all)
}

// outnumbers tells whether somebody has, one by one, so many places that no quorum is left.
func (c share) outnumbers(d *desk) bool {
	free := len(c.places)
	for i, place := range c.places {
		has := func(one share) bool {
			return one.key == c.key && !one.quorum && slices.Contains(one.places, place)
		}
		if slices.ContainsFunc(d.shares, has) && !slices.Contains(c.places[:i], place) {
			free--
		}
	}
	return c.quorum && free < c.need
}

// trusted tells whether a task may rely on what it has, and nothing excuses its loss.
func (o *office) trusted(d *desk) bool {
	return !d.excused && (o.excuses == nil || !o.excuses(d)) && d.relies()
}

// relies tells whether a task may rely on what it has.
func (d *desk) relies() bool {
	return !d.given && d.until() > d.party.rt.Mono() && !isClosed(d.held.Lost())
}

// until is when that ends, by the party's clock.
func (d *desk) until() time.Duration { return d.held.Until() - d.ahead }

// look demands that who cannot rely on a lock any more has been told, and that the servers have a
// lease of what somebody relies on.
func (o *office) look() {
	for _, d := range o.desks {
		pt := d.party
		if o.w.now <= max(pt.woken, pt.p.paused) {
			continue // what is due when it goes on comes in any order
		}
		if !d.given && !isClosed(d.held.Lost()) && d.until() < pt.rt.Mono() {
			o.breaks("%s could rely on %s until %v, and has not been told", d.held.Owner(), d.key, d.until())
		}
	}
	o.desks = slices.DeleteFunc(o.desks, func(d *desk) bool { return d.given || isClosed(d.held.Lost()) })
	for _, d := range o.desks {
		if !o.trusted(d) {
			continue
		}
		least := d.party.p.clock.until(d.until()) - o.w.now
		for _, c := range d.shares {
			o.backs(d, c, least)
		}
	}
}

// backs demands that enough servers have what a share says for another while.
func (o *office) backs(d *desk, c share, least time.Duration) {
	met := 0
	for _, place := range c.places {
		if left, known := o.left(place, c); !known || left >= least.Truncate(time.Millisecond) {
			met++
		}
	}
	if met >= c.need {
		return
	}
	if o.forgives != nil && o.forgives(d) {
		d.excused = true
		return
	}
	has := ""
	for _, place := range c.places {
		left, _ := o.left(place, c)
		n := o.home(place, c.key)
		has += fmt.Sprintf("; %d for %v: %s", place, left, resp.Inline(n.byHand(c.state(), c.key)))
	}
	o.breaks("%s relies on %s for another %v, of %s the servers have%s", d.held.Owner(), d.key, least, c.key, has)
}

// isThere tells whether all servers that an acquisition needs are known to have it.
func (o *office) isThere(d *desk) bool {
	return !slices.ContainsFunc(d.shares, func(c share) bool {
		met := 0
		for _, place := range c.places {
			if left, known := o.left(place, c); known && left >= 0 {
				met++
			}
		}
		return met < c.need
	})
}

// state is the command that shows what a share is about.
func (c share) state() string {
	if c.text {
		return "GET"
	}
	return "HGETALL"
}

// left is for how long a server has the lease of a share, negative if it has none; known is false
// while nobody serves it.
func (o *office) left(place int, c share) (left time.Duration, known bool) {
	n := o.home(place, c.key)
	if n == nil {
		return 0, false
	}
	ms := n.ttl(c.key)
	if c.text {
		if text, _, _ := n.data().String([]byte(c.key)); text != c.owner {
			return -2, true
		}
	} else {
		_, ok, _ := n.data().HashGet([]byte(c.key), []byte(c.owner))
		switch {
		case !ok:
			return -2, true
		case c.reads:
			ms = min(ms, n.ttl("{"+c.key+"}:"+c.owner+":rwlock_timeout:1"))
		}
	}
	return n.clock.until(n.clock.Mono()+time.Duration(ms)*time.Millisecond) - o.w.now, true
}
