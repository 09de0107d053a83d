// What TestSeveralServers demands when the faults have ended: everybody is served, in time and at once where
// somebody gives back; a lock ends with the lease of its Extend, and is lost with what servers remove; and
// nothing is left of what was given back.

package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikv/lockclient"
)

// audit looks at what is left when the faults have ended.
func (r *severalRun) audit() {
	r.note("the faults have ended")
	if r.draw(2) == 0 {
		r.everythingIsServed()
	} else {
		r.auditor.sleep(8 * time.Second)
		if !r.quits {
			r.isGivenBack()
		}
		if r.gaveUp || r.quits { // whoever asks ends the places of waiters who could not tell that they left
			r.everythingIsServed()
		}
	}
	r.auditor.sleep(2*longestLease + 30*time.Second)
	r.nothingIsLeft("redisson_lock_token")
	for i := 0; i < len(r.offers) && r.broken == ""; i++ {
		r.contend(r.offers[i])
		r.handOver(r.offers[i])
		r.waitsForOne(r.offers[i])
		r.areUnsupported(r.deal(r.parties[0], r.offers[i]).lock)
	}
	if r.broken == "" {
		r.party(func(pt *party) { r.prolongs(pt, r.offers[r.draw(len(r.offers))]) })
		r.party(func(pt *party) { r.isEvicted(pt, r.offers[r.draw(len(r.offers))]) })
	}
}

// party has a party do something, and waits for the end of that.
func (r *severalRun) party(does func(pt *party)) {
	pt := r.parties[r.draw(len(r.parties))]
	r.busy++
	pt.p.spawn(func() {
		does(pt)
		r.busy--
	})
	r.await()
}

// everythingIsServed has somebody ask for all that is offered: it gets that when what was left
// has ended.
func (r *severalRun) everythingIsServed() {
	for i, of := range r.offers {
		bound := longestLease + watchdogLease + 3*time.Second
		if of.has("fair") || of.isMixed() {
			bound *= 3
		}
		r.hold(fmt.Sprintf("heir %d", i), r.parties[r.draw(len(r.parties))], of, bound, 10*time.Millisecond)
	}
	r.await()
}

// await lets everybody finish.
func (r *severalRun) await() {
	for r.busy > 0 && r.broken == "" {
		r.auditor.sleep(100 * time.Millisecond)
		r.look()
	}
}

// hold has a party take what is offered within a bound, and give it back after a while.
func (r *severalRun) hold(who string, pt *party, of *offer, bound, while time.Duration) {
	q := &order{who: who, pt: pt, deal: r.deal(pt, of), limit: bound, wait: bound}
	r.busy++
	pt.p.spawn(func() {
		defer func() { r.busy-- }()
		if d := r.gets(q); d != nil {
			pt.sleep(while)
			r.giveBack(who, pt, d)
		}
	})
}

// gets takes what can be taken, unless it holds itself up.
func (r *severalRun) gets(q *order) *desk {
	d, err := r.lock(q, func(ctx context.Context) (*lockclient.Held, error) { return q.deal.lock.Lock(ctx, q.opts...) })
	if err != nil && !errors.Is(err, lockclient.ErrDeadlock) {
		r.breaks("%s has not got %s within %v: %v", q.who, q.deal.of, q.wait, err)
	}
	return d
}

// prolongs has a lock end with the lease that Extend has given it, and not before.
func (r *severalRun) prolongs(pt *party, of *offer) {
	lease := []lockclient.LockOption{lockclient.Lease(2 * time.Second)}
	d := r.gets(&order{who: "patron", pt: pt, deal: r.deal(pt, of), limit: -1, wait: time.Second, opts: lease})
	if d == nil {
		return
	}
	for _, longer := range []time.Duration{time.Second, 5 * time.Second} {
		pt.sleep(50 * time.Millisecond) // an Extend that a master has not answered yet limits the next one
		asked := pt.rt.Mono()
		err := d.held.Extend(pt.root, longer)
		if least := asked + longer*99/100 - 3*time.Millisecond; err != nil || d.until() < least {
			r.breaks("Extend of %s by %v returned %v, until %v, less than %v", of, longer, err, d.until(), least)
		}
		r.look()
	}
	pt.sleep(6 * time.Second)
	r.isOver(pt, d)
}

// isOver demands that a lock is lost, and that nobody has it.
func (r *severalRun) isOver(pt *party, d *desk) {
	ctx := d.held.Context()
	if !isClosed(d.held.Lost()) || !errors.Is(context.Cause(ctx), lockclient.ErrLost) {
		r.breaks("%s is over, but not lost: %v", d.key, context.Cause(ctx))
	}
	for _, s := range d.shares {
		for _, place := range s.places {
			if left, _ := r.left(place, s); left >= 0 {
				r.breaks("%s is lost, and %d has %s for another %v", d.key, place, s.key, left)
			}
		}
	}
	d.given = true
	extended, unlocked := d.held.Extend(pt.root, time.Second), d.held.Unlock(pt.root)
	if !errors.Is(extended, lockclient.ErrLost) || !errors.Is(unlocked, lockclient.ErrLost) {
		r.breaks("%s is lost: Extend returned %v, and Unlock %v", d.key, extended, unlocked)
	}
}

// isEvicted has servers remove a part of a lock, so that it is lost: the rest ends with its lease.
func (r *severalRun) isEvicted(pt *party, of *offer) {
	d := r.gets(&order{who: "patron", pt: pt, deal: r.deal(pt, of), limit: -1, wait: time.Second})
	if d == nil {
		return
	}
	pt.sleep(50 * time.Millisecond) // what has been asked for has come to all
	s := d.shares[r.draw(len(d.shares))]
	r.note("servers remove %s at %v", s.key, s.places)
	for _, place := range s.places[:len(s.places)-s.need+1] {
		r.ask(place, "DEL", s.key)
	}
	d.excused = true
	pt.sleep(watchdogLease/3 + 100*time.Millisecond)
	if s.text || s.quorum { // the watchdog does not serve it
		if err := d.held.Extend(pt.root, time.Second); !errors.Is(err, lockclient.ErrLost) {
			r.breaks("%s is lost, and Extend returned %v", d.key, err)
		}
	}
	if !isClosed(d.held.Lost()) {
		r.breaks("%s has lost %s, and has not been told", d.key, s.key)
	}
	pt.sleep(2 * watchdogLease)
	r.isOver(pt, d)
}

// isGivenBack demands that nothing is left of those in whose name nobody else may ask: that is
// given back soon.
func (r *severalRun) isGivenBack() {
	for n := range r.sites {
		for _, key := range []string{"a", "b", "c", "d", "h", "H", "p", "P"} {
			for _, owner := range r.ownersAt(n, key) {
				if !r.shared[ownerOf(owner)] {
					r.breaks("%s still has %s at %d", owner, key, n)
				}
			}
		}
	}
}

// ownersAt are those who have a key of a server: readers whose timers have ended stay in a hash that others
// keep, but have nothing.
func (r *severalRun) ownersAt(n int, key string) []string {
	switch r.ask(n, "TYPE", key).Str {
	case "string":
		return []string{r.ask(n, "GET", key).Str}
	case "hash":
		var owners []string
		for _, f := range r.ask(n, "HKEYS", key).List {
			reads := r.ask(n, "HEXISTS", key, "mode").Int == 1 && !strings.HasSuffix(f.Str, ":write")
			if reads && r.ask(n, "EXISTS", "{"+key+"}:"+f.Str+":rwlock_timeout:1").Int == 0 || f.Str == "mode" {
				continue
			}
			owners = append(owners, f.Str)
		}
		return owners
	}
	return nil
}

// contend has three tasks want the same at the same time: each gets it, soon.
func (r *severalRun) contend(of *offer) {
	r.note("all want %s", of)
	for i := range 3 {
		r.hold(fmt.Sprintf("rival %d", i), r.parties[i%len(r.parties)], of, 30*time.Second, 50*time.Millisecond)
	}
	r.await()
}

// handOver has somebody wait for what another gives back, and get it at once.
func (r *severalRun) handOver(of *offer) {
	if of.isMixed() {
		return
	}
	hold := 500*time.Millisecond + r.within(2*time.Second)
	r.hold("first", r.parties[0], of, time.Second, hold)
	r.auditor.sleep(200 * time.Millisecond)
	r.hold("second", r.parties[1], of, hold-200*time.Millisecond+600*time.Millisecond, 0)
	r.await()
}

// waitsForOne has somebody wait for a Multi of which another has one member for long: meanwhile it
// has none of the others.
func (r *severalRun) waitsForOne(of *offer) {
	parts := map[string]bool{}
	for _, m := range of.members {
		if len(m.sites) != 1 || m.mixed || m.kind == "rw" {
			return
		}
		parts[m.String()] = true
	}
	if len(parts) < 2 || len(parts) < len(of.members) {
		return
	}
	taken := r.draw(len(of.members))
	r.note("somebody has %s for long", of.members[taken])
	r.hold("first", r.parties[0], of.members[taken], time.Second, 2*time.Second)
	r.auditor.sleep(100 * time.Millisecond)
	r.hold("second", r.parties[1], of, 3*time.Second, 0)
	r.auditor.sleep(600 * time.Millisecond)
	for range 20 {
		for i, m := range of.members {
			if owners := r.ownersAt(m.sites[0], m.key); i != taken && len(owners) > 0 {
				r.breaks("%s waits for one member, and %v have %s", of, owners, m)
			}
		}
		r.auditor.sleep(50 * time.Millisecond)
	}
	r.await()
}

// areUnsupported demands that what is on several servers says that it cannot be asked for.
func (r *severalRun) areUnsupported(l *lockclient.Lock) {
	_, asked := l.IsLocked(r.auditor.root)
	_, counted := l.HoldCount(r.auditor.root, "me")
	_, _, ttl := l.TTL(r.auditor.root)
	_, forced := l.ForceUnlock(r.auditor.root)
	for _, err := range []error{asked, counted, ttl, forced} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.HasPrefix(err.Error(), "lockclient: ") {
			r.breaks("asking for %s returned %v", l.Key(), err)
		}
	}
}
