package lockclient

import "time"

// keeper is what a client holds, and until when. The client's mutex guards it.
type keeper struct {
	holds   []*hold          // a hold's index is its place here
	lines   map[holdID]*line // of what is held, asked for, given back or in doubt
	sweepAt int              // how many lines there are when they are swept next
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

// meets tells whether locks of two spaces are at one key of a server: none of them is granted beside
// the other, and who forces the one ends the other.
func (s space) meets(by space) bool { return s == by || s <= textSpace && by <= textSpace }

// holdID names a hold.
type holdID struct {
	space      space
	key, owner string
}

// hold is what one owner has of one lock: one field of its hash, or one random value. All Held
// of the owner share it. For a named owner it is there from the first acquisition on that asks
// for it.
//
// A hold is in one of four states, in this order: asked for (it is next in its line), held (it
// has a place in keeper.holds), and then lost or given back, which is final. The client's mutex
// guards a hold.
type hold struct {
	space      space
	named      bool // somebody has asked in the owner's name, so that other holds may follow
	isLost     bool
	lossIsTold bool // lost is closed, or will be when somebody asks for it
	key, owner string
	lost       chan struct{} // closed when the hold is lost; nil: nobody has asked for it
	renewal    *renewal      // nil for a kind that the watchdog leaves alone

	held    []*Held       // granted, and not given back; when the hold is lost they stay until each is unlocked
	first   [1]*Held      // backs held: mostly there is one
	renewed int           // those that the watchdog serves
	lease   time.Duration // as the last acquisition or Extend set it
	asked   time.Duration // Mono time at which a lease was last asked for, but by the watchdog
	replied time.Duration // Mono time at which the latest Extend ended
	until   time.Duration // Mono time until which it may be relied on
	index   int           // place in keeper.holds, -1 when not there
	kept    time.Duration // how much longer than its predecessor's the owner's place in a queue was kept; 0: it had none
	round   *round        // of a Redlock: which masters were asked
	line    *line
	own     line // what line points to, unless an earlier hold of the owner had one
}

// isHeld tells whether h was granted, and is neither lost nor given back.
func (h *hold) isHeld() bool { return h.index >= 0 }

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

// add enters a hold that was granted. It follows the earlier one of its line.
func (k *keeper) add(h *hold) {
	if earlier := h.line.owing(); earlier != nil {
		h.line.doubts.mayCount(len(earlier.held))
		earlier.named = true
	}
	h.index = len(k.holds)
	k.holds = append(k.holds, h)
	h.line.hold, h.line.next = h, nil
	k.keep(h)
}

// asked returns the hold for which somebody asks in the name of an owner: the one that is held,
// or else the next one.
func (k *keeper) asked(id holdID, renewal *renewal) *hold {
	l := k.lines[id]
	switch {
	case l != nil && l.isHeld():
		l.hold.named = true
		return l.hold
	case l != nil && l.next != nil:
		return l.next
	}
	h := &hold{space: id.space, named: true, key: id.key, owner: id.owner, renewal: renewal, index: -1, line: l}
	if l == nil {
		h.line = &h.own
		k.keep(h)
	}
	h.line.next, h.line.doubts.closed = h, false
	return h
}

// keep has the line of h be found.
func (k *keeper) keep(h *hold) {
	if k.lines == nil {
		k.lines = map[holdID]*line{}
	}
	k.lines[h.id()] = h.line
}

// isClosed tells whether nobody can ask in a name now.
func (k *keeper) isClosed(id holdID, now time.Duration) bool {
	l := k.lines[id]
	return l != nil && l.doubts.closed && !l.doubts.over(now)
}

// close closes the line of h until the Mono time until. h is over, its owner was not named, and
// until then it is given back in the background: a later hold of the owner would be ended by
// that. close is false if somebody has asked in the owner's name by now.
func (k *keeper) close(h *hold, until, now time.Duration) bool {
	if k.isSucceeded(h) {
		return false
	}
	h.line.doubts.closed = true
	h.line.doubts.lasts(until)
	k.sweep(now)
	return true
}

// isSucceeded tells whether somebody has asked for a later hold in the name of h's owner.
func (k *keeper) isSucceeded(h *hold) bool {
	l := k.lines[h.id()]
	return l != nil && (l != h.line || l.hold != h || l.next != nil)
}

// forget takes out the line of h if nobody will look for it any more. Then nothing is held or
// under way there, and nothing is in doubt, or lost and not given back yet, that a later hold might
// meet.
func (k *keeper) forget(h *hold) {
	l := h.line
	settled := !l.doubts.open() && l.owing() == nil || h.space == wholeSpace
	if l.isIdle() && settled && k.lines[h.id()] == l {
		delete(k.lines, h.id())
	}
}

// sweep takes out the idle lines whose doubts are over by now. As it looks at all lines, it does
// nothing until there are twice as many as it left the last time.
func (k *keeper) sweep(now time.Duration) {
	if len(k.lines) < k.sweepAt {
		return
	}
	for id, l := range k.lines { //tidy:unordered each is looked at by itself
		if l.isIdle() && l.doubts.over(now) {
			delete(k.lines, id)
		}
	}
	k.sweepAt = 2 * max(len(k.lines), 8)
}

// remove takes a hold out; its watchdog service ends with it.
func (k *keeper) remove(h *hold) {
	if !h.isHeld() {
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
	if h.renewed == 0 && h.isHeld() {
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
