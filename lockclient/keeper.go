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
	late       bool // an acquisition of unknown outcome may still be on its way
	key, owner string
	lost       chan struct{} // closed when the hold is lost; nil: nobody has asked for it
	renewal    *renewal      // nil for a kind that the watchdog leaves alone

	held     []*Held       // granted, and not unlocked
	first    [1]*Held      // backs held: mostly there is one
	pending  int           // acquisitions under way
	leaving  int           // those of them that are giving up
	count    int           // granted, and not given back
	renewed  int           // those that the watchdog serves
	doubtful int           // requests of unknown outcome: the server may count so many more
	lease    time.Duration // as the last acquisition or Extend set it
	least    time.Duration // the shortest that a request of unknown outcome may yet bring into force; 0: none may
	until    time.Duration // Mono time until which it may be relied on
	ends     time.Duration // Mono time at which the server has ended it, whatever came into force
	index    int           // place in keeper.holds, -1 when not there
	round    *round        // of a Redlock: which masters were asked
	line     line
}

// id is what h is known by.
func (h *hold) id() holdID { return holdID{h.space, h.key, h.owner} }

// lostChannel is closed when the hold is lost.
func (h *hold) lostChannel() chan struct{} {
	if h.lost == nil {
		h.lost = make(chan struct{})
		if h.isLost {
			close(h.lost)
		}
	}
	return h.lost
}

// add enters a hold. What the server may still count of an earlier one of its
// name is its own now: its last release settles it.
func (k *keeper) add(h *hold) {
	h.index = len(k.holds)
	k.holds = append(k.holds, h)
	if k.byOwner != nil {
		k.byOwner[h.id()] = h
	}
	if earlier := k.owed[h.id()]; earlier != nil {
		if earlier != h {
			h.doubtful += earlier.count + earlier.doubtful
		}
		delete(k.owed, h.id())
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

// asked enters a hold of a named owner that nothing was granted to yet.
func (k *keeper) asked(h *hold) {
	h.index = -1
	k.byOwner[h.id()] = h
}

// forget takes out a hold by which nobody will look for its owner any more.
func (k *keeper) forget(h *hold) {
	if k.byOwner[h.id()] == h && (h.isLost || h.index < 0 && h.pending == 0) {
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
		if now > earlier.ends {
			delete(k.owed, id)
		}
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
