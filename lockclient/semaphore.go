package lockclient

import (
	"context"
	"errors"
	"time"
)

// Constant after initialisation.
var (
	semaphoreAcquire  = embedded("semaphore_acquire")
	semaphoreWithdraw = embedded("semaphore_withdraw")
	semaphoreReturn   = embedded("semaphore_return")
	semaphoreSet      = embedded("semaphore_set")
	semaphoreAdd      = embedded("semaphore_add")
	semaphoreDrain    = embedded("semaphore_drain")
)

// Semaphore names Redisson's semaphore (RSemaphore): the number of free permits at key.
// It is unfair, and its waiters are woken by pub/sub and look again after WithPoll. It is
// safe for concurrent use.
//
// Nothing in Redis says who has a permit, so the permits of a program that dies are gone;
// AddPermits can restore the number by hand. Permits of a PermitSemaphore have names and
// leases, and come back by themselves.
//
// But each request leaves a record of what it did, which Redisson's do not. If the reply
// of an acquisition was lost, or no replica has confirmed it, it is given back if it took
// something, and takes nothing if it comes later. A release with either fate is repeated,
// and counts once. That is tried in the background for ten minutes, while the program
// lives. A record is a small key with a TTL, which ends three times WithTimeout after the
// answer: 9 s by default.
type Semaphore struct {
	client *Client
	key    string
}

// Semaphore names a semaphore. It sends nothing.
func (c *Client) Semaphore(key string) *Semaphore { return &Semaphore{client: c, key: key} }

// Key returns the semaphore's name.
func (s *Semaphore) Key() string { return s.key }

// Acquire takes n permits together, from 0, which takes none, to 2^53; any other n is an error. It waits
// until so many are free, ctx ends (its error), or the time given with Wait is over
// (ErrNotAcquired); other options are ignored. If a request is under way when ctx ends,
// its answer is awaited, and what it took is returned. Other errors are ErrUnknown and
// ErrReplication, see Semaphore; ErrClosed; one that wraps ErrNotSent; and a
// *ServerError.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...LockOption) (*Permits, error) {
	return s.take(ctx, n, -1, opts)
}

// TryAcquire takes n permits together if so many are free, or become free within the time
// given with Wait; otherwise it returns ErrNotAcquired. All else is as with Acquire.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...LockOption) (*Permits, error) {
	return s.take(ctx, n, 0, opts)
}

// Drain takes all permits that are free now, which may be none. Errors are those
// of Acquire.
func (s *Semaphore) Drain(ctx context.Context) (*Permits, error) {
	n, err := s.request(ctx, s.client.timeout, semaphoreDrain)
	return s.taken(n, opError("drain", s.key, err))
}

// TrySetPermits makes the semaphore with n free permits, from 0 to 2^53, unless it exists: set is false
// then. It must be called once before permits can be taken. After ErrReplication it is
// made, but no replica has confirmed that. Other errors are ErrUnknown, one that wraps
// ErrNotSent, and a *ServerError.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64) (set bool, err error) {
	return s.client.trySetPermits(ctx, s.key, n)
}

// trySetPermits makes a semaphore of either kind.
func (c *Client) trySetPermits(ctx context.Context, key string, n int64) (set bool, err error) {
	var done int64
	if err = inRange(n, 0); err == nil {
		done, err = c.changes(ctx, call{semaphoreSet, []string{key, permitsChannel(key)}, c.announced(decimal(n))})
	}
	return done == 1, opError("set permits", key, err)
}

// AddPermits adds n free permits, up to 2^53, and makes the semaphore if it does not exist; a
// negative n takes permits away, below zero if need be. It returns how many are free
// then. After ErrUnknown they may have been added; the call is not repeated. After
// ErrReplication they have been added, but no replica has confirmed that. Other errors
// are one that wraps ErrNotSent, and a *ServerError.
func (s *Semaphore) AddPermits(ctx context.Context, n int64) (free int64, err error) {
	if err = inRange(n, -maxCount); err == nil {
		free, err = s.client.change(ctx, call{semaphoreAdd, s.keys(), s.client.announced(decimal(n))})
	}
	return free, opError("add permits", s.key, err)
}

// Available returns how many permits are free, 0 for a semaphore that does not exist. It
// is below zero if more were taken away than there were.
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	n, err := s.client.integer(ctx, s.key, "GET", s.key)
	return n, opError("available", s.key, err)
}

// keys are those of scripts that wake waiters.
func (s *Semaphore) keys() []string { return []string{s.key, permitsChannel(s.key)} }

// take is Acquire and TryAcquire; wait is the limit when no option gives one.
func (s *Semaphore) take(ctx context.Context, n int64, wait time.Duration, opts []LockOption) (*Permits, error) {
	if err := inRange(n, 0); err != nil {
		return nil, opError("acquire", s.key, err)
	}
	if n == 0 {
		return s.taken(0, nil)
	}
	c, o := s.client, lockOptions{wait: wait}
	for _, opt := range opts {
		opt(&o)
	}
	until := limit{begun: c.rt.Mono(), wait: o.wait}
	t := &turn{limit: until, client: c, asker: semaphoreWait{until, s, n}}
	err := opError("acquire", s.key, t.run(ctx))
	c.observeTurn(t, Event{Key: s.key, Err: err})
	return s.taken(n, err)
}

// semaphoreWait is one call of Acquire or TryAcquire, for n permits.
type semaphoreWait struct {
	limit
	semaphore *Semaphore
	n         int64
}

func (w semaphoreWait) attempt(ctx context.Context) (done bool, hint time.Duration, err error) {
	patience := w.semaphore.client.patienceOf(w.limit)
	n, err := w.semaphore.request(ctx, patience, semaphoreAcquire, decimal(w.n))
	return n > 0, w.semaphore.client.poll, err
}

func (w semaphoreWait) join(ctx context.Context) (waiting, error) {
	s := w.semaphore
	return s.client.joinFor(ctx, permitsChannel(s.key), permitsWake, w.n)
}

// request runs a script that takes permits, and returns how many it took. Those that
// it took without our knowing, or without a replica, are given back. If it is refused on the way it is
// repeated for as long as patience.
func (s *Semaphore) request(
	ctx context.Context, patience time.Duration, script *Script, args ...string,
) (int64, error) {
	c, record := s.client, s.client.record(s.key)
	if c.isClosed() {
		return 0, ErrClosed
	}
	n, err := c.changesWithin(ctx, patience, call{script, []string{s.key, record}, append(args, c.recordTTL())})
	switch {
	case err == ErrReplication || errors.Is(err, ErrUnknown):
		s.withdraw(record)
	case err == nil && n > 0:
		c.forget(record)
	}
	return n, err
}

// withdraw gives back in the background what an acquisition took, until a replica has
// that, too: the next master may know of the acquisition alone. One that never heard of
// it gives nothing.
func (s *Semaphore) withdraw(record string) {
	c := s.client
	q := call{semaphoreWithdraw, append(s.keys(), record), c.announced(c.recordTTL())}
	c.insist(s.key, "", countPatience, func(ctx context.Context) error {
		_, err := c.change(ctx, q)
		return err
	})
}

// taken makes a Permits of n permits that were taken, unless err says otherwise.
func (s *Semaphore) taken(n int64, err error) (*Permits, error) {
	if err != nil {
		return nil, err
	}
	return &Permits{semaphore: s, n: n, since: s.client.rt.Mono()}, nil
}

// Permits are permits of a Semaphore that were taken together. It is safe for concurrent
// use.
type Permits struct {
	semaphore *Semaphore
	n         int64
	since     time.Duration // Mono time of the grant
	released  bool          // guarded by the client's mutex
}

// Count returns how many permits these are.
func (p *Permits) Count() int64 { return p.n }

// Release gives all of them back. It sends its request even if ctx has ended, and waits
// for the reply as long as any request may take. The errors:
//
//   - ErrNotHeld at a second call.
//   - ErrLost if the semaphore no longer exists; it is not made anew.
//   - ErrUnknown if no reply came, and ErrReplication if they were given back but no
//     replica has confirmed it. It is then repeated in the background for ten minutes.
//   - An error that says why the request was not executed: it did not reach Redis, or
//     found it unable to run scripts or to write (MISCONF, OOM), or was not let in
//     (NOAUTH, WRONGPASS). It is then repeated likewise.
//   - Any other *ServerError is final.
func (p *Permits) Release(ctx context.Context) error {
	c, key := p.semaphore.client, p.semaphore.key
	if !p.drop() {
		return opError("release", key, ErrNotHeld)
	}
	if p.n == 0 {
		return nil
	}
	record := c.record(key)
	err := p.giveBack(context.WithoutCancel(ctx), record)
	switch {
	case unsettled(err):
		c.insistWhile(unsettled, key, "", countPatience, func(ctx context.Context) error {
			return p.giveBack(ctx, record)
		})
	case err == nil:
		c.forget(record)
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

// giveBack asks to give the permits back: with the same record, they are given once.
func (p *Permits) giveBack(ctx context.Context, record string) error {
	s, c := p.semaphore, p.semaphore.client
	args := c.announced(decimal(p.n), c.recordTTL())
	done, err := c.changes(ctx, call{semaphoreReturn, append(s.keys(), record), args})
	if err == nil && done == 0 {
		return ErrLost
	}
	return err
}
