package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"minikv/sim"
	"minikv/sim/check"
	"minikv/trace"
)

// mostSentences is how many events a story tells at most; its conclusion comes after them.
const mostSentences = 7

// How dispensable a sentence is: where there are too many the highest go first.
const (
	named = iota // by the result
	decisive
	helpful
	spare
	last
)

// teller picks the events of a run that made it violate a check.
type teller struct {
	*explainer
	picked map[uint64]int    // by event, how dispensable it is
	more   map[uint64]string // by event, what its sentence says besides
}

// tell is the causal slice of the violation: what decided it with what that
// followed from, and the faults that it needed, in the order of time.
func (x *explainer) tell(needed []sim.Step) []string {
	t := &teller{x, map[uint64]int{}, map[uint64]string{}}
	v := x.violated[0]
	for i, n := range v.Events {
		t.pick(n, named)
		t.granted(n, spare-min(i, 1))
	}
	conclusion := t.around(&v)
	calm := t.next(0, func(e *trace.Event) bool { return e.Kind == trace.Calm })
	for i := range x.events {
		e := &x.events[i]
		if e.Kind.Fault() && x.isOf(e, needed) {
			t.pick(e.N, decisive)
			if ends := e.Kind == trace.Resume || e.Kind == trace.Heal; ends && calm > 0 && e.At == t.event(calm).At {
				t.more[e.N] = ", as all faults end then"
			}
			switch {
			case t.picked[e.N] == named:
			case e.Kind == trace.Resume || e.Kind == trace.Heal:
				t.picked[e.N] = last
			case e.Kind == trace.Crash && t.comesBackEmpty(e):
				t.picked[e.N] = spare // the restart says it
			}
		}
	}
	t.pick(x.ending(), last)
	conclusion = append(conclusion, fmt.Sprintf("So %s is violated: %s.", v.Check, v.Reason))
	return append(t.sentences(mostSentences+1-len(conclusion)), conclusion...)
}

// comesBackEmpty reports whether the next that is told of what crashed is its start
// without its data.
func (t *teller) comesBackEmpty(crash *trace.Event) bool {
	back := t.next(crash.N, func(e *trace.Event) bool { return e.Kind == trace.Restart && e.Peer == crash.Peer })
	return back > 0 && t.event(back).A == 0
}

// pick has an event told, unless there are too many that are less dispensable.
func (t *teller) pick(n uint64, matter int) {
	if n == 0 {
		return
	}
	if known, ok := t.picked[n]; !ok || matter < known {
		t.picked[n] = matter
	}
}

// sentences are those of what is picked, as many as there is room for.
func (t *teller) sentences(room int) (list []string) {
	for matter := last; matter >= named; matter-- {
		for n := uint64(len(t.events)); n > 0 && len(t.picked) > room; n-- {
			if m, ok := t.picked[n]; ok && m == matter {
				delete(t.picked, n)
			}
		}
	}
	for i := range t.events {
		if _, ok := t.picked[uint64(i+1)]; ok {
			list = append(list, t.sentence(&t.events[i]))
		}
	}
	return list
}

// granted picks what gave a client what an event says that it has, and what made
// that free. Where several servers had to agree the event's sentence names them.
func (t *teller) granted(n uint64, matter int) {
	e := t.event(n)
	if e.Kind != trace.Hold && e.Kind != trace.Opened && e.Kind != trace.Told {
		return
	}
	if t.independent() {
		t.grantedBySeveral(e, matter)
		return
	}
	grant := t.grant(n)
	if grant == 0 {
		return
	}
	t.pick(grant, matter)
	if g := t.event(grant); e.Kind == trace.Hold && touches(g, e.Key, trace.Changed) {
		t.more[grant] = ": " + t.names[e.Actor] + " has " + e.Key
		if touches(g, e.Key, trace.Expired) {
			t.more[grant] += ", as the TTL of what was there has passed"
		}
	}
	opening := t.opening(grant, e.Key)
	t.pick(opening, matter)
	t.pick(t.promotion(grant), matter)
	if opening > 0 && t.story.World.Cluster {
		for _, other := range sim.HeldByOthers(t.events, e) {
			t.pick(t.unrenewed(opening, t.event(other).Actor, e.Key), matter)
		}
	}
}

// grantedBySeveral has the sentence of a belief name the servers that granted it, and those
// at which that had ended by time before the belief began. It picks what made it overlap others.
func (t *teller) grantedBySeveral(hold *trace.Event, matter int) {
	var by, lapsed []string
	for _, g := range t.grants(hold) {
		name := t.names[t.event(g).Actor]
		by = append(by, name)
		if end := t.end(g, hold.N, hold.Key); end > 0 && expiresPart(t.event(end), hold.Key) {
			lapsed = append(lapsed, name)
		}
	}
	if len(by) > 0 {
		t.more[hold.N] = ", granted by " + listed(by)
	}
	if len(lapsed) > 0 {
		t.more[hold.N] += "; by then its TTL has passed at " + listed(lapsed)
	}
	ended := t.endedBetween(hold)
	if t.pick(ended, matter); ended > 0 && t.event(ended).Kind == trace.Execute && expiresPart(t.event(ended), hold.Key) {
		t.more[ended] = ", as the TTL of what was there has passed"
	}
}

// promotion is how the server that granted became a master in the run, if it did; 0 else.
func (x *explainer) promotion(grant uint64) uint64 {
	server := x.event(grant).Actor
	return x.latest(grant, func(e *trace.Event) bool { return e.Kind == trace.Promote && e.Peer == server })
}

// around picks what else belongs to a violation of its check, and returns sentences
// about what is no single event.
func (t *teller) around(v *check.Result) []string {
	if len(v.Events) == 0 {
		return nil
	}
	e := t.event(v.Events[len(v.Events)-1])
	switch v.Check {
	case "theft":
		if by := t.grant(e.N); by > 0 {
			t.pick(by, helpful)
			for _, d := range t.event(by).Details {
				t.pick(t.taken(by, d.Key, e.Peer), helpful)
				t.pick(t.taken(by, d.Key, e.Actor), spare)
			}
		}
	case "kept":
		if held := t.began(e.N, e.Actor, e.Lock); held > 0 {
			t.pick(held, helpful)
			t.granted(held, spare)
		}
	case "capacity", "guard", "linear":
		for _, n := range sim.HeldByOthers(t.events, e) {
			t.pick(n, helpful)
			t.granted(n, last)
		}
	case "fencing": // the write that came before, and the stale one
		t.pick(t.heldBy(t.event(v.Events[0])), spare)
		t.pick(t.heldBy(e), helpful)
		t.granted(t.heldBy(e), spare)
	case "lease": // what was taken until the grant, by who may be gone as well
		if by := t.grant(e.N); by > 0 {
			if opening := t.opening(by, e.Key); opening > 0 {
				t.pick(t.taken(opening, e.Key, 0), helpful)
			}
		}
	case "order":
		t.tellDropped(v.Events[0], e.N, e.Key, t.names[t.event(v.Events[0]).Actor])
	case "leak", "holds":
		t.pick(t.stillTaken(e.N, e.Key), helpful)
	case "progress", "liveness":
		return t.meanwhile(e)
	}
	return nil
}

// taken is the last execution before event n that changed a key and did not end it,
// for a client; client 0: for anybody.
func (t *teller) taken(n uint64, key string, client trace.Actor) uint64 {
	return t.latest(n, func(e *trace.Event) bool {
		return e.Kind == trace.Execute && (client == 0 || e.Peer == client) &&
			leaves(e, func(k string) bool { return k == key })
	})
}

// stillTaken is the last execution before event n that changed a lock's key, or that of a
// member of it, where that has not gone since; 0: none.
func (t *teller) stillTaken(n uint64, lock string) uint64 {
	gone := map[trace.Actor]bool{}
	return t.latest(n, func(e *trace.Event) bool {
		gone[e.Actor] = gone[e.Actor] || frees(e, lock)
		return e.Kind == trace.Execute && !gone[e.Actor] && leaves(e, func(k string) bool { return isPartOf(k, lock) })
	})
}

// leaves reports whether an event has changed such a key and left it there. A script that
// ends a lock may change it before.
func leaves(e *trace.Event, is func(key string) bool) bool {
	for _, d := range slices.Backward(e.Details) {
		if is(d.Key) && (d.What == trace.Changed || d.Gone()) {
			return !d.Gone()
		}
	}
	return false
}

// began is the latest event before event n with which a client began to hold a lock; 0: none.
func (t *teller) began(n uint64, client trace.Actor, lock int32) uint64 {
	return t.latest(n, func(e *trace.Event) bool {
		return e.Kind == trace.Hold && e.Actor == client && e.Lock == lock
	})
}

// heldBy is the event with which a client began to hold the lock under which it
// wrote; 0: it held none. It is the event itself, if that is such a beginning.
func (t *teller) heldBy(write *trace.Event) uint64 {
	if write.Kind == trace.Hold {
		return write.N
	}
	return t.began(write.N, write.Peer, write.Lock)
}

// times is how often something happened.
func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// independent reports whether a lock is on several servers that know nothing of each other.
func (x *explainer) independent() bool { return x.story.World.Masters > 1 && !x.story.World.Cluster }

// grant is the last command that a server executed before event n and from
// which n followed, unless it only asked what replicas have; 0: none. What a replica
// acknowledges answers all who asked for that, and so follows from what one of them asked.
func (x *explainer) grant(n uint64) uint64 {
	who, from := x.event(n).Actor, n
	for ; n != 0; n = x.event(n).Cause {
		switch e := x.event(n); {
		case e.Kind != trace.Execute:
		case !sim.Confirms(e):
			return n
		case e.Peer != who:
			return x.latest(from, func(o *trace.Event) bool {
				return o.Kind == trace.Execute && o.Peer == who && !sim.Confirms(o)
			})
		}
	}
	return 0
}

// grants are the executions, one for each server and in the order of these, with
// which a client that then held a lock had taken it. Who makes a TTL longer takes nothing:
// PEXPIRE does not ask whose key it is.
func (t *teller) grants(hold *trace.Event) []uint64 {
	has := make([]uint64, len(t.names))
	asked := t.latest(hold.N, func(e *trace.Event) bool { return e.Kind == trace.Acquire && e.Actor == hold.Actor })
	for n := asked + 1; asked > 0 && n < hold.N; n++ {
		e := t.event(n)
		if e.Kind != trace.Execute || e.Peer != hold.Actor || strings.HasPrefix(e.Text, "PEXPIRE ") {
			continue
		}
		for _, d := range e.Details {
			if d.What != trace.Changed || !isPartOf(d.Key, hold.Key) {
				continue
			}
			if has[e.Actor] = n; d.Gone() {
				has[e.Actor] = 0 // given back
			}
		}
	}
	return slices.DeleteFunc(has, func(n uint64) bool { return n == 0 })
}

// endedBetween is what ended, at the servers that granted both what an event says that
// a client has and what others still have by then, the earlier of these grants before the
// later came: the latest of these ends; 0: there is none.
func (t *teller) endedBetween(hold *trace.Event) (ended uint64) {
	for _, n := range sim.HeldByOthers(t.events, hold) {
		for _, other := range t.grants(t.event(n)) {
			for _, own := range t.grants(hold) {
				if t.event(own).Actor == t.event(other).Actor {
					ended = max(ended, t.end(min(own, other), max(own, other), hold.Key))
				}
			}
		}
	}
	return ended
}

// end is the first event after a grant, and no later than event n, with which the key of
// the grant went at its server, or the server came without it; 0: none.
func (x *explainer) end(grant, n uint64, key string) uint64 {
	server := x.event(grant).Actor
	end := x.next(grant, func(e *trace.Event) bool { return comesWithout(e, server) || freesAt(e, server, key) })
	if end > n {
		return 0
	}
	return end
}

// isPartOf reports whether a key is a lock's, or that of a member of it.
func isPartOf(key, lock string) bool { return key == lock || strings.HasPrefix(key, lock+".") }

// touches reports whether an execution did that to a key.
func touches(e *trace.Event, key string, what trace.What) bool {
	return slices.ContainsFunc(e.Details, func(d trace.Detail) bool { return d.Key == key && d.What == what })
}

// expiresPart reports whether a lock's key, or that of a member of it, ends in an event
// because its TTL has passed.
func expiresPart(e *trace.Event, lock string) bool {
	return slices.ContainsFunc(e.Details, func(d trace.Detail) bool {
		return d.What == trace.Expired && isPartOf(d.Key, lock)
	})
}

// opening is what made a key free for a grant: the latest event before it, at
// its server, in which the key went, or the server came without it. 0: nothing.
// Where the key's slot has moved to that server it may have gone at that which had it before.
func (x *explainer) opening(grant uint64, key string) uint64 {
	server, former := x.event(grant).Actor, trace.Actor(0)
	if x.story.World.Cluster && x.promotion(grant) == 0 {
		had := x.latest(grant, func(e *trace.Event) bool {
			return e.Kind == trace.Execute && leaves(e, func(k string) bool { return isPartOf(k, key) })
		})
		if had > 0 {
			former = x.event(had).Actor
		}
	}
	return x.latest(grant, func(e *trace.Event) bool {
		return comesWithout(e, server) || freesAt(e, server, key) || former > 0 && freesAt(e, former, key)
	})
}

// unrenewed is the last try of a client, before event n, to renew what it holds, if a server
// answered that with an error; 0: it did not. Who is sent to another server tries there.
func (x *explainer) unrenewed(n uint64, client trace.Actor, key string) uint64 {
	failed := false
	try := x.latest(n, func(e *trace.Event) bool {
		if e.Kind != trace.Execute || e.Peer != client || !strings.Contains(e.Text, "-renew(") || !isAbout(e.Text, key) {
			return false
		}
		_, reply, _ := strings.Cut(e.Text, ") = ")
		failed = reply != "" && reply[0] >= 'A' && reply[0] <= 'Z'
		return !strings.HasPrefix(reply, "ASK ") && !strings.HasPrefix(reply, "MOVED ")
	})
	if !failed {
		return 0
	}
	return try
}

// comesWithout reports whether a server may have come, with an event, without what others had.
func comesWithout(e *trace.Event, server trace.Actor) bool {
	return e.Peer == server && (e.Kind == trace.Promote || e.Kind == trace.Restart && loses(e))
}

// freesAt reports whether a lock's key, or that of a member of it, goes at a server in an
// event: a fault may have taken it there.
func freesAt(e *trace.Event, server trace.Actor, lock string) bool {
	at := e.Actor
	if e.Kind == trace.Evict || e.Kind == trace.Command {
		at = e.Peer
	}
	return at == server && frees(e, lock)
}

// ending is how the first belief of an overlap ended, if it did; 0 else.
func (x *explainer) ending() uint64 {
	r := x.violated[0]
	if r.Check != "exclusion" || len(r.Events) == 0 {
		return 0
	}
	who := x.event(r.Events[0]).Actor
	return x.next(r.Events[len(r.Events)-1], func(e *trace.Event) bool {
		return e.Actor == who && (e.Kind == trace.Release || e.Kind == trace.Lost)
	})
}

// sentence is an event as a sentence with its time.
func (t *teller) sentence(e *trace.Event) string {
	text := string(e.AppendSentence(nil, t.names))
	if e.Kind == trace.Execute {
		text = t.names[e.Actor] + " executes " + strings.TrimPrefix(text, t.names[e.Actor]+" ")
		if who := t.names[e.Peer]; strings.HasPrefix(who, "c") && !strings.Contains(text+t.more[e.N], who) {
			text += ", asked by " + who
		}
	}
	return fmt.Sprintf("At %s %s%s (#%d).", atTime(e.At), text, t.more[e.N], e.N)
}

// atTime is a time of a run as sentences have it: 0.006 s.
func atTime(d time.Duration) string { return string(trace.AppendTime(nil, d)) + " s" }

// listed joins names: m1, m2 and m3.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
