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

// holdID names a hold.
type holdID struct{ key, owner string }

// hold is what one owner has of one lock: one field of its hash, or one random
// value. All Held of one owner share it. The client's mutex guards it.
type hold struct {
	key, owner string
	named      bool          // see request
	composed   bool          // of a Multi: it has no end of its own, but those of its members
	lost       chan struct{} // closed when the hold is lost; nil: nobody has asked for it
	renewal    *renewal      // nil for a kind that the watchdog leaves alone

	held     []*Held
	first    [1]*Held      // backs held: mostly there is one
	count    int           // acquisitions, those under way included
	renewed  int           // those that the watchdog serves
	doubtful int           // requests of unknown outcome: the server may count so many more
	lease    time.Duration // as the last acquisition or Extend set it
	until    time.Duration // Mono time until which it may be relied on
	isLost   bool
	index    int    // place in keeper.holds, -1 when not there
	round    *round // of a Redlock: which masters were asked
}

// name is what h is known by.
func (h *hold) name() holdID { return holdID{h.key, h.owner} }

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
		k.byOwner[h.name()] = h
	}
	if earlier := k.owed[h.name()]; earlier != nil {
		h.doubtful += earlier.count + earlier.doubtful
		delete(k.owed, h.name())
	}
}

// of returns the hold of a name, or nil.
func (k *keeper) of(id holdID) *hold {
	if k.byOwner == nil {
		k.byOwner = map[holdID]*hold{}
		for _, h := range k.holds {
			k.byOwner[h.name()] = h
		}
	}
	return k.byOwner[id]
}

// owe notes a hold that has ended for us and perhaps not for the server, and
// forgets those whose leases have ended there by now.
func (k *keeper) owe(h *hold, now time.Duration) {
	if !h.named {
		return // nothing else will be in its name
	}
	for name, earlier := range k.owed { //tidy:unordered each is looked at by itself
		if now > earlier.until+earlier.lease {
			delete(k.owed, name)
		}
	}
	if k.owed == nil {
		k.owed = map[holdID]*hold{}
	}
	k.owed[h.name()] = h
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
	if k.byOwner[h.name()] == h {
		delete(k.byOwner, h.name())
	}
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
