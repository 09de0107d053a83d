// What the tasks of TestNamedOwners and TestMovingServers do, and what each call may answer.

package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"minikv/lockclient"
)

// lock names a lock, and tells what sort of share one has of it.
func (o *ownersRun) lock(c *lockclient.Client, key string) (l *lockclient.Lock, sort share) {
	switch o.kind {
	case "multi":
		return lockclient.Multi(c.Mutex(key), c.Fair(key+"'")), sort
	case "mixed":
		return o.mixed(c, key)
	}
	return o.sorted(c, o.kind, key)
}

// sorted is lock for one kind.
func (o *ownersRun) sorted(c *lockclient.Client, kind, key string) (l *lockclient.Lock, sort share) {
	l, sort.reads = o.named(c, kind, key)
	sort.text = kind == "simple"
	return l, sort
}

// mixed names a lock as one of those that exclude each other.
func (o *ownersRun) mixed(c *lockclient.Client, key string) (l *lockclient.Lock, sort share) {
	switch n := o.draw(12); {
	case n < 3:
		return o.sorted(c, "rw", key)
	case n == 3 && !o.calm() && o.servers.troubles == nil: // its lease ends, and no replica is asked for it
		return o.sorted(c, "simple", key)
	}
	all := []*lockclient.Lock{
		c.Mutex(key), c.Mutex(key), c.Fair(key), c.Fair(key), c.Fenced(key), c.Spin(key), c.NonReentrant(key),
		c.NonReentrantFair(key), lockclient.Multi(c.Mutex(key), c.Fair(key+"'")),
		lockclient.Multi(c.Fair(key), c.Spin(key+"'")),
	}
	return all[o.draw(len(all))], sort
}

// work is what one task does.
func (o *ownersRun) work(who string, pt *party, name string) {
	var mine []*desk
	for range 4 + o.draw(10) {
		pt.sleep(o.within(1500 * time.Millisecond))
		if o.broken != "" {
			return
		}
		switch action := o.draw(20); {
		case action < 8 || len(mine) == 0:
			if d := o.take(who, pt, name, mine); d != nil {
				mine = append(mine, d)
			}
		case action < 12:
			o.extend(who, mine[o.draw(len(mine))])
		case action == 12 && o.forces:
			o.force(who, pt)
		case action == 13:
			o.inquire(who, mine[o.draw(len(mine))])
		default:
			i := o.draw(len(mine))
			o.giveBack(who, mine[i])
			mine = slices.Delete(mine, i, i+1)
		}
		o.look()
	}
	for _, d := range slices.Backward(mine) {
		o.giveBack(who, d)
	}
}

// application is what a task asks for.
type application struct {
	who   string
	party *party
	lock  *lockclient.Lock
	key   string
	sort  share
	asked time.Duration
	floor uint64 // of the token
}

// take asks for a lock, perhaps within what the task has.
func (o *ownersRun) take(who string, pt *party, name string, mine []*desk) *desk {
	a := &application{who: who, party: pt, key: []string{"a", "a", "b"}[o.draw(3)]}
	a.lock, a.sort = o.lock(pt.client(), a.key)
	ctx, wait := pt.root, o.within(3*time.Second)*time.Duration(o.draw(2))
	opts := []lockclient.LockOption{lockclient.Wait(wait)}
	if len(mine) == 0 && o.draw(4) == 0 { // else two might wait for each other
		opts, wait = nil, -1
	}
	if o.draw(8) == 0 {
		name = o.anyOwner(pt)
	}
	if name != "" && o.draw(8) > 0 {
		opts = append(opts, lockclient.As(name))
	}
	if o.leases && o.draw(2) == 0 {
		opts = append(opts, lockclient.Lease(o.lease()))
	}
	inside := ""
	if len(mine) > 0 && o.draw(3) > 0 {
		outer := mine[o.draw(len(mine))]
		inside, ctx = " inside "+outer.key, outer.held.In(ctx)
	}
	if o.draw(6) == 0 && !o.calm() {
		limited, cancel := pt.rt.WithDeadline(ctx, pt.rt.Mono()+o.within(2*time.Second))
		defer cancel()
		ctx = limited
	}
	o.note("%s asks for %s as %q (reads: %v)%s, waits %v", who, a.key, name, a.sort.reads, inside, wait)
	a.asked, a.floor = o.w.now, o.highest[a.key]
	x := &waiter{a.key, o.w.now}
	o.waiting = append(o.waiting, x)
	leave := func() { o.waiting = slices.DeleteFunc(o.waiting, func(other *waiter) bool { return other == x }) }
	if o.draw(6) == 0 {
		o.does(ctx, a, opts, leave)
		return nil
	}
	held, err := a.lock.Lock(ctx, opts...)
	leave()
	if err != nil {
		o.note("%s: %v", who, err)
		o.expects(err, "Lock", lockErrors...)
		if wait < 0 && ctx.Err() == nil {
			o.insisted(err, "Lock", a.asked)
		}
		return nil
	}
	return o.seat(a, held)
}

// lockErrors are errors of Lock.
var lockErrors = []error{lockclient.ErrNotAcquired, lockclient.ErrUnknown, lockclient.ErrNotSent, lockclient.ErrLost,
	lockclient.ErrDeadlock, context.DeadlineExceeded}

// does works with a lock that it takes and gives back: while it may rely on it, it can go on.
func (o *ownersRun) does(ctx context.Context, a *application, opts []lockclient.LockOption, leave func()) {
	err := a.lock.Do(ctx, func(inside context.Context, held *lockclient.Held) error {
		leave()
		d := o.seat(a, held)
		_, ended := a.party.rt.NewGate().Wait(inside, o.within(2*time.Second))
		if ended != nil && ctx.Err() == nil && d.relies() {
			o.breaks("the work with %s of %s ends with %v", a.key, held.Owner(), context.Cause(inside))
		}
		if ended == nil && inside.Err() == nil && !d.relies() && held.Until() != a.party.rt.Mono() { // at once is soon enough
			o.breaks("the work with %s of %s goes on", a.key, held.Owner())
		}
		o.look()
		d.given = true
		o.note("%s is done with %s", a.who, a.key)
		return nil
	}, opts...)
	leave()
	o.note("%s has done with %s: %v", a.who, a.key, err)
	o.expects(err, "Do", lockErrors...)
}

// seat enters an acquisition.
func (o *ownersRun) seat(a *application, held *lockclient.Held) *desk {
	has := share{places: []int{0}, need: 1, key: a.key, owner: held.Owner(), reads: a.sort.reads, text: a.sort.text}
	d := &desk{party: a.party, held: held, key: a.key, shares: []share{has}, asked: a.asked,
		excused: a.key == "a" && a.asked <= o.forced}
	o.note("%s has %s as %s until %v", a.who, a.key, held.Owner(), held.Until())
	for _, other := range o.desks {
		if other.key == a.key && ownerOf(other.held.Owner()) == ownerOf(held.Owner()) && other.relies() {
			d.asked = min(d.asked, other.asked)
		}
	}
	o.sits(d)
	if o.kind == "fenced" {
		o.fence(a, d)
	}
	return d
}

// fence demands that tokens grow, unless a failover has forgotten some.
func (o *ownersRun) fence(a *application, d *desk) {
	token, _ := d.held.Token()
	if o.servers.loses && !o.keeps() && o.forgot > 0 {
		return
	}
	bare := o.isBare(d)
	switch {
	case o.servers.loses && bare:
	case token <= a.floor:
		o.breaks("%s has %s with token %d, and before it there was %d", d.held.Owner(), a.key, token, a.floor)
	case o.tokens[a.key][token]:
		o.breaks("%s has %s with token %d, as somebody had before", d.held.Owner(), a.key, token)
	}
	if o.tokens[a.key] == nil {
		o.tokens[a.key] = map[uint64]bool{}
	}
	if !o.servers.loses || !bare {
		o.tokens[a.key][token] = true
		o.highest[a.key] = max(o.highest[a.key], token)
	}
}

func (o *ownersRun) extend(who string, d *desk) {
	lease := o.lease()
	o.note("%s extends %s by %v", who, d.key, lease)
	err := d.held.Extend(d.party.root, lease)
	o.note("%s extends %s: %v", who, d.key, err)
	o.expects(err, "Extend", lockclient.ErrLost, lockclient.ErrUnknown, lockclient.ErrNotSent)
}

// single names a lock as one that can be asked about, and forced.
func (o *ownersRun) single(c *lockclient.Client, key string) *lockclient.Lock {
	if o.kind == "mixed" {
		l, _ := o.named(c, []string{"mutex", "fair", "spin"}[o.draw(3)], key)
		return l
	}
	l, _ := o.lock(c, key)
	return l
}

// inquire asks whether the owner has what the task may rely on.
func (o *ownersRun) inquire(who string, d *desk) {
	if o.kind == "multi" {
		return
	}
	l := o.single(d.party.client(), d.key)
	trusted := o.trusted(d)
	has, err := l.HeldBy(d.party.root, d.held.Owner())
	o.note("%s asks whether %s has %s: %v %v", who, d.held.Owner(), d.key, has, err)
	o.expects(err, "HeldBy", lockclient.ErrUnknown, lockclient.ErrNotSent)
	if o.look(); err == nil && !has && trusted && o.trusted(d) && o.kind != "rw" {
		o.breaks("%s relies on %s, and is said not to have it", d.held.Owner(), d.key)
	}
}

func (o *ownersRun) giveBack(who string, d *desk) {
	d.given = true
	o.note("%s gives %s back", who, d.key)
	asked := o.w.now
	err := d.held.Unlock(d.party.root)
	o.note("%s gives %s back: %v", who, d.key, err)
	o.expects(err, "Unlock", lockclient.ErrLost, lockclient.ErrUnknown, lockclient.ErrNotSent)
	o.insisted(err, "Unlock", asked)
}

// insisted demands that what a cluster refuses is repeated for nearly as long as a request may take,
// and that the way to the right server is found by then, where all that happens is that slots move.
func (o *ownersRun) insisted(err error, op string, asked time.Duration) {
	const nearly, recovers = requestTimeout / 2, 4 * time.Second
	var refused *lockclient.ServerError
	if !errors.As(err, &refused) {
		return
	}
	word, _, _ := strings.Cut(refused.Text, " ")
	switch {
	case !slices.Contains([]string{"ASK", "CLUSTERDOWN", "MOVED", "TRYAGAIN"}, word):
	case o.w.now < asked+nearly:
		o.breaks("%s gives up after %v: %v", op, o.w.now-asked, err)
	case (word == "ASK" || word == "MOVED") && o.w.now > o.hurt+recovers:
		o.breaks("%s does not find the way: %v", op, err)
	}
}

// force forces a lock: holders of other clients learn of it late, and so do all where
// the answer is lost.
func (o *ownersRun) force(who string, pt *party) {
	l := o.single(pt.client(), "a")
	o.forcing++
	o.note("%s forces a", who)
	freed, err := l.ForceUnlock(pt.root)
	o.note("%s forces a: %v %v", who, freed, err)
	o.expects(err, "ForceUnlock", lockclient.ErrUnknown, lockclient.ErrNotSent)
	if err != nil {
		pt.rt.Go(func() { // it may yet arrive
			pt.sleep(requestTimeout)
			o.excuse()
		})
		return
	}
	o.excuse()
}

// excuse excuses those who had the lock while it was forced.
func (o *ownersRun) excuse() {
	o.forcing--
	o.forced = o.w.now
	for _, d := range o.desks {
		d.excused = d.excused || d.key == "a" && d.relies()
	}
}
