package topology

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/datastore"
)

// token is the kind of a string that names its owner.
const token = "token"

// mostHolders is how many holders a lock has; what has more is other data. Of a read lock it
// is also how many holds all of them have.
const mostHolders = 1 << 10

// decodeLock reads a key as a lock; now is the node's wall clock in Unix
// milliseconds. hint is what a number is, or token, if any string is one, or "".
func decodeLock(db *datastore.DB, name, hint string, now int64) (l Lock, ok bool) {
	key := []byte(name)
	deadline, exists := db.Deadline(key)
	if !exists || isHelper(name) || len(name) > longest {
		return Lock{}, false
	}
	l.TTL = left(deadline, now)
	switch db.Kind(key) {
	case datastore.String:
		ok = l.decodeString(db, name, hint, now)
	case datastore.Hash:
		ok = l.TTL > 0 && l.decodeHash(db, name, now)
	case datastore.ZSet:
		ok = l.decodeZSet(db, key, now)
	}
	if !ok || slices.ContainsFunc(l.Holders, func(h Holder) bool { return len(h.Owner) > longest }) {
		return Lock{}, false
	}
	if len(l.Holders) > 0 {
		l.Owner, l.Count = l.Holders[0].Owner, l.Holders[0].Count
	}
	return l, true
}

// left is how long a deadline is away, or the longest duration; 0: there is none.
func left(deadline, now int64) time.Duration {
	if deadline == datastore.NoDeadline {
		return 0
	}
	return max(time.Duration(min(deadline-now, int64(forever/time.Millisecond)))*time.Millisecond, 1)
}

// decodeString reads a token, which has a TTL unless it is known as one, or a number that is
// known to be a lock.
func (l *Lock) decodeString(db *datastore.DB, name, hint string, now int64) bool {
	text, _, err := db.String([]byte(name))
	if err != nil {
		return false
	}
	if l.TTL > 0 || hint == token {
		l.Kind = token
		l.Holders = []Holder{{Owner: text, Count: 1, TTL: l.TTL}}
		return true
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false
	}
	l.Kind, l.Count = hint, number
	if l.decodePermits(db, name, now) {
		l.Kind = "permits"
	}
	return l.Kind != ""
}

// decodePermits finds the permits of Redisson's expirable semaphore, which have
// a table with their deadlines. One that has ended stays there until somebody asks for one.
func (l *Lock) decodePermits(db *datastore.DB, name string, now int64) bool {
	table := []byte(tagged(name) + permitTable)
	count, err := db.ZLen(table)
	if err != nil || count == 0 || count > mostHolders {
		return false
	}
	members, _ := db.ZRange(table, 0, count)
	for _, m := range members {
		switch deadline := int64(m.Score); {
		case deadline >= noDeadline:
			l.Holders = append(l.Holders, Holder{Owner: m.Name, Count: 1, Shared: true})
		case deadline > now:
			l.Holders = append(l.Holders, Holder{Owner: m.Name, Count: 1, TTL: left(deadline, now), Shared: true})
		}
	}
	return true
}

// decodeHash reads Redisson's locks: a field for each owner, with its count. Only those with
// a mode have more than one owner.
func (l *Lock) decodeHash(db *datastore.DB, name string, now int64) bool {
	key, most := []byte(name), 1
	mode, _, _ := db.HashGet(key, []byte("mode"))
	hasMode := mode == "read" || mode == "write"
	if hasMode {
		most += mostHolders
	}
	if fields, err := db.HashLen(key); err != nil || fields > most {
		return false
	}
	valid := true
	_ = db.HashEach(key, func(field, text string) {
		if hasMode && field == "mode" {
			return
		}
		count, err := strconv.ParseInt(text, 10, 64)
		valid = valid && err == nil && count > 0
		l.Holders = append(l.Holders, Holder{Owner: field, Count: count, TTL: l.TTL})
	})
	if !valid || len(l.Holders) == 0 {
		return false
	}
	slices.SortFunc(l.Holders, func(a, b Holder) int { return strings.Compare(a.Owner, b.Owner) })
	queue := fairQueueOf(db, name)
	switch {
	case hasMode:
		l.Kind = mode
		return l.decodeReaders(db, name, now)
	case len(queue) > 0:
		l.Kind, l.Queue = "fair", queue
	case db.Exists([]byte(fairTimeouts + tagged(name))):
		l.Kind = "fair"
	case db.Exists([]byte(tokenCounter + tagged(name))):
		l.Kind = "fenced"
	default:
		l.Kind = "mutex"
	}
	return true
}

// fairQueueOf is who waits for a fair lock.
func fairQueueOf(db *datastore.DB, name string) []string {
	key := []byte(fairQueue + tagged(name))
	count, err := db.ListLen(key)
	if err != nil || count == 0 {
		return nil
	}
	queue, _ := db.ListRange(key, 0, count)
	return queue
}

// decodeReaders finds out who only reads, and until when: each hold of a reader
// has a timer of its own.
func (l *Lock) decodeReaders(db *datastore.DB, name string, now int64) bool {
	room := int64(mostHolders)
	for i := range l.Holders {
		h := &l.Holders[i]
		h.Shared = !strings.HasSuffix(h.Owner, ":write")
		if !h.Shared {
			continue
		}
		if room -= h.Count; room < 0 {
			return false
		}
		var longest time.Duration
		for n := range h.Count {
			timer := tagged(name) + ":" + h.Owner + readTimer + ":" + strconv.FormatInt(n+1, 10)
			if deadline, ok := db.Deadline([]byte(timer)); ok {
				longest = max(longest, left(deadline, now))
			}
		}
		if longest > 0 {
			h.TTL = longest
		}
	}
	return true
}

// decodeZSet reads a semaphore whose holders are in a sorted set with a time:
// that of their deadline, or of their coming.
func (l *Lock) decodeZSet(db *datastore.DB, key []byte, now int64) bool {
	count, err := db.ZLen(key)
	if err != nil || count == 0 || count > mostHolders || l.TTL == 0 {
		return false
	}
	members, _ := db.ZRange(key, 0, count)
	const someday = 1e11 // milliseconds: 1973; what is less is no date
	for _, m := range members {
		if m.Score < someday {
			return false
		}
		h := Holder{Owner: m.Name, Count: 1, TTL: l.TTL, Shared: true}
		if until := int64(m.Score); until > now {
			h.TTL = left(until, now)
		}
		l.Holders = append(l.Holders, h)
	}
	l.Kind = "zset"
	return true
}
