package lockclient

import "strings"

// prefixed is Redisson's name of a helper key or channel: one that shares the
// slot of the lock, because the lock's name is its hash tag. A name that has a
// brace anywhere is trusted to carry its own tag.
func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// lockChannel carries the wake-ups of plain and fenced locks.
func lockChannel(name string) string { return prefixed("redisson_lock__channel", name) }

// latchKey remembers the outcome of one unlock, so that repeating it is harmless.
func latchKey(name, requestID string) string {
	return prefixed("redisson_unlock_latch", name) + ":" + requestID
}

// tokenKey counts the fencing tokens of a lock. It never expires.
func tokenKey(name string) string { return prefixed("redisson_lock_token", name) }
