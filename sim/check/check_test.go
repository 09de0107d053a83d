package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

const (
	c1 trace.Actor = iota + 1
	c2
	c3
	resource
	nemesis
)

func name(a trace.Actor) string { return []string{"", "c1", "c2", "c3", "resource", "nemesis"}[a] }

// at is an event about lock 1, at a time in seconds.
func at(seconds int, kind trace.Kind, actor trace.Actor) trace.Event {
	return trace.Event{At: time.Duration(seconds) * time.Second, Kind: kind, Actor: actor, Lock: 1}
}

func inLock(lock int32, e trace.Event) trace.Event {
	e.Lock = lock
	return e
}

// numbers gives an event its A and B.
func numbers(a, b int64, e trace.Event) trace.Event {
	e.A, e.B = a, b
	return e
}

// of gives an event its peer.
func of(who trace.Actor, e trace.Event) trace.Event {
	e.Peer = who
	return e
}

// crashed is the crash of a client, with what is left of its lease.
func crashed(seconds int, who trace.Actor, left int) trace.Event {
	return trace.Event{At: time.Duration(seconds) * time.Second, Kind: trace.Crash, Actor: nemesis, Peer: who,
		A: int64(left) * int64(time.Second)}
}

// send is the sending of a write. written is the resource's answer to it: n is its place in the events.
func send(seconds int, who trace.Actor) trace.Event { return at(seconds, trace.Send, who) }

func written(seconds int, who trace.Actor, n uint64, token int64) trace.Event {
	e := at(seconds, trace.Write, resource)
	e.Peer, e.Cause, e.A = who, n, token
	return e
}

type events []trace.Event

var checkTests = []struct {
	name    string
	make    func() Checker
	events  events
	end     int // seconds
	verdict Verdict
	reason  string
	decided []uint64
}{
	{"nothing happened", exclusion, events{}, 9, Unknown, "nobody got a lock", nil},
	{"one after the other", exclusion, events{at(1, trace.Hold, c1), at(2, trace.Release, c1), at(2, trace.Hold, c2)},
		9, Holds, "2 grants, no two beliefs overlap", nil},
	{"two locks", exclusion, events{at(1, trace.Hold, c1), inLock(2, at(2, trace.Hold, c2))},
		9, Holds, "2 grants, no two beliefs overlap", nil},
	{"two at once", exclusion, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Release, c1)},
		9, Violated, "c1 [1.000, 3.000] overlaps c2 [2.000, …]", []uint64{1, 2}},
	{"three at once: the first two are told, and all their ends are known", exclusion,
		events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Hold, c3), at(4, trace.Release, c2),
			at(5, trace.Release, c1), at(6, trace.Release, c3), at(7, trace.Hold, c1)},
		9, Violated, "c1 [1.000, 5.000] overlaps c2 [2.000, 4.000]", []uint64{1, 2}},
	{"a client holds twice: it re-enters", exclusion,
		events{at(1, trace.Hold, c1), at(2, trace.Hold, c1), at(3, trace.Release, c1), at(4, trace.Release, c1),
			at(5, trace.Hold, c2)}, 9, Holds, "3 grants, no two beliefs overlap", nil},
	{"a client holds twice: one release does not free", exclusion,
		events{at(1, trace.Hold, c1), at(2, trace.Hold, c1), at(3, trace.Release, c1), at(4, trace.Hold, c2)},
		9, Violated, "c1 [1.000, …] overlaps c2 [4.000, …]", []uint64{1, 4}},
	{"a crash ends the belief", exclusion,
		events{at(1, trace.Hold, c1), crashed(2, c1, 0), at(2, trace.Lost, c1), at(3, trace.Hold, c2)},
		9, Holds, "2 grants, no two beliefs overlap", nil},

	{"nobody wrote", fencing, events{at(1, trace.Hold, c1)}, 9, Unknown, "no write was applied, and 0 refused", nil},
	{"in order", fencing, events{at(1, trace.Hold, c1), send(2, c1), written(2, c1, 2, 1), at(3, trace.Hold, c2),
		send(3, c2),
		written(4, c2, 5, 2)}, 9, Holds, "2 writes applied, none stale; 0 refused", nil},
	{"after another's turn, without tokens", fencing, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), send(3, c2),
		written(3, c2, 3, 0), send(4, c1), written(4, c1, 5, 0)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{4, 6}},
	{"the write of an earlier turn of the same client", fencing, events{at(1, trace.Hold, c1), send(1, c1), at(2,
		trace.Hold, c2),
		send(2, c2), written(3, c2, 4, 0), at(4, trace.Hold, c1), written(5, c1, 2, 0)},
		9, Violated, "at 5.000 the resource applied a stale write of c1", []uint64{5, 7}},
	{"the same token twice", fencing, events{at(1, trace.Hold, c1), send(1, c1), written(1, c1, 2, 7), at(2,
		trace.Hold, c2),
		send(2, c2), written(3, c2, 5, 7)}, 9, Violated, "at 3.000 the resource applied a write of c2 with token 7, " +
		"which c1 had before", []uint64{3, 6}},
	{"the same token twice, of one client", fencing, events{at(1, trace.Hold, c1), send(1, c1), written(1, c1, 2,
		7), send(2, c1),
		written(3, c1, 4, 7)}, 9, Holds, "2 writes applied, none stale; 0 refused", nil},
	{"the same token twice, of an earlier turn of one client", fencing, events{at(1, trace.Hold, c1), send(1, c1),
		at(2, trace.Hold, c1), send(2, c1), written(3, c1, 4, 7), written(4, c1, 2, 7)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{5, 6}},
	{"the same token twice, behind an earlier token of a later turn", fencing, events{at(1, trace.Hold, c1),
		at(2, trace.Hold, c2), send(2, c2), written(2, c2, 3, 6), send(3, c1), written(3, c1, 5, 7), send(4, c1),
		written(4, c1, 7, 7)}, 9, Holds, "3 writes applied, none stale; 0 refused", nil},
	{"a lower token", fencing, events{at(1, trace.Hold, c1), send(1, c1), written(1, c1, 2, 7), at(2, trace.Hold,
		c2), send(2, c2),
		written(3, c2, 5, 6)}, 9, Violated, "at 3.000 the resource applied a write of c2 with token 6, " +
		"though c1 had 7 before", []uint64{3, 6}},
	{"the same token twice, of an earlier turn of another client", fencing, events{at(1, trace.Hold, c1), send(1, c1),
		at(2, trace.Hold, c2), send(2, c2), written(3, c2, 4, 7), written(4, c1, 2, 7)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{5, 6}},
	{"refused writes are not applied", fencing, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), send(2, c2),
		written(2, c2, 3, 2), send(3, c1), at(4, trace.Reject, resource)},
		9, Holds, "1 write applied, none stale; 1 refused", nil},
	{"a higher token of an earlier turn", fencing, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), send(3, c2),
		written(3, c2, 3, 1), send(4, c1), written(4, c1, 5, 2)}, 9, Holds, "2 writes applied, none stale; 0 refused", nil},

	{"a higher token of a turn before the other was asked for", fencing, events{at(1, trace.Hold, c1), at(2, trace.Acquire,
		c2), at(2, trace.Hold, c2), send(3, c2), written(3, c2, 4, 1), send(4, c1), written(4, c1, 6, 2)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{5, 7}},
	{"a turn that was asked for again after a refusal: from then on", fencing, events{at(1, trace.Acquire, c2),
		at(1, trace.Refused, c2), at(1, trace.Hold, c1), at(2, trace.Acquire, c2), at(2, trace.Hold, c2), send(3, c2),
		written(3, c2, 6, 1), send(4, c1), written(4, c1, 8, 2)}, 9, Violated,
		"at 4.000 the resource applied a stale write of c1", []uint64{7, 9}},
	{"a turn that was asked for again after a crash: from then on", fencing, events{at(1, trace.Acquire, c2),
		crashed(1, c2, 0), at(1, trace.Hold, c1), at(2, trace.Acquire, c2), at(2, trace.Hold, c2), send(3, c2),
		written(3, c2, 6, 1), send(4, c1), written(4, c1, 8, 2)}, 9, Violated,
		"at 4.000 the resource applied a stale write of c1", []uint64{7, 9}},
	{"a turn that was asked for before, and again", fencing, events{at(1, trace.Acquire, c2), at(1, trace.Hold, c1),
		at(2, trace.Acquire, c2), at(2, trace.Hold, c2), send(3, c2), written(3, c2, 5, 1), send(4, c1),
		written(4, c1, 7, 2)}, 9, Holds, "2 writes applied, none stale; 0 refused", nil},
	{"a turn that was asked for before another's crash", fencing, events{at(1, trace.Hold, c1), at(2, trace.Acquire, c2),
		crashed(2, c3, 0), at(2, trace.Hold, c2), send(3, c2), written(3, c2, 5, 1), send(4, c1), written(4, c1, 7, 2)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{6, 8}},
	{"of the turns that wrote, that which was asked for last counts", fencing, events{at(1, trace.Acquire, c2),
		at(1, trace.Hold, c1), at(2, trace.Acquire, c3), at(2, trace.Hold, c2), at(2, trace.Hold, c3),
		send(3, c3), written(3, c3, 6, 1), send(3, c2), written(3, c2, 8, 2), send(4, c1), written(4, c1, 10, 3)},
		9, Violated, "at 4.000 the resource applied a stale write of c1", []uint64{7, 11}},

	{"nobody asked", progress, events{}, 9, Unknown, "nobody asked for a lock and got it", nil},
	{"who has what it has not asked for, or is refused more inside of that", progress, events{at(1, trace.Hold, c1),
		at(2, trace.Acquire, c1), at(3, trace.Refused, c1)}, 9, Unknown, "nobody asked for a lock and got it", nil},
	{"the run ends before its time", progress, events{at(8, trace.Acquire, c1)}, 9, Unknown,
		"nobody asked for a lock and got it", nil},
	{"somebody gets it, and another waits in a run that is no longer than the bound", progress, events{at(1,
		trace.Acquire, c1), at(2, trace.Acquire, c2), at(2, trace.Hold, c1)}, 5, Unknown,
		"c2 still waited when the run ended, and the run was no longer than the bound of 5s", nil},
	{"nobody waits at the end of such a run", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1)}, 5,
		Holds, "nobody waited longer than 1s; the bound is 5s", nil},
	{"soon enough", progress, events{at(1, trace.Acquire, c1), at(4, trace.Hold, c1)}, 99, Holds,
		"nobody waited longer than 3s; the bound is 5s", nil},
	{"too late", progress, events{at(1, trace.Acquire, c1), at(7, trace.Hold, c1), at(8, trace.Acquire, c2), at(9,
		trace.Hold, c2)},
		99, Violated, "c1 waited 6s, more than 5s", []uint64{1}},
	{"a failed attempt is part of the wait", progress, events{at(1, trace.Acquire, c1), at(4, trace.Refused, c1),
		at(4, trace.Acquire, c1), at(7, trace.Hold, c1)}, 99, Violated, "c1 waited 6s, more than 5s", []uint64{1}},
	{"never", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1), at(3, trace.Acquire, c2)},
		99, Violated, "c2 waited 1m36s, more than 5s", []uint64{3}},
	{"who waits at the end is named, whoever waited longest", progress, events{at(1, trace.Acquire, c1),
		at(5, trace.Hold, c1), at(6, trace.Acquire, c3), at(7, trace.Acquire, c2)}, 9, Holds,
		"nobody waited longer than 4s; the bound is 5s; c3 still waits, for 3s so far", nil},
	{"also where that is the longest wait", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1),
		at(4, trace.Acquire, c2)}, 9, Holds, "nobody waited longer than 5s; the bound is 5s; c2 still waits, for 5s so far",
		nil},
	{"a pause of its own is no wait", progress, events{at(1, trace.Acquire, c1), {At: 2 * time.Second, Kind: trace.Pause,
		Peer: c1}, at(30, trace.Resume, c1), at(31, trace.Hold, c1)}, 99, Holds,
		"nobody waited longer than 2s; the bound is 5s", nil},
	{"nor are several pauses that overlap", progress, events{at(1, trace.Acquire, c1), of(c1, at(2, trace.Pause, nemesis)),
		of(c1, at(25, trace.Pause, nemesis)), at(30, trace.Resume, c1), at(31, trace.Hold, c1)}, 99, Holds,
		"nobody waited longer than 2s; the bound is 5s", nil},
	{"a crashed waiter waits no more", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1), at(3,
		trace.Acquire, c2),
		crashed(4, c2, 0)}, 99, Holds, "nobody waited longer than 1s; the bound is 5s", nil},
	{"one that has ended waits no more", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1), at(3,
		trace.Acquire, c2),
		at(4, trace.Refused, c2), at(4, trace.End, c2)}, 99, Holds, "nobody waited longer than 1s; the bound is 5s", nil},
	{"one that gives up has waited in vain", progress, events{at(1, trace.Acquire, c1), at(2, trace.Hold, c1), at(3,
		trace.Acquire, c2),
		at(9, trace.Refused, c2), at(9, trace.End, c2)}, 99, Violated, "c2 waited 6s, more than 5s", []uint64{3}},
	{"as long as the bound", progress, events{at(1, trace.Acquire, c1), at(6, trace.Hold, c1)}, 99, Holds,
		"nobody waited longer than 5s; the bound is 5s", nil},
	{"who finds a latch open waits no more", progress, events{at(1, trace.Acquire, c1), at(3, trace.Opened, c1)}, 99,
		Holds, "nobody waited longer than 2s; the bound is 5s", nil},

	{"readers may overlap", sharing, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Release, c1),
		at(4, trace.Release, c2), at(5, trace.Hold, c3)}, 9, Holds, "3 grants, no two beliefs overlap", nil},
	{"a writer overlaps with a reader", sharing, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3,
		trace.Hold, c3)}, 9, Violated, "c1 [1.000, …] overlaps c3 [3.000, …]", []uint64{1, 3}},
	{"a writer that only reads is a reader", sharing, events{at(1, trace.Hold, c3), of(c3, at(2, trace.Hold, c3)),
		at(3, trace.Release, c3), at(4, trace.Hold, c1)}, 9, Holds, "3 grants, no two beliefs overlap", nil},
	{"one that writes as well is not", sharing, events{at(1, trace.Hold, c3), of(c3, at(2, trace.Hold, c3)),
		of(c3, at(3, trace.Release, c3)), at(4, trace.Hold, c1)}, 9, Violated,
		"c3 [1.000, …] overlaps c1 [4.000, …]", []uint64{1, 4}},

	{"nobody came", kept, nil, 9, Unknown, "nobody got a lock", nil},
	{"an audit before anybody has anything", leak, events{at(1, trace.Audit, nemesis), at(2, trace.Hold, c1)}, 9, Unknown,
		"nobody has audited a lock once somebody had asked for one", nil},
	{"none lost", kept, events{at(1, trace.Hold, c1), at(2, trace.Release, c1), at(3, trace.Failed, c1)}, 9, Holds,
		"1 grant, none lost before its unlock", nil},
	{"told of a loss", kept, events{at(1, trace.Hold, c1), at(2, trace.Lost, c1)}, 9, Violated,
		"c1 knew at 2.000 that it had lost its lock", []uint64{2}},
	{"found at the unlock", kept, events{at(1, trace.Hold, c1), at(2, trace.Release, c1), numbers(1, 0, at(3,
		trace.Failed, c1))}, 9, Violated, "c1 knew at 3.000 that it had lost its lock", []uint64{3}},
	{"the dead lose nothing", kept, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(2, trace.Lost, c1)}, 9, Holds,
		"1 grant, none lost before its unlock", nil},
	{"who was started again can lose", kept, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(2, trace.Lost, c1),
		at(3, trace.Start, c1), at(4, trace.Hold, c1), at(5, trace.Lost, c1)}, 9, Violated,
		"c1 knew at 5.000 that it had lost its lock", []uint64{6}},

	{"nobody came", capacity, nil, 9, Unknown, "nobody got a permit", nil},
	{"all taken", capacity, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Release, c1), at(4,
		trace.Hold, c3)}, 9, Holds, "at most 2 of 2 permits were taken", nil},
	{"one of two", capacity, events{at(1, trace.Hold, c1), at(2, trace.Release, c1), at(3, trace.Hold, c2)}, 9, Holds,
		"at most 1 of 2 permits were taken", nil},
	{"one too many", capacity, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Hold, c3)}, 9, Violated,
		"at 3.000 c3 got a permit although all 2 were taken", []uint64{3}},
	{"one more than the only one", single, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2)}, 9, Violated,
		"at 2.000 c2 got a permit although the only one was taken", []uint64{2}},
	{"each semaphore has its own", capacity, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), inLock(2, at(3,
		trace.Hold, c3))}, 9, Holds, "at most 2 of 2 permits were taken", nil},
	{"a loss gives back", capacity, events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Lost, c1), at(4,
		trace.Hold, c3)}, 9, Holds, "at most 2 of 2 permits were taken", nil},

	{"nobody waited", gate, events{at(1, trace.CountDown, c1)}, 9, Unknown, "nobody found the latch open", nil},
	{"after the count", gate, events{at(1, trace.CountDown, c1), at(2, trace.CountDown, c2), at(2, trace.Opened, c3)},
		9, Holds, "found open 1 time, never before 2 counts", nil},
	{"before the count", gate, events{at(1, trace.CountDown, c1), inLock(2, at(1, trace.CountDown, c2)), at(2,
		trace.Opened, c3)}, 9, Violated, "c3 found the latch open at 2.000, after 1 of 2 counts", []uint64{3}},

	{"nobody came", order, events{at(1, trace.Acquire, c1)}, 9, Unknown, "nobody got a lock", nil},
	{"in turn", order, events{at(1, trace.Acquire, c1), at(3, trace.Acquire, c2), at(4, trace.Hold, c1), at(5,
		trace.Hold, c2)}, 9, Holds, "2 grants, each in its turn", nil},
	{"out of turn", order, events{at(1, trace.Acquire, c1), at(3, trace.Acquire, c2), at(4, trace.Hold, c2)}, 9,
		Violated, "c1, which asked at 1.000, was passed by c2 at 4.000", []uint64{1, 3}},
	{"nearly together", order, events{at(1, trace.Acquire, c1), at(2, trace.Acquire, c2), at(4, trace.Hold, c2)}, 9,
		Holds, "1 grant, each in its turn", nil},
	{"who gave up or died waits no more", order, events{at(1, trace.Acquire, c1), at(1, trace.Acquire, c2), at(4,
		trace.Acquire, c3), at(5, trace.Refused, c1), crashed(5, c2, 0), at(6, trace.Hold, c3)}, 9, Holds,
		"1 grant, each in its turn", nil},
	{"who re-enters passes nobody", order, events{at(1, trace.Acquire, c1), at(1, trace.Hold, c1), at(2, trace.Acquire,
		c2), at(5, trace.Acquire, c1), at(5, trace.Hold, c1)}, 9, Holds, "2 grants, each in its turn", nil},
	{"nor does who re-enters wait", order, events{at(1, trace.Acquire, c1), at(1, trace.Hold, c1), at(2, trace.Acquire,
		c1), at(2, trace.Hold, c1), at(5, trace.Acquire, c2), at(6, trace.Hold, c2)}, 9, Holds,
		"3 grants, each in its turn", nil},
	{"who has given back waits again", order, events{at(1, trace.Acquire, c1), at(1, trace.Hold, c1), at(2,
		trace.Acquire, c2), at(3, trace.Release, c1), at(5, trace.Acquire, c1), at(5, trace.Hold, c1)}, 9, Violated,
		"c2, which asked at 2.000, was passed by c1 at 5.000", []uint64{3, 6}},
	{"who has lost it waits again", order, events{at(1, trace.Acquire, c1), at(1, trace.Hold, c1), at(2,
		trace.Acquire, c2), at(3, trace.Lost, c1), at(5, trace.Acquire, c1), at(5, trace.Hold, c1)}, 9, Violated,
		"c2, which asked at 2.000, was passed by c1 at 5.000", []uint64{3, 6}},

	{"no audit", holds, events{numbers(3, 3, at(1, trace.Audit, nemesis))}, 9, Unknown,
		"nobody has audited a client once somebody had asked for a lock", nil},
	{"a write is no audit", holds, events{of(c1, numbers(7, 1, at(1, trace.Write, resource)))}, 9, Unknown,
		"nobody has audited a client once somebody had asked for a lock", nil},
	{"before anybody has anything", holds, events{of(c1, at(1, trace.Audit, nemesis))}, 9, Unknown,
		"nobody has audited a client once somebody had asked for a lock", nil},
	{"agreed", holds, events{of(c1, numbers(2, 2, at(1, trace.Audit, nemesis)))}, 9, Holds,
		"1 audits of clients, the server counts what they do", nil},
	{"grown", holds, events{of(c1, numbers(2, 1, at(1, trace.Audit, nemesis)))}, 9, Violated,
		"at 1.000 the server counted 2 holds of c1, which had 1", []uint64{1}},
	{"gone", holds, events{of(c1, numbers(0, 1, at(1, trace.Audit, nemesis)))}, 9, Violated,
		"at 1.000 the server counted 0 holds of c1, which had 1", []uint64{1}},

	{"no audit", leak, events{of(c1, numbers(3, 0, at(1, trace.Audit, nemesis)))}, 9, Unknown,
		"nobody has audited a lock once somebody had asked for one", nil},
	{"all known", leak, events{numbers(1, 2, at(1, trace.Audit, nemesis))}, 9, Holds,
		"1 audits, nothing is taken that nobody has", nil},
	{"a grant is no audit", leak, events{numbers(7, 1, at(1, trace.Hold, c1)), numbers(1, 1, at(2, trace.Audit, nemesis))},
		9, Holds, "1 audits, nothing is taken that nobody has", nil},
	{"forgotten", leak, events{numbers(2, 1, at(1, trace.Audit, nemesis))}, 9, Violated,
		"at 1.000 the server counted 2 as taken, and clients believed to have 1 of that", []uint64{1}},

	{"no crash", lease, events{at(1, trace.Hold, c1)}, 9, Unknown, "no lock of a crashed holder was granted again", nil},
	{"the run ends before its time", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(2, trace.Lost, c1),
		at(3, trace.Acquire, c2)},
		7, Unknown, "no lock of a crashed holder was granted again", nil},
	{"when its TTL has passed", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(2, trace.Lost, c1), at(3,
		trace.Acquire, c2),
		at(7, trace.Hold, c2)}, 9, Holds, "the lock of c1 was free at 7.000, c2 had it at 7.000", nil},
	{"sooner", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(2, trace.Lost, c1), at(3, trace.Acquire,
		c2), at(6, trace.Hold, c2)},
		9, Violated, "c2 got the lock of c1 1s before its TTL had passed", []uint64{2, 5}},
	{"much later", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Acquire, c2), at(9,
		trace.Hold, c2)},
		9, Violated, "c2 got the lock of c1 only 2s after its TTL had passed and somebody waited for it", []uint64{2, 4}},
	{"never", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Acquire, c2)},
		99, Violated, "nobody got the lock of c1 although its TTL had passed", []uint64{2, 2}},
	{"never, but nobody is left who waits", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3,
		trace.Acquire, c2), crashed(4, c2, 0)},
		99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"never, but who waited has given up", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3,
		trace.Acquire, c2), at(4, trace.Refused, c2), at(4, trace.End, c2)},
		99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"never, and who waited gave up too late", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3,
		trace.Acquire, c2), at(9, trace.End, c2)},
		99, Violated, "nobody got the lock of c1 although its TTL had passed", []uint64{2, 2}},
	{"never, by attempts that fail again and again", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(7,
		trace.Acquire, c2), at(7, trace.Refused, c2), at(8, trace.Acquire, c2), at(8, trace.Refused, c2)},
		9, Violated, "nobody got the lock of c1 although its TTL had passed", []uint64{2, 2}},
	{"long after, when somebody asked", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(50,
		trace.Acquire, c2), at(51, trace.Hold, c2)},
		99, Holds, "the lock of c1 was free at 7.000, c2 had it at 51.000", nil},
	{"a lock that has lost its TTL is not granted again", lease, events{at(1, trace.Hold, c1), crashed(2, c1, -1), at(3,
		trace.Acquire, c2)}, 9, Violated, "nobody got the lock of c1 as it had lost its TTL", []uint64{2, 2}},
	{"or only after a while", lease, events{at(1, trace.Hold, c1), crashed(2, c1, -1), at(3, trace.Acquire, c2), at(5,
		trace.Hold, c2)}, 9, Violated, "c2 got the lock of c1, which had lost its TTL, only when somebody had waited 2s",
		[]uint64{2, 4}},
	{"or soon enough, why ever", lease, events{at(1, trace.Hold, c1), crashed(2, c1, -1), at(3, trace.Acquire, c2), at(4,
		trace.Hold, c2)}, 9, Unknown, "no lock of a crashed holder was granted again", nil},
	{"whoever was refused while it had something does not wait", lease, events{at(1, trace.Hold, c2), at(1,
		trace.Acquire, c2), at(2, trace.Refused, c2), at(2, trace.Release, c2), at(3, trace.Hold, c1),
		crashed(4, c1, 5)},
		99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"whoever has released a part of it is a holder", lease, events{at(1, trace.Hold, c1), at(1, trace.Hold, c1), at(2,
		trace.Release, c1), crashed(4, c1, 5), at(5, trace.Hold, c2)},
		99, Violated, "c2 got the lock of c1 4s before its TTL had passed", []uint64{4, 5}},
	{"never, but who waited had it before", lease, events{at(1, trace.Acquire, c2), at(1, trace.Hold, c2), at(2,
		trace.Release, c2), at(3, trace.Hold, c1), crashed(4, c1, 5)},
		99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"not yet, a second later", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Acquire, c2)},
		8, Unknown, "no lock of a crashed holder was granted again", nil},
	{"whoever has given it back is no holder", lease, events{at(1, trace.Hold, c1), at(2, trace.Release, c1),
		crashed(3, c1, 5), at(4, trace.Acquire, c2), at(4, trace.Hold, c2)},
		99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"with nothing left of its lease", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 0), at(3, trace.Acquire, c2),
		at(9, trace.Hold, c2)}, 99, Unknown, "no lock of a crashed holder was granted again", nil},
	{"a second later is soon enough", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Acquire, c2),
		at(8, trace.Hold, c2)}, 99, Holds, "the lock of c1 was free at 7.000, c2 had it at 8.000", nil},
	{"whoever has released or lost a lock is no holder", lease, events{at(1, trace.Hold, c1), at(2, trace.Lost, c1),
		crashed(3, c1, 5),
		at(3, trace.Acquire, c2), at(4, trace.Hold, c2)}, 9, Unknown, "no lock of a crashed holder was granted again", nil},
	{"the worst wins", lease, events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Acquire, c2), at(4,
		trace.Hold, c2),
		crashed(5, c2, 5), at(6, trace.Acquire, c3), at(10, trace.Hold, c3)},
		99, Violated, "c2 got the lock of c1 3s before its TTL had passed", []uint64{2, 4}},
}

func sharing() Checker {
	return NewSharing(name, func(a trace.Actor) bool { return a != c3 })
}
func kept() Checker      { return NewKept(name) }
func capacity() Checker  { return NewCapacity(name, 2) }
func single() Checker    { return NewCapacity(name, 1) }
func gate() Checker      { return NewGate(name, 2) }
func order() Checker     { return NewOrder(name, time.Second) }
func holds() Checker     { return NewHoldings(name) }
func leak() Checker      { return NewLeak() }
func exclusion() Checker { return NewExclusion(name) }
func fencing() Checker   { return NewFencing(name) }
func progress() Checker  { return NewProgress(name, 5*time.Second) }
func lease() Checker     { return NewLease(name) }

func TestChecks(t *testing.T) {
	for _, tt := range checkTests {
		c := tt.make()
		t.Run(c.Result(0).Check+": "+tt.name, func(t *testing.T) {
			c := tt.make()
			for i, e := range tt.events {
				e.N = uint64(i + 1)
				c.Observe(&e)
				c.Result(e.At) // asking changes nothing
				c.Result(time.Duration(tt.end) * time.Second)
			}
			r := c.Result(time.Duration(tt.end) * time.Second)
			require.Equal(t, tt.reason, r.Reason)
			require.Equal(t, tt.verdict, r.Verdict)
			require.Equal(t, tt.decided, r.Events)
		})
	}
}

// Where several locks were never granted again, the first crash is told, in every run.
func TestLeaseTellsTheFirstCrash(t *testing.T) {
	for range 50 {
		l := NewLease(name)
		for lock := int32(1); lock <= 3; lock++ {
			who := trace.Actor(lock)
			for i, e := range []trace.Event{at(1, trace.Hold, who), crashed(2, who, 5), at(3, trace.Acquire, who+10)} {
				e.N, e.Lock = uint64(lock)*10+uint64(i), lock
				l.Observe(&e)
			}
		}
		require.Equal(t, []uint64{11, 11}, l.Result(time.Minute).Events)
	}
}

// Of several that waited equally long the first is told, in every run.
func TestTheFirstOfThoseWhoWaitIsTold(t *testing.T) {
	for range 50 {
		require.Equal(t, []uint64{1}, judged(NewProgress(name, time.Second), at(1, trace.Acquire, c1),
			at(1, trace.Acquire, c2), at(1, trace.Acquire, c3)).Events)
		require.Equal(t, []uint64{1}, judged(NewLiveness(name, time.Second), at(1, trace.Acquire, c1),
			at(1, trace.Acquire, c2), at(1, trace.Acquire, c3)).Events)
	}
}

// What breaks a promise again changes nothing of what is told.
func TestTheFirstViolationIsTold(t *testing.T) {
	asks, free := at(2, trace.Asks, c2), at(3, trace.Told, c2)
	for reason, c := range map[string]struct {
		checker Checker
		list    events
		want    []uint64
	}{
		"capacity": {capacity(), events{at(1, trace.Hold, c1), at(2, trace.Hold, c2), at(3, trace.Hold, c3),
			at(4, trace.Hold, c1)}, []uint64{3}},
		"fencing": {fencing(), events{at(1, trace.Hold, c1), written(1, c1, 9, 7), written(2, c1, 9, 6),
			written(3, c1, 9, 5)}, []uint64{2, 3}},
		"gate":  {gate(), events{at(1, trace.Opened, c1), at(2, trace.CountDown, c2), at(3, trace.Opened, c3)}, []uint64{1}},
		"guard": {NewGuard(name), events{at(1, trace.Hold, c1), asks, free, asks, free}, []uint64{3}},
		"holds": {holds(), events{of(c1, numbers(2, 1, at(1, trace.Audit, nemesis))),
			of(c1, numbers(3, 1, at(2, trace.Audit, nemesis)))}, []uint64{1}},
		"kept": {kept(), events{at(1, trace.Hold, c1), at(2, trace.Lost, c1), at(3, trace.Lost, c1)}, []uint64{2}},
		"lease": {lease(), events{at(1, trace.Hold, c1), crashed(2, c1, 5), at(3, trace.Hold, c2), crashed(4, c2, 5),
			at(5, trace.Hold, c3), crashed(6, c3, 5), at(7, trace.Acquire, c1)}, []uint64{2, 3}},
		"leak": {leak(), events{numbers(2, 1, at(1, trace.Audit, nemesis)), numbers(3, 1, at(2, trace.Audit, nemesis))},
			[]uint64{1}},
		"order": {order(), events{at(1, trace.Acquire, c1), at(3, trace.Acquire, c2), at(4, trace.Hold, c2),
			at(4, trace.Acquire, c3), at(5, trace.Hold, c3)}, []uint64{1, 3}},
		"theft": {NewTheft(name), events{of(c1, at(1, trace.Steal, c2)), of(c2, at(2, trace.Steal, c1))}, []uint64{1}},
	} {
		require.Equal(t, c.want, judged(c.checker, c.list...).Events, reason)
	}
}
