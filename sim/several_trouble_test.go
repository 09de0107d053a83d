// What may happen to the servers and the clients of TestSeveralServers. Each trouble ends by itself.

package sim

import (
	"fmt"
	"time"
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
	if r.quits {
		r.quit(r.parties[len(r.parties)-1])
	}
	next := r.w.now
	for r.busy > 0 && r.broken == "" {
		r.auditor.sleep(r.within(200*time.Millisecond) + time.Millisecond)
		if r.w.now >= next && len(r.troubles) > 0 {
			r.troubles[r.draw(len(r.troubles))](r.sites[r.draw(len(r.sites))])
			next = r.w.now + r.within(5*time.Second)
		}
		r.look()
	}
	for r.mishaps > 0 && r.broken == "" {
		r.auditor.sleep(100 * time.Millisecond)
	}
	for _, s := range r.sites {
		s.fates, s.cut = 0, 0
	}
	if r.quits {
		r.parties = r.parties[:len(r.parties)-1]
	}
	if r.broken == "" {
		r.audit()
	}
}

// quit has a party close a client after a while, or all: what they hold is lost, and its tasks are told.
func (r *severalRun) quit(pt *party) {
	r.mishaps++
	pt.p.spawn(func() {
		pt.sleep(r.within(10 * time.Second))
		only := r.draw(2 * len(pt.clients))
		r.closed = true
		for i, c := range pt.clients {
			if only >= len(pt.clients) || i == only {
				r.note("%s closes its client of %d", pt.name, i)
				c.Close()
			}
		}
		r.look()
		r.mishaps--
	})
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
func (r *severalRun) loses(s *site) { r.crashes(s, longestLease+longestLease/50, "lose") }

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
	pt.woken = max(pt.woken, r.w.now+d)
	pt.p.pause(d)
	r.while(d, func() {})
}
