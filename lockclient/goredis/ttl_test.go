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
