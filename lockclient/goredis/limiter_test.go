package goredis_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/minikvtest"
)

// breaker is a redis.Limiter that refuses all that comes after as many requests as are left.
type breaker struct{ left atomic.Int64 }

var errOpen = errors.New("circuit open")

func (b *breaker) Allow() error {
	if b.left.Add(-1) < 0 {
		return errOpen
	}
	return nil
}

func (*breaker) ReportResult(error) {}

// What go-redis's Limiter refuses was not sent, at whichever command of a request; what it lets
// through, but not what follows it, may have been executed.
func TestLimiter(t *testing.T) {
	server := minikvtest.Run(t)
	b := &breaker{}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Limiter: b, PoolSize: 1})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	script := lockclient.NewScript("incr", "return redis.call('incr', KEYS[1])")
	b.left.Store(1 << 40)
	_, err = transport.Eval(t.Context(), script, []string{"k"}, nil)
	require.NoError(t, err)

	b.left.Store(0)
	_, err = transport.Eval(t.Context(), script, []string{"k"}, nil)
	assert.ErrorIs(t, err, lockclient.ErrNotSent)
	assert.ErrorIs(t, err, errOpen)
	_, err = transport.Do(t.Context(), "k", "INCR", "k")
	assert.ErrorIs(t, err, lockclient.ErrNotSent)
	for before := range int64(2) {
		b.left.Store(before)
		_, _, _, err = transport.EvalReplicated(t.Context(), script, []string{"k"}, nil, 0)
		assert.ErrorIs(t, err, lockclient.ErrNotSent, before)
	}
	c := lockclient.New(transport, lockclient.System())
	defer c.Close()
	b.left.Store(0)
	_, err = c.Mutex("m").TryLock(t.Context())
	assert.ErrorIs(t, err, lockclient.ErrNotSent)
	assert.NotErrorIs(t, err, lockclient.ErrUnknown)
	b.left.Store(1 << 40)
	assert.Equal(t, "1", rdb.Get(t.Context(), "k").Val(), "nothing else was executed")

	fresh := lockclient.NewScript("new", "return redis.call('incr', KEYS[1]) * 1")
	b.left.Store(1) // for EVALSHA, which is answered with NOSCRIPT
	_, err = transport.Eval(t.Context(), fresh, []string{"k"}, nil)
	assert.ErrorIs(t, err, errOpen)
	assert.NotErrorIs(t, err, lockclient.ErrNotSent, "in doubt")
}
