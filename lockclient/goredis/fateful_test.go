package goredis_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
	"minikv/minikvtest"
)

var errReset = errors.New("connection reset")

// fate is what happens to a request and to its reply.
type fate struct {
	before, after time.Duration // they are late
	err           error         // the request is not sent
	lose          error         // the reply is lost
	arrives       time.Duration // so much later, and no reply comes
}

// fateful is a Transport of which a test decides what is late or lost.
type fateful struct {
	lockclient.Transport
	confirms bool // the only replica does
	mu       sync.Mutex
	decide   func(script string, args []string) fate
}

func (f *fateful) has(decide func(script string, args []string) fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = decide
}

func (f *fateful) of(script string, args []string) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.decide == nil {
		return fate{}
	}
	return f.decide(script, args)
}

func (f *fateful) Eval(
	ctx context.Context, s *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	is := f.of(s.Name, args)
	if err := pass(ctx, is.before); err != nil {
		return lockclient.Reply{}, err
	}
	if is.err != nil {
		return lockclient.Reply{}, is.err
	}
	if is.arrives > 0 {
		time.AfterFunc(is.arrives, func() { _, _ = f.Transport.Eval(context.WithoutCancel(ctx), s, keys, args) })
		<-ctx.Done()
		return lockclient.Reply{}, ctx.Err()
	}
	r, err := f.Transport.Eval(ctx, s, keys, args)
	if is.lose != nil {
		return lockclient.Reply{}, is.lose
	}
	if late := pass(ctx, is.after); late != nil {
		return lockclient.Reply{}, late
	}
	return r, err
}

// replicated is a fateful transport to a master with a replica.
type replicated struct{ *fateful }

func (replicated) Topology() lockclient.Topology { return lockclient.Topology{Replicas: true} }

func (r replicated) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, _ time.Duration,
) (reply lockclient.Reply, known, confirmed int64, err error) {
	reply, err = r.Eval(ctx, s, keys, args)
	if r.confirms {
		confirmed = 1
	}
	return reply, 1, confirmed, err
}

func pass(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stage is a server in a time of its own, which goes on until what a test began has ended.
type stage struct {
	*testing.T
	server *minikvtest.Server
}

func staged(t *testing.T, test func(s stage)) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute)
		test(stage{t, minikvtest.Run(t)})
	})
}

func (s stage) transport() *fateful {
	rdb := redis.NewClient(&redis.Options{Addr: s.server.Addr(), Dialer: s.server.DialContext, MaxRetries: -1})
	s.Cleanup(func() { _ = rdb.Close() })
	t, err := goredis.New(s.Context(), rdb)
	require.NoError(s, err)
	return &fateful{Transport: t, confirms: true}
}

func (s stage) client(options ...lockclient.Option) (*lockclient.Client, *fateful) {
	f := s.transport()
	return s.over(f, options...), f
}

func (s stage) over(t lockclient.Transport, options ...lockclient.Option) *lockclient.Client {
	c := lockclient.New(t, lockclient.System(), options...)
	s.Cleanup(c.Close)
	return c
}

// lock takes a lock that is free, or the holder's.
func (s stage) lock(l *lockclient.Lock, ctx context.Context, options ...lockclient.LockOption) *lockclient.Held {
	s.Helper()
	h, err := l.Lock(ctx, options...)
	require.NoError(s, err)
	return h
}

// takenByAnother reports whether another client gets a lock.
func (s stage) takenByAnother(key string) bool {
	c, _ := s.client()
	h, err := c.Mutex(key).TryLock(s.Context())
	if err != nil {
		require.ErrorIs(s, err, lockclient.ErrNotAcquired)
		return false
	}
	require.NoError(s, h.Unlock(s.Context()))
	return true
}

func isLost(h *lockclient.Held) bool {
	select {
	case <-h.Lost():
		return true
	default:
		return false
	}
}

// beside runs functions at the same time.
func beside(functions ...func()) {
	var all sync.WaitGroup
	for _, f := range functions {
		all.Go(f)
	}
	all.Wait()
}
