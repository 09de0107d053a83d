package lockclient_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// choked is a Transport that answers scripts too late, until it is healed.
type choked struct {
	wire
	healed   atomic.Bool
	underWay atomic.Int64
	answered atomic.Int64 // since it was healed last
}

func (s *choked) Eval(ctx context.Context, script *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	if !s.healed.Load() {
		<-ctx.Done()
		return lockclient.Reply{}, ctx.Err()
	}
	time.Sleep(50 * time.Millisecond)
	s.answered.Add(1)
	return s.wire.Eval(ctx, script, keys, args)
}

// granted replies as a server does that refuses nothing.
func granted(script string, keys []string) (lockclient.Reply, error) {
	if script == "mutex-acquire" {
		return free(script, keys)
	}
	return counted(script, keys)
}

// What is repeated in the background leaves connections to others: while nothing is
// answered one request is repeated at a time, and as soon as it is, all are.
func TestRepetitionsLeaveConnections(t *testing.T) {
	for _, sort := range []string{"acquisitions", "unlocks", "permits"} {
		bubble(t, func(t *testing.T) {
			const many = 100
			var given atomic.Int64
			s := &choked{wire: wire{reply: granted}}
			c := lockclient.New(s, lockclient.System(), lockclient.WithTimeout(time.Second),
				lockclient.WithObserver(func(e lockclient.Event) {
					if e.Kind == lockclient.GivenBack {
						assert.NoError(t, e.Err)
						given.Add(1)
					}
				}))
			defer c.Close()
			var all sync.WaitGroup
			for i := range many {
				all.Go(func() { fail(t, c, s, sort, fmt.Sprint(i)) })
			}
			all.Wait()
			time.Sleep(1500 * time.Millisecond) // each was asked for once more, at once
			for range 50 {
				time.Sleep(100 * time.Millisecond)
				assert.LessOrEqual(t, s.underWay.Load(), int64(1), sort)
			}
			s.answered.Store(0)
			s.healed.Store(true)
			time.Sleep(5 * time.Second)
			assert.GreaterOrEqual(t, s.answered.Load(), int64(many), sort)
			time.Sleep(10 * time.Second) // an acquisition could come for as long again
			assert.Equal(t, int64(many), given.Load(), sort)
		})
	}
}

// fail has a request fail that is repeated in the background.
func fail(t *testing.T, c *lockclient.Client, s *choked, sort, key string) {
	ctx := t.Context()
	var err error
	switch sort {
	case "acquisitions":
		_, err = c.Mutex(key).TryLock(ctx, lockclient.Lease(time.Minute))
	case "permits":
		_, err = c.Semaphore(key).TryAcquire(ctx, 1)
	case "unlocks":
		s.healed.Store(true)
		held, failed := c.Spin(key).TryLock(ctx, lockclient.Lease(time.Minute))
		require.NoError(t, failed)
		time.Sleep(time.Second)
		s.healed.Store(false)
		err = held.Unlock(ctx)
	}
	require.ErrorIs(t, err, lockclient.ErrUnknown)
	require.False(t, errors.Is(err, lockclient.ErrNotSent))
}
