package lockclient

import "time"

// Defaults of a Client, those of Redisson where it has the setting.
const (
	DefaultWatchdog = 30 * time.Second // lease of a lock that the watchdog renews
	DefaultTimeout  = 3 * time.Second  // limit of one request
	DefaultFairWait = 5 * time.Minute  // see WithFairWait
	DefaultPoll     = 5 * time.Second  // see WithPoll
	DefaultRedlock  = 10 * time.Second // lease of a Redlock
	DefaultSimple   = 10 * time.Second // lease of a Simple
)

// Option configures a Client.
type Option func(*Client)

// WithWatchdog sets the lease, at least 1 ms, of locks taken without Lease. The watchdog
// renews such a lock each time a third of the lease has passed. A waiter for any lock
// looks again after that lease at the latest, whatever the lease of its holder. The
// default is DefaultWatchdog.
func WithWatchdog(lease time.Duration) Option {
	return func(c *Client) { c.watchdog = wholeMillis(lease) }
}

// WithTimeout limits each request to Redis, at least 1 ms. When it passes, the outcome of
// the request is unknown. The default is DefaultTimeout.
//
// It also limits repetition: a request to take something, or to give it back, is repeated
// for so long if a cluster refuses it (MOVED, ASK, TRYAGAIN, CLUSTERDOWN), as it does
// while a slot moves. It is not repeated beyond the time given with Wait.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) { c.timeout = min(wholeMillis(d), noEnd/8) }
}

// WithFairWait sets how long a waiter in a fair queue keeps its place without asking
// again, beyond the time of the waiter before it. So long does a waiter that died hold up
// the others. A waiter that lives asks again after half of that at the latest; only if
// its place is gone all the same does it go to the end of the queue. Redisson calls it
// fairLockWaitTimeout. The default is DefaultFairWait.
func WithFairWait(d time.Duration) Option {
	return func(c *Client) { c.fairWait = wholeMillis(d) }
}

// WithPoll sets how often waiters for a semaphore, for a latch or to read look again
// without having been woken, at least 1 ms. Redisson never does, so a message that is
// lost, or never sent, may leave it waiting for ever; here that costs d. The default is
// DefaultPoll.
func WithPoll(d time.Duration) Option { return func(c *Client) { c.poll = wholeMillis(d) } }

// WithBackoff sets how the waiters of a Spin pause. The default is DefaultBackoff.
func WithBackoff(b Backoff) Option { return func(c *Client) { c.backoff = b.sound() } }

// WithObserver makes the Client call f with each Event, in the course of the operation
// and on whatever task it happens, so f may be called concurrently. f should return soon.
// It must not panic: the caller would not get a lock that was just granted and goes on
// being renewed.
func WithObserver(f func(Event)) Option { return func(c *Client) { c.observer = f } }

// RequireReplicas has nothing be granted, renewed or counted that fewer than n replicas have
// confirmed, at least 1, also where the master knows of fewer; the error is ErrReplication. By
// default one must confirm, and none where the master knows of none: a master that was
// replaced, and has not heard of that yet, would grant what is lost. Sentinels leave an old
// master alone for some ten seconds after SENTINEL FAILOVER.
//
// Nothing is lost in a failover, and no two hold because of one, if n is the number of all
// the replicas of a master: 1 for a master with one replica, 2 with two. Then the one that is
// promoted has what was granted before, and the old master, which it has left, grants nothing
// more. Replicas that are never promoted count among them, as WAIT does not say who has
// confirmed. With a smaller n there is a gap: after one of two was promoted, the other follows
// the old master for a while and confirms what that grants, and before that the one that has
// not confirmed may be promoted.
//
// The price: while fewer than n replicas follow the master, nothing can be taken, and what is
// held ends with its lease. With n for all of them that begins when one is down, and after
// each failover it lasts until the old master is back, as a replica, or another one is.
//
// It needs a Transport that is a Replicated; over another one everything fails, with
// ErrNotSent too. Simple and Redlock ask no replica, as ever.
func RequireReplicas(n int) Option { return func(c *Client) { c.replicas = int64(max(1, n)) } }

// WithID sets the client's part of its owner ids, in place of a random UUID.
// Two clients of one Redis must never share it. It is meant for tests.
func WithID(id string) Option { return func(c *Client) { c.id = id } }

// WithPublish sets which kind of pub/sub carries wake-ups. The default is PublishAuto.
func WithPublish(mode PublishMode) Option { return func(c *Client) { c.publish = mode } }

// Compat316 makes the Client speak the protocol of Redisson 3.11 to 3.16 in place of the
// current one, for keys that it shares with such programs. In both protocols locks look
// the same in Redis. But 3.16 wakes with PUBLISH alone, whatever WithPublish says, keeps
// no record of an unlock, and names permits by text. Without that record an Unlock of
// unknown outcome is repeated only if nothing else can be in its owner's name; see As.
func Compat316() Option { return func(c *Client) { c.compat316 = true } }

// PublishMode is the kind of pub/sub that carries wake-ups. All clients of a lock must
// use the same; otherwise they wake each other only by TTL.
type PublishMode uint8

// The publish modes.
const (
	// PublishAuto follows Topology.Sharded, which is Redisson's own rule.
	PublishAuto PublishMode = iota
	// PublishPlain uses PUBLISH and SUBSCRIBE, as Redisson before 3.22 did.
	PublishPlain
	// PublishSharded uses SPUBLISH and SSUBSCRIBE. It needs Redis 7.0.
	PublishSharded
)

// LockOption configures one acquisition.
type LockOption func(*lockOptions)

type lockOptions struct {
	lease       time.Duration // 0: the watchdog renews
	wait        time.Duration // negative: no limit
	owner       string        // "": a fresh one
	nodeTimeout time.Duration // 0: a twentieth of the lease
}

// Lease fixes the lease: the lock ends after d, rounded down to whole milliseconds but at
// least 1 ms, and the watchdog does not renew it. With d zero or less the lease is not
// fixed. A Redlock and a Simple always have a fixed lease: DefaultRedlock and
// DefaultSimple without this option.
func Lease(d time.Duration) LockOption {
	return func(o *lockOptions) {
		o.lease = 0
		if d > 0 {
			o.lease = wholeMillis(d)
		}
	}
}

// Wait limits the wait to d; zero or less means one attempt. After that the error is
// ErrNotAcquired. Without this option Lock waits until its context ends, and TryLock
// makes one attempt.
func Wait(d time.Duration) LockOption {
	return func(o *lockOptions) { o.wait = max(0, min(d, noEnd)) }
}

// As names the owner on the wire, in place of a fresh one: the lock is re-entered if that
// owner holds it. Redisson's owners are "uuid:thread"; "mode", a field of every hash that is
// read or written, is refused. An owner must belong to one Client at a time; otherwise its
// hold count means nothing. It may be the fresh owner of another hold (Held.Owner), but not
// that of a Redlock, whose lease at one master it would change.
// When that hold is over and its Unlock is repeated in the background, its owner's name is
// refused with ErrLost until that has ended.
//
// Requests in the name of one owner are sent one after the other. Each waits for its turn
// as long as Wait says, but at least as long as a request may take. A waiter for a fair
// lock that gives up leaves the queue before Lock returns.
//
// After an error less is done in the background than for a fresh owner, since the name
// may stand for another hold:
//
//   - An acquisition of unknown outcome, or that no replica has confirmed, is not given
//     back, as the hold may be an older one. The lock may stay taken until its lease
//     ends.
//   - An Unlock that failed is repeated until shortly before the lease would have ended,
//     so that it cannot end a later hold of that name. If the owner takes the lock again
//     before the lease has ended, the new hold's last Unlock settles it.
//   - An Unlock of unknown outcome would end a later hold of that name if it came late.
//     So the next hold begins only when WithTimeout has passed since it was last tried.
//     For that, too, an acquisition waits as long as Wait says, but at least as long as two
//     requests may take.
//   - Two Unlocks are not repeated: one of unknown outcome under Compat316, and that of a
//     Simple, which only its lease ends.
func As(owner string) LockOption { return func(o *lockOptions) { o.owner = owner } }

// NodeTimeout limits each request that a Redlock makes to one master. With d zero or
// less, the default, it is a twentieth of the lease. Other locks ignore it.
func NodeTimeout(d time.Duration) LockOption {
	return func(o *lockOptions) { o.nodeTimeout = min(d, noEnd) }
}

// wholeMillis rounds d down to milliseconds, the unit of the wire, at least 1 and
// at most noEnd.
func wholeMillis(d time.Duration) time.Duration {
	return max(time.Millisecond, min(d, noEnd).Truncate(time.Millisecond))
}
