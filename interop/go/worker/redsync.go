package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncClient is redsync with one master.
type redsyncClient struct {
	client *redis.Client
	locks  *redsync.Redsync
}

type redsyncLock struct{ mutex *redsync.Mutex }

func newRedsync(address string) (library, error) {
	client := redis.NewClient(&redis.Options{Addr: address})
	return redsyncClient{client, redsync.New(goredis.NewPool(client))}, nil
}

func (r redsyncClient) take(ctx context.Context, name string, lease time.Duration, wait bool) (lock, error) {
	options := []redsync.Option{redsync.WithExpiry(lease)}
	if wait {
		options = append(options, redsync.WithTries(math.MaxInt))
	}
	mutex := r.locks.NewMutex(name, options...)
	acquire := mutex.TryLockContext
	if wait {
		acquire = mutex.LockContext
	}
	if err := acquire(ctx); err != nil {
		return nil, redsyncError(false, err)
	}
	return redsyncLock{mutex}, nil
}

func (r redsyncClient) close() { _ = r.client.Close() }

func (l redsyncLock) extend(ctx context.Context, _ time.Duration) error {
	done, err := l.mutex.ExtendContext(ctx)
	return redsyncError(done, err)
}

func (l redsyncLock) release(ctx context.Context) error {
	done, err := l.mutex.UnlockContext(ctx)
	return redsyncError(done, err)
}

func redsyncError(done bool, err error) error {
	var taken *redsync.ErrTaken
	switch {
	case done:
		return nil
	case errors.As(err, &taken):
		return refusal("ErrTaken")
	case errors.Is(err, redsync.ErrLockAlreadyExpired):
		return refusal("ErrLockAlreadyExpired")
	}
	return err
}
