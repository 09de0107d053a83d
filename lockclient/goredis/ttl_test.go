package goredis_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// A semaphore that ends keeps its end when its permits are set anew. It would outlive the
// table of those that are taken, and never get them back.
func TestPermitsSetAnewKeepTheirEnd(t *testing.T) { onEachServer(t, permitsSetAnewKeepTheirEnd) }

func permitsSetAnewKeepTheirEnd(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx, key := t.Context(), uniqueKey(t)
	s := lockclient.New(transport, lockclient.System()).PermitSemaphore(key)
	table := "{" + key + "}:timeout"
	defer rdb.Del(ctx, key, table)
	require.NoError(t, s.SetPermits(ctx, 2), "there was no semaphore")
	assert.Negative(t, rdb.TTL(ctx, key).Val())
	require.NoError(t, rdb.Expire(ctx, key, time.Minute).Err()) // RPermitExpirableSemaphore.expire()
	_, err = s.Acquire(ctx, time.Hour)
	require.NoError(t, err)
	for _, n := range []int64{5, 1, 5} {
		require.NoError(t, s.SetPermits(ctx, n))
		free, err := s.Available(ctx)
		require.NoError(t, err)
		assert.Equal(t, n-1, free)
		for _, k := range []string{key, table} {
			assert.InDelta(t, time.Minute, rdb.TTL(ctx, k).Val(), float64(10*time.Second), k)
		}
	}
}

// The lease of a Multi is its members' own: neither the counter of a fenced one's tokens
// nor the queue of a fair one ends with it.
func TestLeaseOfAMultiEndsNoHelperKeys(t *testing.T) { onEachServer(t, leaseOfAMultiEndsNoHelperKeys) }

func leaseOfAMultiEndsNoHelperKeys(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx, key := t.Context(), uniqueKey(t)
	c := lockclient.New(transport, lockclient.System())
	counter, queue := "redisson_lock_token:{"+key+"}", "redisson_lock_queue:{"+key+":fair}"
	defer rdb.Del(ctx, counter)
	h, err := lockclient.Multi(c.Fenced(key), c.Fair(key+":fair")).Lock(ctx, lockclient.Lease(time.Minute))
	require.NoError(t, err)
	waiting := make(chan error)
	go func() {
		h, err := c.Fair(key + ":fair").Lock(ctx)
		if err == nil {
			err = h.Unlock(ctx)
		}
		waiting <- err
	}()
	require.Eventually(t, func() bool { return rdb.Exists(ctx, queue).Val() == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, h.Extend(ctx, time.Minute))
	for _, k := range []string{counter, queue, "redisson_lock_timeout:{" + key + ":fair}"} {
		assert.Equal(t, time.Duration(-1), rdb.TTL(ctx, k).Val(), "%s has an end, or is gone", k)
	}
	require.NoError(t, h.Unlock(ctx))
	require.NoError(t, <-waiting)
}

// A semaphore that ends keeps its end whatever is done with it.
func TestSemaphoreKeepsItsEnd(t *testing.T) { onEachServer(t, semaphoreKeepsItsEnd) }

func semaphoreKeepsItsEnd(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx, key := t.Context(), uniqueKey(t)
	s := lockclient.New(transport, lockclient.System()).Semaphore(key)
	require.NoError(t, rdb.Set(ctx, key, 5, time.Minute).Err()) // RSemaphore.trySetPermits(5, timeToLive)
	taken, err := s.Acquire(ctx, 2)
	require.NoError(t, err)
	_, err = s.AddPermits(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, taken.Release(ctx))
	_, err = s.Drain(ctx)
	require.NoError(t, err)
	assert.Equal(t, "0", rdb.Get(ctx, key).Val())
	assert.InDelta(t, time.Minute, rdb.TTL(ctx, key).Val(), float64(10*time.Second))
}
