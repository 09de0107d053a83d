package lockclient

import (
	"context"
	"encoding/binary"
	"time"
)

// A lock that nobody announces as free is asked for again after a random delay
// in this range.
const (
	pollMin = 50 * time.Millisecond
	pollMax = 250 * time.Millisecond
)

// Constant after initialisation.
var (
	plainExtend  = embedded("plain_extend")
	plainRelease = embedded("plain_release")
)

// Simple names the lock that everyone starts with: SET key owner NX PX lease, and a
// script that deletes the key if it still has that value. It is here as the baseline. Its
// lease is fixed (Lease, else DefaultSimple), it is not reentrant, nobody is woken, and
// no replica is asked for confirmation. Redisson has no such lock; redlock libraries with
// one master do the same.
func (c *Client) Simple(key string) *Lock {
	return &Lock{client: c, key: key, space: textSpace, kind: &simple{client: c, key: key}}
}

// simple is the kind of Simple.
type simple struct {
	client *Client
	key    string
}

func (s *simple) reentrant() bool { return false }

func (s *simple) defaultLease() time.Duration { return DefaultSimple }

func (s *simple) renewal() *renewal { return nil }

func (s *simple) newOwner(_ context.Context, named string) (string, error) {
	return s.client.ownerOr(named), nil
}

func (s *simple) await(context.Context, *request) (waiting, error) {
	return poller{s.client.rt.NewGate()}, nil
}

func (s *simple) acquire(ctx context.Context, r *request, ans *answer) error {
	c := s.client
	ans.owner, ans.hint = r.owner, pollDelay(c.rt)
	until := c.patienceEnds(c.patienceOf(r.limit))
	var reply Reply
	set := func() (err error) {
		ans.sent = c.rt.Mono() // what was refused before has taken nothing
		reply, err = c.do(ctx, c.timeout, s.key, "SET", s.key, r.owner, "NX", "PX", millis(r.lease))
		return err
	}
	err := c.persist(ctx, until, set(), set)
	if err == nil && reply.Kind == TextReply {
		ans.taken = true
		err = tooLate(c.rt, ans.sent, r.lease)
	}
	return err
}

// withdraw deletes what may have been taken, unless the owner's name may stand
// for something else.
func (s *simple) withdraw(r *request, err error) {
	if c := s.client; isDoubtful(err) && !r.named {
		c.recall(s.key, r.owner, c.patience(true, r.lease), true, s.deleting(r.owner))
	}
}

func (s *simple) release(ctx context.Context, held *Held, lv leaving) error {
	h := held.hold
	if lv.lost && lv.named {
		return ErrLost // the value may be that of a later hold
	}
	c := s.client
	until := c.patienceEnds(c.timeout)
	var deleted bool
	try := func() (err error) {
		deleted, err = s.delete(ctx, h.owner)
		return err
	}
	err := c.persist(ctx, until, try(), try)
	switch {
	case err == nil && !deleted:
		return ErrLost
	case err != nil && !lv.named:
		if patience := c.patience(true, lv.lease); c.closeLine(h, patience) {
			c.insist(s.key, h.owner, patience, func(ctx context.Context) error {
				_, err := s.delete(ctx, h.owner)
				if c.gaveBack(h, &lv, err); err == nil {
					c.openLine(h)
				}
				return err
			})
		}
	}
	return err
}

func (s *simple) extend(ctx context.Context, held *Held, lease time.Duration) error {
	c := s.client
	reply, err := ofOwner(c.eval(ctx, c.timeout, plainExtendCall(s.key, held.hold.owner, lease)))
	if err == nil && reply.Int != 1 {
		err = ErrLost
	}
	return err
}

// delete deletes the lock if it is owner's.
func (s *simple) delete(ctx context.Context, owner string) (deleted bool, err error) {
	reply, err := ofOwner(s.client.eval(ctx, s.client.timeout, plainReleaseCall(s.key, owner)))
	return reply.Int == 1, err
}

// deleting is delete as what is done in the background.
func (s *simple) deleting(owner string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.delete(ctx, owner)
		return err
	}
}

func (s *simple) isLocked(ctx context.Context) (bool, error) { return s.client.exists(ctx, s.key) }

func (s *simple) holdCount(ctx context.Context, owner string) (int64, error) {
	reply, err := s.client.do(ctx, s.client.timeout, s.key, "GET", s.key)
	if err == nil && reply.Kind == TextReply && reply.Text == owner {
		return 1, nil
	}
	return 0, err
}

func (s *simple) forceUnlock(ctx context.Context) (freed bool, err error) {
	n, err := s.client.integer(ctx, s.key, "DEL", s.key)
	return n == 1, err
}

// plainExtendCall gives the lock with a random value at key a new lease.
func plainExtendCall(key, value string, lease time.Duration) call {
	return call{plainExtend, []string{key}, []string{value, millis(lease)}}
}

// plainReleaseCall deletes the lock with a random value at key.
func plainReleaseCall(key, value string) call {
	return call{plainRelease, []string{key}, []string{value}}
}

// pollDelay draws the pause before the next attempt.
func pollDelay(rt Runtime) time.Duration {
	return pollMin + time.Duration(randomBelow(rt, uint64(pollMax-pollMin)))
}

// randomBelow draws a number below n, nearly evenly.
func randomBelow(rt Runtime, n uint64) uint64 {
	var p [8]byte
	rt.Random(p[:])
	return binary.LittleEndian.Uint64(p[:]) % n
}

// poller is the place of a waiter that nobody wakes: it wakes by itself, also at the end of its wait.
type poller struct{ gate Gate }

func (p poller) attempt(f func() error) error { return f() }

func (p poller) park(ctx context.Context, d time.Duration) (woken bool, err error) {
	_, err = p.gate.Wait(ctx, d)
	return err == nil, err
}

func (p poller) leave() {}
