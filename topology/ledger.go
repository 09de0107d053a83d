package topology

import (
	"cmp"
	"slices"
	"time"
)

// ledger is what a trace remembers of locks, so that Overlaps tells of what happened however many events
// ago: of each lock the overlaps that are over, and the holds that may yet be part of one.
type ledger struct {
	pasts map[string]*past // by key
	limit int              // of them, before those are looked for of which there is nothing left to remember
}

// past is what is remembered of one lock.
type past struct {
	found  []Overlap // that are over, the first mostFound
	events []Event   // what may yet make one
	limit  int       // of these, before they are settled
}

const (
	mostFound   = 1000
	fewestPasts = 1 << 12
	fewEvents   = 64
)

// note takes in an event, which is a hold or the end of one.
func (l *ledger) note(e Event) {
	p := l.pasts[e.Key]
	if p == nil {
		p = &past{limit: fewEvents}
		l.pasts[e.Key] = p
	}
	p.events = append(p.events, e)
	if len(p.events) > p.limit {
		p.settle(e.Key, e.At)
		p.limit = max(fewEvents, 2*len(p.events))
	}
	if len(l.pasts) <= l.limit {
		return
	}
	for key, p := range l.pasts {
		if p.settle(key, e.At); len(p.events) == 0 && len(p.found) == 0 {
			delete(l.pasts, key)
		}
	}
	l.limit = max(fewestPasts, 2*len(l.pasts))
}

// overlaps are those of a key so far.
func (l *ledger) overlaps(key string) []Overlap {
	p := l.pasts[key]
	if p == nil {
		return nil
	}
	return append(slices.Clone(p.found), Overlaps(p.events, key)...)
}

// settle finds what is over by now, and forgets the events that it needs for nothing else: it
// keeps a hold, as its beginning, that had not ended before now, or is part of what its owner
// holds now. One that ends now may be taken up again at once.
func (p *past) settle(key string, now time.Duration) {
	bySet, sets := claimsOf(p.events, key)
	holds := quorums(bySet, sets)
	for _, o := range overlapsOf(holds, key) {
		if o.To < now && len(p.found) < mostFound {
			p.found = append(p.found, o)
		}
	}
	since := map[owner]time.Duration{} // of those that hold now
	for _, h := range holds {
		if h.to >= now {
			since[h.owner] = h.from
		}
	}
	p.events = p.events[:0]
	for who, claims := range bySet {
		begun, open := since[who.owner]
		for _, h := range claims {
			if h.from < h.to && (h.to >= now || open && h.to > begun) {
				p.events = append(p.events, Event{
					Kind: LockHeld, Key: key, DB: h.owner.db, Owner: h.owner.name, Shared: h.shared, At: h.from, Until: h.to,
					Set: who.set, Sets: sets,
				})
			}
		}
	}
	slices.SortStableFunc(p.events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}
