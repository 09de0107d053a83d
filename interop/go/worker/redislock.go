package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type redislockClient struct {
	client *redis.Client
	locks  *redislock.Client
}

type redislockLock struct{ held *redislock.Lock }

func newRedislock(address string) (library, error) {
	client := redis.NewClient(&redis.Options{Addr: address})
	return redislockClient{client, redislock.New(client)}, nil
}

func (r redislockClient) take(ctx context.Context, name string, lease time.Duration, wait bool) (lock, error) {
	options := &redislock.Options{}
	if wait {
		options.RetryStrategy = redislock.LinearBackoff(pollPeriod)
	}
	held, err := r.locks.Obtain(ctx, name, lease, options)
	if err != nil {
		return nil, redislockError(err)
	}
	return redislockLock{held}, nil
}

func (r redislockClient) close() { _ = r.client.Close() }

func (l redislockLock) extend(ctx context.Context, lease time.Duration) error {
	return redislockError(l.held.Refresh(ctx, lease, nil))
}

func (l redislockLock) release(ctx context.Context) error { return redislockError(l.held.Release(ctx)) }

func redislockError(err error) error {
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return refusal("ErrNotObtained")
	case errors.Is(err, redislock.ErrLockNotHeld):
		return refusal("ErrLockNotHeld")
	}
	return err
}
