package lockclient

import (
	"errors"
	"slices"
	"time"
)

// doubts are what a client does not know about what the server has in one owner's name. They
// come from requests that failed. Such a request may have been executed. If its outcome is
// unknown (ErrUnknown), it may also be executed later. That takes no longer than WithTimeout
// from its failure on.
//
// Doubts belong to the line, not to a hold. What a hold leaves on the server is still there
// when the hold is over, and the next hold of the same owner meets it.
//
// Four things always hold:
//   - The server counts at most surplus acquisitions more than are held. Those of a lost hold
//     are surplus if its owner was named. Any other owner's Unlocks still give them back, until
//     another hold of the owner follows: then those that are left are surplus, too.
//   - Each lease that may yet come into force is in leases. It cannot cut what is sent after
//     its time.
//   - An Unlock that may yet be executed is executed by unlockBy. A hold that is asked for after
//     that is safe from it.
//   - By ends the server has ended all leases of the owner. There is one exception: the sides
//     of a RW share a key, so one side may outlast its lease while the other is held.
//
// The zero value means that nothing is in doubt. Those of a Multi mean nothing: it asks for
// nothing itself, and its members have their own. The client's mutex guards doubts.
type doubts struct {
	surplus  int32         // acquisitions that the server may count, and that are not held
	mayTake  bool          // one of the requests was an acquisition of unknown outcome
	closed   bool          // nobody can ask in the owner's name, until ends at most: see keeper.close
	leases   []lateLease   // in the order of their times
	unlockBy time.Duration // Mono time; 0: there is no such Unlock
	ends     time.Duration // Mono time
}

// lateLease is a lease that a request of unknown outcome may yet bring into force.
type lateLease struct {
	lease time.Duration
	date  time.Duration // of a permit, whose deadline is a date: Mono time of that
	by    time.Duration // Mono time until which it may come
}

// mayCount notes that the server may count more acquisitions than are held.
func (d *doubts) mayCount(more int) { d.surplus += int32(more) }

// mayLease notes a lease that may come into force. Its time is later than those of the leases
// that were noted before. So it replaces those that are not shorter, and has the earliest date of
// them: however many requests fail, few leases are left.
func (d *doubts) mayLease(late lateLease) {
	d.leases = slices.DeleteFunc(d.leases, func(one lateLease) bool {
		if one.lease < late.lease {
			return false
		}
		late.date = min(late.date, one.date)
		return true
	})
	d.leases = append(d.leases, late)
}

// mayUnlock notes that an Unlock may be executed until the Mono time by.
func (d *doubts) mayUnlock(by time.Duration) {
	d.unlockBy = by
	d.lasts(by)
}

// lasts notes that a lease may last on the server until the Mono time end.
func (d *doubts) lasts(end time.Duration) { d.ends = max(d.ends, end) }

// settled notes that the server counts nothing any more. It has said so to a request that was
// sent at the Mono time sent. An acquisition that could still come then may have come since: if
// there is one, surplus stays.
func (d *doubts) settled(sent time.Duration) {
	d.expire(sent)
	if len(d.leases) == 0 {
		d.surplus = 0
	}
}

// expire forgets the leases that cannot come any more at the Mono time at, of a request that has
// the turn: they cut nothing that is sent from then on. (A renewal from before, whose answer is
// late, counts for no more than what was sent later.) A renewal takes no turn and must not forget
// any, as what has the turn may have been sent before.
func (d *doubts) expire(at time.Duration) {
	d.leases = slices.DeleteFunc(d.leases, func(one lateLease) bool { return at > one.by })
}

// sure returns how much of a lease that was asked for at the Mono time sent can be relied on,
// whichever of leases comes. date is the same for a permit: the Mono time until which it can be
// relied on.
func (d *doubts) sure(sent, lease time.Duration) (sure, date time.Duration) {
	sure, date = lease, noEnd
	for _, one := range d.leases {
		if sent <= one.by {
			sure, date = min(sure, one.lease), min(date, one.date)
		}
	}
	return sure, date
}

// open tells whether something is in doubt, or was and nobody has looked since.
func (d *doubts) open() bool { return d.surplus > 0 || len(d.leases) > 0 || d.unlockBy > 0 || d.closed }

// over tells whether at the Mono time now the server has no lease of the owner's, and none can
// come.
func (d *doubts) over(now time.Duration) bool { return now > d.ends }

// doubtLease notes that a request in the name of h's owner has failed with err in its turn. It
// would have set the lease.
func (c *Client) doubtLease(h *hold, lease time.Duration, err error) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubt(h, lease, now, err)
}

// doubtRenewal notes that a renewal of h has failed. It cuts no lease, but may give one.
func (c *Client) doubtRenewal(h *hold) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	h.line.doubts.lasts(now + c.timeout + c.watchdog)
}

// limitLease has what is asked for now count as no more than a lease.
func (c *Client) limitLease(h *hold, lease time.Duration) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	if lease < h.lease {
		h.line.doubts.mayLease(lateLease{lease, noEnd, now})
	}
}

// doubtAcquisition is doubtLease for an acquisition. The server may count it.
func (c *Client) doubtAcquisition(h *hold, lease time.Duration, err error) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.doubt(h, lease, now, err)
	d.mayCount(1)
	d.mayTake = d.mayTake || errors.Is(err, ErrUnknown)
}

// doubtUnlock is doubtLease for an Unlock, which sets the lease of what remains. The server may
// still count what the Unlock should have given back.
func (c *Client) doubtUnlock(h *hold, lease time.Duration, err error) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubt(h, lease, now, err).mayCount(1)
}

// doubt is doubtLease with the mutex held. It returns the doubts that there are now.
func (c *Client) doubt(h *hold, lease, now time.Duration, err error) *doubts {
	d := &h.line.doubts
	if errors.Is(err, ErrUnknown) {
		d.mayLease(lateLease{lease, validity(h.asked, lease), now + c.timeout})
	}
	d.lasts(now + c.timeout + lease)
	c.keeper.sweep(now)
	return d
}

// gaveBack notes that an acquisition of h was given back in its turn, with the error err.
func (c *Client) gaveBack(h *hold, lv *leaving, err error) {
	now := c.rt.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch d := &h.line.doubts; {
	case errors.Is(err, ErrUnknown):
		d.mayUnlock(now + c.timeout)
		c.keeper.sweep(now)
	case (err == nil || err == ErrLost) && lv.left == 0 && !lv.lost:
		d.settled(lv.at)
	}
}
