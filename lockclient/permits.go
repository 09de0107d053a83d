package lockclient

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// noDeadline is the deadline of permits without one, in Redisson's number.
const noDeadline = "922337203685477"

// farDate is a date after which none matters, in milliseconds, which an int64 can hold.
const farDate = 1 << 52

// Constant after initialisation.
var (
	permitAcquire    = embedded("permit_acquire")
	permitAcquire316 = embedded("permit_acquire_316")
	permitRelease    = embedded("permit_release")
	permitRenew      = embedded("permit_renew")
	permitExtend     = embedded("permit_extend")
	permitCount      = embedded("permit_count")
	permitSet        = embedded("permit_set")
	permitAdd        = embedded("permit_add")
)

// PermitSemaphore names Redisson's semaphore of permits that expire
// (RPermitExpirableSemaphore): the number of free permits at key, and beside it the id
// and deadline of each permit that is taken. A permit that is not given back comes back
// when its lease ends. It is safe for concurrent use.
//
// Deadlines are dates by the clock of the client that takes the permit, and each client
// compares them with its own clock. So a client whose clock is ahead by more than a lease
// takes permits that others still have. Clients of Redisson 3.16 and of later versions do
// not understand each other's ids; see Compat316.
type PermitSemaphore struct {
	client *Client
	key    string
}

// PermitSemaphore names a semaphore of permits that expire. It sends nothing.
func (c *Client) PermitSemaphore(key string) *PermitSemaphore {
	return &PermitSemaphore{client: c, key: key}
}

// Key returns the semaphore's name.
func (s *PermitSemaphore) Key() string { return s.key }

// Permit names any one permit as a Lock: an acquisition takes a permit, Held.Owner is the
// permit's id in hexadecimal, and Unlock gives it back. Without Lease the watchdog renews
// it, which Redisson does not offer. As is ignored and there is no re-entry: each
// acquisition takes another permit.
func (s *PermitSemaphore) Permit() *Lock {
	return &Lock{client: s.client, key: s.key, space: permitSpace, plural: true, kind: permits{s}}
}

// Acquire takes one permit for the time of lease, as the option Lease would set it. It
// waits as Lock.Lock does, and has its errors.
func (s *PermitSemaphore) Acquire(ctx context.Context, lease time.Duration, opts ...LockOption) (*Held, error) {
	return s.Permit().Lock(ctx, append(slices.Clip(opts), Lease(lease))...)
}

// TryAcquire takes one permit for the time of lease if one is free, or becomes free
// within the time given with Wait; otherwise it returns ErrNotAcquired. Other errors are
// those of Lock.Lock.
func (s *PermitSemaphore) TryAcquire(ctx context.Context, lease time.Duration, opts ...LockOption) (*Held, error) {
	return s.Permit().TryLock(ctx, append(slices.Clip(opts), Lease(lease))...)
}

// TrySetPermits makes the semaphore with n free permits, from 0 to 2^53, unless it exists: set is false
// then. It must be called once before permits can be taken.
//
// TrySetPermits, SetPermits, AddPermits, Available and Acquired return ErrUnknown if no
// reply came, and repeat nothing; otherwise an error that wraps ErrNotSent, or a
// *ServerError. The first three return ErrReplication if they have succeeded but no
// replica has confirmed it.
func (s *PermitSemaphore) TrySetPermits(ctx context.Context, n int64) (set bool, err error) {
	return s.client.trySetPermits(ctx, s.key, n)
}

// SetPermits sets how many permits there are, from 0 to 2^53, free and taken together. If more are taken,
// none is free until enough have come back. It makes a semaphore that does not exist.
// Errors are those of TrySetPermits.
func (s *PermitSemaphore) SetPermits(ctx context.Context, n int64) error {
	err := inRange(n, 0)
	if err == nil {
		_, err = s.client.change(ctx, call{permitSet, s.keys(), s.client.announced(decimal(n))})
	}
	return opError("set permits", s.key, err)
}

// AddPermits adds n free permits, up to 2^53, or takes permits away if n is negative. Errors are
// those of TrySetPermits.
func (s *PermitSemaphore) AddPermits(ctx context.Context, n int64) error {
	err := inRange(n, -maxCount)
	if err == nil {
		keys := []string{s.key, permitsChannel(s.key)}
		_, err = s.client.change(ctx, call{permitAdd, keys, s.client.announced(decimal(n))})
	}
	return opError("add permits", s.key, err)
}

// Available returns how many permits are free. It is below zero if more are taken than
// there should be. Errors are those of TrySetPermits.
func (s *PermitSemaphore) Available(ctx context.Context) (int64, error) {
	free, _, err := s.count(ctx)
	return free, opError("available", s.key, err)
}

// Acquired returns how many permits are taken. Errors are those of TrySetPermits.
func (s *PermitSemaphore) Acquired(ctx context.Context) (int64, error) {
	_, taken, err := s.count(ctx)
	return taken, opError("acquired", s.key, err)
}

// keys are those of scripts that also look after permits that ended.
func (s *PermitSemaphore) keys() []string {
	return []string{s.key, permitTable(s.key), permitsChannel(s.key)}
}

// count counts permits.
func (s *PermitSemaphore) count(ctx context.Context) (free, taken int64, err error) {
	c := s.client
	reply, err := c.eval(ctx, c.timeout, call{permitCount, s.keys(), c.announced(decimal(c.rt.WallMillis()))})
	if err != nil {
		return 0, 0, err
	}
	if len(reply.List) != 2 {
		return 0, 0, fmt.Errorf("unexpected reply: %+v", reply)
	}
	return reply.List[0].Int, reply.List[1].Int, nil
}

// permits is the kind of PermitSemaphore.Permit.
type permits struct{ *PermitSemaphore }

func (p permits) reentrant() bool { return false }

func (p permits) defaultLease() time.Duration { return p.client.watchdog }

// renewal names one permit at a time: each comes with the date. Dates are no leases: a
// script that sets one whatever there is would cut it when it comes late.
func (p permits) renewal() *renewal {
	return &renewal{batch: 1, call: func(batch []*hold, lease time.Duration) call {
		return p.dated(permitRenew, batch[0].owner, lease)
	}}
}

// dated calls a script that gives a permit the lease from now on.
func (p permits) dated(script *Script, owner string, lease time.Duration) call {
	c := p.client
	now := c.rt.WallMillis()
	return call{script, p.keys(), c.announced(p.id(owner), decimal(now+lease.Milliseconds()), decimal(now))}
}

// ownerNamed ignores the name: see newOwner.
func (p permits) ownerNamed(string) string { return "" }

// newOwner returns the id of another permit, whoever asks for it.
func (p permits) newOwner(context.Context, string) (string, error) {
	return string(p.client.randomHex(16)), nil
}

// id is a permit's name on the wire: 16 bytes, or with 3.16 their text.
func (p permits) id(owner string) string {
	if p.client.compat316 {
		return owner
	}
	raw, err := hex.DecodeString(owner)
	if err != nil {
		panic(err) // newOwner makes no such owner
	}
	return string(raw)
}

func (p permits) acquire(ctx context.Context, r *request, ans *answer) error {
	c := p.client
	reader := &permitReader{poll: c.poll}
	return c.ask(ctx, r, ans, func() call {
		reader.now = c.rt.WallMillis()
		return p.acquisition(r, reader.now)
	}, reader)
}

// acquisition is the script that takes a permit at the date now.
func (p permits) acquisition(r *request, now int64) call {
	c := p.client
	id, deadline := p.id(r.owner), decimal(now+r.lease.Milliseconds())
	if c.compat316 {
		return call{permitAcquire316, p.keys(), []string{"1", deadline, id, decimal(now), noDeadline}}
	}
	return call{permitAcquire, p.keys(), []string{"1", deadline, decimal(now), noDeadline, c.publishCommand(), id}}
}

// permitReader reads the reply of an acquire script that was sent at the date now.
type permitReader struct {
	poll time.Duration
	now  int64
}

func (p *permitReader) read(reply Reply, ans *answer) error {
	ans.hint = p.poll
	if reply.Kind == NilReply {
		return nil
	}
	nearest, refused := strings.CutPrefix(reply.Text, ":")
	if !refused {
		ans.taken = true
		return nil
	}
	deadline, err := strconv.ParseFloat(nearest, 64)
	if err != nil {
		return fmt.Errorf("unexpected reply: %+v", reply)
	}
	if deadline >= 0 { // or it never ends
		ans.hint = max(0, min(ans.hint, fromMillis(int64(min(deadline, farDate))-p.now)))
	}
	return nil
}

func (p permits) withdraw(r *request, err error) {
	if mayHaveRun(err) {
		p.recall(r.owner, p.client.patienceAfter(err, true, r.lease), isDoubtful(err))
	}
}

func (p permits) release(ctx context.Context, h *Held, l leaving) error {
	c := p.client
	until := c.patienceEnds(c.timeout)
	var known bool
	try := func() (err error) {
		known, err = p.giveBack(ctx, h.Owner())
		return err
	}
	err := c.persist(ctx, until, try(), try)
	switch {
	case err != nil:
		p.recall(h.Owner(), c.patience(true, l.lease), false)
	case !known:
		err = ErrLost
	}
	return err
}

// giveBack asks once to give a permit back; known is false if it had ended.
// Repeating it is harmless.
func (p permits) giveBack(ctx context.Context, owner string) (known bool, err error) {
	c := p.client
	q := call{permitRelease, []string{p.key, permitsChannel(p.key), permitTable(p.key)}, []string{p.id(owner), "1"}}
	if !c.compat316 {
		q.args = append(q.args, decimal(c.rt.WallMillis()), c.publishCommand())
	}
	reply, err := c.eval(ctx, c.timeout, q)
	return reply.Int == 1, err
}

// recall gives a permit back in the background, which its lease does at last.
func (p permits) recall(owner string, patience time.Duration, doubtful bool) {
	c := p.client
	c.recall(p.key, owner, patience, doubtful, func(ctx context.Context) error {
		_, err := p.giveBack(ctx, owner)
		return err
	})
}

// extend replaces the lease, also by a shorter one.
func (p permits) extend(ctx context.Context, h *Held, lease time.Duration) error {
	return p.client.extend(ctx, p.dated(permitExtend, h.hold.owner, lease))
}

func (p permits) await(ctx context.Context, _ *request) (waiting, error) {
	return p.client.joinFor(ctx, permitsChannel(p.key), permitsWake, 1)
}
