package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikv/lockclient"
)

// open lets everybody work, and looks at what they leave.
func (r *severalRun) open() {
	for i, pt := range r.parties {
		for j, name := range []string{pt.name + "me", pt.name + "me", ""} {
			r.busy++
			pt.p.spawn(func() {
				r.work(fmt.Sprintf("task %d", 3*i+j), pt, name)
				r.busy--
			})
		}
	}
	next := r.w.now
	for r.busy > 0 && r.broken == "" {
		r.sleep(r.within(200*time.Millisecond) + time.Millisecond)
		if r.w.now >= next && len(r.troubles) > 0 {
			r.troubles[r.draw(len(r.troubles))](r.sites[r.draw(len(r.sites))])
			next = r.w.now + r.within(5*time.Second)
		}
		r.look()
		r.areTold()
	}
	for r.mishaps > 0 && r.broken == "" {
		r.sleep(100 * time.Millisecond)
	}
	for _, s := range r.sites {
		s.fates, s.cut = 0, 0
	}
	if r.broken == "" {
		r.audit()
	}
	r.ended = true
}

// areTold demands that who cannot rely on a lock any more has been told.
func (r *severalRun) areTold() {
	for _, pt := range r.parties {
		if pt.p.paused > 0 {
			pt.woken = pt.p.paused
		}
	}
	for _, d := range r.desks {
		if !d.given && d.rt.p.paused == 0 && d.held.Until()+time.Millisecond < d.rt.Mono() && !isClosed(d.held.Lost()) {
			r.breaks("%s could rely on %s until %v, and has not been told", d.held.Owner(), d.key, d.held.Until())
		}
	}
}

// while has something be wrong for d.
func (r *severalRun) while(d time.Duration, then func()) {
	r.mishaps++
	r.w.at(r.w.now+d, func() {
		r.mishaps--
		then()
	})
}

// cutsOff has nobody reach a server.
func (r *severalRun) cutsOff(s *site) {
	d := []time.Duration{r.within(time.Second), r.within(4 * time.Second), r.within(16 * time.Second)}[r.draw(3)]
	r.note("nobody reaches %d for %v", s.number, d)
	s.cut = max(s.cut, r.w.now+d)
	r.while(d, func() {})
}

// standsStill has a server stand still, for less than the time limit of a request.
func (r *severalRun) standsStill(s *site) {
	if s.still > r.w.now {
		return
	}
	d := r.within(850 * time.Millisecond)
	s.still = r.w.now + 50*time.Millisecond + d
	r.while(50*time.Millisecond, func() {
		r.note("%d stands still for %v", s.number, d)
		r.w.groups[s.number].master.pause(d)
	})
	r.while(s.still-r.w.now, func() {})
}

// restarts has a server start again, with its data.
func (r *severalRun) restarts(s *site) { r.crashes(s, r.within(3*time.Second), "keep") }

// loses has a server start again without its data, when no lease that it gave lasts any more.
func (r *severalRun) loses(s *site) { r.crashes(s, ownersLease+ownersLease/50, "lose") }

func (r *severalRun) crashes(s *site, d time.Duration, data string) {
	n := r.w.groups[s.number].master
	if n.down {
		return
	}
	r.note("%d crashes for %v, data: %s", s.number, d, data)
	n.crash()
	r.while(d, func() {
		r.note("%d starts again", s.number)
		n.restart(data)
	})
}

// stallsParty has a client stand still.
func (r *severalRun) stallsParty(*site) {
	pt, d := r.parties[r.draw(len(r.parties))], r.within(4*time.Second)
	r.note("%s stands still for %v", pt.name, d)
	pt.p.pause(d)
	r.while(d, func() { pt.woken = max(pt.woken, r.w.now) })
}

// audit looks at what is left when the faults have ended.
func (r *severalRun) audit() {
	r.note("the faults have ended")
	if r.draw(2) == 0 {
		r.everythingIsServed()
	} else {
		r.sleep(8 * time.Second)
		r.isGivenBack()
	}
	r.sleep(2*ownersLease + 30*time.Second)
	for n := range r.sites {
		r.nothingIsLeft(n, "redisson_lock_token")
	}
	for i := 0; i < len(r.offers) && r.broken == ""; i++ {
		r.contend(r.offers[i])
		r.handOver(r.offers[i])
		r.areUnsupported(r.deal(r.parties[0], r.offers[i]).lock)
	}
}

// everythingIsServed has somebody ask for all that is offered: it gets that when what was left
// has ended.
func (r *severalRun) everythingIsServed() {
	for i, of := range r.offers {
		bound := ownersLease + ownersWatchdog + 3*time.Second
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
		r.sleep(100 * time.Millisecond)
		r.look()
	}
}

// hold has a party take what is offered within a bound, and give it back after a while.
func (r *severalRun) hold(who string, pt *party, of *offer, bound, while time.Duration) {
	q := &order{who: who, pt: pt, deal: r.deal(pt, of), limit: bound, wait: bound}
	r.busy++
	pt.p.spawn(func() {
		defer func() { r.busy-- }()
		d, err := r.lock(q, func(ctx context.Context) (*lockclient.Held, error) { return q.deal.lock.Lock(ctx) })
		if err != nil {
			if !errors.Is(err, lockclient.ErrDeadlock) {
				r.breaks("%s has not got %s within %v: %v", who, of, bound, err)
			}
			return
		}
		pt.sleep(while)
		r.giveBack(who, pt, d)
	})
}

// isGivenBack demands that nothing is left of those in whose name nobody else may ask: that is
// given back soon.
func (r *severalRun) isGivenBack() {
	for n := range r.sites {
		for _, key := range []string{"a", "b", "c", "d", "h", "H", "p", "P"} {
			for _, owner := range r.ownersAt(n, key) {
				if !r.named[ownerOf(owner)] {
					r.breaks("%s still has %s at %d", owner, key, n)
				}
			}
		}
	}
}

// ownersAt are those who have a key of a server.
func (r *severalRun) ownersAt(n int, key string) []string {
	switch r.ask(n, "TYPE", key).Str {
	case "string":
		return []string{r.ask(n, "GET", key).Str}
	case "hash":
		var owners []string
		for _, f := range r.ask(n, "HKEYS", key).List {
			if f.Str != "mode" {
				owners = append(owners, f.Str)
			}
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
	r.sleep(200 * time.Millisecond)
	r.hold("second", r.parties[1], of, hold-200*time.Millisecond+600*time.Millisecond, 0)
	r.await()
}

// areUnsupported demands that what is on several servers says that it cannot be asked for.
func (r *severalRun) areUnsupported(l *lockclient.Lock) {
	_, asked := l.IsLocked(r.root)
	_, counted := l.HoldCount(r.root, "me")
	_, _, ttl := l.TTL(r.root)
	_, forced := l.ForceUnlock(r.root)
	for _, err := range []error{asked, counted, ttl, forced} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.HasPrefix(err.Error(), "lockclient: ") {
			r.breaks("asking for %s returned %v", l.Key(), err)
		}
	}
}
