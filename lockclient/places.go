package lockclient

import (
	"slices"
	"time"
)

// places are what few may have at a time, and who waits for one, in order. The client's
// mutex guards them.
type places struct {
	taken   int
	waiting []Gate
}

// take takes a place if fewer than most are taken; if not, the gate, unless it is nil,
// opens when one has come.
func (p *places) take(most int, gate Gate) (mine bool) {
	switch {
	case p.taken < most:
		p.taken++
		return true
	case gate != nil:
		p.waiting = append(p.waiting, gate)
	}
	return false
}

// stepOut ends the wait for a place; mine tells that it has come in the meantime.
func (p *places) stepOut(gate Gate) (mine bool) {
	i := slices.Index(p.waiting, gate)
	if i < 0 {
		return true
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return false
}

// leave gives up a place, and takes those that are free then, of most, for who has
// waited longest: their gates are to be opened.
func (p *places) leave(most int) (next []Gate) {
	p.taken--
	for p.taken < most && len(p.waiting) > 0 {
		p.taken++
		next = append(next, p.waiting[0])
		p.waiting = p.waiting[1:]
	}
	return next
}

// repeats are the requests that are sent again in the background: one at a time, and
// after each that was done soon one more at a time. Where replies take longer than
// WithTimeout every outcome is unknown, and what is repeated after all of them would have
// all connections; what a short disturbance has left is done at once when it is over.
type repeats struct {
	places
	more int // how many beside the first
}

// again runs f, which repeats a request in the background, when its turn has come, unless
// that is later than the Mono time until. The error tells that the client is closed.
func (c *Client) again(until time.Duration, f func()) error {
	r, gate := &c.repeats, c.rt.NewGate()
	c.mu.Lock()
	mine := r.take(1+r.more, gate)
	c.mu.Unlock()
	if !mine {
		var closed error
		if mine, closed = gate.Wait(c.base, max(0, until-c.rt.Mono())); closed != nil {
			return closed // nobody repeats anything any more
		}
	}
	begun := c.rt.Mono()
	if mine {
		f()
	}
	soon := c.rt.Mono()-begun < c.timeout/4
	var next []Gate
	c.mu.Lock()
	if mine || r.stepOut(gate) {
		next = r.leave(soon)
	}
	c.mu.Unlock()
	for _, gate := range next {
		gate.Open()
	}
	return nil
}

// leave gives up a turn that took a short time, or a long one.
func (r *repeats) leave(soon bool) (next []Gate) {
	r.more++
	if !soon || r.taken == 1 && len(r.waiting) == 0 {
		r.more = 0
	}
	return r.places.leave(1 + r.more)
}
