package lockclient

import "time"

// keeper is what a client holds, and until when. The client's mutex guards it.
type keeper struct {
	holds   []*hold          // a hold's index is its place here
	byOwner map[holdID]*hold // nil until somebody names an owner: few do
	owed    map[holdID]*hold // ended ones of chosen names, of which the server may still count something; may be nil
	renewed int              // holds that the watchdog serves
	renewAt time.Duration    // Mono time of the next renewal, while renewed > 0
	timer   Timer            // has the client look after the holds
	set     bool             // the timer is
	lookAt  time.Duration    // Mono time at which it is due, while it is set
}

// space tells apart what may stand under one key: a hold is never taken for one of
// another space.
type space uint8

const (
	hashSpace   space = iota // owners in a hash: a Mutex and its kin, readers
	writeSpace               // writers in such a hash
	textSpace                // a text, the owner: a Simple
	permitSpace              // permits that expire
	quorumSpace              // a Redlock, on several masters
	wholeSpace               // a Multi: it has no end of its own, but those of its members
)

// isForced tells whether forcing a lock of one space ends holds of another.
func (s space) isForced(by space) bool {
	return s == by || s == hashSpace && by == writeSpace || s == writeSpace && by == hashSpace
}

// holdID names a hold.
type holdID struct {
	space      space
	key, owner string
}

// hold is what one owner has of one lock: one field of its hash, or one random
// value. All Held of one owner share it, and so do those who ask for the lock in the
// name of one owner, before there is any. The client's mutex guards it.
type hold struct {
	space      space
	named      bool // see request
	isLost     bool
	lossIsTold bool // lost is closed, or will be when somebody asks for it
	isOver     bool // all that was granted has been given back: what its owner has from now on is another hold
	mayTake    bool // an acquisition of unknown outcome may still be on its way
	key, owner string
	lost       chan struct{} // closed when the hold is lost; nil: nobody has asked for it
	renewal    *renewal      // nil for a kind that the watchdog leaves alone

	held     []*Held       // granted, and not given back
	first    [1]*Held      // backs held: mostly there is one
	renewed  int           // those that the watchdog serves
	doubtful int           // requests of unknown outcome: the server may count so many more
	lease    time.Duration // as the last acquisition or Extend set it
	late     lateLeases    // a hold that follows heeds them, too
	asked    time.Duration // Mono time at which a lease was last asked for, but by the watchdog
	until    time.Duration // Mono time until which it may be relied on
	ends     time.Duration // Mono time at which the server has ended it, whatever came into force
	index    int           // place in keeper.holds, -1 when not there
	round    *round        // of a Redlock: which masters were asked
	line     *line
	own      line // what line points to, unless an earlier hold of the owner had one
}

// id is what h is known by.
func (h *hold) id() holdID { return holdID{h.space, h.key, h.owner} }

// lostChannel is closed when the hold is lost.
func (h *hold) lostChannel() chan struct{} {
	if h.lost == nil {
		h.lost = make(chan struct{})
		if h.lossIsTold {
			close(h.lost)
		}
	}
	return h.lost
}

// add enters a hold. What the server may still count of an earlier one of its
// name is its own now: its last release settles it. So are the leases that may yet
// come into force after what was asked for at sent.
func (k *keeper) add(h *hold, sent time.Duration) {
	h.index, h.isOver = len(k.holds), false
	k.holds = append(k.holds, h)
	if k.byOwner != nil {
		k.byOwner[h.id()] = h
	}
	if earlier := k.owed[h.id()]; earlier != nil {
		h.inherit(earlier, sent)
		delete(k.owed, h.id())
	}
}

// inherit notes that what is not known of another hold of the owner goes for h, of
// which something was asked for at the Mono time sent.
func (h *hold) inherit(other *hold, sent time.Duration) {
	if other == h {
		return
	}
	h.doubtful += len(other.held) + other.doubtful
	for _, one := range other.late {
		if sent <= one.by {
			h.late.add(one)
		}
	}
}

// of returns the hold of a name, or nil.
func (k *keeper) of(id holdID) *hold {
	if k.byOwner == nil {
		k.byOwner = map[holdID]*hold{}
		for _, h := range k.holds {
			k.byOwner[h.id()] = h
		}
	}
	return k.byOwner[id]
}

// asked returns the hold of a named owner for which somebody asks: the present one,
// or one that nothing was granted to yet, which follows the earlier one in its line.
func (k *keeper) asked(id holdID, renewal *renewal) *hold {
	earlier := k.of(id)
	switch {
	case earlier == nil:
		earlier = k.owed[id]
	case !earlier.isLost && !earlier.isOver:
		return earlier
	}
	h := &hold{space: id.space, named: true, key: id.key, owner: id.owner, renewal: renewal, index: -1}
	h.line = &h.own
	if earlier != nil {
		h.line = earlier.line
	}
	k.byOwner[id] = h
	return h
}

// forget takes out the hold in whose line h is, if nobody will look for its owner any
// more: it is lost, or all that was granted has been given back, and nobody asks for it.
func (k *keeper) forget(h *hold) {
	if k.byOwner == nil || h.line.taken > 0 || h.line.pending > 0 {
		return
	}
	last := k.byOwner[h.id()]
	if last != nil && last.line == h.line && last.index < 0 && (last.isLost || len(last.held) == 0) {
		delete(k.byOwner, h.id())
	}
}

// owe notes a hold that has ended for us and perhaps not for the server, and
// forgets those whose leases have ended there by now.
func (k *keeper) owe(h *hold, now time.Duration) {
	if !h.named || h.space == wholeSpace {
		return // nothing else will be in its name, or nothing is
	}
	for id, earlier := range k.owed { //tidy:unordered each is looked at by itself
		if now > max(earlier.ends, earlier.late.by()) && earlier.line.taken == 0 {
			delete(k.owed, id)
		}
	}
	if earlier := k.owed[h.id()]; earlier != nil { // and h has had nothing, or it would have inherited
		earlier.inherit(h, now)
		earlier.ends = max(earlier.ends, h.ends)
		return
	}
	if k.owed == nil {
		k.owed = map[holdID]*hold{}
	}
	k.owed[h.id()] = h
}

// remove takes a hold out; its watchdog service ends with it.
func (k *keeper) remove(h *hold) {
	if h.index < 0 {
		return
	}
	last := k.holds[len(k.holds)-1]
	k.holds[h.index], last.index = last, h.index
	k.holds = k.holds[:len(k.holds)-1]
	h.index = -1
	k.forget(h)
	if h.renewed > 0 {
		k.renewed--
	}
}

// serve has the watchdog serve one more acquisition of h, first at the Mono time at.
func (k *keeper) serve(h *hold, at time.Duration) {
	h.renewed++
	if h.renewed > 1 {
		return
	}
	k.renewed++
	if k.renewed == 1 {
		k.renewAt = at
	}
}

// unserve ends the service of one acquisition of h.
func (k *keeper) unserve(h *hold) {
	h.renewed--
	if h.renewed == 0 && h.index >= 0 {
		k.renewed--
	}
}

// sooner sets the timer for h, unless it is due early enough.
func (k *keeper) sooner(h *hold) {
	at := h.until
	if k.renewed > 0 {
		at = min(at, k.renewAt)
	}
	if !k.set || at < k.lookAt {
		k.set, k.lookAt = true, at
		k.timer.Set(at)
	}
}

// rest stops the timer if nothing is held.
func (k *keeper) rest() {
	if len(k.holds) == 0 && k.set {
		k.set = false
		k.timer.Stop()
	}
}

// due returns the holds that end by now, in the order of holds, and sets the
// timer for the others.
func (k *keeper) due(now time.Duration) (ended []*hold) {
	k.set = false
	for _, h := range k.holds {
		if h.until <= now {
			ended = append(ended, h)
		} else {
			k.sooner(h)
		}
	}
	return ended
}
