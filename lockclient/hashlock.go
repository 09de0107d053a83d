package lockclient

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// hashLock is the kind of every lock whose holds are fields of a hash at key,
// owner to hold count. What is sent differs, what it means does not.
type hashLock struct {
	client  *Client
	key     string
	steady  bool // a release leaves the lease of what remains of its hold as it is
	dialect dialect
}

// dialect is what hash locks differ in on the wire.
type dialect interface {
	// reentrant tells whether an owner may take the lock again.
	reentrant() bool
	// acquire asks for the lock.
	acquire(r *request) call
	replyReader // of replies to acquire
	// withdraw takes a waiter of whom the server knows out; known is false if
	// it knows of none. Where there is no queue the withdrawal is empty.
	withdraw(r *request) (withdrawal call, known bool)
	// release gives back one acquisition. Repeated with the same latch it changes
	// nothing, except under Compat316, which has none.
	release(owner string, lease time.Duration, latch string) call
	// force frees the lock whoever holds it.
	force() call
	// await joins the waiters.
	await(ctx context.Context, r *request) (waiting, error)
}

// call is a script with its keys and arguments.
type call struct {
	script     *Script
	keys, args []string
}

func (l *hashLock) reentrant() bool { return l.dialect.reentrant() }

func (l *hashLock) defaultLease() time.Duration { return l.client.watchdog }

func (l *hashLock) renewal() *renewal {
	if l.client.compat316 {
		return &hashRenewal316
	}
	return &hashRenewal
}

// newOwner refuses the name of the field that tells a hash of readers and writers from others: a reader
// of that name would be nobody, without an end, and others would seem to read. It refuses a lock's name that
// does not fit a cluster, too.
func (l *hashLock) newOwner(_ context.Context, named string) (string, error) {
	if named == "mode" {
		return named, fmt.Errorf("owner %q: the hash of a lock has a field of this name", named)
	}
	return l.client.ownerOr(named), l.client.fits(l.key)
}

func (l *hashLock) await(ctx context.Context, r *request) (waiting, error) {
	return l.dialect.await(ctx, r)
}

func (l *hashLock) acquire(ctx context.Context, r *request, ans *answer) error {
	withdrawal, queues := l.dialect.withdraw(r)
	if queues && r.hold != nil && !r.reenters {
		l.client.enqueues(r)
	}
	err := l.client.ask(ctx, r, ans, func() call { return l.dialect.acquire(r) }, l.dialect)
	if hasQueue := withdrawal.script != nil; hasQueue && r.hold != nil && err == nil && ans.taken {
		l.leaveQueue(r, withdrawal)
	}
	if refused := serverError(err); refused != nil && strings.Contains(refused.Text, heldAlready) {
		if r.hold != nil && l.client.hasSurplus(r.hold) { // which is given back, or ends
			ans.hint = retryPeriod
			return nil
		}
		err = ErrDeadlock
	}
	return err
}

// replyReader reads the reply to the script of an acquisition.
type replyReader interface {
	read(reply Reply, ans *answer) error
}

// ask sends the script of an acquisition, and reads its reply. What is refused on the way has taken
// nothing: the lease, and the dates of q, begin anew when it is repeated.
func (c *Client) ask(ctx context.Context, r *request, ans *answer, q func() call, reader replyReader) error {
	ans.owner = r.owner
	reply, err := c.evalSynced(ctx, ctx, c.patienceOf(r.limit), func() call {
		ans.sent = c.rt.Mono()
		return q()
	})
	unsynced := err == ErrReplication
	if err == nil || unsynced {
		err = reader.read(reply, ans)
	}
	switch {
	case err != nil || !ans.taken:
		return err
	case unsynced:
		return ErrReplication
	}
	return tooLate(c.rt, ans.sent, r.lease)
}

// leaveQueue is called when the lock was taken by who may have joined its queue before. The place
// goes with the acquisition, but not where the owner had taken the lock as one of another kind,
// which knows no queue, and re-enters it now, or what the server may still count of that.
func (l *hashLock) leaveQueue(r *request, withdrawal call) {
	c, h := l.client, r.hold
	if !r.reenters && !c.hasSurplus(h) {
		c.placeIsGone(h)
	} else if r.queued && c.leavesQueue(r) {
		c.recall(l.key, r.owner, c.fairWait, false, func(ctx context.Context) error {
			return c.withdrawLater(ctx, h, func(ctx context.Context) error {
				_, err := c.eval(ctx, c.timeout, withdrawal)
				return err
			})
		})
	}
}

// withdraw leaves the queue, if there is one, and gives back what was taken, or
// may have been if nothing else can be in the owner's name. The release of a
// lock that has a queue also wakes who is now its head, as a wake-up may have
// come to the one that leaves.
func (l *hashLock) withdraw(r *request, err error) {
	c, latch := l.client, l.client.record(l.key)
	withdrawal, queued := l.dialect.withdraw(r)
	queued = queued && r.asked && !r.reenters || r.queued
	alone := r.hold == nil && !r.reenters
	back := alone && (queued || mayHaveRun(err))
	if !queued && !back {
		return
	}
	patience := c.patienceAfter(err, alone, r.lease)
	if queued && (alone || !back) && !scriptFailed(err) {
		patience = max(patience, c.fairWait)
	}
	giveBack := func(ctx context.Context) error {
		if queued {
			if _, err := c.eval(ctx, c.timeout, withdrawal); err != nil {
				return err
			}
		}
		if !back {
			return nil
		}
		_, err := l.unlock(ctx, r.owner, r.lease, latch, 0, false)
		if err == nil {
			latch = c.record(l.key) // under its old name a repetition does nothing
		}
		return err
	}
	switch h := r.hold; {
	case h == nil && queued && err == nil:
		if c.withdrawnSoon(giveBack) {
			return
		}
	case h != nil:
		if c.withdrawn(r, giveBack) && !isDoubtful(err) {
			return
		}
		atOnce := giveBack
		giveBack = func(ctx context.Context) error { return c.withdrawLater(ctx, h, atOnce) }
	}
	c.recall(l.key, r.owner, patience, isDoubtful(err), giveBack)
}

// withdrawnSoon withdraws a waiter before its Lock returns, if the server answers soon: a process
// may end when its calls have returned, and what it leaves in a queue holds up all behind it.
func (c *Client) withdrawnSoon(withdraw func(ctx context.Context) error) bool {
	ctx, cancel := c.rt.WithDeadline(context.WithoutCancel(c.base), c.rt.Mono()+c.timeout/4)
	defer cancel()
	return withdraw(ctx) == nil
}

// withdrawn withdraws a waiter whose name others may use, now: later it could be one of
// them. If another one has queued in its name the place is that one's. It reports whether
// nothing is left to do.
func (c *Client) withdrawn(r *request, withdraw func(ctx context.Context) error) bool {
	ctx := context.WithoutCancel(c.base)
	_ = c.takeTurn(ctx, r.hold, -1) // which has no end
	defer c.endTurn(r.hold)
	return !c.leavesQueue(r) || c.givesUpPlace(ctx, r.hold, withdraw) == nil
}

// givesUpPlace withdraws a waiter in its turn, as the last who has use for the place.
func (c *Client) givesUpPlace(ctx context.Context, h *hold, withdraw func(ctx context.Context) error) error {
	err := withdraw(ctx)
	if err == nil {
		c.placeIsGone(h)
	}
	return err
}

// withdrawLater withdraws a waiter whose name others may use, unless one of them has queued by
// now: the place would be that one's.
func (c *Client) withdrawLater(ctx context.Context, h *hold, withdraw func(ctx context.Context) error) error {
	c.mu.Lock()
	present := c.keeper.asked(h.id(), h.renewal)
	c.mu.Unlock()
	if err := c.takeTurn(ctx, present, -1); err != nil {
		return err
	}
	defer c.endTurn(present)
	c.mu.Lock()
	others := present.line.queued > 0
	c.mu.Unlock()
	if others {
		return nil
	}
	return c.givesUpPlace(ctx, present, withdraw)
}

// extend replaces the lease, which a renewal does not where it would cut it: one that
// comes late must not take from what was asked for later.
func (l *hashLock) extend(ctx context.Context, h *Held, lease time.Duration) error {
	return l.client.extend(ctx, l.extension(h.hold.owner, lease))
}

// extend runs a script that gives a hold a new lease, and replies 1 if there is one.
func (c *Client) extend(ctx context.Context, q call) error {
	reply, err := ofOwner(c.evalSyncedOnce(ctx, q))
	if (err == nil || err == ErrReplication) && reply.Int != 1 {
		return ErrLost
	}
	return err
}

// extension is the request of extend.
func (l *hashLock) extension(owner string, lease time.Duration) call {
	return call{mutexExtend, []string{l.key}, []string{millis(lease), owner}}
}

// unlock runs the release script once, and when the reply has come deletes the
// latch, in which the script left its outcome for repetitions: not if it is one, as
// what was sent before may arrive yet. If it finds nothing of the owner's to give back, it takes away
// the place in the queue that was kept for place, unless that is 0.
func (l *hashLock) unlock(
	ctx context.Context, owner string, lease time.Duration, latch string, place time.Duration, repeats bool,
) (Reply, error) {
	c, q := l.client, l.dialect.release(owner, lease, latch)
	if _, queues := l.dialect.(fair); queues && place > 0 {
		q.args = append(q.args, millis(place))
	}
	reply, err := ofOwner(c.eval(ctx, c.timeout, q))
	if err == nil && reply.Kind != NilReply && !c.compat316 && !repeats {
		c.rt.Go(func() { _, _ = c.do(c.base, c.timeout, latch, "DEL", latch) })
	}
	return reply, err
}

func (l *hashLock) isLocked(ctx context.Context) (bool, error) {
	return l.client.exists(ctx, l.key)
}

func (l *hashLock) holdCount(ctx context.Context, owner string) (int64, error) {
	return l.client.integer(ctx, l.key, "HGET", l.key, owner)
}

func (l *hashLock) forceUnlock(ctx context.Context) (freed bool, err error) {
	reply, err := l.client.eval(ctx, l.client.timeout, l.dialect.force())
	return reply.Int == 1, err
}

// tooLate is the error of a lease that ended before its reply came.
func tooLate(rt Runtime, sent, lease time.Duration) error {
	if validity(sent, lease) <= rt.Mono() {
		return fmt.Errorf("the lease ended before its reply came: %w", ErrLost)
	}
	return nil
}
