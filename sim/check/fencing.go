package check

import (
	"fmt"
	"maps"
	"time"

	"minikv/trace"
)

// Fencing says that the resource applied no stale write. Where turns have
// tokens, a write is stale when its token is below one that was already
// applied, or the same as another client's. With the same token, or without tokens,
// it is stale when its client's turn, the belief in which it was sent, began before
// that of a write that was already applied. Whatever the tokens, it is stale when its
// turn began before the client of a write that was already applied asked for that
// one's turn: tokens that do not grow with the turns protect nothing. Of a turn that is the
// later one and has no larger token that is said: its client is the rightful holder.
//
// So is a turn whose token is below that of a turn before it, or the same as another client's:
// what the resource has seen of that one, it refuses to the rightful holder; it is noticed where
// that token was the highest of all by then. That a turn is
// later than another is sure where that one's belief had begun before this one's client asked,
// or before any request of that client was executed since then that may have got it the lock.
// Of others nothing is said: a reply may come late, so that the belief begins long after the
// lock was granted, and behind later turns.
type Fencing struct {
	name    Names
	grants  Grants
	turns   int64
	asked   map[holder]asking // who asks for a lock
	turn    map[holder]turn   // of a client's latest belief in a lock
	sent    map[uint64]turn   // the turn in which a write was sent, by the event of its sending
	applied map[int32]write   // the latest, by lock: as long as none is stale, none before it had a higher token
	newest  map[int32]write   // of the turns that wrote, the one that was surely granted last, by lock
	highest map[int32]token   // of all turns so far, by lock
	refused int
	writes  int
	broken  Result // Holds until the first violation
}

// Grants tells, at the execution of a request, which lock that may have got its client; 0: none.
// Of a lock that it never tells, only asking bounds the turns.
type Grants func() (lock int32)

// asking is a client's wait for a lock: since which event it cannot have been granted yet, and
// which token was the highest by then.
type asking struct {
	since   uint64
	before  token
	granted bool // it may have been
}

// token is one of a turn.
type token struct {
	number int64
	owner  trace.Actor
	held   uint64 // the event with which the turn begins
}

// turn is a belief: its number, the event that it begins with, and that up to which it was
// surely not granted, 0 if nothing tells.
type turn struct {
	number      int64
	held, since uint64
}

type holder struct {
	actor trace.Actor
	lock  int32
}

type write struct {
	turn
	token int64
	owner trace.Actor // of the token
	event uint64      // of the write of that turn
}

// NewFencing makes the checker.
func NewFencing(name Names) *Fencing { return NewFencingOf(name, func() int32 { return 0 }) }

// NewFencingOf makes the checker where it is known which requests may have granted a lock.
func NewFencingOf(name Names, grants Grants) *Fencing {
	return &Fencing{name: name, grants: grants, asked: map[holder]asking{}, turn: map[holder]turn{},
		sent: map[uint64]turn{}, applied: map[int32]write{}, newest: map[int32]write{}, highest: map[int32]token{}}
}

// Observe implements Checker.
func (f *Fencing) Observe(e *trace.Event) {
	who := holder{e.Actor, e.Lock}
	switch e.Kind {
	case trace.Acquire:
		if _, asks := f.asked[who]; !asks {
			f.asked[who] = asking{since: e.N, before: f.highest[e.Lock]}
		}
	case trace.Execute:
		f.executed(e)
	case trace.Refused:
		delete(f.asked, who)
	case trace.Crash: // what it asks for when it was started again is another turn
		maps.DeleteFunc(f.asked, func(h holder, _ asking) bool { return h.actor == e.Peer })
	case trace.Hold:
		f.begins(e, who)
	case trace.Send:
		if e.Lock != 0 {
			f.sent[e.N] = f.turn[who]
		}
	case trace.Drop:
		delete(f.sent, e.Cause)
	case trace.Reject:
		f.refused++
		delete(f.sent, e.Cause)
	case trace.Write:
		f.apply(e)
		delete(f.sent, e.Cause)
	}
}

// executed notes whether a request may have got its client what it asks for: the first that
// may bounds when it was granted.
func (f *Fencing) executed(e *trace.Event) {
	lock := f.grants()
	if lock == 0 {
		return
	}
	who := holder{e.Peer, lock}
	if a, asks := f.asked[who]; asks && !a.granted {
		f.asked[who] = asking{since: e.N, before: f.highest[lock], granted: true}
	}
}

// begins is the begin of a turn.
func (f *Fencing) begins(e *trace.Event, who holder) {
	a := f.asked[who]
	delete(f.asked, who)
	f.turns++
	f.turn[who] = turn{f.turns, e.N, a.since}
	if e.A == 0 {
		return
	}
	highest := f.highest[e.Lock]
	isAnothers := func(t token) bool { return e.A == t.number && e.Actor != t.owner }
	switch {
	case e.A < a.before.number || isAnothers(a.before):
		f.goesBack(e, a.before)
	case isAnothers(highest): // one of the two turns is the later one, whichever it is
		f.goesBack(e, highest)
	case e.A > highest.number:
		f.highest[e.Lock] = token{e.A, e.Actor, e.N}
	}
}

// goesBack notes a turn whose token is no larger than one before.
func (f *Fencing) goesBack(e *trace.Event, before token) {
	had := fmt.Sprintf("which %s had before", f.name(before.owner))
	if e.A < before.number {
		had = fmt.Sprintf("though %s had %d before", f.name(before.owner), before.number)
	}
	f.fail(before.held, e.N, fmt.Sprintf("at %s %s got the lock with token %d, %s",
		stamp(e.At), f.name(e.Actor), e.A, had))
}

// fail notes a violation; the first is told.
func (f *Fencing) fail(before, event uint64, reason string) {
	if f.broken.Verdict != Violated {
		f.broken = Result{Check: "fencing", Verdict: Violated, Events: []uint64{before, event}, Reason: reason}
	}
}

func (f *Fencing) apply(e *trace.Event) {
	f.writes++
	if f.broken.Verdict == Violated {
		return
	}
	w := write{f.sent[e.Cause], e.A, e.Peer, e.N}
	before, newest := f.applied[e.Lock], f.newest[e.Lock]
	sameToken := w.token != 0 && w.token == before.token && w.owner != before.owner
	early := w.token == before.token && w.number < before.number
	switch {
	case early || w.token < before.token || sameToken:
		f.goesStale(e, w, before)
	case w.held < newest.since:
		f.goesStale(e, w, newest)
	}
	f.applied[e.Lock] = w
	if w.since > newest.since {
		f.newest[e.Lock] = w
	}
}

// goesStale notes a stale write, and one beside which it is stale.
func (f *Fencing) goesStale(e *trace.Event, w, beside write) {
	at, who, earlier := stamp(e.At), f.name(e.Peer), f.name(beside.owner)
	reason := fmt.Sprintf("at %s the resource applied a stale write of %s", at, who)
	switch isLater := w.number > beside.number; {
	case isLater && e.A == beside.token:
		reason = fmt.Sprintf("at %s the resource applied a write of %s with token %d, which %s had before",
			at, who, e.A, earlier)
	case isLater:
		reason = fmt.Sprintf("at %s the resource applied a write of %s with token %d, though %s had %d before",
			at, who, e.A, earlier, beside.token)
	}
	f.fail(beside.event, e.N, reason)
}

// Result implements Checker.
func (f *Fencing) Result(time.Duration) Result {
	switch {
	case f.broken.Verdict == Violated:
		return f.broken
	case f.writes == 0:
		return Result{Check: "fencing", Verdict: Unknown,
			Reason: fmt.Sprintf("no write was applied, and %d refused", f.refused)}
	}
	return Result{Check: "fencing",
		Reason: fmt.Sprintf("%s applied, none stale; %d refused", Several(f.writes, "write"), f.refused)}
}
