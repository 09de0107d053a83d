package lockclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Multi names the lock that is held while all of the given locks are. These may be of any
// kind, on any keys and servers, and each speaks its own protocol: Multi sends nothing of
// its own. It is Redisson's RedissonMultiLock. Its Key is its members' names, joined by
// commas. Its state cannot be asked for; ask its members. It panics without locks, and if
// one is nil.
//
// The members are taken in the order of their names, so that two Multis do not block each
// other. A Multi waits for one member at a time, and while it does it holds no other: if
// a member stays taken, or its cluster refuses it, for longer than a moment, all are
// given back, and the next round begins with that member. The moment is drawn at random
// from 50 ms to 250 ms, so that programs that take the same locks in other orders, as
// Redisson does, do not keep refusing each other.
//
// Options apply to each member, and observers hear of each member as well as of the
// whole. As names the owner of all members. A Lease counts from the first member on, and
// waiting for the others may use up a quarter of it.
//
// The loss of one member is the loss of the whole: its Held is told, the watchdog stops
// renewing the others, and Unlock gives them back. If that happens before all are taken,
// Lock returns ErrLost. Unlock asks one member after the other, each for as long as any request
// may take.
//
// Locks of one name and one server may be in it once, or by one Client: by another one the name is
// taken, by this very Multi, for as long as it waits.
func Multi(locks ...*Lock) *Lock {
	if len(locks) == 0 {
		panic("lockclient: a Multi has no locks: give it those that it is to hold together")
	}
	if i := slices.Index(locks, nil); i >= 0 {
		panic(fmt.Sprintf("lockclient: lock %d of a Multi is nil", i))
	}
	sorted := slices.Clone(locks)
	slices.SortStableFunc(sorted, func(a, b *Lock) int { return strings.Compare(a.key, b.key) })
	keys := make([]string, len(sorted))
	for i, l := range sorted {
		keys[i] = l.key
	}
	whole := holdKey{sorted[0].client, wholeSpace, strings.Join(keys, ",")}
	return &Lock{client: whole.client, key: whole.key, space: whole.space, plural: true, kind: &multi{sorted, whole}}
}

// multi is the kind of Multi. Each acquisition is a hold of its own, also where its owner has another of
// that name: locks on other servers, or of other kinds, may have the same names. What re-enters are its
// members.
type multi struct {
	locks []*Lock
	whole holdKey
}

func (m *multi) reentrant() bool { return true } // as far as its members are

func (m *multi) defaultLease() time.Duration { return 0 } // each member has its own

func (m *multi) renewal() *renewal { return nil }

// newOwner refuses to re-enter what is lost. Its members need not tell, as some are never re-entered, and
// others may not be its own.
func (m *multi) newOwner(ctx context.Context, named string) (string, error) {
	if m.whole.isLostIn(ctx) {
		return named, ErrLost
	}
	return named, nil
}

// ownerIn returns the owner who was named for the Multi that ctx carries, "" if nobody was.
func (m *multi) ownerIn(ctx context.Context) string {
	if outer := m.whole.in(ctx); m.whole.client.isHeld(outer) && outer.named {
		return outer.owner
	}
	return ""
}

// acquire waits by itself, as a member that is waited for may have a queue. It
// returns without the lock when the wait is over.
func (m *multi) acquire(ctx context.Context, r *request, ans *answer) error {
	rt := m.locks[0].client.rt
	first := 0
	for {
		sent := rt.Mono()
		taken, failed, err := m.sweep(ctx, r, first)
		if err == nil && m.whole.isLostIn(ctx) {
			err = ErrLost
		}
		if err == nil {
			ans.taken, ans.owner, ans.sent, ans.members = true, m.owner(r, taken), sent, taken
			return nil
		}
		_ = unlockAll(ctx, taken) // what fails here is repeated in the background
		isTaken, over := errors.Is(err, ErrNotAcquired), r.remaining(rt) == 0
		switch {
		case isTaken && over:
			ans.refusal = err
			return nil
		case !isTaken && (over || failed == first || !isOnItsWay(err)):
			return err
		}
		first = failed
	}
}

// sweep takes the members, first the one numbered first, for which it waits as
// long as the caller does. On failure it returns what it has taken, and the
// number of the member that it could not take. Each member's context derives
// from that of the one before, so the last one ends with any of them.
func (m *multi) sweep(ctx context.Context, r *request, first int) (taken []*Held, failed int, err error) {
	rt := m.locks[0].client.rt
	opts, caller := r.memberOptions(), ctx
	wait := r.remaining(rt)
	var until time.Duration // Mono time, for the members that follow
	for n := range m.locks {
		i := n
		switch {
		case n == 0:
			i = first
		case n <= first:
			i = n - 1
		}
		h, err := m.locks[i].take(ctx, wait, opts)
		if err != nil {
			return taken, i, lossOfTaken(caller, taken, err)
		}
		taken, ctx = append(taken, h), h.ctx
		if n == 0 {
			until = rt.Mono() + r.patience(rt)
		}
		wait = max(0, until-rt.Mono())
	}
	return taken, 0, nil
}

// lossOfTaken is the loss of a member that was taken, in place of the error of its
// context, with which another one was asked for: the caller's has not ended.
func lossOfTaken(caller context.Context, taken []*Held, err error) error {
	i := slices.IndexFunc(taken, func(h *Held) bool { return h.ctx.Err() != nil })
	if i < 0 || caller.Err() != nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%q was lost before all were taken: %w", taken[i].Key(), ErrLost)
}

// patience draws how long to wait for members while others are held: not at
// all for a single attempt.
func (r *request) patience(rt Runtime) time.Duration {
	moment := pollDelay(rt)
	if left := r.remaining(rt); left >= 0 {
		moment = min(moment, left)
	}
	if r.lease > 0 {
		moment = min(moment, r.lease/4)
	}
	return moment
}

// memberOptions are the caller's options, for each member.
func (r *request) memberOptions() []LockOption {
	opts := []LockOption{Lease(r.lease), NodeTimeout(r.nodeTimeout)}
	if r.named {
		opts = append(opts, As(r.owner))
	}
	return opts
}

// owner returns the owner that was asked for, or that of the member whose name is first.
func (m *multi) owner(r *request, members []*Held) string {
	if r.owner != "" {
		return r.owner
	}
	i := slices.IndexFunc(members, func(h *Held) bool { return h.lock == m.locks[0] })
	return members[i].Owner()
}

// withdraw does nothing: each member cleans up after itself.
func (m *multi) withdraw(*request, error) {}

func (m *multi) release(ctx context.Context, h *Held, _ leaving) error {
	err := unlockAll(ctx, h.members)
	if errors.Is(err, ErrLost) {
		return ErrLost
	}
	return err
}

func (m *multi) extend(ctx context.Context, h *Held, lease time.Duration) error {
	for _, member := range h.members {
		err := member.Extend(ctx, lease)
		switch {
		case errors.Is(err, ErrLost):
			return ErrLost
		case err != nil:
			return err
		}
	}
	return nil
}

// await is a formality: acquire has done all the waiting.
func (m *multi) await(context.Context, *request) (waiting, error) {
	return poller{m.locks[0].client.rt.NewGate()}, nil
}

// unlockAll unlocks acquisitions in reverse order, whatever becomes of each.
func unlockAll(ctx context.Context, held []*Held) error {
	var errs []error
	for _, h := range slices.Backward(held) {
		errs = append(errs, h.Unlock(ctx))
	}
	return errors.Join(errs...)
}
