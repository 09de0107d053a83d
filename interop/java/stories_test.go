package java

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// story is what happens to one thread that takes a lock once, holds it and gives it
// back, as it is told to Redisson and to the simulator's model of it.
type story struct {
	name       string
	kind       string        // by the agent's names
	replicated bool          // each master has a replica
	cluster    bool          // of three masters, the first of which has the lock
	strange    bool          // no master but the first knows the scripts
	needed     bool          // without which the master takes no writes
	wait       time.Duration // of tryLock(); 0: lock()
	once       bool          // tryLock() without a wait
	lease      time.Duration // of lock(); 0: the watchdog renews
	twice      bool          // it takes the lock once more at once, who writes to read, and gives that back
	downgrade  bool          // who writes reads on
	hold       time.Duration
	held       bool // somebody else has it first, for as long
	left       bool // who has it first never gives it back, and renews nothing
	rounds     int  // how often, one after the other; 0: once
	mishaps    []mishap
	scan       time.Duration // when it asks for a cluster's slots, which it does every 5 s; 0: at any time
	length     time.Duration
}

// mishap is what happens to a story.
type mishap struct {
	master int // 0: the first
	at     time.Duration
	// opened, closed: the lock's slot, towards the master, and its keys move; taken: opened,
	// and they move; moved: opened and closed; late, lost or stuck, with what follows it on
	// its connection: a reply; unheard: a message; told: who waits, of nothing; deleted: the
	// lock; endless: it loses its TTL; unknown: all scripts; still: who asks; down, up: the
	// server; reads, writes: the master is a replica of nobody, and a master again; held,
	// flows, crashed, promoted: the replica; freed: the lock there, and who waits is told.
	what  string
	after int           // so many replies, or messages, are left alone first
	fresh bool          // the server does not know the script: in the simulator it is loaded then
	by    time.Duration // how late, or for how long
}

// ahead is how long before a story somebody else takes the lock who has it first.
const ahead = 100 * time.Millisecond

const ms = time.Millisecond

var stories = []story{
	{name: "nothing happens", kind: "mutex", hold: 2500 * ms, length: 6000 * ms},
	{name: "it is locked again at once", kind: "mutex", hold: 2300 * ms, rounds: 3, length: 12000 * ms},
	{name: "it is locked again and again", kind: "mutex", hold: 150 * ms, rounds: 10, length: 6000 * ms},
	{name: "a late grant", kind: "mutex", hold: 2500 * ms, length: 8000 * ms,
		mishaps: []mishap{{what: "late", fresh: true, by: 5000 * ms}}},
	{name: "who asks stands still while the grant comes", kind: "mutex", hold: 1500 * ms, length: 10000 * ms,
		mishaps: []mishap{{what: "late", fresh: true, by: 600 * ms}, {at: 300 * ms, what: "still", by: 4200 * ms}}},
	{name: "who holds stands still", kind: "mutex", hold: 6500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 1500 * ms, what: "still", by: 4200 * ms}}},
	{name: "who waits stands still", kind: "mutex", wait: 2000 * ms, hold: 1500 * ms, held: true, length: 9000 * ms,
		mishaps: []mishap{{at: 800 * ms, what: "still", by: 4200 * ms}}},
	{name: "forgotten scripts", kind: "mutex", hold: 2500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 500 * ms, what: "unknown"}, {at: 1500 * ms, what: "unknown"}}},
	{name: "a lost grant", kind: "mutex", hold: 2500 * ms, length: 8000 * ms,
		mishaps: []mishap{{what: "lost", fresh: true}}},
	{name: "a late release", kind: "mutex", hold: 500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 300 * ms, what: "late", fresh: true, by: 5000 * ms}}},
	{name: "a lost release", kind: "mutex", hold: 500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 300 * ms, what: "lost", fresh: true}}},
	{name: "a lost deletion of a release's record", kind: "mutex", hold: 500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 300 * ms, what: "lost", after: 1, fresh: true}}},
	{name: "a lost renewal", kind: "mutex", hold: 7500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 500 * ms, what: "lost", fresh: true}}},
	{name: "a lost renewal of a lock taken twice", kind: "mutex", hold: 4500 * ms, rounds: 2, length: 12000 * ms,
		mishaps: []mishap{{at: 5300 * ms, what: "lost"}}},
	{name: "a server that is down when it is locked", kind: "mutex", hold: 2500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: -ahead / 2, what: "down"}, {at: 2000 * ms, what: "up"}}},
	{name: "a server that is down for long", kind: "mutex", hold: 2500 * ms, length: 14000 * ms,
		mishaps: []mishap{{at: -ahead / 2, what: "down"}}},
	{name: "a server that is down at a renewal", kind: "mutex", hold: 6500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 500 * ms, what: "down"}, {at: 2000 * ms, what: "up"}}},
	{name: "a server that is down at a release", kind: "mutex", hold: 1500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 1300 * ms, what: "down"}, {at: 3000 * ms, what: "up"}}},
	{name: "a server that is down while one waits", kind: "mutex", hold: 2500 * ms, held: true, length: 14000 * ms,
		mishaps: []mishap{{at: 500 * ms, what: "down"}, {at: 550 * ms, what: "up"}}},
	{name: "a server that is down for 300 ms while one waits", kind: "mutex", hold: 2500 * ms, held: true,
		length: 14000 * ms, mishaps: []mishap{{at: 800 * ms, what: "down"}, {at: 1100 * ms, what: "up"}}},
	{name: "a server that is down for a second while one waits", kind: "mutex", hold: 2500 * ms, held: true,
		length: 14000 * ms, mishaps: []mishap{{at: 800 * ms, what: "down"}, {at: 1800 * ms, what: "up"}}},
	{name: "a server that is down for long while one waits", kind: "mutex", hold: 2500 * ms, held: true,
		length: 14000 * ms, mishaps: []mishap{{at: 800 * ms, what: "down"}, {at: 3800 * ms, what: "up"}}},
	{name: "a connection that ends before the grant", kind: "mutex", hold: 2500 * ms, length: 8000 * ms,
		mishaps: []mishap{{what: "late", fresh: true, by: 2000 * ms}, {at: 500 * ms, what: "down"},
			{at: 700 * ms, what: "up"}}},
	{name: "a connection that ends before the answer to a renewal", kind: "mutex", hold: 6500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 800 * ms, what: "late", fresh: true, by: 2000 * ms}, {at: 1300 * ms, what: "down"},
			{at: 1500 * ms, what: "up"}}},
	{name: "a deleted lock", kind: "mutex", hold: 4500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 1500 * ms, what: "deleted"}}},
	{name: "a wait", kind: "mutex", hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "an unheard message", kind: "mutex", hold: 2500 * ms, held: true, length: 8000 * ms,
		mishaps: []mishap{{at: 500 * ms, what: "unheard"}}},
	{name: "a message before an answer", kind: "mutex", hold: 1500 * ms, held: true, left: true, length: 8000 * ms,
		mishaps: []mishap{{what: "late", after: 2, by: 1500 * ms}, {at: 800 * ms, what: "told"}}},
	{name: "a late confirmation of a subscription", kind: "mutex", hold: 1500 * ms, held: true, left: true,
		length: 9000 * ms, mishaps: []mishap{{what: "late", after: 1, by: 5000 * ms}}},
	{name: "a wait whose subscription is confirmed late", kind: "mutex", wait: 8000 * ms, hold: 1500 * ms, held: true,
		left: true, length: 10000 * ms, mishaps: []mishap{{what: "late", after: 1, by: 5000 * ms}}},
	{name: "a wait that ends before its subscription is confirmed", kind: "mutex", wait: 1000 * ms, hold: 1500 * ms,
		held: true, left: true, length: 6000 * ms, mishaps: []mishap{{what: "late", after: 1, by: 2000 * ms}}},
	{name: "a subscription that is never confirmed", kind: "mutex", hold: 1500 * ms, held: true, left: true,
		length: 12000 * ms, mishaps: []mishap{{what: "stuck", after: 1}}},
	{name: "a connection that ends before a subscription is confirmed", kind: "mutex", hold: 1500 * ms, held: true,
		left: true, length: 8000 * ms, mishaps: []mishap{{what: "stuck", after: 1}, {at: 800 * ms, what: "down"},
			{at: 850 * ms, what: "up"}}},
	{name: "a connection that ends long after a subscription was not confirmed", kind: "mutex", hold: 1500 * ms,
		held: true, left: true, length: 9000 * ms, mishaps: []mishap{{what: "stuck", after: 1},
			{at: 4500 * ms, what: "down"}, {at: 4550 * ms, what: "up"}}},
	{name: "a server that is down when a subscription should be confirmed", kind: "mutex", hold: 1500 * ms, held: true,
		left: true, length: 9000 * ms, mishaps: []mishap{{what: "stuck", after: 1}, {at: 2000 * ms, what: "down"},
			{at: 5000 * ms, what: "up"}}},
	{name: "a wait that ends", kind: "mutex", wait: 1000 * ms, hold: 2500 * ms, held: true, length: 4000 * ms},
	{name: "a wait with a lease", kind: "mutex", wait: 4000 * ms, lease: 2400 * ms, hold: 1500 * ms, held: true,
		length: 6000 * ms},
	{name: "a wait for a lock that has no end", kind: "mutex", hold: 1500 * ms, held: true, left: true, length: 8000 * ms,
		mishaps: []mishap{{at: 800 * ms, what: "endless"}, {at: 1000 * ms, what: "told"}, {at: 4500 * ms, what: "deleted"},
			{at: 4600 * ms, what: "told"}}},
	{name: "a lost second answer", kind: "mutex", wait: 8000 * ms, hold: 2500 * ms, held: true, length: 8000 * ms,
		mishaps: []mishap{{what: "lost", after: 2}}},
	{name: "a second answer that comes when the wait is over", kind: "mutex", wait: 1000 * ms, hold: 1500 * ms,
		held: true, left: true, length: 8000 * ms, mishaps: []mishap{{what: "late", after: 2, by: 1500 * ms}}},
	{name: "a lost first answer", kind: "mutex", wait: 8000 * ms, hold: 2500 * ms, held: true, length: 8000 * ms,
		mishaps: []mishap{{what: "lost"}}},
	{name: "a fair lock", kind: "fair", hold: 2500 * ms, length: 6000 * ms},
	{name: "a fair wait", kind: "fair", hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "a fair wait that ends", kind: "fair", wait: 1000 * ms, hold: 2500 * ms, held: true, length: 4000 * ms},
	{name: "a lost withdrawal", kind: "fair", wait: 1000 * ms, hold: 2500 * ms, held: true, length: 8000 * ms,
		mishaps: []mishap{{at: 800 * ms, what: "lost", fresh: true}}},
	{name: "a fair lock that is not waited for", kind: "fair", once: true, hold: 2500 * ms, length: 6000 * ms},
	{name: "a fair lock that another has and that is not waited for", kind: "fair", once: true, hold: 1500 * ms,
		held: true, length: 3000 * ms},
	{name: "a fair lock that is tried with a lease", kind: "fair", once: true, lease: 2400 * ms, hold: 1500 * ms,
		length: 4000 * ms},
	{name: "a fair lock that another has and that is tried with a lease", kind: "fair", once: true, lease: 2400 * ms,
		hold: 1500 * ms, held: true, length: 3000 * ms},
	{name: "a deleted fair lock", kind: "fair", hold: 4500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 1500 * ms, what: "deleted"}}},
	{name: "a fenced lock", kind: "fenced", hold: 2500 * ms, length: 6000 * ms},
	{name: "a fenced wait", kind: "fenced", hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "a message to who waits for a fenced lock", kind: "fenced", hold: 1500 * ms, held: true, left: true,
		length: 8000 * ms, mishaps: []mishap{{at: 600 * ms, what: "told"}}},
	{name: "a message before an answer to who waits for a fenced lock", kind: "fenced", hold: 1500 * ms, held: true,
		left: true, length: 8000 * ms, mishaps: []mishap{{what: "late", after: 2, by: 1500 * ms},
			{at: 800 * ms, what: "told"}}},
	{name: "a subscription for a fenced lock that is never confirmed", kind: "fenced", hold: 1500 * ms, held: true,
		left: true, length: 20000 * ms, mishaps: []mishap{{what: "stuck", after: 1}}},
	{name: "writing", kind: "write", hold: 2500 * ms, length: 6000 * ms},
	{name: "reading", kind: "read", hold: 2500 * ms, length: 6000 * ms},
	{name: "reading while one writes", kind: "write", twice: true, hold: 4500 * ms, length: 8000 * ms},
	{name: "a writer that reads on", kind: "write", downgrade: true, hold: 4500 * ms, length: 8000 * ms},
	{name: "a wait to write", kind: "write", hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "a wait to read", kind: "read", hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "a deleted lock of who reads", kind: "read", hold: 4500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 1500 * ms, what: "deleted"}}},
	{name: "several locks", kind: "several", hold: 2500 * ms, length: 6000 * ms},
	{name: "several locks that another has", kind: "several", hold: 2500 * ms, held: true, length: 8000 * ms},
	{name: "a lost grant of one of several", kind: "several", hold: 1500 * ms, length: 10000 * ms,
		mishaps: []mishap{{what: "lost", after: 1, fresh: true}}},
	{name: "a lost release of one of several", kind: "several", hold: 1500 * ms, length: 8000 * ms,
		mishaps: []mishap{{at: 1300 * ms, what: "lost", fresh: true}}},
	{name: "a wait for several that ends", kind: "several", wait: 1000 * ms, hold: 2500 * ms, held: true,
		length: 6000 * ms},
	{name: "several locks with a lease", kind: "several", lease: 2400 * ms, hold: 1500 * ms, length: 4000 * ms},
	{name: "several locks with a wait and a lease", kind: "several", wait: 1000 * ms, lease: 2400 * ms, hold: 1500 * ms,
		length: 4000 * ms},
	{name: "several locks whose lease cannot be set", kind: "several", lease: 2400 * ms, hold: 1500 * ms,
		length: 30000 * ms, mishaps: []mishap{
			{what: "lost", after: 3, fresh: true}, {what: "lost", after: 3, fresh: true},
			{what: "lost", after: 3, fresh: true}, {what: "lost", after: 3, fresh: true},
			{what: "lost", after: 3, fresh: true}}},
	{name: "a Redlock", kind: "redlock", hold: 2500 * ms, length: 6000 * ms},
	{name: "a Redlock with a lost grant", kind: "redlock", hold: 1500 * ms, length: 10000 * ms,
		mishaps: []mishap{{master: 1, what: "lost", fresh: true}}},
	{name: "a Redlock with two lost grants", kind: "redlock", hold: 1500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 0, what: "lost", fresh: true}, {master: 1, what: "lost", fresh: true}}},
	{name: "a Redlock with a lost release", kind: "redlock", hold: 1500 * ms, length: 8000 * ms,
		mishaps: []mishap{{master: 1, at: 1300 * ms, what: "lost", fresh: true}}},
	{name: "a Redlock whose wait is over when the last does not answer", kind: "redlock", wait: 2000 * ms, hold: 1500 * ms,
		length: 8000 * ms, mishaps: []mishap{{master: 2, what: "lost", fresh: true}}},
	{name: "a wait for a Redlock with a lease", kind: "redlock", wait: 5000 * ms, lease: 2400 * ms, hold: 1500 * ms,
		held: true, length: 9000 * ms},
	{name: "a wait for a Redlock that ends", kind: "redlock", wait: 1200 * ms, hold: 2500 * ms, held: true,
		length: 6000 * ms},
	{name: "a replica", kind: "mutex", replicated: true, hold: 2500 * ms, length: 6000 * ms},
	{name: "a replica that stands still", kind: "mutex", replicated: true, hold: 2500 * ms, length: 21000 * ms,
		mishaps: []mishap{{what: "held"}}},
	{name: "a replica that stands still for a while", kind: "mutex", replicated: true, hold: 2500 * ms,
		length: 12000 * ms, mishaps: []mishap{{what: "held"}, {at: 3000 * ms, what: "flows"}}},
	{name: "a replica that stands still at a renewal", kind: "mutex", replicated: true, hold: 6500 * ms,
		length: 12000 * ms, mishaps: []mishap{{at: 500 * ms, what: "held"}, {at: 4500 * ms, what: "flows"}}},
	{name: "a replica that stands still at a release", kind: "mutex", replicated: true, hold: 1500 * ms,
		length: 12000 * ms, mishaps: []mishap{{at: 1300 * ms, what: "held"}, {at: 4000 * ms, what: "flows"}}},
	{name: "a replica that stands still while one waits", kind: "mutex", replicated: true, hold: 1500 * ms, held: true,
		length: 9000 * ms, mishaps: []mishap{{at: 500 * ms, what: "held"}, {at: 5000 * ms, what: "flows"}}},
	{name: "a replica that stands still when one waits in a queue", kind: "fair", replicated: true, hold: 1500 * ms,
		held: true, length: 20000 * ms, mishaps: []mishap{{what: "held"}}},
	{name: "a replica that stands still when a fair wait ends", kind: "fair", replicated: true, wait: 1000 * ms,
		hold: 1500 * ms, held: true, left: true, length: 20000 * ms, mishaps: []mishap{{at: 600 * ms, what: "held"}}},
	{name: "a replica that stands still at the release of a second hold", kind: "mutex", replicated: true, twice: true,
		hold: 4500 * ms, length: 14000 * ms, mishaps: []mishap{{what: "late", after: 3, fresh: true, by: 600 * ms},
			{at: 300 * ms, what: "held"}, {at: 2500 * ms, what: "flows"}}},
	{name: "a replica that is gone", kind: "mutex", replicated: true, hold: 2500 * ms, length: 12000 * ms,
		mishaps: []mishap{{what: "crashed"}}},
	{name: "a replica that is gone, without which nothing is written", kind: "mutex", replicated: true, needed: true,
		hold: 1500 * ms, length: 14000 * ms, mishaps: []mishap{{what: "crashed"}}},
	{name: "a replica that is gone at a release, without which nothing is written", kind: "mutex", replicated: true,
		needed: true, hold: 1500 * ms, length: 14000 * ms, mishaps: []mishap{{at: 1300 * ms, what: "crashed"}}},
	{name: "a master that only reads for a while", kind: "mutex", replicated: true, hold: 1500 * ms,
		length: 12000 * ms, mishaps: []mishap{{at: -ahead / 2, what: "reads"}, {at: 300 * ms, what: "writes"}}},
	{name: "a master that only reads for a while at a renewal", kind: "mutex", replicated: true, hold: 6500 * ms,
		length: 12000 * ms, mishaps: []mishap{{at: 1500 * ms, what: "reads"}, {at: 2300 * ms, what: "writes"}}},
	{name: "a master that only reads for a while at a release", kind: "mutex", replicated: true, hold: 1500 * ms,
		length: 12000 * ms, mishaps: []mishap{{at: 1300 * ms, what: "reads"}, {at: 1800 * ms, what: "writes"}}},
	{name: "a replica that stands still for a fenced lock", kind: "fenced", replicated: true, hold: 2500 * ms,
		length: 8000 * ms, mishaps: []mishap{{what: "held"}}},
	{name: "a lost grant with a replica", kind: "mutex", replicated: true, hold: 2500 * ms, length: 16000 * ms,
		mishaps: []mishap{{what: "lost", fresh: true}}},
	{name: "a lost release with a replica", kind: "mutex", replicated: true, hold: 1500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: 1300 * ms, what: "lost", fresh: true}}},
	{name: "a cluster", kind: "mutex", cluster: true, hold: 2500 * ms, length: 6000 * ms},
	{name: "a lost grant in a cluster", kind: "mutex", cluster: true, hold: 2500 * ms, length: 12000 * ms,
		mishaps: []mishap{{what: "lost", fresh: true}}},
	{name: "a master that is down when it is locked", kind: "mutex", cluster: true, hold: 2500 * ms, length: 12000 * ms,
		mishaps: []mishap{{at: -ahead / 2, what: "down"}, {at: 2000 * ms, what: "up"}}},
	{name: "a wait in a cluster", kind: "mutex", cluster: true, hold: 2500 * ms, held: true, length: 6000 * ms},
	{name: "a late confirmation of a subscription in a cluster", kind: "mutex", cluster: true, hold: 1500 * ms, held: true,
		left: true, length: 10000 * ms, mishaps: []mishap{{what: "late", after: 1, fresh: true, by: 5000 * ms}}},
	{name: "a master that is down while one waits", kind: "mutex", cluster: true, hold: 2500 * ms, held: true, left: true,
		length: 14000 * ms, mishaps: []mishap{{at: 800 * ms, what: "down"}, {at: 1800 * ms, what: "up"}}},
	{name: "a slot that moves while its lock is held", kind: "mutex", cluster: true, hold: 7500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: 500 * ms, what: "moved"}}},
	{name: "a slot that moves while one waits", kind: "mutex", cluster: true, hold: 2500 * ms, held: true,
		length: 10000 * ms, mishaps: []mishap{{master: 1, at: 500 * ms, what: "moved"}}},
	{name: "a slot that has moved before one waits", kind: "mutex", cluster: true, hold: 2500 * ms, held: true,
		length: 12000 * ms, mishaps: []mishap{{master: 1, at: -ahead / 2, what: "moved"}}},
	{name: "a slot that moves slowly to a master that knows no script", kind: "mutex", cluster: true, strange: true,
		hold: 5500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: 500 * ms, what: "taken"}, {master: 1, at: 4500 * ms, what: "closed"}}},
	{name: "a slot that is open at an acquisition", kind: "fenced", cluster: true, hold: 1500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: -ahead / 2, what: "opened"}, {master: 1, at: 2000 * ms, what: "closed"}}},
	{name: "a slot that is open at a renewal", kind: "read", cluster: true, hold: 4500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: 500 * ms, what: "opened"}, {master: 1, at: 3500 * ms, what: "closed"}}},
	{name: "a slot that is open at a release", kind: "mutex", cluster: true, hold: 1500 * ms, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: 500 * ms, what: "opened"}, {master: 1, at: 3000 * ms, what: "closed"}}},
	{name: "a fair wait whose slot moves", kind: "fair", cluster: true, hold: 2500 * ms, held: true, length: 12000 * ms,
		mishaps: []mishap{{master: 1, at: 500 * ms, what: "moved"}}},
	{name: "several slots", kind: "several", cluster: true, hold: 2500 * ms, length: 6000 * ms},
	{name: "several slots, of which two cannot be renewed", kind: "several", cluster: true, hold: 2500 * ms,
		length: 14000 * ms, mishaps: []mishap{{at: 500 * ms, what: "down"}, {at: 4500 * ms, what: "up"}}},
	{name: "a cluster with replicas", kind: "mutex", cluster: true, replicated: true, hold: 2500 * ms, length: 6000 * ms},
	{name: "a cluster's replica that stands still", kind: "mutex", cluster: true, replicated: true, hold: 2500 * ms,
		length: 21000 * ms, mishaps: []mishap{{what: "held"}}},
	{name: "a failover while a lock is held", kind: "mutex", cluster: true, replicated: true, hold: 7500 * ms,
		length: 14000 * ms, scan: 1200 * ms, mishaps: []mishap{
			{at: 500 * ms, what: "down"}, {at: 600 * ms, what: "promoted"}, {at: 3000 * ms, what: "up"}}},
	{name: "a failover that is noticed late", kind: "mutex", cluster: true, replicated: true, hold: 2500 * ms,
		length: 14000 * ms, scan: 5000 * ms, mishaps: []mishap{
			{at: 500 * ms, what: "down"}, {at: 600 * ms, what: "promoted"}}},
	{name: "a failover at an acquisition", kind: "mutex", cluster: true, replicated: true, hold: 2500 * ms,
		length: 14000 * ms, scan: 1200 * ms, mishaps: []mishap{
			{at: -ahead / 2, what: "down"}, {at: 50 * ms, what: "promoted"}}},
	{name: "a failover at a release", kind: "mutex", cluster: true, replicated: true, hold: 1500 * ms,
		length: 14000 * ms, scan: 2200 * ms, mishaps: []mishap{
			{at: 1300 * ms, what: "down"}, {at: 1400 * ms, what: "promoted"}}},
	{name: "a failover while one waits", kind: "mutex", cluster: true, replicated: true, hold: 2500 * ms, held: true,
		left: true, length: 14000 * ms, scan: 1200 * ms, mishaps: []mishap{
			{at: 500 * ms, what: "down"}, {at: 600 * ms, what: "promoted"}}},
	{name: "a release after a failover while one waits", kind: "mutex", cluster: true, replicated: true,
		hold: 4500 * ms, held: true, left: true, length: 14000 * ms, scan: 1200 * ms, mishaps: []mishap{
			{at: 500 * ms, what: "down"}, {at: 600 * ms, what: "promoted"}, {at: 2200 * ms, what: "freed"},
			{at: 3500 * ms, what: "up"}}},
	{name: "a master that is replaced while a lock is held", kind: "mutex", cluster: true, replicated: true, strange: true,
		hold: 7500 * ms, length: 14000 * ms, scan: 4000 * ms, mishaps: []mishap{{at: 800 * ms, what: "promoted"}}},
	{name: "a master that is replaced while one waits", kind: "mutex", cluster: true, replicated: true,
		hold: 2500 * ms, held: true, left: true, length: 14000 * ms, scan: 1200 * ms, mishaps: []mishap{
			{at: 500 * ms, what: "promoted"}, {at: 2200 * ms, what: "freed"}}},
}

// scenario is the story for the simulator.
func (s *story) scenario() string {
	kind, more := s.kind, ""
	switch kind {
	case "redlock":
		more = fmt.Sprint(" masters=", masters)
	case "write":
		kind, more = "rw", " readers=0"
	case "read":
		kind, more = "rw", " readers=1" // the first, c1
	case "several":
		kind, more = "multi", " one-order=on"
	}
	delay := "500us..1ms"
	if s.strange {
		delay = "5ms..10ms" // of so many requests
	}
	world := fmt.Sprintf("world clients=2 lock=%s profile=redisson ttl=%v hold=%v rounds=%d delay=%s pool=on%s",
		kind, cmp.Or(s.lease, watchdog), s.hold, max(s.rounds, 1), delay, more)
	switch {
	case s.cluster && s.replicated:
		world += " cluster=3x1 sync=on"
	case s.replicated:
		world += " replicas=1 sync=on"
	case s.cluster:
		world += " cluster=3x0"
	}
	if s.needed {
		world += " min-replicas=1"
	}
	if s.wait > 0 {
		world += fmt.Sprint(" wait=", s.wait)
	}
	if s.once {
		world += " once=on"
	}
	if s.lease > 0 {
		world += " renew=off"
	}
	if s.twice {
		world += " reenter=1"
	}
	if s.downgrade {
		world += " downgrade=on"
	}
	lines := []string{world, "expect exclusion=holds"}
	for i := 0; (s.cluster && !s.strange || s.findsAllFree()) && i < masters; i++ {
		lines = append(lines, fmt.Sprintf("at 0s run m%d SCRIPT LOAD all", i+1))
	}
	if s.held {
		lines = append(lines, "at 0s start c2")
	}
	if s.left {
		lines = append(lines, fmt.Sprintf("at %v crash c2", ahead/2))
	}
	lines = append(lines, fmt.Sprintf("at %v start c1", ahead))
	for _, m := range s.mishaps {
		lines = append(lines, fmt.Sprintf("at %v %s", ahead+m.at, s.step(m)))
	}
	return strings.Join(append(lines, fmt.Sprintf("run for=%v seed=1", ahead+s.length)), "\n") + "\n"
}

// findsAllFree tells whether who waits finds all masters free when it has heard of the first.
func (s *story) findsAllFree() bool { return s.kind == "redlock" && s.held }

// standsStill tells whether who asks stands still.
func (s *story) standsStill() bool {
	return slices.ContainsFunc(s.mishaps, func(m mishap) bool { return m.what == "still" })
}

// step is a mishap for the simulator.
func (s *story) step(m mishap) string {
	after := m.after
	if m.fresh {
		after += 2 // that the script is unknown, and that it is loaded
	}
	if m.fresh && s.cluster {
		after-- // it is loaded first
	}
	if s.replicated && !s.cluster && m.at == 0 {
		after++ // how many replicas there are
	}
	return map[string]string{
		"late":     fmt.Sprintf("delay m%d c1 next=1 after=%d by=%v", m.master+1, after, m.by),
		"lost":     fmt.Sprintf("drop m%d c1 next=1 after=%d what=reply", m.master+1, after),
		"stuck":    fmt.Sprintf("drop m%d c1 next=1 after=%d what=reply", m.master+1, after),
		"unheard":  fmt.Sprintf("drop m%d c1 next=1 after=%d what=message", m.master+1, after),
		"deleted":  fmt.Sprintf("run m%d DEL %s", m.master+1, lockKey),
		"endless":  fmt.Sprintf("run m%d PERSIST %s", m.master+1, lockKey),
		"unknown":  fmt.Sprintf("run m%d SCRIPT FLUSH", m.master+1),
		"told":     fmt.Sprintf("run m%d PUBLISH %s 0", m.master+1, lockChannel),
		"reads":    fmt.Sprintf("run m%d REPLICAOF 127.0.0.1 1", m.master+1),
		"writes":   fmt.Sprintf("run m%d REPLICAOF NO ONE", m.master+1),
		"held":     fmt.Sprintf("hold r%d", m.master+1),
		"flows":    fmt.Sprintf("release r%d", m.master+1),
		"crashed":  fmt.Sprintf("crash r%d", m.master+1),
		"promoted": fmt.Sprintf("promote r%d", m.master+1),
		"freed": fmt.Sprintf("run r%d DEL %s\nat %v run r%[1]d SPUBLISH %[4]s 0",
			m.master+1, lockKey, ahead+m.at, lockChannel),
		"still":  fmt.Sprintf("pause c1 for=%v", m.by),
		"down":   fmt.Sprintf("crash m%d", m.master+1),
		"opened": fmt.Sprintf("move %s m%d step=open", lockKey, m.master+1),
		"taken":  fmt.Sprintf("move %s m%d step=open for=1h keys=0s", lockKey, m.master+1),
		"closed": fmt.Sprintf("move %s m%d", lockKey, m.master+1),
		"moved":  fmt.Sprintf("move %s m%d", lockKey, m.master+1),
		"up":     fmt.Sprintf("restart m%d data=keep", m.master+1),
	}[m.what]
}
