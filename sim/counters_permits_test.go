// The runs of TestCounters that deal in permits that expire: each has a lease on the server for as long as
// it is relied on, the free and the taken ones come to the total, and who loses one is told.

package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/lockclient"
)

// rental is a run that deals in permits that expire.
type rental struct {
	b      *bank
	total  int64 // free and taken, by the server
	taken  int64 // by the server
	stocks []*stock
	robbed time.Duration // when permits were taken away
	gaveUp bool          // a permit was left to its lease
}

const rentalTable = "{a}:timeout"

func newRental(b *bank) *rental {
	r := &rental{b: b}
	if b.draw(3) > 0 {
		r.total = int64(1 + b.draw(3))
		b.ask(0, "SET", "a", strconv.FormatInt(r.total, 10))
		b.count("a", "set by hand")
	}
	return r
}

// act implements trade.
func (r *rental) act(t *teller) {
	b := r.b
	switch action := b.draw(24); {
	case action < 3:
		r.changes(t, action)
	case action == 3:
		r.asks(t)
	case action == 4 && len(t.has) > 0 && !b.prompt && t.has[0].fixed:
		b.note("%s forgets %s", t.who, t.has[0].held.Owner())
		t.has = t.has[1:]
	case action < 14 || len(t.has) == 0:
		r.acquires(t)
	case action < 18:
		r.extends(t.has[b.draw(len(t.has))])
	default:
		r.unlocks(t, b.draw(len(t.has)))
	}
}

// changes changes how many permits there are.
func (r *rental) changes(t *teller, action int) {
	b, s := r.b, t.br.client().PermitSemaphore("a")
	n := int64(b.draw(4))
	switch action {
	case 0:
		r.adds(t, []int64{-1, 1, 1, 2}[n])
	case 1:
		visit := t.visit(fmt.Sprintf("sets %d permits", n), 0)
		visit.check, visit.changes = visit.once, true
		visit.ends(s.SetPermits(visit.ctx, n))
	case 2:
		visit := t.visit(fmt.Sprintf("sets %d permits if there are none", n), 0)
		visit.check, visit.changes = visit.once, true
		set, err := s.TrySetPermits(visit.ctx, n)
		visit.ends(err)
		if err == nil && set != (visit.reply.Int == 1) {
			visit.lies("they were set: %v", set)
		}
	}
}

// adds adds permits.
func (r *rental) adds(t *teller, n int64) {
	visit := t.visit(fmt.Sprintf("adds %d", n), 0)
	visit.check, visit.changes = visit.once, true
	visit.ends(t.br.client().PermitSemaphore("a").AddPermits(visit.ctx, n))
}

// asks asks for the numbers.
func (r *rental) asks(t *teller) {
	b, s := r.b, t.br.client().PermitSemaphore("a")
	visit := t.visit("asks how many are free", 0)
	n, err := s.Available(visit.ctx)
	visit.ends(err)
	is := func(f figure) bool { return f.n == n || f.n == none && n == 0 }
	if err == nil && !slices.ContainsFunc(b.was("a", visit.begun, b.w.now), is) {
		visit.lies("%d never were", n)
	}
	visit = t.visit("asks how many are taken", 0)
	n, err = s.Acquired(visit.ctx)
	visit.ends(err)
	if err == nil && !slices.ContainsFunc(b.was(rentalTable, visit.begun, b.w.now), is) {
		visit.lies("%d never were", n)
	}
}

// acquires takes a permit.
func (r *rental) acquires(t *teller) {
	b, s := r.b, t.br.client().PermitSemaphore("a")
	visit, opts := t.terms("acquires")
	visit.waitsFor(1).holds = true
	lease := b.lease()
	st := &stock{t: t, fixed: !b.prompt && b.draw(2) > 0}
	var err error
	switch {
	case !st.fixed:
		lease = watchdogLease
		st.held, err = s.Permit().Lock(visit.ctx, opts...)
	case len(opts) > 0 && b.draw(2) == 0:
		st.held, err = s.TryAcquire(visit.ctx, lease, opts...)
	default:
		st.held, err = s.Acquire(visit.ctx, lease, opts...)
	}
	visit.ends(err, visit.may(lockclient.ErrLost)...)
	switch {
	case errors.Is(err, lockclient.ErrLost) && b.w.now-visit.begun < lease*9/10:
		visit.lies("the lease of %v has not ended", lease)
	case err == nil:
		b.note("%s has %s until %v", t.who, st.held.Owner(), st.held.Until())
		st.promises(visit, lease)
		t.has = append(t.has, st)
		r.stocks = append(r.stocks, st)
	}
}

// promises demands that a lease counts that was asked for in a visit.
func (st *stock) promises(visit *visit, lease time.Duration) {
	now, until := visit.t.b.w.now, st.held.Until()
	st.promised = until
	switch {
	case visit.t.br.shut:
	case until > now+lease:
		visit.lies("it is promised until %v", until)
	case st.fixed && !st.doubtful && until < visit.begun+lease*99/100-2*time.Millisecond:
		visit.lies("it is promised until %v only", until)
	}
}

// extends extends what a task has.
func (r *rental) extends(st *stock) {
	b := r.b
	lease := b.lease()
	visit := st.t.visit(fmt.Sprintf("extends %s by %v", st.held.Owner(), lease), 0).hurries(300 * time.Millisecond)
	relied, least := st.relies(), min(st.held.Until(), b.w.now+lease*99/100-2*time.Millisecond)
	st.extending++
	err := st.held.Extend(visit.ctx, lease)
	st.extending--
	visit.ends(err, lockclient.ErrLost, context.DeadlineExceeded)
	if !st.fixed {
		lease = max(lease, watchdogLease)
	}
	switch {
	case err == nil:
		st.promises(visit, lease)
	case errors.Is(err, lockclient.ErrLost):
		if relied && least > b.w.now && !st.t.br.shut && !st.robbed {
			visit.lies("it could be relied on until %v", least)
		}
		st.promised = 0
	default:
		st.doubtful = true
		st.promised = st.held.Until()
	}
}

// unlocks gives a permit back.
func (r *rental) unlocks(t *teller, i int) {
	b, st := r.b, t.has[i]
	t.has = slices.Delete(t.has, i, i+1)
	visit := t.visit("unlocks "+st.held.Owner(), 0).hurries(10 * time.Millisecond)
	visit.changes = true
	gone := r.ends(st) < 0
	relied, least := st.relies(), st.held.Until()
	st.given = true
	err := st.held.Unlock(visit.ctx)
	visit.ends(err, lockclient.ErrLost)
	switch {
	case err == nil && gone:
		visit.lies("it had ended")
	case err == nil && r.ends(st) >= 0:
		visit.lies("it is not given back")
	case errors.Is(err, lockclient.ErrLost) && relied && least > b.w.now && !st.t.br.shut && !st.robbed:
		visit.lies("it could be relied on until %v", least)
	}
	if b.draw(4) > 0 {
		return
	}
	if err := st.held.Unlock(visit.ctx); !errors.Is(err, lockclient.ErrNotHeld) {
		visit.lies("after that: %v", err)
	}
	if err := st.held.Extend(visit.ctx, time.Second); !errors.Is(err, lockclient.ErrNotHeld) {
		visit.lies("it is extended: %v", err)
	}
}

// id is a permit's name for the server.
func (st *stock) id() string {
	if st.t.br.old {
		return st.held.Owner()
	}
	raw, _ := hex.DecodeString(st.held.Owner())
	return string(raw)
}

// relies tells whether somebody may rely on a permit.
func (st *stock) relies() bool {
	return !st.given && !st.t.br.gone && !isClosed(st.held.Lost()) && st.held.Until() > st.t.b.w.now
}

// ends is when the server will have a permit end, in milliseconds from now, -1 if it has none.
func (r *rental) ends(st *stock) int64 { return r.left(st.id()) }

// left is ends by a permit's id.
func (r *rental) left(id string) int64 {
	score := r.b.ask(0, "ZSCORE", rentalTable, id).Str
	if score == "" {
		return -1
	}
	date, _ := strconv.ParseInt(score, 10, 64)
	return date - r.date()
}

// date is now, by the clocks of the clients.
func (r *rental) date() int64 { return r.b.w.truth.Wall().UnixMilli() }

// close implements trade.
func (r *rental) close(t *teller) {
	for len(t.has) > 0 {
		r.unlocks(t, 0)
	}
}

// executed implements trade.
func (r *rental) executed(script string, _, args []string) {
	b := r.b
	_, free := b.count("a", script)
	taken := b.ask(0, "ZCARD", rentalTable).Int
	if was := r.taken; was != taken {
		b.history[rentalTable] = append(b.history[rentalTable], figure{b.w.now, taken, script})
		r.taken = taken
		if taken > was && free < 0 {
			b.breaks("%s has taken what was not free: %d are", script, free)
		}
	}
	if strings.HasPrefix(script, "permit-e") || strings.HasPrefix(script, "permit-r") {
		r.look()
	}
	n, _ := strconv.ParseInt(args[0], 10, 64)
	switch {
	case script == "permit-set":
		r.total = n
	case script == "permit-add":
		r.total += n
	case script == "semaphore-set" && len(b.history["a"]) == 1 && b.history["a"][0].at == b.w.now:
		r.total = free
	}
	if free > none && free+taken != r.total {
		b.breaks("%s: %d are free and %d taken, of %d", script, free, taken, r.total)
	}
}

// enough implements trade.
func (r *rental) enough(*visit) (enough bool, patience time.Duration) {
	b := r.b
	ended := b.ask(0, "ZCOUNT", rentalTable, "0", strconv.FormatInt(r.date(), 10)).Int
	return b.number("a")+ended >= 1, b.patience()
}

// serve implements trade.
func (r *rental) serve(t *teller) {
	if enough, _ := r.enough(nil); !enough {
		r.adds(t, 1)
	}
}

// hears implements trade.
func (r *rental) hears(e lockclient.Event) {
	if e.Kind == lockclient.GivenBack && e.Err != nil {
		r.gaveUp = true
		raw, _ := hex.DecodeString(e.Owner)
		if left := max(r.left(e.Owner), r.left(string(raw))); left > 0 && !r.b.denies && !r.b.closes {
			r.b.breaks("%s is given up, but its lease lasts for another %d ms", e.Owner, left)
		}
	}
	if e.Kind == lockclient.Lost && r.b.site.fates == 0 && r.b.prompt {
		r.b.breaks("%s is lost, and nothing has happened", e.Owner)
	}
}

// look implements trade.
func (r *rental) look() {
	b := r.b
	r.stocks = slices.DeleteFunc(r.stocks, func(st *stock) bool { return st.given || st.t.br.gone })
	for _, st := range r.stocks {
		until := st.held.Until()
		switch {
		case st.robbed:
			if b.site.fates == 0 && !st.fixed && st.relies() && b.w.now > r.robbed+watchdogLease/3+b.grace() {
				b.breaks("%s is not told that %s was lost", st.t.who, st.held.Owner())
			}
		case st.relies():
			least := (until - b.w.now).Milliseconds()
			if left := r.ends(st); left < least {
				b.breaks("%s relies on %s for another %d ms, the server has it for %d ms", st.t.who, st.held.Owner(), least, left)
			}
			if st.extending == 0 {
				st.promised = max(st.promised, until)
			}
		case st.t.br.shut:
		case !isClosed(st.held.Lost()) && until < b.w.now:
			b.breaks("%s is not told that %s has ended", st.t.who, st.held.Owner())
		case st.extending == 0 && b.w.now < st.promised:
			b.breaks("%s has lost %s before %v", st.t.who, st.held.Owner(), st.promised)
		}
	}
}

// loses implements trade: what a client does whose clock is ahead.
func (r *rental) loses() {
	for _, st := range r.stocks {
		if !st.given && r.ends(st) >= 0 {
			r.b.note("%s is robbed of %s", st.t.who, st.held.Owner())
			st.robbed = true
			r.b.ask(0, "ZREM", rentalTable, st.id())
			r.b.ask(0, "INCR", "a")
		}
	}
	r.robbed = r.b.w.now
	r.executed("by hand", nil, []string{""})
}

// over implements trade: what nobody has was given back, and not left to its lease.
func (r *rental) over() {
	b := r.b
	if b.denies || b.closes || b.dies || r.gaveUp {
		return
	}
	r.look()
	for _, id := range b.ask(0, "ZRANGEBYSCORE", rentalTable, "("+strconv.FormatInt(r.date(), 10), "inf").List {
		if !slices.ContainsFunc(r.stocks, func(st *stock) bool { return st.id() == id.Str }) {
			b.breaks("nobody has %q any more, but it is still taken", id.Str)
		}
	}
}

// settled implements trade.
func (r *rental) settled() {
	b, t := r.b, &teller{b: r.b, br: r.b.branches[0], who: "auditor:"}
	visit := t.visit("counts", 0)
	s := t.br.client().PermitSemaphore("a")
	free, err := s.Available(visit.ctx)
	taken, err2 := s.Acquired(visit.ctx)
	visit.ends(errors.Join(err, err2))
	if free != r.total || taken != 0 {
		b.breaks("%d are free and %d taken in the end, of %d", free, taken, r.total)
	}
}
