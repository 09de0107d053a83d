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

// WithWatchdog sets the lease, at least 1 ms, of locks taken without Lease.
// The watchdog renews it every third of it. Who waits for a lock looks again after so
// long at the latest, whatever the lease of its holder. The default is DefaultWatchdog.
func WithWatchdog(lease time.Duration) Option {
	return func(c *Client) { c.watchdog = wholeMillis(lease) }
}

// WithTimeout limits each request to Redis, at least 1 ms. When it passes, the outcome of the
// request is unknown. For so long also a request to take something, or to give
// it back, is repeated that a cluster refuses (MOVED, ASK, TRYAGAIN, CLUSTERDOWN),
// as it does while a slot moves; not beyond the time given with Wait. The default
// is DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) { c.timeout = min(wholeMillis(d), noEnd/8) }
}

// WithFairWait sets how much longer than the waiter before it a waiter in a fair
// queue keeps its place without asking again: so long a waiter that died holds
// up the others. One that lives asks after half of that at the latest, and comes
// last only if its place is gone all the same. Redisson calls it
// fairLockWaitTimeout. The default is DefaultFairWait.
func WithFairWait(d time.Duration) Option {
	return func(c *Client) { c.fairWait = wholeMillis(d) }
}

// WithPoll sets how often those who wait for a semaphore, for a latch or to read
// look again without having been woken. Redisson never does, so a message that
// is lost, or never sent, may leave it waiting for ever; here that costs d. The
// default is DefaultPoll.
func WithPoll(d time.Duration) Option { return func(c *Client) { c.poll = wholeMillis(d) } }

// WithBackoff sets how the waiters of a Spin pause. The default is DefaultBackoff.
func WithBackoff(b Backoff) Option { return func(c *Client) { c.backoff = b.sound() } }

// WithObserver has f told of every Event of this Client, in the course of the
// operation and on whatever task it happens: f should return soon, and must not
// panic, or who asked for a lock would not get what is granted then, and renewed.
func WithObserver(f func(Event)) Option { return func(c *Client) { c.observer = f } }

// WithID sets the client's part of its owner ids, in place of a random UUID.
// Two clients of one Redis must never share it. It is meant for tests.
func WithID(id string) Option { return func(c *Client) { c.id = id } }

// WithPublish says which kind of pub/sub carries wake-ups.
func WithPublish(mode PublishMode) Option { return func(c *Client) { c.publish = mode } }

// Compat316 has the Client speak the protocol of Redisson 3.11 to 3.16 in place
// of the current one, for keys that it shares with such programs. Bodies of
// locks are the same in both, but 3.16 wakes with PUBLISH alone, whatever
// WithPublish says, keeps no record of an unlock, and names permits by text.
// Without that record an Unlock of unknown outcome is repeated only when nothing
// else can be in its owner's name, see As.
func Compat316() Option { return func(c *Client) { c.compat316 = true } }

// PublishMode is the kind of pub/sub that carries wake-ups. All clients of a
// lock must agree on it, or they wake each other only by TTL.
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

// Lease fixes the lease: the lock ends after d, rounded down to milliseconds
// but at least 1 ms, and the watchdog leaves it alone. Zero or less means no
// fixed lease. A Redlock and a Simple always have one, DefaultRedlock and
// DefaultSimple without this option.
func Lease(d time.Duration) LockOption {
	return func(o *lockOptions) {
		o.lease = 0
		if d > 0 {
			o.lease = wholeMillis(d)
		}
	}
}

// Wait limits the wait to d, zero meaning one attempt, after which the error is
// ErrNotAcquired. Without it, Lock waits until its context ends and TryLock
// makes one attempt.
func Wait(d time.Duration) LockOption {
	return func(o *lockOptions) { o.wait = max(0, min(d, noEnd)) }
}

// As names the owner on the wire instead of drawing a fresh one: the lock is
// re-entered if that owner holds it. Redisson's owners are "uuid:thread". An
// owner must belong to one Client at a time, or its hold count is nobody's.
//
// What is asked for in the name of one owner at the same time is asked for one after the
// other: a turn is waited for as long as Wait says, but at least as long as a request may
// take. Who gives up waiting for a fair lock leaves the queue before Lock returns. An
// acquisition by a named owner of unknown outcome, or that no replica has
// confirmed, is not cleaned up, as the hold may be an older one: the lock may stay taken
// until its lease ends. An Unlock that failed is repeated until shortly before the lease
// would have ended, so that it cannot end a later hold of that name; when the owner takes
// the lock again before, the new hold's last Unlock settles it. After an Unlock of unknown
// outcome, which would end a hold of that name if it came later, the next one begins when
// WithTimeout has passed. Under Compat316 that goes for an
// Unlock that was not executed; after ErrUnknown, and of a Simple after any
// error, only the lease ends it.
func As(owner string) LockOption { return func(o *lockOptions) { o.owner = owner } }

// NodeTimeout limits each request that a Redlock makes to one master. The
// default is a twentieth of the lease. Other locks ignore it.
func NodeTimeout(d time.Duration) LockOption {
	return func(o *lockOptions) { o.nodeTimeout = min(d, noEnd) }
}

// wholeMillis rounds d down to milliseconds, the unit of the wire, at least 1 and
// at most noEnd.
func wholeMillis(d time.Duration) time.Duration {
	return max(time.Millisecond, min(d, noEnd).Truncate(time.Millisecond))
}
