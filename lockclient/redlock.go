package lockclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errTooLate says why a quorum that agreed is of no use.
var errTooLate = errors.New("asking the masters took longer than the lease lasts")

// Redlock names the lock that the Redis documentation specifies in "Distributed Locks
// with Redis": a random value at key, on a majority of independent masters, with a
// validity of lease - elapsed - drift. It panics without clients, if one is nil, and if
// one is there twice, since a majority could then be one master.
//
// All masters are asked at the same time. The call returns when n/2+1 of them have
// agreed, or no longer can. So a slow master delays nobody; what it grants later joins
// the lock or is given back in the background. On failure the lock is released everywhere
// and, if the caller waits, asked for again after a random delay, with another value. So
// a lock that was just unlocked or refused may look taken for as long as a late master
// needs.
//
// The lease is fixed (Lease, else DefaultRedlock); Extend renews it on a majority. As
// long as a master may yet execute an earlier Extend that it has not answered, a majority
// with it counts for no longer lease than that one's. The first client's clock measures
// the lease. The lock is not reentrant, has no fencing token, and ignores As. Who has the
// name by its context at so many of the masters, as whatever, that no majority is left
// gets ErrDeadlock. The error of a quorum that was not reached wraps *QuorumError.
func Redlock(key string, clients ...*Client) *Lock { return newRedlock(plainForm{}, key, clients) }

// HashRedlock is Redlock with Redisson's hash at key. So it contends with a
// RedissonRedLock of locks of that name and, on each master, with a Mutex, and they wake
// each other. Unlike RedissonRedLock it measures its validity, and never renews on a
// minority.
//
// Its waiters listen to all masters that they reach, and ask again when a majority may be
// free, by message or by TTL. If they know of no such time, or have met a competing
// attempt, they ask again after a random delay, as those of a Redlock do.
func HashRedlock(key string, clients ...*Client) *Lock { return newRedlock(hashForm{}, key, clients) }

func newRedlock(f form, key string, clients []*Client) *Lock {
	if len(clients) == 0 {
		panic(fmt.Sprintf("lockclient: the Redlock %q has no clients: give it one for each master", key))
	}
	for i, c := range clients {
		switch {
		case c == nil:
			panic(fmt.Sprintf("lockclient: client %d of the Redlock %q is nil", i, key))
		case slices.Contains(clients[:i], c):
			panic(fmt.Sprintf("lockclient: client %d of the Redlock %q was there before", i, key))
		}
	}
	clients = slices.Clone(clients) // the caller may use the list for others
	return &Lock{client: clients[0], key: key, space: quorumSpace, plural: true, kind: &redlock{f, key, clients}}
}

// redlock is the kind of Redlock and HashRedlock.
type redlock struct {
	form    form
	key     string
	clients []*Client
}

func (r *redlock) reentrant() bool { return false }

// ownerNamed ignores the name: see newOwner.
func (r *redlock) ownerNamed(string) string { return "" }

func (r *redlock) defaultLease() time.Duration { return DefaultRedlock }

func (r *redlock) renewal() *renewal { return nil }

// newOwner returns none: each attempt has one of its own, so that giving back a
// failed attempt cannot end a later one. Who has so many of the masters already that
// no majority is left would wait for itself.
func (r *redlock) newOwner(ctx context.Context, _ string) (string, error) {
	free := slices.DeleteFunc(slices.Clone(r.clients), func(c *Client) bool {
		return c.carries(ctx, r.key, func(space) bool { return true })
	})
	switch {
	case (holdKey{r.clients[0], quorumSpace, r.key}).isLostIn(ctx):
		return "", ErrLost
	case len(free) < len(r.clients)/2+1:
		return "", ErrDeadlock
	}
	return "", nil
}

func (r *redlock) await(ctx context.Context, q *request) (waiting, error) {
	return r.form.await(ctx, q, r.key, r.clients)
}

// withdraw does nothing: each attempt cleans up after itself.
func (r *redlock) withdraw(*request, error) {}

func (r *redlock) acquire(ctx context.Context, q *request, ans *answer) error {
	rt, lease, limit := r.clients[0].rt, q.lease, q.nodeTimeout
	if err := tooLate(rt, rt.Mono(), lease); err != nil {
		return err // the next one would be, too
	}
	if limit <= 0 {
		limit = lease / 20
	}
	rd := newRound(rt, len(r.clients), r.all(), limit)
	ans.owner, ans.sent, ans.round = r.form.newOwner(r.clients[0]), rt.Mono(), rd
	failure, err := r.poll(ctx, rd, r.all(), ans.owner, lease, func(ctx context.Context, n node) NodeResult {
		return r.form.acquire(ctx, n, lease)
	})
	switch {
	case err == nil && failure == nil && validity(ans.sent, lease) > rt.Mono():
		ans.taken = true
		return nil
	case err == nil && failure == nil:
		ans.refusal = fmt.Errorf("%w: %w", ErrNotAcquired, errTooLate)
	case err == nil:
		ans.refusal = fmt.Errorf("%w: %w", ErrNotAcquired, failure)
	}
	answered, results := rd.end(), rd.results()
	for _, i := range answered {
		n := node{r.clients[i], r.key, ans.owner, limit}
		n.client.rt.Go(func() { r.giveBack(n, results[i], lease) })
	}
	ans.hint = r.form.hint(rt, rd)
	return err
}

// giveBack releases what an attempt that failed has, or may have, of one master. Where
// it has something, and the release fails, that is repeated for as long as the lease may
// last there.
func (r *redlock) giveBack(n node, got NodeResult, lease time.Duration) {
	c := n.client
	had, err := r.form.release(c.base, n)
	if !had && errors.Is(got.Err, ErrUnknown) || err != nil && got.OK {
		r.giveBackAgain(n, got, true, c.patience(true, lease))
	}
}

// giveBackAgain repeats, in the background, a release that failed, or that an acquisition of unknown
// outcome may come after: then it is done again when that cannot be on its way any more, and
// not before if it waits.
func (r *redlock) giveBackAgain(n node, got NodeResult, waits bool, patience time.Duration) {
	c, late := n.client, time.Duration(0)
	unknown := errors.Is(got.Err, ErrUnknown)
	if unknown {
		late = c.rt.Mono() + c.timeout
	}
	again := func(ctx context.Context) error {
		sent := c.rt.Mono()
		had, err := r.form.release(ctx, n)
		if err == nil && !had && sent < late {
			err = ErrUnknown
		}
		return err
	}
	if !waits || !unknown {
		c.insist(n.key, n.owner, patience, again)
		return
	}
	c.rt.Go(func() {
		if _, ended := c.rt.NewGate().Wait(c.base, c.timeout); ended == nil {
			c.insist(n.key, n.owner, patience, again)
		}
	})
}

// release deletes the lock on all masters that have answered; each of the
// others does so when its answer comes. Where that fails it is repeated for as
// long as the lease may last there: nothing else is in the owner's name.
func (r *redlock) release(ctx context.Context, held *Held, lv leaving) error {
	until, rd := lv.doubts.ends, held.hold.round
	answered, got := rd.end(), rd.results()
	_, err := r.whileHeld(ctx, held.hold, answered, func(ctx context.Context, n node) (bool, error) {
		had, err := r.form.release(ctx, n)
		one := got[slices.Index(r.clients, n.client)]
		if err != nil || !had && errors.Is(one.Err, ErrUnknown) {
			r.giveBackAgain(n, one, err == nil, until-r.clients[0].rt.Mono())
		}
		return had, err
	})
	return err
}

// extend counts on no more than what a majority has for sure: at a master that has not answered an
// earlier Extend, that one may yet come and cut the lease.
func (r *redlock) extend(ctx context.Context, held *Held, lease time.Duration) error {
	h, rt := held.hold, r.clients[0].rt
	asked, sure := make([]*lateLease, len(r.clients)), make([]time.Duration, len(r.clients))
	for i := range r.clients {
		asked[i], sure[i] = h.round.extends(i, lease, rt.Mono())
	}
	agreed, err := r.whileHeld(ctx, h, r.all(), func(ctx context.Context, n node) (bool, error) {
		ok, err := r.form.extend(ctx, n, lease)
		h.round.extended(asked[slices.Index(r.clients, n.client)], rt.Mono()+n.client.timeout, err)
		return ok, err
	})
	if err == nil {
		r.clients[0].limitLease(h, agreed.least(sure))
	}
	return err
}

// whileHeld asks the given masters for what they agree to while they have the
// lock. The error is ErrLost when so many refused that no majority has it.
func (r *redlock) whileHeld(
	ctx context.Context, h *hold, masters []int, ask func(context.Context, node) (bool, error),
) (*round, error) {
	rd := newRound(r.clients[0].rt, len(r.clients), masters, h.round.limit)
	failure, err := r.poll(ctx, rd, masters, h.owner, h.lease, func(ctx context.Context, n node) NodeResult {
		return said(ask(ctx, n))
	})
	switch {
	case err != nil:
		return rd, fmt.Errorf("%w: %w", ErrUnknown, err)
	case failure == nil:
		return rd, nil
	case failure.refused() > len(r.clients)-failure.Need:
		return rd, ErrLost
	}
	return rd, fmt.Errorf("%w: %w", ErrUnknown, failure)
}

// all is every master, by number.
func (r *redlock) all() []int {
	all := make([]int, len(r.clients))
	for i := range all {
		all[i] = i
	}
	return all
}

// poll puts a question to the masters of a round, all at once, and returns when
// a quorum has agreed (nil) or no longer can. A master whose answer comes when
// the round is over has the lock released.
func (r *redlock) poll(
	ctx context.Context, rd *round, masters []int, owner string, lease time.Duration,
	ask func(context.Context, node) NodeResult,
) (*QuorumError, error) {
	free := context.WithoutCancel(ctx) // each request has its own limit
	for _, i := range masters {
		n := node{r.clients[i], r.key, owner, rd.limit}
		n.client.rt.Go(func() {
			got := ask(free, n)
			over := rd.record(i, got)
			rd.changed.Open()
			if over {
				r.giveBack(n, got, lease)
			}
		})
	}
	for {
		if done, failure := rd.verdict(); done {
			return failure, nil
		}
		if _, err := rd.changed.Wait(ctx, -1); err != nil {
			return nil, contextError(ctx)
		}
	}
}
