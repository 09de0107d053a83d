// The runs of TestCounters that deal in a Latch: each call counts once, and who waits goes on when the latch
// has opened, soon, and not before.

package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"minikv/lockclient"
)

// gates is a run that deals in a Latch.
type gates struct {
	b       *bank
	counted map[string]int  // by the record of a request
	void    map[string]bool // it has found no latch
}

func newGates(b *bank) *gates {
	return &gates{b: b, counted: map[string]int{}, void: map[string]bool{}}
}

// act implements trade.
func (g *gates) act(t *teller) {
	b, l := g.b, t.br.client().Latch("a")
	switch action := b.draw(20); {
	case action < 6:
		g.waits(t)
	case action < 10:
		n := int64(b.draw(5))
		visit := t.visit(fmt.Sprintf("sets the count to %d", n), 0)
		if n == 0 {
			b.open = b.open[:len(b.open)-1]
			if _, err := l.TrySetCount(visit.ctx, n); err == nil || visit.ran > 0 {
				visit.lies("0 is no count")
			}
			return
		}
		visit.check, visit.changes, visit.zero = visit.once, true, true
		set, err := l.TrySetCount(visit.ctx, n)
		visit.ends(err)
		if err == nil && set != (visit.reply.Int == 1) {
			visit.lies("it was set: %v", set)
		}
	case action == 10:
		visit := t.visit("deletes", 0)
		visit.check, visit.changes, visit.zero = visit.once, true, true
		deleted, err := l.Delete(visit.ctx)
		visit.ends(err)
		if err == nil && deleted != (visit.reply.Int == 1) {
			visit.lies("it was deleted: %v", deleted)
		}
	case action < 13:
		visit := t.visit("asks for the count", 0)
		n, err := l.Count(visit.ctx)
		visit.ends(err)
		if !slices.ContainsFunc(b.was("a", visit.begun, b.w.now), func(f figure) bool { return max(0, f.n) == n }) &&
			err == nil {
			visit.lies("it never was %d", n)
		}
	default:
		g.countsDown(t)
	}
}

// countsDown counts down.
func (g *gates) countsDown(t *teller) {
	visit := t.visit("counts down", 0)
	left := int64(0)
	visit.changes, visit.repeated = true, true
	visit.check = func(final bool) {
		n, void := 0, false
		for _, record := range visit.records {
			n += g.counted[record]
			void = void || g.void[record]
		}
		visit.repeated = !void // nothing is to be confirmed then
		least, most := 0, 0
		switch {
		case visit.err == nil:
			least, most = 1, 1
			if left != visit.reply.Int {
				visit.lies("%d are left", left)
			}
		case visit.doubtful():
			most = 1
			if final && visit.settles() && !void {
				least = 1
			}
		case errors.Is(visit.err, lockclient.ErrNoLatch) && !void:
			visit.lies("there is one")
		}
		if n < least || n > most {
			visit.lies("it has counted %d times", n)
		}
	}
	var err error
	left, err = t.br.client().Latch("a").CountDown(visit.ctx)
	visit.ends(err, lockclient.ErrNoLatch)
}

// waits waits until the latch is open.
func (g *gates) waits(t *teller) {
	b, l := g.b, t.br.client().Latch("a")
	strict, limit := b.draw(2) == 0, time.Duration(-1)
	if b.draw(3) > 0 {
		limit = t.moment(3 * time.Second)
	}
	visit := t.visit(fmt.Sprintf("waits, strict: %v, for %v", strict, limit), limit).waitsFor(0)
	visit.holds = true
	if limit >= 0 {
		visit.ctx, _ = t.br.rt.WithDeadline(visit.ctx, t.br.rt.Mono()+limit)
	}
	if strict {
		l = l.Strict()
	}
	err := l.Wait(visit.ctx)
	visit.ends(err, visit.may(lockclient.ErrNoLatch)...)
	switch {
	case err == nil && !g.mayGoOn(visit, strict):
		visit.lies("it has not opened")
	case errors.Is(err, lockclient.ErrNoLatch) && !g.mayMiss(visit, strict):
		visit.lies("nobody has deleted it")
	case errors.Is(err, lockclient.ErrNotAcquired):
		visit.lies("that is no error of it")
	}
}

// first is until when a visit may have found no latch before it heard of what happens: it has
// subscribed before it looks for the second time, and a strict one for the first time.
func (g *gates) first(visit *visit, strict bool) time.Duration {
	looks := 2
	if strict {
		looks = 1
	}
	if len(visit.looks) < looks {
		return g.b.w.now
	}
	return visit.looks[looks-1]
}

// mayGoOn tells whether somebody who waits may find the latch open.
func (g *gates) mayGoOn(visit *visit, strict bool) bool {
	b := g.b
	since := max(visit.begun, visit.seen)
	if g.happened("latch-count-down", since-5*time.Millisecond-b.site.lag) { // so long a message is under way
		return true
	}
	if strict {
		return false
	}
	until := g.first(visit, strict)
	if b.lossy() || b.site.lag > 0 {
		until = b.w.now
	}
	return g.missing(since, until)
}

// mayMiss tells whether somebody who waits may find no latch.
func (g *gates) mayMiss(visit *visit, strict bool) bool {
	b := g.b
	switch {
	case b.lossy():
		return g.missing(visit.begun, b.w.now)
	case g.happened("latch-delete", visit.begun):
		return true
	}
	return strict && g.missing(visit.begun, g.first(visit, strict))
}

// missing tells whether there was no latch at some time.
func (g *gates) missing(since, until time.Duration) bool {
	return slices.ContainsFunc(g.b.was("a", since, until), func(f figure) bool { return f.n == none })
}

// happened tells whether a script has ended the latch.
func (g *gates) happened(script string, since time.Duration) bool {
	return slices.ContainsFunc(g.b.history["a"], func(f figure) bool {
		return f.n == none && f.how == script && f.at >= since
	})
}

// close implements trade.
func (g *gates) close(*teller) {}

// executed implements trade.
func (g *gates) executed(script string, keys, args []string) {
	b := g.b
	before, now := b.count("a", script)
	switch script {
	case "latch-count-down":
		record := keys[2]
		switch {
		case before == none:
			g.void[record] = g.void[record] || g.counted[record] == 0
		case before-now == 1 && now > 0, before == 1 && now == none:
			g.counted[record]++
		case before != now:
			b.breaks("%s: %d became %d", script, before, now)
		}
		if g.counted[record] > 1 || g.counted[record] > 0 && g.void[record] {
			b.breaks("one request has counted twice")
		}
	case "latch-set":
		if before != none && before != now || now < 1 {
			b.breaks("%s %v: %d became %d", script, args, before, now)
		}
	case "latch-delete":
		if now != none {
			b.breaks("%s: there is one", script)
		}
	}
}

// enough implements trade.
func (g *gates) enough(*visit) (enough bool, patience time.Duration) {
	b := g.b
	list := b.history["a"]
	if n := len(list); n > 0 && list[n-1].n != none {
		return false, 0
	}
	patience = b.patience()
	if n := len(list); b.lossy() || b.site.lag > 0 || n > 0 && list[n-1].how == "latch-delete" {
		patience += requestTimeout
	}
	return true, patience
}

// serve implements trade.
func (g *gates) serve(t *teller) {
	if g.b.number("a") != none {
		g.countsDown(t)
	}
}

// hears implements trade.
func (g *gates) hears(e lockclient.Event) {
	if e.Kind == lockclient.GivenBack && e.Err != nil && !errors.Is(e.Err, lockclient.ErrNoLatch) && !g.b.denies {
		g.b.breaks("given up: %v", e.Err)
	}
}

// look implements trade.
func (g *gates) look() {}

// loses implements trade.
func (g *gates) loses() {}

// over implements trade.
func (g *gates) over() {}

// settled implements trade.
func (g *gates) settled() {}
