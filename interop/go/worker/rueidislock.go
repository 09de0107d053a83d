package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis/rueidislock"
)

const (
	renewPeriod = 200 * time.Millisecond // of rueidislock, which renews by itself
	renewLimit  = 3 * time.Second        // by which it has renewed, or has said that it could not
	retryPeriod = 2 * time.Second        // of its waiters, which are not always woken, not by redis-server either
)

// rueidislockClient connects when it takes the first lock: a locker's lease is
// the same for all of its locks.
type rueidislockClient struct {
	address string
	options func(lease time.Duration) rueidislock.LockerOption
	locker  rueidislock.Locker
}

type rueidislockLock struct {
	ctx    context.Context // done when the lock is lost
	cancel context.CancelFunc
}

// newRueidislock has one key for each lock, and a holder that does not hear of
// its own renewals.
func newRueidislock(address string) (library, error) {
	return &rueidislockClient{address: address, options: func(lease time.Duration) rueidislock.LockerOption {
		return rueidislock.LockerOption{
			KeyValidity: lease, ExtendInterval: renewPeriod, TryNextAfter: retryPeriod, KeyMajority: 1, NoLoopTracking: true,
		}
	}}, nil
}

// newRueidislockDefaults has the library's own settings, whatever the lease.
func newRueidislockDefaults(address string) (library, error) {
	return &rueidislockClient{address: address, options: func(time.Duration) rueidislock.LockerOption {
		return rueidislock.LockerOption{}
	}}, nil
}

// newRueidislockTracking has one key for each lock, and else the library's own settings.
func newRueidislockTracking(address string) (library, error) {
	return &rueidislockClient{address: address, options: func(lease time.Duration) rueidislock.LockerOption {
		return rueidislock.LockerOption{KeyValidity: lease, KeyMajority: 1}
	}}, nil
}

// newRueidislockNoLoop differs from that in one setting.
func newRueidislockNoLoop(address string) (library, error) {
	return &rueidislockClient{address: address, options: func(lease time.Duration) rueidislock.LockerOption {
		return rueidislock.LockerOption{KeyValidity: lease, KeyMajority: 1, NoLoopTracking: true}
	}}, nil
}

func (r *rueidislockClient) open(lease time.Duration) (err error) {
	if r.locker == nil {
		options := r.options(lease)
		options.ClientOption.InitAddress = []string{r.address}
		r.locker, err = rueidislock.NewLocker(options)
	}
	return err
}

func (r *rueidislockClient) take(ctx context.Context, name string, lease time.Duration, wait bool) (lock, error) {
	if err := r.open(lease); err != nil {
		return nil, err
	}
	acquire := r.locker.TryWithContext
	if wait {
		acquire = r.locker.WithContext
	}
	held, cancel, err := acquire(ctx, name)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, refusal("ErrNotLocked")
	} else if err != nil {
		return nil, err
	}
	return rueidislockLock{held, cancel}, nil
}

func (r *rueidislockClient) close() {
	if r.locker != nil {
		r.locker.Close()
	}
}

// extend waits for what rueidislock does by itself.
func (l rueidislockLock) extend(context.Context, time.Duration) error {
	select {
	case <-l.ctx.Done():
		return errTaken
	case <-time.After(renewLimit):
		return nil
	}
}

// release has no result in rueidislock; that it has told the loss before is one.
func (l rueidislockLock) release(context.Context) error {
	lost := l.ctx.Err()
	l.cancel()
	if lost != nil {
		return errTaken
	}
	return nil
}
