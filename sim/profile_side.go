package sim

import (
	"strconv"
	"time"

	"minikv/lockclient"
)

// side is what Redisson's locks differ in: the scripts, and what they are given.
type side struct {
	task    int // of the watchdog
	renew   *lockclient.Script
	suffix  string // of the owner
	acquire func(l *rlock, lease, wait time.Duration, once bool) request
	release func(l *rlock, id string) request
	fail    func(l *rlock, wait time.Duration) (request, bool) // when a wait is over
	channel func(l *rlock) string
	token   bool // its acquisitions draw one
}

// Constant after initialisation.
var (
	plainSide = &side{renew: redissonScript("mutex_renew"), acquire: plainAcquire, release: plainRelease,
		fail: stays, channel: plainChannel}
	fencedSide = &side{renew: plainSide.renew, acquire: fencedAcquire, release: plainRelease, fail: stays,
		channel: plainChannel, token: true}
	fairSide = &side{renew: plainSide.renew, acquire: fairAcquire, release: fairRelease, fail: leavesQueue,
		channel: ownChannel}
	readSide = &side{task: readRenewal, renew: redissonScript("read_renew"), acquire: readAcquire,
		release: readRelease, fail: stays, channel: sharedChannel}
	writeSide = &side{renew: plainSide.renew, suffix: ":write", acquire: writeAcquire, release: writeRelease,
		fail: stays, channel: sharedChannel}

	scriptMutexAcquire  = redissonScript("mutex_acquire")
	scriptMutexRelease  = lockclient.Shipped("mutex_release")
	scriptFencedAcquire = redissonScript("fenced_acquire")
	scriptFairAcquire   = redissonScript("fair_acquire")
	scriptFairTry       = redissonScript("fair_try")
	scriptFairWithdraw  = lockclient.Shipped("fair_withdraw")
	scriptFairRelease   = redissonScript("fair_release")
	scriptReadAcquire   = redissonScript("read_acquire")
	scriptReadRelease   = redissonScript("read_release")
	scriptWriteAcquire  = redissonScript("write_acquire")
	scriptWriteRelease  = redissonScript("write_release")
)

// prefixedKey is a helper key that shares the lock's slot. The names of the
// world's locks have no braces.
func prefixedKey(prefix, name string) string { return prefix + ":{" + name + "}" }

func plainChannel(l *rlock) string  { return prefixedKey("redisson_lock__channel", l.name) }
func ownChannel(l *rlock) string    { return plainChannel(l) + ":" + l.owner }
func sharedChannel(l *rlock) string { return prefixedKey("redisson_rwlock", l.name) }

func latchOf(l *rlock, id string) string {
	return prefixedKey("redisson_unlock_latch", l.name) + ":" + id
}

func stays(*rlock, time.Duration) (request, bool) { return request{}, false }

func plainAcquire(l *rlock, lease, _ time.Duration, _ bool) request {
	return request{script: scriptMutexAcquire, keys: []string{l.name}, args: []string{inMillis(lease), l.owner}}
}

func plainRelease(l *rlock, id string) request {
	return request{script: scriptMutexRelease, keys: []string{l.name, plainChannel(l), latchOf(l, id)},
		args: []string{"0", inMillis(l.lease), l.owner, l.of.publish(), inMillis(l.of.latchTTL())}}
}

func fencedAcquire(l *rlock, lease, _ time.Duration, _ bool) request {
	return request{script: scriptFencedAcquire, keys: []string{l.name, prefixedKey("redisson_lock_token", l.name)},
		args: []string{inMillis(lease), l.owner}}
}

func queueKeys(l *rlock) []string {
	return []string{prefixedKey("redisson_lock_queue", l.name), prefixedKey("redisson_lock_timeout", l.name)}
}

func (l *rlock) keep(wait time.Duration) string {
	if wait > 0 {
		return inMillis(wait)
	}
	return inMillis(l.of.fairWait)
}

func (l *rlock) now() string { return strconv.FormatInt(l.of.date(), 10) }

func fairAcquire(l *rlock, lease, wait time.Duration, once bool) request {
	q := request{script: scriptFairAcquire, keys: append([]string{l.name}, queueKeys(l)...),
		args: []string{inMillis(lease), l.owner, l.keep(wait), l.now()}}
	if once {
		q.script, q.args[2], q.args[3] = scriptFairTry, q.args[3], q.args[2]
	}
	return q
}

func leavesQueue(l *rlock, wait time.Duration) (request, bool) {
	return request{script: scriptFairWithdraw, keys: queueKeys(l), args: []string{l.owner, l.keep(wait)},
		resend: true}, true
}

func fairRelease(l *rlock, id string) request {
	return request{script: scriptFairRelease,
		keys: append(append([]string{l.name}, queueKeys(l)...), plainChannel(l), latchOf(l, id)),
		args: []string{"0", inMillis(l.lease), l.owner, l.now(), l.of.publish(), inMillis(l.of.latchTTL())}}
}

func timersOf(l *rlock) string { return timersBy(l.name, l.owner) }

// timersBy begins the names of the keys that end the leases of one who reads.
func timersBy(name, owner string) string { return "{" + name + "}:" + owner + ":rwlock_timeout" }

// leasesOf is the key with the leases of permits.
func leasesOf(name string) string { return "{" + name + "}:timeout" }

func readAcquire(l *rlock, lease, _ time.Duration, _ bool) request {
	return request{script: scriptReadAcquire, keys: []string{l.name, timersOf(l)},
		args: []string{inMillis(lease), l.owner, l.owner + writeSide.suffix}}
}

func readRelease(l *rlock, id string) request {
	return request{script: scriptReadRelease,
		keys: []string{l.name, sharedChannel(l), timersOf(l), "{" + l.name + "}", latchOf(l, id)},
		args: []string{"0", l.owner, l.of.publish(), inMillis(l.of.latchTTL())}}
}

func writeAcquire(l *rlock, lease, _ time.Duration, _ bool) request {
	return request{script: scriptWriteAcquire, keys: []string{l.name}, args: []string{inMillis(lease), l.owner}}
}

func writeRelease(l *rlock, id string) request {
	return request{script: scriptWriteRelease, keys: []string{l.name, sharedChannel(l), latchOf(l, id)},
		args: []string{"1", inMillis(l.lease), l.owner, l.of.publish(), inMillis(l.of.latchTTL())}}
}

// renewal names the lock in a script of the watchdog.
func (l *rlock) renewal() (keys, args []string) {
	if l.side.task == readRenewal {
		return []string{l.name, "{" + l.name + "}"}, []string{"1", l.owner}
	}
	return []string{l.name}, []string{l.owner}
}
