package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

// goRedis is the lock that go-redis' users write themselves: SET NX PX, and
// scripts that compare the owner.
type goRedis struct{ client *redis.Client }

type goRedisLock struct {
	client      *redis.Client
	name, owner string
}

var (
	compareAndExpire = redis.NewScript(
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	compareAndDelete = redis.NewScript(
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

func newGoRedis(address string) (library, error) {
	return goRedis{redis.NewClient(&redis.Options{Addr: address})}, nil
}

func (g goRedis) take(ctx context.Context, name string, lease time.Duration, wait bool) (lock, error) {
	l := goRedisLock{g.client, name, rand.Text()}
	for {
		err := g.client.SetArgs(ctx, name, l.owner, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
		switch {
		case err == nil:
			return l, nil
		case err != redis.Nil:
			return nil, err
		case !wait:
			return nil, errTaken
		}
		time.Sleep(pollPeriod)
	}
}

func (g goRedis) close() { _ = g.client.Close() }

func (l goRedisLock) extend(ctx context.Context, lease time.Duration) error {
	return happened(compareAndExpire.Run(ctx, l.client, []string{l.name}, l.owner, lease.Milliseconds()))
}

func (l goRedisLock) release(ctx context.Context) error {
	return happened(compareAndDelete.Run(ctx, l.client, []string{l.name}, l.owner))
}

// happened is errTaken when a script found another owner.
func happened(reply *redis.Cmd) error {
	changed, err := reply.Int()
	if err == nil && changed == 0 {
		return errTaken
	}
	return err
}
