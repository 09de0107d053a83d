package lockclient

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// returnPatience is for how long permits are given back that Redis refused to
// take: nothing else frees them.
const returnPatience = 10 * time.Minute

// Constant after initialisation.
var (
	semaphoreAcquire = embedded("semaphore_acquire")
	semaphoreReturn  = embedded("semaphore_return")
	semaphoreSet     = embedded("semaphore_set")
	semaphoreAdd     = embedded("semaphore_add")
	semaphoreDrain   = embedded("semaphore_drain")
)

// Semaphore names Redisson's semaphore (RSemaphore): the number of free permits
// at key, unfair, its waiters woken by pub/sub and by looking again after
// WithPoll. It is safe for concurrent use.
//
// Nothing in Redis says who has a permit. So the permits of a program that dies
// are gone, and so are those of an acquisition whose reply was lost, if it took
// any: its error is ErrUnknown, and nothing is done about it, as asking again
// could take twice and giving back could give what was never taken. AddPermits
// mends the number by hand. What no replica has confirmed (ErrReplication) is given
// back, with one request: should a failover come just before that, the new master
// counts a permit too many. The permits of a PermitSemaphore have names and leases,
// and none of these troubles.
type Semaphore struct {
	client *Client
	key    string
}

// Semaphore names a semaphore.
func (c *Client) Semaphore(key string) *Semaphore { return &Semaphore{client: c, key: key} }

// Key returns the semaphore's name.
func (s *Semaphore) Key() string { return s.key }

// Acquire takes n permits together, 0 for none. It waits until so many are
// free, ctx ends (its error), or the time given with Wait is over
// (ErrNotAcquired); the other options mean nothing here. A request that is under
// way when ctx ends is awaited, and what it took is returned. Other errors are
// ErrUnknown, see Semaphore; ErrReplication; one that wraps ErrNotSent; and a
// *ServerError. A negative n is an error.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...LockOption) (*Permits, error) {
	return s.take(ctx, n, -1, opts)
}

// TryAcquire takes n permits together if so many are free, or become so within
// the time given with Wait; otherwise it returns ErrNotAcquired. All else is as
// with Acquire.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...LockOption) (*Permits, error) {
	return s.take(ctx, n, 0, opts)
}

// Drain takes all permits that are free now, which may be none. Errors are those
// of Acquire.
func (s *Semaphore) Drain(ctx context.Context) (*Permits, error) {
	n, err := s.client.change(ctx, call{semaphoreDrain, []string{s.key}, nil})
	return s.taken(n, opError("drain", s.key, err))
}

// TrySetPermits makes the semaphore with n free permits, unless it exists: set
// is false then. It must be made once before permits can be taken. After
// ErrReplication it is made, but no replica has confirmed that.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64) (set bool, err error) {
	done, err := s.client.change(ctx, call{semaphoreSet, s.keys(), s.client.announced(decimal(n))})
	return done == 1, opError("set permits", s.key, err)
}

// AddPermits adds n free permits, and makes the semaphore if it does not exist;
// a negative n takes them away, below zero if need be. It returns how many are
// free then. After ErrUnknown they may have been added; the call is not repeated.
// After ErrReplication they have been, but no replica has confirmed that.
func (s *Semaphore) AddPermits(ctx context.Context, n int64) (free int64, err error) {
	free, err = s.client.change(ctx, call{semaphoreAdd, s.keys(), s.client.announced(decimal(n))})
	return free, opError("add permits", s.key, err)
}

// Available returns how many permits are free, 0 for a semaphore that does not
// exist. It is below zero if more were taken away than there were.
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	n, err := s.client.integer(ctx, s.key, "GET", s.key)
	return n, opError("available", s.key, err)
}

// keys are those of scripts that wake waiters.
func (s *Semaphore) keys() []string { return []string{s.key, permitsChannel(s.key)} }

// take is Acquire and TryAcquire; wait is the limit when no option gives one.
func (s *Semaphore) take(ctx context.Context, n int64, wait time.Duration, opts []LockOption) (*Permits, error) {
	if n < 0 {
		return nil, opError("acquire", s.key, fmt.Errorf("%d permits", n))
	}
	if n == 0 {
		return s.taken(0, nil)
	}
	c, o := s.client, lockOptions{wait: wait}
	for _, opt := range opts {
		opt(&o)
	}
	t := &turn{limit: limit{begun: c.rt.Mono(), wait: o.wait}, rt: c.rt, asker: semaphoreWait{s, n}}
	err := opError("acquire", s.key, t.run(ctx))
	c.observeTurn(t, Event{Key: s.key, Err: err})
	return s.taken(n, err)
}

// semaphoreWait is one call of Acquire or TryAcquire, for n permits.
type semaphoreWait struct {
	semaphore *Semaphore
	n         int64
}

func (w semaphoreWait) attempt(ctx context.Context) (done bool, hint time.Duration, err error) {
	s := w.semaphore
	n, err := s.client.change(ctx, call{semaphoreAcquire, []string{s.key}, []string{decimal(w.n)}})
	if err == ErrReplication && n == 0 {
		err = nil // there is nothing to confirm
	}
	return n == 1, s.client.poll, err
}

func (w semaphoreWait) join(ctx context.Context) (waiting, error) {
	s := w.semaphore
	return s.client.joinFor(ctx, permitsChannel(s.key), permitsWake, w.n)
}

// taken makes a Permits of n permits that were taken, unless err says that they
// were not or that no replica knows of it.
func (s *Semaphore) taken(n int64, err error) (*Permits, error) {
	p := &Permits{semaphore: s, n: n, since: s.client.rt.Mono()}
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, ErrReplication):
		p.insist(0) // a master that cannot be reached may have a successor that knows nothing of them
	}
	return nil, err
}

// Permits are permits that were taken together. It is safe for concurrent use.
type Permits struct {
	semaphore *Semaphore
	n         int64
	since     time.Duration // Mono time of the grant
	released  bool          // guarded by the client's mutex
}

// Count returns how many permits these are.
func (p *Permits) Count() int64 { return p.n }

// Release gives all of them back. It sends its request even if ctx has ended,
// and waits for the reply as long as any request may take. Errors are ErrNotHeld
// at a second call; ErrLost if the semaphore does not exist any more, which is
// then not made anew; ErrUnknown if no reply came: they may have been given
// back, which is not repeated, as that could give them twice; ErrReplication if
// they were, but no replica has confirmed it. When the request did not reach
// Redis, or found it unable to run scripts, it is repeated in the background for
// ten minutes; the error tells why. Any other *ServerError is final.
func (p *Permits) Release(ctx context.Context) error {
	c, key := p.semaphore.client, p.semaphore.key
	if !p.drop() {
		return opError("release", key, ErrNotHeld)
	}
	if p.n == 0 {
		return nil
	}
	err := p.giveBack(context.WithoutCancel(ctx))
	if notRun(err) {
		p.insist(returnPatience)
	}
	err = opError("release", key, err)
	c.observe(Event{Kind: Released, Key: key, Held: c.rt.Mono() - p.since, Err: err})
	return err
}

// drop notes the release; false if it is not the first.
func (p *Permits) drop() bool {
	c := p.semaphore.client
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !p.released
	p.released = true
	return first
}

// giveBack asks once to give the permits back.
func (p *Permits) giveBack(ctx context.Context) error {
	s := p.semaphore
	done, err := s.client.change(ctx, call{semaphoreReturn, s.keys(), s.client.announced(decimal(p.n))})
	if err == nil && done == 0 {
		return ErrLost
	}
	return err
}

// insist gives the permits back in the background, once; for as long as patience it
// asks again what was not run.
func (p *Permits) insist(patience time.Duration) {
	c := p.semaphore.client
	c.insist(p.semaphore.key, "", patience, func(ctx context.Context) error {
		if err := p.giveBack(ctx); notRun(err) {
			return err
		}
		return nil
	})
}
