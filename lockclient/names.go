package lockclient

import (
	"errors"
	"strings"

	"minikv/internal/slot"
)

// tagged is the lock's name with a hash tag: all of it, unless it has a brace.
func tagged(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

// prefixed is Redisson's name of a helper key or channel: one that shares the
// slot of the lock, because the lock's name is its hash tag. A name that has a
// brace anywhere is trusted to carry its own tag.
func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// errSplit refuses a name before anything is locked that could not be unlocked.
var errSplit = errors.New("in a cluster the keys of this lock are on several slots: " +
	"a name that is empty or has a brace must have a hash tag, as {a}b has")

// fits tells whether the helper keys of a lock share its slot, where there are slots.
func (c *Client) fits(name string) error {
	unusual := name == "" || strings.ContainsAny(name, "{}")
	if unusual && c.transport.Topology().Cluster && slot.OfString(name) != slot.OfString(prefixed("", name)) {
		return errSplit
	}
	return nil
}

// suffixed is Redisson's name of a helper key that begins with the lock's name
// and shares its slot.
func suffixed(name, suffix string) string { return tagged(name) + ":" + suffix }

// lockChannel carries the wake-ups of plain and fenced locks.
func lockChannel(name string) string { return prefixed("redisson_lock__channel", name) }

// latchKey remembers the outcome of one unlock, so that repeating it is harmless.
func latchKey(name string, requestID []byte) string {
	if strings.Contains(name, "{") {
		return "redisson_unlock_latch:" + name + ":" + string(requestID)
	}
	return "redisson_unlock_latch:{" + name + "}:" + string(requestID)
}

// tokenKey counts the fencing tokens of a lock. It never expires, unless a Java program
// takes the lock in a MultiLock with a lease.
func tokenKey(name string) string { return prefixed("redisson_lock_token", name) }

// permitsChannel carries the wake-ups of both semaphores: numbers of permits.
func permitsChannel(name string) string { return prefixed("redisson_sc", name) }

// permitTable has the deadline of each permit of an expirable semaphore.
func permitTable(name string) string { return suffixed(name, "timeout") }

// latchChannel carries the opening of a count-down latch. It has braces of its
// own also where the name has some: in a cluster such a latch is refused by the
// server (CROSSSLOT), as Redisson's is.
func latchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// rwChannel carries the wake-ups of both sides of a read-write lock.
func rwChannel(name string) string { return prefixed("redisson_rwlock", name) }

// timersPrefix is what all timers of a read-write lock begin with.
func timersPrefix(name string) string { return tagged(name) }

// timersKey is what the timers of one reader begin with: a colon and the number
// of its hold follow.
func timersKey(name, owner string) string { return suffixed(name, owner) + ":rwlock_timeout" }
