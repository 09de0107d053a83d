package sim

import (
	"slices"

	"minikv/internal/resp"
)

// lending is what has become of a session that is lent.
type lending uint8

const (
	placeFree lending = iota
	placeLent
	placeClosed // its client has given up waiting for an answer
)

// borrow returns the place of a session that nobody else uses.
func (c *conn) borrow() int {
	if c.lent == nil {
		c.lent = &[]lending{}
	}
	i := slices.Index(*c.lent, placeFree)
	if i < 0 {
		i = len(*c.lent)
		*c.lent = append(*c.lent, placeFree)
	}
	(*c.lent)[i] = placeLent
	return firstLent + i
}

// giveBack ends a borrowing. One whose answer is still awaited is never lent again.
func (c *conn) giveBack(place int) {
	if now := &(*c.lent)[place-firstLent]; *now == placeLent {
		*now = placeFree
	}
}

// closeLater has a session that is lent be closed when a request over it has got no answer
// for too long: one that comes then finds nobody.
func (c *conn) closeLater(k *call, place int) *timer {
	return c.p.after(c.p.clock.Mono()+readTimeout, func() {
		(*c.lent)[place-firstLent] = placeClosed
		c.finish(k, resp.Value{}, errReset)
	})
}
