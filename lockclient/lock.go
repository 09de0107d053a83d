package lockclient

import (
	"context"
	"errors"
	"time"
)

// Lock is the name of a lock. It is cheap, has no state of its own, and is safe
// for concurrent use; each acquisition gives a Held.
type Lock struct {
	client *Client // keeps the holds and their time
	key    string
	space  space
	plural bool // each acquisition has a hold of its own, whoever asks for it
	kind   kind
}

// kind is what tells one lock from another: what is sent, and how to wait.
type kind interface {
	// reentrant tells whether an owner may take the lock again. If not, asking
	// for it from the context of its own holder is ErrDeadlock.
	reentrant() bool
	// defaultLease is the lease without Lease.
	defaultLease() time.Duration
	// renewal is how the watchdog renews a lease without Lease, nil if it does not.
	renewal() *renewal
	// newOwner returns the identity of a first acquisition with ctx, which is
	// named if the caller has chosen one. An error refuses the acquisition.
	newOwner(ctx context.Context, named string) (string, error)
	// acquire asks once for the lock. ans is empty.
	acquire(ctx context.Context, r *request, ans *answer) error
	// withdraw has the server forget an acquisition that failed after it was asked for,
	// with err at last; nil: that was answered. It is done in the background, but for a
	// place in a queue that the server answers for.
	withdraw(r *request, err error)
	// release gives back one acquisition. It returns ErrLost if the server no
	// longer knew of it; an unknown outcome is taken care of.
	release(ctx context.Context, h *Held, l leaving) error
	// extend gives the hold of h a new lease. It returns ErrLost if the server
	// no longer knew of it.
	extend(ctx context.Context, h *Held, lease time.Duration) error
	// await joins the waiters of the lock, before the attempt that counts.
	await(ctx context.Context, r *request) (waiting, error)
}

// request is what an acquisition asks for.
type request struct {
	owner    string
	named    bool  // the owner is not this acquisition's alone: the caller chose it, or writes in its name
	hold     *hold // the owner's, if it is re-entered or named; else nil
	reenters bool  // the owner has the lock: if the server does not know that, it is lost
	queued   bool  // see Client.enqueues
	asked    bool  // an attempt may have been executed
	lease    time.Duration
	limit
	nodeTimeout time.Duration
	last        *answer // to the last attempt
}

// answer is what a lock said to a request.
type answer struct {
	taken   bool          // by this request, and its lease has not ended yet
	owner   string        // as which it was taken
	sent    time.Duration // Mono time before the request was sent: the lease counts from here
	token   uint64        // the fencing token, 0 if the kind has none
	hint    time.Duration // not taken: how long the holder's lease lasts; negative: it has no end
	refusal error         // not taken: more about why, or nil
	round   *round        // of a Redlock
	members []*Held       // of a Multi
	kept    time.Duration // taken: see hold
}

// waiting is one waiter's place.
type waiting interface {
	// attempt runs one attempt; wake-ups that came before an answered attempt
	// are spent by it.
	attempt(f func() error) error
	// park waits for a wake-up, at most d.
	park(ctx context.Context, d time.Duration) (woken bool, err error)
	// leave gives up the place. An unspent wake-up goes to the next waiter.
	leave()
}

// ownerNamed returns the owner on the wire that a caller names.
func (l *Lock) ownerNamed(name string) string {
	if k, ok := l.kind.(interface{ ownerNamed(string) string }); ok {
		return k.ownerNamed(name)
	}
	return name
}

// ownerIn returns the owner that the lock can only have in ctx, "" if any will do.
func (l *Lock) ownerIn(ctx context.Context) string {
	if k, ok := l.kind.(interface{ ownerIn(context.Context) string }); ok {
		return k.ownerIn(ctx)
	}
	return ""
}

// Key returns the lock's name.
func (l *Lock) Key() string { return l.key }

// Lock takes the lock. It waits until the lock is free, ctx ends (its error),
// or the time given with Wait is over (ErrNotAcquired). Other errors are
// ErrUnknown, ErrReplication, ErrLost when the lock it re-enters is lost or the
// lease ended before the reply came (as one of 2 ms always has), ErrDeadlock,
// ErrClosed, an error that wraps ErrNotSent, one for a name whose keys would be on several
// slots of a cluster, and a *ServerError; what a script took before it failed is given back
// as after ErrUnknown, but once.
func (l *Lock) Lock(ctx context.Context, opts ...LockOption) (*Held, error) {
	return l.take(ctx, -1, opts)
}

// TryLock takes the lock if it is free, or becomes so within the time given
// with Wait; otherwise it returns ErrNotAcquired. Errors are those of Lock.
func (l *Lock) TryLock(ctx context.Context, opts ...LockOption) (*Held, error) {
	return l.take(ctx, 0, opts)
}

// Do runs f while it holds the lock, which it takes as Lock does. The context
// given to f ends, with cause ErrLost, as soon as the lock can no longer be
// relied on; a lock of the same name taken with it is re-entered. The lock is
// released when f returns or panics. Do returns the errors of f and of Unlock, joined.
func (l *Lock) Do(
	ctx context.Context, f func(ctx context.Context, h *Held) error, opts ...LockOption,
) (err error) {
	h, err := l.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Unlock(ctx)) }()
	return f(h.Context(), h)
}

// holdKey names one of the holds that a context carries, for re-entry.
type holdKey struct {
	client *Client
	space  space
	key    string
}

// in returns the innermost hold that a context carries and that was not given back, or nil.
func (k holdKey) in(ctx context.Context) *hold {
	i, _ := ctx.Value(insideKey{k.client}).(*inside)
	if i == nil {
		return nil
	}
	k.client.mu.Lock()
	defer k.client.mu.Unlock()
	for ; i != nil; i = i.outer {
		if h := i.hold; i.keeper == k.client && h.key == k.key && h.space == k.space && len(h.held) > 0 {
			return h
		}
	}
	return nil
}

// isLostIn tells whether ctx carries such a hold that is lost.
func (k holdKey) isLostIn(ctx context.Context) bool {
	h := k.in(ctx)
	k.client.mu.Lock()
	defer k.client.mu.Unlock()
	return h != nil && h.isLost && len(h.held) > 0
}

// insideKey finds in a context the innermost hold of a client.
type insideKey struct{ client *Client }

// inside is a hold that a context carries, and those around it.
type inside struct {
	hold   *hold
	keeper *Client // which has the hold: of a Redlock the first one
	master int     // of a Redlock: which one it is that the client is for
	outer  *inside
}

// take is Lock and TryLock; wait is the limit when no option gives one.
func (l *Lock) take(ctx context.Context, wait time.Duration, opts []LockOption) (*Held, error) {
	a := &acquisition{lock: l, options: lockOptions{wait: wait}}
	for _, opt := range opts {
		opt(&a.options)
	}
	a.limit = limit{begun: l.client.rt.Mono(), wait: a.options.wait}
	held, err := a.run(ctx)
	return held, a.ended(err)
}

// ended cleans up after an acquisition, and tells of it.
func (a *acquisition) ended(err error) error {
	l, c := a.lock, a.lock.client
	if err != nil && a.turn.attempts > 0 {
		l.kind.withdraw(&a.request, a.failed)
	}
	if a.hold != nil {
		c.unreserve(&a.request)
	}
	err = opError("lock", l.key, err)
	c.observeTurn(&a.turn, Event{Key: l.key, Owner: a.owner, Err: err})
	return err
}

// acquisition is one call of Lock or TryLock.
type acquisition struct {
	request
	lock    *Lock
	options lockOptions
	name    string        // of the owner, if it is the caller's choice
	asks    time.Duration // the lease that it asks for
	renewal *renewal      // nil: the watchdog leaves it alone
	turn    turn
	answer  answer // to the present attempt, or the last
	failed  error  // the last attempt's: what ends the wait after an answer says nothing of what was asked for
	held    *Held  // once it is granted
}

// prepare settles owner and lease, and reserves a place in the hold of its owner.
func (a *acquisition) prepare(ctx context.Context) error {
	l, o := a.lock, &a.options
	a.asks, a.renewal = l.kind.defaultLease(), l.kind.renewal()
	if o.lease > 0 {
		a.asks, a.renewal = o.lease, nil
	}
	a.lease, a.nodeTimeout = a.asks, o.nodeTimeout
	a.name = l.ownerIn(ctx)
	if o.owner != "" {
		a.name = l.ownerNamed(o.owner)
	}
	a.named = a.name != ""
	if l.plural {
		var err error
		a.owner, err = l.kind.newOwner(ctx, a.name)
		return err
	}
	return a.enroll(ctx)
}

// enroll reserves a place in the hold of the owner: in that which is re-entered, or of
// the name that the caller has chosen. Any other acquisition has an owner of its own.
func (a *acquisition) enroll(ctx context.Context) (err error) {
	l, c := a.lock, a.lock.client
	if a.hold, err = c.reserve(l, a.name, holdKey{c, l.space, l.key}.in(ctx)); err != nil {
		a.reenters = true // what is lost: nothing was asked for
		return err
	}
	if a.hold != nil {
		a.owner = a.hold.owner
		if held, _, _ := c.reentered(a.hold); held {
			return a.deadlock()
		}
	}
	if l.isExcludedIn(ctx) {
		return ErrDeadlock
	}
	a.owner, err = l.kind.newOwner(ctx, a.name)
	return err
}

// isExcludedIn tells whether ctx carries a hold of the same key that the lock would wait for: as a lock
// of another kind that no owner has beside this one. Only a writer may read as well.
func (l *Lock) isExcludedIn(ctx context.Context) bool {
	_, reads := l.kind.(*readSide)
	return l.client.carries(ctx, l.key, func(s space) bool { return s != l.space && !(reads && s == writeSpace) })
}

// carries tells whether ctx carries a hold that is at a key of the client's server, of an excluding space.
func (c *Client) carries(ctx context.Context, key string, excludes func(s space) bool) bool {
	i, _ := ctx.Value(insideKey{c}).(*inside)
	for ; i != nil; i = i.outer {
		h := i.hold
		isThere := h.space <= textSpace || h.space == quorumSpace && h.round.granted(i.master)
		if h.key == key && isThere && excludes(h.space) && i.keeper.isHeld(h) {
			return true
		}
	}
	return false
}

// moveOn reserves a place in the next hold of the owner, as that for which it asked is over.
func (a *acquisition) moveOn(ctx context.Context) error {
	before := a.request
	err := a.enroll(ctx)
	before.queued = before.queued && a.hold == nil // else its use for a place in the queue goes on
	a.lock.client.unreserve(&before)
	return err
}

// deadlock refuses to take the lock once more if it cannot be: also where its owner has it as a Mutex
// and now wants to read, or the reverse. The watchdog renews the one in another way than the other.
func (a *acquisition) deadlock() error {
	if a.lock.kind.reentrant() && a.hold.renewal == a.lock.kind.renewal() {
		return nil
	}
	return ErrDeadlock
}

// run takes the lock in its turn.
func (a *acquisition) run(ctx context.Context) (*Held, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	a.last = &a.answer
	c := a.lock.client
	a.turn.limit, a.turn.client, a.turn.asker = a.limit, c, a
	err := a.turn.run(ctx)
	if err == nil && c.isClosed() {
		_ = a.held.Unlock(ctx) // nothing looks after it
		return nil, ErrClosed
	}
	if err == ErrNotAcquired && a.answer.refusal != nil {
		err = a.answer.refusal
	}
	return a.held, err
}

func (a *acquisition) attempt(ctx context.Context) (done bool, hint time.Duration, err error) {
	a.answer = answer{}
	a.held, err = a.ask(ctx)
	a.asked = a.asked || !notRun(err)
	a.failed = err
	return a.held != nil, a.hint(), err
}

func (a *acquisition) join(ctx context.Context) (waiting, error) {
	return a.lock.kind.await(ctx, &a.request)
}

// ask asks once, when nobody else does in the owner's name. Held is nil when the lock is
// taken by somebody else.
func (a *acquisition) ask(ctx context.Context) (*Held, error) {
	c, ans := a.lock.client, &a.answer
	again, err := a.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	h := a.hold
	a.reenters = again
	err = a.lock.kind.acquire(ctx, &a.request, ans)
	var held *Held
	if err == nil && ans.taken {
		a.owner = ans.owner
		held, err = c.grant(ctx, a, ans)
	}
	if h != nil {
		if mayHaveRun(err) {
			c.doubtAcquisition(h, a.lease, err)
		}
		c.endTurn(h)
	}
	switch {
	case held != nil:
		c.joinMembers(held)
	case err == nil && again:
		c.lose(h) // the server did not know the owner any more
		err = ErrLost
	case err != nil:
		_ = unlockAll(ctx, ans.members) // which were taken for a Multi that is lost
	}
	return held, err
}

// takeTurn waits until nobody else asks in the owner's name, and settles what to ask
// for then. again tells that the owner has the lock.
func (a *acquisition) takeTurn(ctx context.Context) (again bool, err error) {
	c, end := a.lock.client, noEnd
	if left := a.remaining(c.rt); left >= 0 {
		end = c.rt.Mono() + max(left, 2*c.timeout+1) // one under way, and then in doubt, may take so long
	}
	for a.lease = a.asks; a.hold != nil; {
		limit := a.remaining(c.rt)
		if limit >= 0 {
			limit = min(max(limit, c.timeout), max(0, end-c.rt.Mono())) // an attempt may take so long
		}
		if err := c.takeTurn(ctx, a.hold, limit); err != nil {
			return false, err
		}
		held, over, lease := c.reentered(a.hold)
		if over {
			c.endTurn(a.hold)
			if err := a.moveOn(ctx); err != nil {
				return false, err
			}
			continue
		}
		if !held {
			waited, err := c.outlast(ctx, a.hold, end)
			if err != nil || !waited {
				return false, err
			}
			continue
		}
		if err := a.deadlock(); err != nil {
			c.endTurn(a.hold)
			return false, err
		}
		a.lease = max(a.asks, lease) // a re-entry never cuts the lease
		return true, nil
	}
	return false, nil
}

// hint is when to ask again if no wake-up comes: at times also where the lock has no TTL,
// or a long one, as it may have been given a shorter one, of which nobody is told.
func (a *acquisition) hint() time.Duration {
	if hint := a.answer.hint; hint >= 0 {
		return min(hint, a.lock.client.watchdog)
	}
	return a.lock.client.watchdog
}
