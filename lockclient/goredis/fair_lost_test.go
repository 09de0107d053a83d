package goredis_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// lostFair is a fair lock whose holder has waited for it, before somebody who still does.
type lostFair struct {
	stage
	rdb   *redis.Client
	c     *lockclient.Client // of the holder
	f     *fateful
	held  *lockclient.Held
	order chan string
}

// queueKeys are what a fair lock has besides its own key.
var queueKeys = []string{"redisson_lock_queue:{k}", "redisson_lock_timeout:{k}"}

func newLostFair(s stage, as []lockclient.LockOption, options ...lockclient.Option) lostFair {
	l := lostFair{stage: s, order: make(chan string, 9)}
	l.rdb = redis.NewClient(&redis.Options{Addr: s.server.Addr(), Dialer: s.server.DialContext})
	s.Cleanup(func() { _ = l.rdb.Close() })
	earlier, _ := s.client(options...)
	l.c, l.f = s.client(options...)
	first := s.lock(earlier.Fair("k"), s.Context())
	got := make(chan *lockclient.Held)
	go func() { got <- s.lock(l.c.Fair("k"), s.Context(), as...) }()
	time.Sleep(time.Second)
	go s.inTurn(earlier, l.order, "next")
	time.Sleep(time.Second)
	for _, key := range queueKeys {
		require.NoError(s, l.rdb.Copy(s.Context(), key, "replica:"+key, 0, true).Err())
	}
	require.NoError(s, first.Unlock(s.Context()))
	l.held = <-got
	return l
}

// failOver has the server be what its replica was before the lock was granted: the holder waits there.
func (l lostFair) failOver() {
	l.server.Del("k")
	for _, key := range queueKeys {
		require.NoError(l, l.rdb.Copy(l.Context(), "replica:"+key, key, 0, true).Err())
	}
	require.Equal(l, 2, len(l.queue()))
}

func (l lostFair) queue() []string {
	return l.rdb.LRange(l.Context(), queueKeys[0], 0, -1).Val()
}

// served asserts that the waiter has its turn by now, and that nothing is left.
func (l lostFair) served(who ...string) {
	l.Helper()
	time.Sleep(time.Second)
	require.Len(l, l.order, len(who), "%v still wait", l.queue())
	for _, name := range who {
		assert.Equal(l, name, <-l.order)
	}
	assert.False(l, l.server.Exists("k"))
	for _, key := range queueKeys {
		assert.False(l, l.server.Exists(key), key)
	}
}

// protocols are the options of the holder's client, and of the others.
var protocols = map[string][]lockclient.Option{"current": nil, "3.16": {lockclient.Compat316()}}

// A fair lock that a failover has lost, while it brought back the place in the queue where its holder
// had waited, holds up nobody when its holder unlocks it.
func TestUnlockOfALostFairLockLeavesTheQueue(t *testing.T) {
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			staged(t, func(s stage) {
				l := newLostFair(s, nil, options...)
				l.failOver()
				l.f.has(only("fair-withdraw", fate{err: lockclient.ErrNotSent}))
				require.ErrorIs(s, l.held.Unlock(s.Context()), lockclient.ErrLost)
				l.served("next")
			})
		})
	}
}

// Nor does it from when its holder is told of the loss, whether it unlocks it or not.
func TestLostFairLockLeavesTheQueue(t *testing.T) {
	for _, as := range [][]lockclient.LockOption{nil, {me}} {
		for name, options := range protocols {
			t.Run(name, func(t *testing.T) {
				staged(t, func(s stage) {
					l := newLostFair(s, as, options...)
					l.failOver()
					<-l.held.Lost()
					l.served("next")
					require.ErrorIs(s, l.held.Unlock(s.Context()), lockclient.ErrLost)
				})
			})
		}
	}
}

// Where Redis is out of reach just then, it is when that is back.
func TestLostFairLockLeavesTheQueueAfterAnOutage(t *testing.T) {
	staged(t, func(s stage) {
		l := newLostFair(s, nil)
		l.f.has(func(string, []string) fate { return fate{err: lockclient.ErrNotSent} })
		<-l.held.Lost()
		l.failOver()
		time.Sleep(20 * time.Second)
		l.f.has(nil)
		time.Sleep(time.Second)
		l.served("next")
	})
}

// The place stays if another one of the holder's name waits in it by then.
func TestLostFairLockLeavesTheQueueToItsOwn(t *testing.T) {
	staged(t, func(s stage) {
		l := newLostFair(s, []lockclient.LockOption{me})
		l.failOver()
		another, _ := s.client()
		other := s.lock(another.Mutex("k"), s.Context(), hour) // which knows no queue
		l.f.has(only("fair-withdraw", fate{err: lockclient.ErrNotSent}))
		<-l.held.Lost()
		go s.inTurn(l.c, l.order, "mine", me)
		time.Sleep(time.Second)
		l.f.has(nil)
		time.Sleep(time.Minute)
		require.ErrorIs(s, l.held.Unlock(s.Context()), lockclient.ErrLost)
		time.Sleep(time.Second)
		require.Equal(s, "me", l.queue()[0])
		require.NoError(s, other.Unlock(s.Context()))
		time.Sleep(lockclient.DefaultWatchdog)
		l.served("mine", "next")
	})
}

// The places behind that of the lost holder are kept for as long as if it had not been there.
func TestPlacesBehindALostFairLock(t *testing.T) {
	for _, file := range []string{"fair_release", "fair_release_316"} {
		onEachServer(t, func(t *testing.T, addr string) {
			_, transport := connect(t, addr)
			q := newQueue(t, addr)
			q.push("before", 5*time.Minute)
			q.push("me", 10*time.Minute)
			q.push("behind", 15*time.Minute)
			keys := []string{q.key, q.list(), q.deadlines(), q.key + ":channel"}
			args := []string{"0", "30000", "me", strconv.FormatInt(time.Now().UnixMilli(), 10)}
			if file == "fair_release" {
				keys, args = append(keys, q.key+":latch"), append(args, "PUBLISH", "20000")
			}
			release := func(args ...string) {
				reply, err := transport.Eval(context.WithoutCancel(t.Context()), lockclient.Shipped(file), keys, args)
				require.NoError(t, err)
				assert.Equal(t, lockclient.Reply{}, reply)
			}
			release(args...) // as Redisson sends it
			assert.Equal(t, []string{"before", "me", "behind"}, q.owners(3))
			for range 2 {
				release(append(args, "300000")...)
				assert.Equal(t, []string{"before", "behind"}, q.owners(2))
				q.kept("before", 5*time.Minute)
				q.kept("behind", 10*time.Minute)
			}
		})
	}
}
