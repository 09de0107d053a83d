package synclocker

import (
	"context"
	"fmt"
	"sync"

	"minikv/lockclient"
)

// New returns a sync.Locker that takes lock with the given options. It is
// exclusive also among the goroutines of this process, whatever the options.
//
// Lock waits until it has the lock. If that fails, as ctx has ended or for any
// other error of lockclient.Lock.Lock, it hands the error to onErr, which should
// not return: if it does, Lock panics with the error, since its caller would go
// on without the lock. Unlock hands its errors to onErr and returns; ErrLost
// among them says that somebody else may have held the lock meanwhile. It works
// also when ctx has ended. To unlock what is not locked panics.
func New(
	ctx context.Context, lock *lockclient.Lock, onErr func(error), opts ...lockclient.LockOption,
) sync.Locker {
	return &locker{ctx: ctx, lock: lock, onErr: onErr, opts: opts}
}

type locker struct {
	ctx   context.Context
	lock  *lockclient.Lock
	onErr func(error)
	opts  []lockclient.LockOption

	mu   sync.Mutex       // held from Lock to Unlock
	held *lockclient.Held // set by who holds mu
}

// Lock implements sync.Locker.
func (l *locker) Lock() {
	l.mu.Lock()
	held, err := l.lock.Lock(l.ctx, l.opts...)
	if err != nil {
		defer l.mu.Unlock()
		l.onErr(err)
		panic(err)
	}
	l.held = held
}

// Unlock implements sync.Locker.
func (l *locker) Unlock() {
	held := l.held
	if held == nil {
		panic(fmt.Sprintf("synclocker: unlock of unlocked %q", l.lock.Key()))
	}
	l.held = nil
	err := held.Unlock(l.ctx)
	l.mu.Unlock()
	if err != nil {
		l.onErr(err)
	}
}
