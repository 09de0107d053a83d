package check

import "minikv/trace"

// server is an actor that executes requests. In a random past they name in B the lock that they
// may have got their client.
const server trace.Actor = 8

func grantedBy(e *trace.Event) int32 {
	if e.Kind != trace.Execute {
		return 0
	}
	return int32(e.B)
}

// since is the number of the event up to which a turn, by the place of its begin, was surely
// not granted: the first request that may have done that, or its client's asking; 0: unknown.
func (p past) since(begin int) (n int) {
	turn, asked, granted := p[begin], 0, 0
	for i := begin - 1; i >= 0; i-- {
		switch e := p[i]; {
		case e.Kind == trace.Crash && e.Peer == turn.Actor:
			i = 0
		case e.Kind == trace.Execute && e.Peer == turn.Actor && grantedBy(&e) == turn.Lock:
			granted = i + 1
		case e.Actor != turn.Actor || e.Lock != turn.Lock:
		case e.Kind == trace.Acquire:
			asked, n = i+1, max(i+1, granted)
		case e.Kind == trace.Hold, e.Kind == trace.Refused:
			i = 0
		}
	}
	if asked == 0 {
		return 0
	}
	return n
}

// sinceOf is since of the turn in which a write was sent.
func (p past) sinceOf(sent trace.Event) int {
	if n := p.turn(sent); n > 0 {
		return p.since(n - 1)
	}
	return 0
}

// highest is the highest token with which somebody got a lock before a place.
func (p past) highest(lock int32, at int) (token int64) {
	for _, e := range p[:at] {
		if e.Kind == trace.Hold && e.Lock == lock {
			token = max(token, e.A)
		}
	}
	return token
}

func (p past) fencing() Verdict {
	stale, writes := false, 0
	for i, e := range p {
		for at, before := range p[:i] {
			switch {
			case before.Kind != e.Kind || before.Lock != e.Lock:
			case e.Kind == trace.Write:
				early := p.turn(p[e.Cause-1]) < p.turn(p[before.Cause-1])
				same := e.A == before.A && (early || e.A > 0 && e.Peer != before.Peer)
				newer := p.sinceOf(p[before.Cause-1]) > p.turn(p[e.Cause-1])
				stale = stale || e.A < before.A || same || newer
			case e.Kind == trace.Hold && e.A > 0:
				later, same := at+1 < p.since(i), before.A == e.A && before.Actor != e.Actor
				stale = stale || later && (before.A > e.A || same) || same && p.highest(e.Lock, i) == e.A
			}
		}
		if e.Kind == trace.Write {
			writes++
		}
	}
	return verdict(stale, writes > 0)
}
