package lockclient

import (
	"context"
	"strconv"
	"time"
)

// fairPause is how long a waiter lets pass that is told to ask again at once,
// because the lock is free but another is before it in the queue. Redisson
// asks again immediately, until that one comes or is taken for dead.
const fairPause = 100 * time.Millisecond

// Constant after initialisation.
var (
	fairAcquire    = embedded("fair_acquire")
	fairAcquire316 = embedded("fair_acquire_316")
	fairTry        = embedded("fair_try")
	fairWithdraw   = embedded("fair_withdraw")
	fairRelease    = embedded("fair_release")
	fairRelease316 = embedded("fair_release_316")
	fairForce      = embedded("fair_force")
	fairForce316   = embedded("fair_force_316")
)

// Fair names Redisson's fair lock (RFairLock): a Mutex whose waiters queue in Redis, so
// that they are served in the order in which they asked, whichever process they are in.
// Each waiter has a channel of its own. TryLock without Wait does not queue.
//
// A waiter that gives up leaves the queue before its Lock returns, or in the background if
// the server does not answer within a quarter of WithTimeout. A waiter that died keeps its place until its
// deadline and holds up those behind it; see WithFairWait. If it was given Wait, the
// limit of its wait stands in for that setting. Deadlines are in Unix time by the
// waiters' own clocks, so a clock that is wrong by more than that setting may cost a
// waiter its place, never exclusion.
//
// A failover that loses a lock may bring back the place in which its holder had waited. That
// place leaves the queue when the holder is told of the loss, or when it unlocks before.
// What takes a waiter out of the queue is not checked with WAIT, as nothing is granted by
// it: if a failover loses that, the place stays until its deadline.
//
// Each waiter asks again from time to time, which moves its deadline on. Redisson's
// waiters do not, and lose their order where somebody waits without a break for longer
// than that setting and a lease together.
func (c *Client) Fair(key string) *Lock {
	return c.fair(key, false)
}

// fair makes a Lock that has a queue; once says that its owner cannot take it again.
func (c *Client) fair(key string, once bool) *Lock {
	d := fair{mutex{c, key}, once}
	return &Lock{client: c, key: key, kind: &fairLock{hashLock{client: c, key: key, dialect: d}}}
}

// fairLock is the kind of Fair and NonReentrantFair.
type fairLock struct{ hashLock }

// acquire bounds the time until the next attempt from both sides: a waiter that
// asks too late has lost its place. The replies
// of 3.16 count down from what the holder's lease once was, and say nothing
// when that is over; the lock's TTL does.
func (l *fairLock) acquire(ctx context.Context, r *request, ans *answer) error {
	c, waited := l.client, r.wait != 0 && r.asked || l.client.mayQueue(r)
	err := l.hashLock.acquire(ctx, r, ans)
	if waited {
		ans.kept = l.dialect.(fair).keep(r)
	}
	if err != nil || ans.taken || r.wait == 0 {
		return err
	}
	if c.compat316 && ans.hint <= 0 {
		left, _ := c.integer(ctx, l.key, "PTTL", l.key)
		ans.hint = fromMillis(left)
	}
	if ans.hint <= 0 {
		ans.hint = fairPause
	}
	ans.hint = min(ans.hint, c.watchdog, c.fairWait/2)
	return nil
}

// fair is the dialect of both.
type fair struct {
	mutex
	once bool // an owner that asks again gets an error
}

func (f fair) reentrant() bool { return !f.once }

func (f fair) acquire(r *request) call {
	c := f.client
	now, wait := strconv.FormatInt(c.rt.WallMillis(), 10), millis(f.keep(r))
	q := call{fairAcquire, f.keys(), []string{millis(r.lease), r.owner, wait, now}}
	switch {
	case r.wait == 0:
		q.script, q.args[2], q.args[3] = fairTry, now, wait
	case c.compat316:
		q.script = fairAcquire316
	}
	if f.once {
		q.args = append(q.args, heldAlready)
	}
	q.args = r.again(q.args...)
	return q
}

func (f fair) withdraw(r *request) (call, bool) {
	q := f.leave(r.owner, f.keep(r), r.hold != nil)
	return q, r.wait != 0
}

func (f fair) release(owner string, lease time.Duration, latch string) call {
	c := f.client
	keys := append(f.keys(), lockChannel(f.key))
	args := []string{wakeOne, millis(lease), owner, strconv.FormatInt(c.rt.WallMillis(), 10)}
	if c.compat316 {
		return call{fairRelease316, keys, args}
	}
	return call{fairRelease, append(keys, latch), append(args, c.publishCommand(), millis(c.latchTTL()))}
}

func (f fair) force() call {
	c := f.client
	keys := append(f.keys(), lockChannel(f.key))
	args := []string{wakeOne, strconv.FormatInt(c.rt.WallMillis(), 10)}
	if c.compat316 {
		return call{fairForce316, keys, args}
	}
	return call{fairForce, keys, append(args, c.publishCommand())}
}

func (f fair) await(ctx context.Context, r *request) (waiting, error) {
	return f.client.join(ctx, lockChannel(f.key)+":"+r.owner)
}

// leaveLost takes the owner of a hold that is lost out of the queue in which it has waited, in the
// background. Its place left the queue when it took the lock, but a failover that has lost the lock
// may have lost that, too. Others of a named owner may queue by now: the place is theirs.
func (c *Client) leaveLost(h *hold) {
	f := fair{mutex: mutex{c, h.key}}
	open := func(err error) bool { return err != nil && !scriptFailed(err) }
	c.insistWhile(open, h.key, h.owner, c.fairWait, func(ctx context.Context) error {
		if err := c.takeTurn(ctx, h, -1); err != nil {
			return err
		}
		defer c.endTurn(h)
		kept := c.keptPlace(h)
		if kept == 0 {
			return nil
		}
		_, err := c.eval(ctx, c.timeout, f.leave(h.owner, kept, true))
		return err
	})
}

// leave takes an owner out of the queue. If nothing follows that wakes the next one, it does.
func (f fair) leave(owner string, keep time.Duration, wakes bool) call {
	q := call{fairWithdraw, f.keys()[1:], []string{owner, millis(keep)}}
	if wakes {
		q.keys = append(q.keys, f.key, lockChannel(f.key))
		q.args = append(q.args, wakeOne, f.client.publishCommand())
	}
	return q
}

// keys are the lock, its queue and the deadlines of those in the queue.
func (f fair) keys() []string {
	return []string{f.key, prefixed("redisson_lock_queue", f.key), prefixed("redisson_lock_timeout", f.key)}
}

// keep is how much longer than its predecessor's the place of a waiter is kept.
func (f fair) keep(r *request) time.Duration {
	if r.wait > 0 {
		return wholeMillis(r.wait)
	}
	return f.client.fairWait
}
