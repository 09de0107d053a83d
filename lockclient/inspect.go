package lockclient

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// inspected is a kind whose state can be asked for and ended from outside.
type inspected interface {
	// isLocked tells whether anybody holds the lock.
	isLocked(ctx context.Context) (bool, error)
	// holdCount returns how many times owner holds it.
	holdCount(ctx context.Context, owner string) (int64, error)
	// forceUnlock frees the lock; freed is false if it was free.
	forceUnlock(ctx context.Context) (freed bool, err error)
}

// IsLocked reports whether anybody holds the lock.
//
// IsLocked, HeldBy, HoldCount, TTL and ForceUnlock ask the server once, so the answer may
// be outdated when it comes; to guard work, hold the lock. Their errors are ErrUnknown,
// one that wraps ErrNotSent, a *ServerError, and errors.ErrUnsupported for a lock that
// lives on several servers or keys.
func (l *Lock) IsLocked(ctx context.Context) (locked bool, err error) {
	err = l.inspect("is locked", func(k inspected) error {
		locked, err = k.isLocked(ctx)
		return err
	})
	return locked, err
}

// HeldBy reports whether an owner holds the lock: a name from Held.Owner, or one given to
// As. Errors are those of IsLocked.
func (l *Lock) HeldBy(ctx context.Context, owner string) (bool, error) {
	n, err := l.HoldCount(ctx, owner)
	return n > 0, err
}

// HoldCount returns how many times an owner holds the lock, 0 for not at all. The owner
// is a name from Held.Owner, or one given to As. Errors are those of IsLocked.
func (l *Lock) HoldCount(ctx context.Context, owner string) (count int64, err error) {
	err = l.inspect("hold count", func(k inspected) error {
		count, err = k.holdCount(ctx, l.ownerNamed(owner))
		return err
	})
	return count, err
}

// TTL returns how long the lock stays if nobody renews it, in whole milliseconds and at
// most 73 years; ok is false if it is free or has no TTL. Errors are those of IsLocked.
func (l *Lock) TTL(ctx context.Context) (left time.Duration, ok bool, err error) {
	err = l.inspect("ttl", func(inspected) error {
		n, err := l.client.integer(ctx, l.key, "PTTL", l.key)
		left, ok = fromMillis(n), n >= 0 && err == nil
		return err
	})
	if !ok {
		left = 0
	}
	return left, ok, err
}

// ForceUnlock frees the lock whoever holds it, and wakes a waiter if its kind wakes
// waiters; freed is false if it was free already. Errors are those of IsLocked.
//
// Those who hold it by this Client when ForceUnlock is called learn of it at once. Who was about to get it,
// and holders of other clients, learn of it at their
// next renewal or, with a fixed lease, when they extend or unlock, or when the lease has
// ended. After ErrUnknown, which leaves open whether the lock was freed or yet will be,
// the holders of this Client learn of it in that way too, and so does who has the key as
// a Redlock, which may have a majority without this master.
func (l *Lock) ForceUnlock(ctx context.Context) (freed bool, err error) {
	ended := l.client.holdsOf(l) // a waiter may have the lock before the reply is here
	err = l.inspect("force unlock", func(k inspected) error {
		freed, err = k.forceUnlock(ctx)
		return err
	})
	if !freed {
		return false, err
	}
	for _, h := range ended {
		l.client.lose(h)
	}
	return true, nil
}

// inspect runs f on the kind, if it can be inspected.
func (l *Lock) inspect(op string, f func(k inspected) error) error {
	k, ok := l.kind.(inspected)
	if !ok {
		return opError(op, l.key, fmt.Errorf("%T: %w", l.kind, errors.ErrUnsupported))
	}
	return opError(op, l.key, f(k))
}
