package goredis_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// queue is what a fair lock keeps on a server.
type queue struct {
	t   *testing.T
	rdb *redis.Client
	key string
}

func newQueue(t *testing.T, addr string) queue {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	return queue{t, rdb, uniqueKey(t)}
}

func (q queue) list() string { return "redisson_lock_queue:{" + q.key + "}" }

func (q queue) deadlines() string { return "redisson_lock_timeout:{" + q.key + "}" }

// push adds a waiter, whose place is kept for d unless d is 0.
func (q queue) push(owner string, d time.Duration) {
	q.t.Helper()
	require.NoError(q.t, q.rdb.RPush(q.t.Context(), q.list(), owner).Err())
	if d != 0 {
		deadline := redis.Z{Score: float64(time.Now().Add(d).UnixMilli()), Member: owner}
		require.NoError(q.t, q.rdb.ZAdd(q.t.Context(), q.deadlines(), deadline).Err())
	}
}

// owners returns who waits, when it is n.
func (q queue) owners(n int) (owners []string) {
	q.t.Helper()
	require.Eventually(q.t, func() bool {
		var err error
		owners, err = q.rdb.LRange(q.t.Context(), q.list(), 0, -1).Result()
		return err == nil && len(owners) == n
	}, realTime, time.Millisecond)
	return owners
}

// kept asserts for how long an owner's place is kept, give or take a while.
func (q queue) kept(owner string, d time.Duration) {
	q.t.Helper()
	deadline, err := q.rdb.ZScore(q.t.Context(), q.deadlines(), owner).Result()
	require.NoError(q.t, err)
	assert.WithinDuration(q.t, time.Now().Add(d), time.UnixMilli(int64(deadline)), 20*time.Second)
}

// A place is kept for so long after the lease, or after the place before; who
// leaves takes its share along.
func TestDeadlinesOfAFairQueue(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		deadlinesOfAFairQueue(t, addr)
		deadlinesOfAFairQueue(t, addr, lockclient.Compat316())
	})
}

func deadlinesOfAFairQueue(t *testing.T, addr string, options ...lockclient.Option) {
	_, transport := connect(t, addr)
	q := newQueue(t, addr)
	c := lockclient.New(transport, lockclient.System(), options...)
	_, err := c.Fair(q.key).Lock(t.Context(), lockclient.Lease(time.Minute))
	require.NoError(t, err)

	ctx, leave := context.WithCancel(t.Context())
	var ended []chan error
	for i := range 3 {
		done := make(chan error, 1)
		ended = append(ended, done)
		ctx := ctx
		if i != 1 {
			ctx = t.Context()
		}
		go func() {
			_, err := c.Fair(q.key).Lock(ctx)
			done <- err
		}()
		q.owners(i + 1)
	}
	before := q.owners(3)
	q.kept(before[0], 6*time.Minute)
	q.kept(before[1], 11*time.Minute)
	q.kept(before[2], 16*time.Minute)

	leave()
	require.ErrorIs(t, <-ended[1], context.Canceled)
	after := q.owners(2)
	assert.Equal(t, []string{before[0], before[2]}, after)
	q.kept(after[1], 11*time.Minute)

	begun := time.Now()
	freed, err := c.Fair(q.key).ForceUnlock(t.Context())
	require.NoError(t, err)
	assert.True(t, freed)
	require.NoError(t, <-ended[0])
	assert.Equal(t, after[1:], q.owners(1))
	_, err = c.Fair(q.key).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.NoError(t, <-ended[2])
	assert.Less(t, time.Since(begun), 20*time.Second, "the head of the queue is woken")
	assert.Empty(t, q.owners(0))
	assert.Zero(t, q.rdb.Exists(t.Context(), q.deadlines()).Val())
}

// Waiters whose deadline is over hold up nobody, nor do those that have lost
// theirs, as a server that evicts keys may do to them.
func TestDeadWaitersOfAFairQueue(t *testing.T) { onEachServer(t, deadWaitersOfAFairQueue) }

func deadWaitersOfAFairQueue(t *testing.T, addr string) {
	_, transport := connect(t, addr)
	c := lockclient.New(transport, lockclient.System())
	for _, options := range [][]lockclient.LockOption{nil, {lockclient.Wait(time.Minute)}} {
		q := newQueue(t, addr)
		q.push("dead:1", -time.Second)
		q.push("forgotten:1", 0)
		h, err := c.Fair(q.key).TryLock(t.Context(), options...)
		require.NoError(t, err)
		assert.Empty(t, q.owners(0))
		q.push("forgotten:2", 0)
		require.NoError(t, h.Unlock(t.Context()))
		assert.Empty(t, q.owners(0))
	}
}

// An Unlock of a fair lock that has vanished says so each time that it is sent, and leaves nothing.
func TestVanishedFairLock(t *testing.T) { onEachServer(t, vanishedFairLock) }

func vanishedFairLock(t *testing.T, addr string) {
	_, transport := connect(t, addr)
	key := uniqueKey(t)
	keys := []string{key, key + ":queue", key + ":deadlines", key + ":channel", key + ":latch"}
	args := []string{"0", "30000", "me:1", "1", "PUBLISH", "20000"}
	for range 2 {
		reply, err := transport.Eval(t.Context(), lockclient.Shipped("fair_release"), keys, args)
		require.NoError(t, err)
		assert.Equal(t, lockclient.Reply{}, reply)
	}
	for _, key := range keys {
		there, err := transport.Do(t.Context(), key, "EXISTS", key)
		require.NoError(t, err)
		assert.Zero(t, there.Int, key)
	}
}

// A living waiter comes first, whatever the lock's state.
func TestFairLockKeepsThePlace(t *testing.T) { onEachServer(t, fairLockKeepsThePlace) }

func fairLockKeepsThePlace(t *testing.T, addr string) {
	_, transport := connect(t, addr)
	q := newQueue(t, addr)
	c := lockclient.New(transport, lockclient.System())
	q.push("java:1", time.Minute)
	_, err := c.Fair(q.key).TryLock(t.Context())
	require.ErrorIs(t, err, lockclient.ErrNotAcquired)
	_, err = c.Fair(q.key).TryLock(t.Context(), lockclient.Wait(50*time.Millisecond))
	require.ErrorIs(t, err, lockclient.ErrNotAcquired)
	assert.Equal(t, []string{"java:1"}, q.owners(1))
}

// Who waits and asks again has the deadline of one who joined just now in its place,
// or the one that it had, if that is later.
func TestWhoAsksAgainMovesItsDeadlineOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		for _, file := range []string{"fair_acquire", "fair_acquire_316"} {
			movedDeadlines(t, addr, lockclient.Shipped(file))
		}
	})
}

func movedDeadlines(t *testing.T, addr string, acquire *lockclient.Script) {
	_, transport := connect(t, addr)
	const lease = 10 * time.Minute
	for _, c := range []struct {
		name   string
		queue  []time.Duration // the deadlines from now; 0: there is none
		holder bool
		want   time.Duration // of the last in the queue
	}{
		{"first", []time.Duration{time.Minute}, true, lease + time.Hour},
		{"first, of a free lock", []time.Duration{time.Minute}, false, 0},
		{"third", []time.Duration{time.Minute, time.Minute, time.Minute}, true, lease + 3*time.Hour},
		{"third, of a free lock", []time.Duration{time.Minute, time.Minute, time.Minute}, false, 3 * time.Hour},
		{"behind one who is kept for longer", []time.Duration{8 * time.Hour, time.Minute}, true, 9 * time.Hour},
		{"behind one without a deadline", []time.Duration{time.Minute, 0, time.Minute}, true, lease + 3*time.Hour},
		{"with a later deadline", []time.Duration{time.Minute, 20 * time.Hour}, true, 20 * time.Hour},
	} {
		t.Run(acquire.Name+"/"+c.name, func(t *testing.T) {
			q := newQueue(t, addr)
			if c.holder {
				require.NoError(t, q.rdb.HSet(t.Context(), q.key, "holder", 1).Err())
				require.NoError(t, q.rdb.PExpire(t.Context(), q.key, lease).Err())
			}
			owner := ""
			for i, d := range c.queue {
				owner = strconv.Itoa(i)
				q.push(owner, d)
			}
			now := strconv.FormatInt(time.Now().UnixMilli(), 10)
			reply, err := transport.Eval(t.Context(), acquire, []string{q.key, q.list(), q.deadlines()},
				[]string{"30000", owner, strconv.Itoa(int(time.Hour / time.Millisecond)), now})
			require.NoError(t, err)
			if c.want == 0 {
				assert.Equal(t, lockclient.NilReply, reply.Kind, "it takes the lock")
				return
			}
			q.kept(owner, c.want)
			hint := lease
			switch {
			case strings.HasSuffix(acquire.Name, "316"):
				hint = c.want - time.Hour // until the deadline of the one before
			case !c.holder:
				hint = 0
			}
			assert.InDelta(t, hint.Milliseconds(), reply.Int, 20_000)
		})
	}
}
