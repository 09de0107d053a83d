package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

// Random histories are judged by the checks, which see one event after the other, and
// by the definitions of their promises, which look at all of it at once.
func TestChecksAgreeWithTheirDefinitions(t *testing.T) {
	const permits, bound, slack = 2, 3 * time.Second, 200 * time.Millisecond
	seen := map[string][3]int{}
	for seed := range uint64(6000) {
		past := drawPast(seed)
		end, now := past[len(past)-1].At+time.Duration(seed%5)*time.Second, 0
		for _, c := range []struct {
			check Checker
			want  Verdict
		}{
			{NewExclusion(name), past.exclusion()},
			{NewCapacity(name, permits), past.capacity(permits)},
			{NewFencingOf(name, func() int32 { return grantedBy(&past[now]) }), past.fencing()},
			{NewGuard(name), past.guard()},
			{NewOrder(name, slack), past.order(slack)},
			{NewProgress(name, bound), past.progress(bound, end, false)},
			{NewLiveness(name, bound), past.progress(bound, end, true)},
			{NewLease(name), past.lease(end)},
			{NewLinear(name), past.exclusion()},
			{NewKept(name), Unknown},
		} {
			violated := false
			for i := range past {
				now = i
				c.check.Observe(&past[i])
				r := c.check.Result(past[i].At)
				forgives := past[i].Kind == trace.Calm || past[i].Kind == trace.Crash
				if forgives && (r.Check == "progress" || r.Check == "liveness") {
					violated = false // of who was killed nobody says how long it waited
				}
				require.Falsef(t, violated && r.Verdict != Violated, "%s was violated before:\n%s", r.Check, past[:i+1])
				violated = r.Verdict == Violated
			}
			r := c.check.Result(end)
			count := seen[r.Check]
			count[r.Verdict]++
			seen[r.Check] = count
			if r.Check == "kept" {
				continue // what is violated stays so
			}
			require.Equalf(t, c.want.String(), r.Verdict.String(), "%s, seed %d, until %v: %s\n%s", r.Check, seed, end, r.Reason,
				past)
		}
	}
	for check, count := range seen {
		require.Greater(t, min(count[Holds], count[Violated]), 30, check)
	}
}

// past is the events of a run, numbered from 1.
type past []trace.Event

func (p past) String() (text string) {
	for _, e := range p {
		text += fmt.Sprintf("%s #%d %v of %s", stamp(e.At), e.N, e.Kind, name(e.Actor))
		if e.Peer != 0 {
			text += " and " + name(e.Peer)
		}
		text += fmt.Sprintf(", lock %d, A=%d\n", e.Lock, e.A)
	}
	return text
}

// author draws a past.
type author struct {
	*rand.Rand
	past
	now     time.Duration
	clients [4]character // by trace.Actor
	tokens  bool
	sends   []trace.Event // that the resource has not got yet
}

// character is a client.
type character struct {
	gone, ended, asks, wonders, leaving bool
	paused                              bool
	lock                                int32 // for which it asks
	held                                []int32
}

func drawPast(seed uint64) past {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 0)), tokens: seed%2 == 0}
	for range 5 + a.IntN(40) {
		if a.IntN(3) == 0 {
			a.now += []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Second}[a.IntN(4)]
		}
		a.act(trace.Actor(1 + a.IntN(3)))
		if a.IntN(60) == 0 {
			a.add(trace.Event{Kind: trace.Calm, Actor: nemesis})
		}
	}
	return a.past
}

func (a *author) add(e trace.Event) {
	e.At, e.N = a.now, uint64(len(a.past)+1)
	a.past = append(a.past, e)
}

// act has a client do something that it can do.
func (a *author) act(who trace.Actor) {
	c := &a.clients[who]
	e := trace.Event{Actor: who}
	switch chance := a.IntN(20); {
	case c.ended:
	case c.gone:
		c.gone = chance > 5
	case chance == 0:
		a.crash(who)
	case c.paused:
		if chance > 12 {
			c.paused, e.Kind = false, trace.Resume
			a.add(e)
		}
	case chance == 1:
		c.paused = true
		a.add(trace.Event{Kind: trace.Pause, Actor: nemesis, Peer: who})
	case c.asks:
		a.decide(who)
	case c.wonders:
		c.wonders, e.Kind, e.Lock, e.A = false, trace.Told, c.lock, int64(a.IntN(2))
		a.add(e)
	case c.leaving:
		c.leaving, e.Kind, e.Lock = false, []trace.Kind{trace.Freed, trace.Failed}[a.IntN(2)], c.lock
		a.add(e)
	case len(c.held) > 0 && chance < 8:
		e.Kind = []trace.Kind{trace.Release, trace.Release, trace.Lost}[a.IntN(3)]
		c.leaving = e.Kind == trace.Release
		e.Lock = c.held[len(c.held)-1]
		c.held, c.lock = c.held[:len(c.held)-1], e.Lock
		a.add(e)
	case len(c.held) > 0 && chance < 12:
		a.write(who)
	case chance < 14:
		c.wonders, c.lock = true, a.lock()
		e.Kind, e.Lock = trace.Asks, c.lock
		a.add(e)
	case len(c.held) == 0 && chance == 14:
		c.ended, e.Kind = true, trace.End
		a.add(e)
	default:
		c.asks, c.lock = true, a.lock()
		e.Kind, e.Lock = trace.Acquire, c.lock
		a.add(e)
	}
}

func (a *author) lock() int32 { return int32(1 + a.IntN(4)/3) }

// decide has a client get what it asks for, or not, rarely while another has it.
func (a *author) decide(who trace.Actor) {
	c := &a.clients[who]
	taken := false
	for i := range a.clients {
		taken = taken || trace.Actor(i) != who && slices.Contains(a.clients[i].held, c.lock)
	}
	e := trace.Event{Actor: who, Lock: c.lock}
	switch {
	case taken && a.IntN(10) > 0:
		return
	case a.IntN(4) == 0: // a request of it is executed, and may grant it the lock
		a.add(trace.Event{Kind: trace.Execute, Actor: server, Peer: who, B: int64(c.lock) * int64(a.IntN(2))})
		return
	case a.IntN(6) == 0:
		e.Kind = trace.Refused
	default:
		e.Kind, c.held = trace.Hold, append(c.held, c.lock)
		if a.tokens && a.IntN(3) > 0 {
			e.A = int64(1 + len(a.past)/(1+a.IntN(2)*3))
		}
	}
	c.asks = false
	a.add(e)
}

func (a *author) crash(who trace.Actor) {
	c := &a.clients[who]
	left := []int64{-1, 0, 1, 1, 2, 3, 3}[a.IntN(7)] * int64(time.Second)
	a.add(trace.Event{Kind: trace.Crash, Actor: nemesis, Peer: who, A: left})
	for _, lock := range c.held {
		a.add(trace.Event{Kind: trace.Lost, Actor: who, Lock: lock})
	}
	*c = character{gone: true}
}

// write has a client send a write, or the resource get one.
func (a *author) write(who trace.Actor) {
	held := a.clients[who].held
	e := trace.Event{Kind: trace.Send, Actor: who, Lock: held[len(held)-1]}
	a.add(e)
	e.N = uint64(len(a.past))
	a.sends = append(a.sends, e)
	for len(a.sends) > 0 && a.IntN(2) == 0 {
		i := a.IntN(len(a.sends))
		sent := a.sends[i]
		a.sends = slices.Delete(a.sends, i, i+1)
		got := trace.Event{Kind: trace.Write, Actor: resource, Peer: sent.Actor, Lock: sent.Lock, Cause: sent.N}
		if a.tokens {
			got.A = int64(1 + a.turn(sent)/(1+a.IntN(2)))
		}
		a.add(got)
	}
}

// turn is the number of the event with which the sender of a write got the lock.
func (p past) turn(sent trace.Event) int {
	for i := int(sent.N) - 1; i >= 0; i-- {
		if e := p[i]; e.Kind == trace.Hold && e.Actor == sent.Actor && e.Lock == sent.Lock {
			return i + 1
		}
	}
	return 0
}

// belief is from one event to another, of places in the past.
type belief struct {
	actor    trace.Actor
	lock     int32
	from, to int
	inner    bool // its client had the lock before
}

// beliefs are found as brackets are matched.
func (p past) beliefs() (list []belief) {
	for i, e := range p {
		if e.Kind != trace.Hold {
			continue
		}
		b := belief{actor: e.Actor, lock: e.Lock, from: i, to: len(p)}
		for j, depth := i+1, 1; j < len(p) && depth > 0; j++ {
			if p[j].Actor != e.Actor || p[j].Lock != e.Lock {
				continue
			}
			switch p[j].Kind {
			case trace.Hold:
				depth++
			case trace.Release, trace.Lost:
				depth--
				b.to = j
			}
			if depth > 0 {
				b.to = len(p)
			}
		}
		b.inner = slices.ContainsFunc(list, func(o belief) bool { return o.actor == b.actor && o.lock == b.lock && o.to > i })
		list = append(list, b)
	}
	return list
}

func (b *belief) covers(i int) bool { return b.from < i && i < b.to }

func verdict(violated, happened bool) Verdict {
	switch {
	case violated:
		return Violated
	case happened:
		return Holds
	}
	return Unknown
}

func (p past) exclusion() Verdict {
	list, overlap := p.beliefs(), false
	for _, a := range list {
		for _, b := range list {
			overlap = overlap || a.lock == b.lock && a.actor != b.actor && a.covers(b.from)
		}
	}
	return verdict(overlap, len(list) > 0)
}

func (p past) capacity(permits int) Verdict {
	list, over := p.beliefs(), false
	for _, a := range list {
		taken := 1
		for _, b := range list {
			if a.lock == b.lock && b.covers(a.from) {
				taken++
			}
		}
		over = over || taken > permits
	}
	return verdict(over, len(list) > 0)
}

func (p past) guard() Verdict {
	wrong, told := false, false
	for i, e := range p {
		if e.Kind != trace.Told {
			continue
		}
		told = true
		asked := 0
		for at, q := range p[:i] {
			if q.Kind == trace.Asks && q.Actor == e.Actor {
				asked = at
			}
		}
		for _, b := range p.beliefs() {
			wrong = wrong || e.A == 0 && b.lock == e.Lock && b.covers(i) && b.from < asked
		}
	}
	return verdict(wrong, told)
}

// queue is who waits for a lock at a place: where each has asked.
func (p past) queue(lock int32, at int) map[trace.Actor]time.Duration {
	waits, beliefs := map[trace.Actor]time.Duration{}, p.beliefs()
	for i, e := range p[:at] {
		has := func(b belief) bool { return b.actor == e.Actor && b.lock == lock && b.covers(i) }
		switch {
		case e.Kind == trace.Crash:
			delete(waits, e.Peer)
		case e.Lock != lock:
		case e.Kind == trace.Acquire && !slices.ContainsFunc(beliefs, has):
			waits[e.Actor] = e.At
		case e.Kind == trace.Hold, e.Kind == trace.Refused:
			delete(waits, e.Actor)
		}
	}
	return waits
}

func (p past) order(slack time.Duration) Verdict {
	list, passed := p.beliefs(), false
	for _, b := range list {
		waits := p.queue(b.lock, b.from)
		for who, at := range waits { //tidy:unordered any
			passed = passed || !b.inner && who != b.actor && at+slack < waits[b.actor]
		}
	}
	return verdict(passed, len(list) > 0)
}

// inLine is a wait: attempts that fail are part of it.
type inLine struct {
	actor    trace.Actor
	lock     int32
	from, to time.Duration
	until    int // the place of what has ended it
	got      bool
}

// waits are those that end with a grant, a refusal to who has something, a crash or the
// client's end, or never. Strict ones end when another lock is asked for, too.
func (p past) waits(end time.Duration, strict bool) (list []inLine) {
	for i, e := range p {
		if e.Kind != trace.Acquire {
			continue
		}
		w := inLine{e.Actor, e.Lock, e.At, end, len(p), false}
		if slices.ContainsFunc(list, func(o inLine) bool { return o.actor == w.actor && o.until > i }) {
			continue // it waits already
		}
		for j := i + 1; j < len(p) && w.until == len(p); j++ {
			if p.endsWait(&w, j, strict) {
				w.to, w.until, w.got = p[j].At, j, p[j].Kind == trace.Hold
			}
		}
		list = append(list, w)
	}
	return list
}

func (p past) endsWait(w *inLine, at int, strict bool) bool {
	e := p[at]
	has := func(b belief) bool { return b.actor == w.actor && b.covers(at) }
	switch {
	case e.Kind == trace.Crash:
		return e.Peer == w.actor
	case e.Actor != w.actor:
		return false
	case e.Kind == trace.Refused:
		return slices.ContainsFunc(p.beliefs(), has)
	case e.Kind == trace.Acquire:
		return strict && e.Lock != w.lock
	}
	return e.Kind == trace.Hold || e.Kind == trace.End
}

// progress is liveness if only what comes behind the last calm counts.
func (p past) progress(bound, end time.Duration, liveness bool) Verdict {
	long, got, open, calm := false, false, false, -1
	for i, e := range p {
		if liveness && e.Kind == trace.Calm {
			calm = i
		}
	}
	from := time.Duration(0)
	if calm >= 0 {
		from = p[calm].At
	}
	for _, w := range p.waits(end, false) {
		never := w.until == len(p)
		if w.until > calm && (never || p[w.until].Kind != trace.Crash) {
			long = long || w.to-max(w.from, from)-p.still(w.actor, max(w.from, from), w.to) > bound
			got = got || w.got
			open = open || never
		}
	}
	return verdict(long, got && !(open && (liveness || end <= bound)))
}

func (p past) lease(end time.Duration) Verdict {
	violated, granted, done := false, false, map[int]bool{}
	for i, e := range p {
		if e.Kind != trace.Crash || e.A == 0 {
			continue
		}
		all := p.beliefs()
		first := slices.IndexFunc(all, func(b belief) bool { return b.actor == e.Peer && b.covers(i) })
		if first < 0 {
			continue
		}
		lock, free, next, now := all[first].lock, e.At+time.Duration(max(e.A, 0)), len(p), end
		for j := i + 1; j < len(p) && next == len(p); j++ {
			if p[j].Kind == trace.Hold && p[j].Lock == lock && !done[j] {
				next, now, done[j] = j, p[j].At, true
			}
		}
		granted = granted || next < len(p) && e.A > 0
		violated = violated || next < len(p) && now < free
		for _, w := range p.waits(end, true) {
			in := w.lock == lock && w.until > i && w.from <= now
			for _, awake := range p.awake(w.actor, w.from, w.to) {
				violated = violated || in && min(awake[1], now)-max(awake[0], free) > grace
			}
		}
	}
	return verdict(violated, granted)
}
