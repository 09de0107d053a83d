// What the tasks of TestSeveralServers do: they lock, re-enter, extend, unlock, and work with Do. No error is
// undocumented, no call waits for too long, a lease is not shorter than it must be, and what was given
// back is not on the servers any more.

package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"minikv/lockclient"
)

// work is what one task does.
func (r *severalRun) work(who string, pt *party, name string) {
	var mine []*desk
	for range 4 + r.draw(8)*int(1200*time.Millisecond/max(r.pace, 300*time.Millisecond)) {
		pt.sleep(r.within(r.pace))
		if r.broken != "" {
			return
		}
		switch action := r.draw(20); {
		case action < 8 || len(mine) == 0:
			if d := r.take(who, pt, name, mine); d != nil {
				mine = append(mine, d)
			}
		case action < 12:
			r.extend(who, pt, mine[r.draw(len(mine))])
		case action == 12:
			r.do(who, pt, name)
		default:
			i := r.draw(len(mine))
			r.giveBack(who, pt, mine[i])
			if r.draw(3) == 0 {
				r.afterwards(who, pt, mine[i])
			}
			mine = slices.Delete(mine, i, i+1)
		}
		r.look()
	}
	for _, d := range slices.Backward(mine) {
		r.giveBack(who, pt, d)
	}
}

// order is one call of Lock.
type order struct {
	who    string
	pt     *party
	deal   *deal
	name   string        // of the owner
	lease  time.Duration // 0: it is not fixed
	wait   time.Duration
	limit  time.Duration // of the context, negative: none
	inside *desk
	opts   []lockclient.LockOption
}

// order draws what to ask for, perhaps within what the task has.
func (r *severalRun) order(who string, pt *party, name string, mine []*desk) *order {
	of := r.offers[r.draw(len(r.offers))]
	q := &order{who: who, pt: pt, deal: r.deal(pt, of), limit: -1}
	q.wait = r.within(3*time.Second) * time.Duration(r.draw(2))
	q.opts = append(q.opts, lockclient.Wait(q.wait))
	if r.draw(8) == 0 {
		name = r.anyOwner(pt)
	}
	if name != "" && r.draw(8) > 0 {
		q.name, r.shared[name] = name, true
		q.opts = append(q.opts, lockclient.As(name))
	}
	if r.leases && r.draw(2) == 0 {
		q.lease = r.lease()
		q.opts = append(q.opts, lockclient.Lease(q.lease))
	}
	if r.draw(3) == 0 {
		limit := []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second}[r.draw(3)]
		q.opts = append(q.opts, lockclient.NodeTimeout(limit))
	}
	if len(mine) > 0 && r.draw(3) > 0 {
		q.inside = mine[r.draw(len(mine))]
		for _, s := range q.inside.shares {
			r.shared[ownerOf(s.owner)] = true // who reads there has it
		}
	}
	if r.draw(6) == 0 {
		q.limit = r.within(2 * time.Second)
	}
	return q
}

// take asks for a lock.
func (r *severalRun) take(who string, pt *party, name string, mine []*desk) *desk {
	q := r.order(who, pt, name, mine)
	itself := q.waitsForItself()
	d, err := r.lock(q, func(ctx context.Context) (*lockclient.Held, error) {
		if q.wait == 0 && len(q.opts)%2 == 0 {
			return q.deal.lock.TryLock(ctx, q.opts...)
		}
		return q.deal.lock.Lock(ctx, q.opts...)
	})
	if err != nil {
		r.refuses(q, err)
	}
	if itself && !errors.Is(err, lockclient.ErrDeadlock) {
		r.breaks("%s has %s, and asking for it again returned %v", who, q.deal.of, err)
	}
	return d
}

// waitsForItself tells whether an order is for a Redlock that its task has by its context.
func (q *order) waitsForItself() bool {
	of := q.deal.of
	return of.kind != "multi" && q.inside != nil && q.inside.relies() &&
		slices.ContainsFunc(q.inside.shares, func(s share) bool {
			return s.quorum && s.key == of.key && slices.Equal(s.places, of.sites)
		})
}

// lock asks by a call, and enters what that has got.
func (r *severalRun) lock(q *order, call func(ctx context.Context) (*lockclient.Held, error)) (*desk, error) {
	ctx, inside := q.pt.root, ""
	if q.inside != nil {
		inside, ctx = " inside "+q.inside.key, q.inside.held.In(ctx)
	}
	if q.limit >= 0 {
		limited, cancel := q.pt.rt.WithDeadline(ctx, q.pt.rt.Mono()+q.limit)
		defer cancel()
		ctx = limited
	}
	r.note("%s asks for %s as %q%s, waits %v, limit %v", q.who, q.deal.of, q.name, inside, q.wait, q.limit)
	task, asked := r.w.running, r.w.now
	r.takers[task] = map[string]string{}
	defer delete(r.takers, task)
	held, err := call(ctx)
	r.inTime(q, asked)
	if err != nil {
		r.note("%s: %v", q.who, err)
		return nil, err
	}
	return r.has(q, held), nil
}

// has enters what was got.
func (r *severalRun) has(q *order, held *lockclient.Held) *desk {
	d := &desk{party: q.pt, held: held, key: q.deal.of.String(), ahead: q.deal.ahead,
		shares: q.deal.shares(held.Owner(), r.takers[r.w.running])}
	r.note("%s has %s as %s until %v", q.who, d.key, held.Owner(), d.until())
	for _, s := range d.shares {
		if s.owner == "" {
			r.breaks("nobody has heard of the owner of %s at %v", s.key, s.places)
		}
		if q.name != "" && !s.quorum && ownerOf(s.owner) != ownerOf(q.name) {
			r.breaks("%s was asked for as %s, and is %s's", s.key, q.name, s.owner)
		}
	}
	if q.deal.of.kind != "multi" && d.until() <= q.pt.rt.Mono() {
		r.breaks("%s was granted when it was over", d.key)
	}
	r.lasts(q, d)
	r.sits(d)
	return d
}

// lasts demands that where all goes well no more of a lease is gone than a quarter, which a Multi may
// have waited, and the time of its requests; and that a lock has no longer lease than it was asked for.
func (r *severalRun) lasts(q *order, d *desk) {
	of, left := q.deal.of, d.until()-q.pt.rt.Mono()
	if told := d.held.Left(); told != max(0, left) {
		r.breaks("%s is left for %v, and until %v", d.key, told, d.until())
	}
	if q.lease == 0 || q.name != "" || q.inside != nil {
		return
	}
	least := q.lease*74/100 - time.Duration(len(of.members))*12*time.Millisecond - 12*time.Millisecond
	if left > q.lease || left < least && !r.isFaulty() && !of.has("redlock", "hash") {
		r.breaks("%s was asked for with a lease of %v, of which %v is left, less than %v", of, q.lease, left, least)
	}
}

// inTime demands that a call has not waited for longer than it may.
func (r *severalRun) inTime(q *order, asked time.Duration) {
	took := r.w.now - max(asked, q.pt.woken)
	n := len(q.deal.of.members) + 1
	if most := q.wait + time.Duration(4*n)*requestTimeout; took > most {
		r.breaks("%s has waited %v for %s, with a wait of %v", q.who, took, q.deal.of, q.wait)
	}
}

// refuses demands that an error of Lock is documented.
func (r *severalRun) refuses(q *order, err error) {
	documented := []error{lockclient.ErrNotAcquired}
	if r.closed {
		documented = append(documented, lockclient.ErrClosed)
	}
	if q.limit >= 0 {
		documented = append(documented, context.DeadlineExceeded)
	}
	of := q.deal.of
	if q.limit < 0 && errors.Is(err, context.Canceled) {
		r.breaks("nobody has cancelled anything, and Lock of %s returned %v", of, err)
	}
	if of.kind == "multi" {
		documented = append(documented, lockclient.ErrDeadlock, lockclient.ErrLost)
		if r.isFaulty() {
			documented = append(documented, lockclient.ErrUnknown, lockclient.ErrNotSent)
		}
		r.expects(err, "Lock", documented...)
		return
	}
	if q.inside != nil {
		documented = append(documented, lockclient.ErrDeadlock, lockclient.ErrLost)
	}
	if !isAny(err, documented...) {
		r.breaks("Lock of %s returned %v", of, err)
	}
	quorum, ok := errors.AsType[*lockclient.QuorumError](err)
	if !ok {
		return
	}
	agreed := 0
	for _, n := range quorum.Nodes {
		if n.OK {
			agreed++
		}
	}
	n := len(of.sites)
	if quorum.Need != n/2+1 || quorum.Got != agreed || agreed >= quorum.Need || len(quorum.Nodes) != n {
		r.breaks("Lock of %s returned %+v", of, *quorum)
	}
}

// isFaulty tells whether requests may fail.
func (r *severalRun) isFaulty() bool { return r.fates > 0 || len(r.troubles) > 0 }

func (r *severalRun) extend(who string, pt *party, d *desk) {
	lease, ctx := r.lease(), pt.root
	documented := r.faults(lockclient.ErrLost)
	if r.draw(6) == 0 {
		limited, cancel := pt.rt.WithDeadline(ctx, pt.rt.Mono()+r.within(500*time.Millisecond))
		defer cancel()
		ctx, documented = limited, append(documented, context.DeadlineExceeded)
	}
	r.note("%s extends %s by %v", who, d.key, lease)
	err := d.held.Extend(ctx, lease)
	r.note("%s extends %s: %v, until %v", who, d.key, err, d.until())
	r.expects(err, "Extend", documented...)
}

// faults are errors that are documented, with those that faults bring.
func (r *severalRun) faults(documented ...error) []error {
	if r.isFaulty() {
		documented = append(documented, lockclient.ErrUnknown, lockclient.ErrNotSent)
	}
	return documented
}

func (r *severalRun) giveBack(who string, pt *party, d *desk) {
	d.given = true
	r.note("%s gives %s back", who, d.key)
	err := d.held.Unlock(pt.root)
	r.note("%s gives %s back: %v", who, d.key, err)
	r.expects(err, "Unlock", r.faults(lockclient.ErrLost)...)
	if err == nil {
		r.isGiven(d)
	}
}

// isGiven demands that what was given back is not on the servers any more, unless others may have
// it in the same name: a quorum of a Redlock may be late there.
func (r *severalRun) isGiven(d *desk) {
	for _, s := range d.shares {
		n := 0
		for _, place := range s.places {
			if left, _ := r.left(place, s); left >= 0 {
				n++
			}
		}
		if !r.shared[ownerOf(s.owner)] && n > len(s.places)-s.need {
			r.breaks("%s was given back, and %d servers still have it", s.key, n)
		}
	}
}

// afterwards uses what was given back.
func (r *severalRun) afterwards(who string, pt *party, d *desk) {
	again, extended := d.held.Unlock(pt.root), d.held.Extend(pt.root, time.Second)
	if !errors.Is(again, lockclient.ErrNotHeld) || !errors.Is(extended, lockclient.ErrNotHeld) {
		r.breaks("%s has given %s back; another Unlock returned %v, and Extend %v", who, d.key, again, extended)
	}
}

// do does something while it holds a lock.
func (r *severalRun) do(who string, pt *party, name string) {
	q := r.order(who, pt, name, nil)
	var d *desk
	busy := fmt.Errorf("busy")
	var done error
	_, refused := r.lock(q, func(ctx context.Context) (held *lockclient.Held, err error) {
		done = q.deal.lock.Do(ctx, func(ctx context.Context, h *lockclient.Held) error {
			d = r.has(q, h)
			pt.sleep(r.within(900 * time.Millisecond))
			pt.sleep(time.Millisecond) // who has stood still learns what has ended meanwhile
			// At the instant of its end that may be told next.
			isOver := d.until() < pt.rt.Mono() || isClosed(d.held.Lost())
			if ctx.Err() == nil && isOver {
				r.breaks("%s relies on %s no longer, and its context goes on", who, d.key)
			}
			d.given = true
			return busy
		}, q.opts...)
		return nil, done
	})
	switch {
	case d == nil:
		r.refuses(q, refused)
	case !errors.Is(done, busy):
		r.breaks("Do returned %v", done)
	}
}
