// The runs of TestCounters that deal in a Semaphore: permits are taken and given back as often as calls have
// said, so that those that are free and those that are held come to the total.

package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"minikv/lockclient"
)

// vault is a run that deals in the permits of a Semaphore.
type vault struct {
	b       *bank
	total   int64            // free and taken, by the server
	gone    bool             // the server has lost it
	held    int64            // taken by calls that have said so, and not given back
	effects map[string]int64 // on the number of free ones, by record
}

func newVault(b *bank) *vault {
	v := &vault{b: b, effects: map[string]int64{}}
	if b.loses || b.draw(3) > 0 {
		v.total = int64(1 + b.draw(4))
		b.ask(0, "SET", "a", strconv.FormatInt(v.total, 10))
		b.count("a", "set by hand")
	}
	return v
}

// amount is how many permits somebody takes.
func (v *vault) amount() int64 {
	if v.b.single {
		return 1
	}
	return int64(1 + v.b.draw(3))
}

// act implements trade.
func (v *vault) act(t *teller) {
	b, s := v.b, t.br.client().Semaphore("a")
	switch action := b.draw(20); {
	case action < 2 && b.loses:
		return // it would come again
	case action == 0:
		n := []int64{-1, 1, 1, 2, 3}[b.draw(5)]
		v.adds(t, n)
	case action == 1:
		visit := t.visit("sets permits", 0)
		visit.check, visit.changes, visit.zero = visit.once, true, true
		set, err := s.TrySetPermits(visit.ctx, 1+int64(b.draw(4)))
		visit.ends(err)
		if err == nil && set != (visit.reply.Int == 1) {
			visit.lies("they were set: %v", set)
		}
	case action == 2:
		visit := t.visit("asks for the number", 0)
		n, err := s.Available(visit.ctx)
		visit.ends(err)
		if !slices.ContainsFunc(b.was("a", visit.begun, b.w.now), func(f figure) bool { return max(0, f.n) == max(0, n) }) &&
			err == nil {
			visit.lies("it never was %d", n)
		}
	case action == 3 && !b.single:
		visit := t.visit("drains", 0)
		v.takes(visit, -1, func() (*lockclient.Permits, error) { return s.Drain(visit.ctx) })
	case action == 4:
		visit := t.visit("takes nothing", 0)
		v.takes(visit, 0, func() (*lockclient.Permits, error) { return s.Acquire(visit.ctx, 0) })
		if p, err := s.Acquire(visit.ctx, -1); err == nil {
			visit.lies("%d permits", p.Count())
		}
	case action < 12 || len(t.has) == 0:
		n := v.amount()
		visit, opts := t.terms(fmt.Sprintf("acquires %d", n))
		acquire := s.Acquire
		if len(opts) > 0 && b.draw(2) == 0 {
			acquire = s.TryAcquire
		}
		v.takes(visit.waitsFor(n), n, func() (*lockclient.Permits, error) { return acquire(visit.ctx, n, opts...) })
	default:
		v.releases(t, b.draw(len(t.has)))
	}
}

// adds adds permits.
func (v *vault) adds(t *teller, n int64) {
	visit := t.visit(fmt.Sprintf("adds %d", n), 0)
	visit.check, visit.changes = visit.once, true
	free, err := t.br.client().Semaphore("a").AddPermits(visit.ctx, n)
	visit.ends(err)
	if (err == nil || errors.Is(err, lockclient.ErrReplication)) && free != visit.reply.Int {
		visit.lies("%d are free", free)
	}
}

// takes takes n permits; negative: any number.
func (v *vault) takes(visit *visit, n int64, take func() (*lockclient.Permits, error)) {
	got := int64(0)
	visit.check = func(final bool) {
		sum := int64(0)
		for _, record := range visit.records {
			sum -= v.effects[record]
		}
		doubtful := visit.doubtful() && (!final || !visit.settles())
		if !doubtful && sum != got {
			visit.lies("%d were taken, not %d", sum, got)
		}
	}
	visit.need, visit.changes, visit.holds, visit.repeated = n, true, n != 0, true
	visit.zero = true
	p, err := take()
	if err == nil {
		got = p.Count()
		v.held += got
		visit.t.has = append(visit.t.has, &stock{t: visit.t, permits: p})
		if n >= 0 && got != n {
			visit.lies("%d are told of", got)
		}
	}
	visit.ends(err, visit.may()...)
}

// releases gives back what a task has taken.
func (v *vault) releases(t *teller, i int) {
	p := t.has[i].permits
	t.has = slices.Delete(t.has, i, i+1)
	n := p.Count()
	visit := t.visit(fmt.Sprintf("releases %d", n), 0)
	visit.need, visit.changes, visit.repeated = -n, true, true
	visit.check = func(final bool) {
		sum := int64(0)
		for _, record := range visit.records {
			sum += v.effects[record]
		}
		switch {
		case visit.err == nil && sum != n, final && visit.settles() && sum != n:
			visit.lies("%d were given back", sum)
		case errors.Is(visit.err, lockclient.ErrLost) && (sum != 0 || !v.gone):
			visit.lies("%d were given back", sum)
		case sum != 0 && sum != n:
			visit.lies("%d were given back", sum)
		}
	}
	v.held -= n
	ctx := visit.ctx
	if v.b.draw(8) == 0 { // it does not matter whether that has ended
		ended, cancel := t.br.rt.WithCancelCause(ctx)
		cancel(nil)
		ctx = ended
	}
	visit.ends(p.Release(ctx), lockclient.ErrLost)
	if v.b.draw(4) == 0 {
		if err := p.Release(ctx); !errors.Is(err, lockclient.ErrNotHeld) {
			visit.lies("after that: %v", err)
		}
	}
}

// close implements trade.
func (v *vault) close(t *teller) {
	for len(t.has) > 0 {
		v.releases(t, 0)
	}
}

// executed implements trade.
func (v *vault) executed(script string, keys, args []string) {
	b := v.b
	before, now := b.count("a", script)
	delta, record := max(0, now)-max(0, before), keys[len(keys)-1]
	if before > none && now > none {
		delta = now - before
	}
	if before == none && now == none {
		delta = 0
	}
	visit := b.records[record]
	switch {
	case script == "semaphore-set" && before == none:
		v.total = now
	case script == "semaphore-add":
		n, _ := strconv.ParseInt(args[0], 10, 64)
		v.total += n
		if before == none {
			delta = now
		}
		if delta != n {
			b.breaks("%s adds %d, not %d", script, delta, n)
		}
	case visit != nil:
		v.effects[record] += delta
		n, sum := visit.need, v.effects[record]
		if sum != 0 && sum != -n && (n >= 0 || script == "semaphore-return" || sum > 0) {
			b.breaks("%s of %s %s: %d instead of %d", script, visit.t.who, visit.what, sum, -n)
		}
	case delta != 0:
		b.breaks("%s: %d more are free", script, delta)
	}
	if now > none && v.gone {
		b.breaks("%s has made the semaphore anew", script)
	}
	if now > none && now+v.held > v.total {
		b.breaks("%d are free, %d held, of %d", now, v.held, v.total)
	}
}

// enough implements trade.
func (v *vault) enough(visit *visit) (enough bool, patience time.Duration) {
	return v.b.number("a") >= visit.need, v.b.patience()
}

// serve implements trade.
func (v *vault) serve(t *teller) {
	for _, visit := range v.b.open {
		if visit.need > v.b.number("a") {
			v.adds(t, visit.need)
			return
		}
	}
}

// hears implements trade.
func (v *vault) hears(e lockclient.Event) {
	lost := v.gone && errors.Is(e.Err, lockclient.ErrLost)
	if e.Kind == lockclient.GivenBack && e.Err != nil && !v.b.denies && !lost {
		v.b.breaks("given up: %v", e.Err)
	}
}

// look implements trade.
func (v *vault) look() {}

// loses implements trade.
func (v *vault) loses() {
	v.b.ask(0, "DEL", "a")
	v.b.count("a", "deleted by hand")
	v.gone = true
}

// over implements trade.
func (v *vault) over() {}

// settled implements trade.
func (v *vault) settled() {
	b := v.b
	if now := b.number("a"); !b.denies && !b.closes && !b.dies && now > none && now != v.total-v.held {
		b.breaks("%d are free in the end, %d held, of %d", now, v.held, v.total)
	}
}
