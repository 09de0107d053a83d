package synclocker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"minikv/lockclient"
	"minikv/lockclient/synclocker"
)

// server is a Transport to a server with one lock, which can be told to fail.
type server struct {
	lockclient.Transport
	mu    sync.Mutex
	taken bool
	lease string // in milliseconds, that the latest acquisition asked for
	fails error
}

func (s *server) Topology() lockclient.Topology { return lockclient.Topology{} }

func (s *server) Do(context.Context, string, ...string) (lockclient.Reply, error) {
	return lockclient.Reply{}, nil
}

func (s *server) Eval(_ context.Context, script *lockclient.Script, _, args []string) (lockclient.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := lockclient.Reply{Kind: lockclient.IntReply, Int: 1}
	switch {
	case s.fails != nil:
		return lockclient.Reply{}, s.fails
	case script.Name == "mutex-acquire" && s.taken:
		return one, nil
	case script.Name == "mutex-acquire":
		s.taken, s.lease = true, args[0]
		return lockclient.Reply{}, nil
	case !s.taken:
		return lockclient.Reply{}, nil
	}
	s.taken = false
	return one, nil
}

func newLocker(s *server, onErr func(error), opts ...lockclient.LockOption) sync.Locker {
	lock := lockclient.New(s, lockclient.System()).Spin("a")
	return synclocker.New(context.Background(), lock, onErr, opts...)
}

func TestGoroutinesExcludeEachOther(t *testing.T) {
	locker := newLocker(&server{}, func(err error) { t.Error(err) })
	var wg sync.WaitGroup
	count := 0
	for range 20 {
		wg.Go(func() {
			locker.Lock()
			defer locker.Unlock()
			count++ // the race detector watches
		})
	}
	wg.Wait()
	assert.Equal(t, 20, count)
}

// It is taken with the options that were given.
func TestOptions(t *testing.T) {
	s := &server{}
	locker := newLocker(s, func(err error) { t.Error(err) }, lockclient.Lease(time.Minute))
	locker.Lock()
	defer locker.Unlock()
	assert.Equal(t, "60000", s.lease)
}

// A Lock that failed never returns, and can be tried again.
func TestLockThatFails(t *testing.T) {
	s := &server{fails: &lockclient.ServerError{Text: "WRONGTYPE"}}
	var told []error
	locker := newLocker(s, func(err error) { told = append(told, err) })
	assert.Panics(t, locker.Lock)
	assert.Len(t, told, 1)
	s.fails = nil
	locker.Lock()
	locker.Unlock()
	assert.Len(t, told, 1)
	assert.PanicsWithValue(t, `synclocker: unlock of unlocked "a"`, locker.Unlock)
}

func TestLossIsTold(t *testing.T) {
	s := &server{}
	var told error
	locker := newLocker(s, func(err error) { told = errors.Join(told, err) })
	locker.Lock()
	s.mu.Lock()
	s.taken = false
	s.mu.Unlock()
	locker.Unlock()
	assert.ErrorIs(t, told, lockclient.ErrLost)
}
