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

// A read-write lock is kept as Redisson keeps it, and obeys what Redisson does.
func TestReadWriteBody(t *testing.T) { onEachServer(t, readWriteBody) }

func readWriteBody(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	c := lockclient.New(transport, lockclient.System())
	ctx, key := t.Context(), uniqueKey(t)
	rw, me := c.RW(key), lockclient.As("me:1")
	timer := "{" + key + "}:me:1:rwlock_timeout:"

	writer, err := rw.W().Lock(ctx, me)
	require.NoError(t, err)
	reader, err := rw.R().Lock(ctx, me)
	require.NoError(t, err)
	again, err := rw.R().Lock(ctx, me, lockclient.Lease(time.Minute))
	require.NoError(t, err)
	fields := map[string]string{"mode": "write", "me:1:write": "1", "me:1": "2"}
	assert.Equal(t, fields, rdb.HGetAll(ctx, key).Val())
	assert.Equal(t, "1", rdb.Get(ctx, timer+"1").Val())
	for _, k := range []string{key, timer + "1", timer + "2"} {
		assert.InDelta(t, time.Minute, rdb.PTTL(ctx, k).Val(), float64(10*time.Second), k)
	}
	for _, side := range []*lockclient.Lock{rw.R(), rw.W()} {
		locked, err := side.IsLocked(ctx)
		require.NoError(t, err)
		assert.True(t, locked)
	}
	require.NoError(t, writer.Unlock(ctx))
	require.NoError(t, again.Unlock(ctx))
	assert.Equal(t, map[string]string{"mode": "read", "me:1": "1"}, rdb.HGetAll(ctx, key).Val())
	assert.Zero(t, rdb.Exists(ctx, timer+"2").Val())
	require.NoError(t, reader.Unlock(ctx))
	assert.Zero(t, rdb.Exists(ctx, key, timer+"1").Val())
}

// A reader that died without its timers, and one whose timers others renew no
// longer, hold up nobody; one that lives does.
func TestForeignReaders(t *testing.T) { onEachServer(t, foreignReaders) }

func foreignReaders(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx := t.Context()
	for _, opts := range [][]lockclient.Option{nil, {lockclient.Compat316()}} {
		c := lockclient.New(transport, lockclient.System(), opts...)
		key := uniqueKey(t)
		rw := c.RW(key)
		reader, err := rw.R().Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, rdb.HSet(ctx, key, "dead:1", 2).Err())
		require.NoError(t, rdb.HSet(ctx, key, "java:1", 1).Err())
		timer := "{" + key + "}:java:1:rwlock_timeout:1"
		require.NoError(t, rdb.Set(ctx, timer, 1, 40*time.Second).Err())
		require.NoError(t, reader.Extend(ctx, time.Minute), "no renewal of other owners")
		require.NoError(t, reader.Unlock(ctx))
		_, err = rw.W().TryLock(ctx)
		require.ErrorIs(t, err, lockclient.ErrNotAcquired)
		assert.InDelta(t, 40*time.Second, rdb.PTTL(ctx, key).Val(), float64(15*time.Second))
		require.NoError(t, rdb.PExpire(ctx, key, 500*time.Millisecond).Err()) // most of it has passed
		begun := time.Now()
		writer, err := rw.W().Lock(ctx)
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), 10*time.Second)
		require.NoError(t, writer.Unlock(ctx))
	}
}

// A waiting reader joins a writer that has turned to reading without a word.
func TestSilentDowngrade(t *testing.T) { onEachServer(t, silentDowngrade) }

func silentDowngrade(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	ctx, key := t.Context(), uniqueKey(t)
	require.NoError(t, rdb.HSet(ctx, key, "mode", "write", "java:1:write", 1, "java:1", 1).Err())
	require.NoError(t, rdb.Expire(ctx, key, time.Minute).Err())
	defer rdb.Del(ctx, key)
	time.AfterFunc(300*time.Millisecond, func() {
		rdb.HDel(ctx, key, "java:1:write")
		rdb.HSet(ctx, key, "mode", "read")
	})
	c := lockclient.New(transport, lockclient.System(), lockclient.WithPoll(time.Second))
	reader, err := c.RW(key).R().TryLock(ctx, lockclient.Wait(20*time.Second))
	require.NoError(t, err)
	require.NoError(t, reader.Unlock(ctx))
}

// A Mutex and a read-write lock of one name exclude each other.
func TestMutexAndReadWriteOfOneName(t *testing.T) { onEachServer(t, mutexAndReadWriteOfOneName) }

func mutexAndReadWriteOfOneName(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	c := lockclient.New(transport, lockclient.System())
	key := uniqueKey(t)
	locks := []*lockclient.Lock{c.Mutex(key), c.RW(key).R(), c.RW(key).W()}
	for _, holder := range locks {
		h, err := holder.Lock(t.Context())
		require.NoError(t, err)
		for _, other := range locks {
			if other != holder || other != locks[1] {
				_, err = other.TryLock(t.Context())
				require.ErrorIs(t, err, lockclient.ErrNotAcquired)
			}
		}
		require.NoError(t, h.Unlock(t.Context()))
	}
}
