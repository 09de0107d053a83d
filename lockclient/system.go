package lockclient

import (
	"context"
	"crypto/rand"
	"time"
)

// System returns the Runtime of production: the Go runtime, the clock of this machine and
// its source of random bytes. Its Mono is 0 at the call.
//
// On Linux Mono stands still while the machine is suspended, as a laptop or a virtual
// machine may be. A holder that wakes up is told of its loss only by its next renewal, or
// when what was left of its lease has passed. Where that can happen, let the resource
// check the tokens of a Fenced.
func System() Runtime { return system{start: time.Now()} }

type system struct{ start time.Time }

func (s system) Mono() time.Duration { return time.Since(s.start) }

func (s system) WallMillis() int64 { return time.Now().UnixMilli() }

func (s system) Random(p []byte) { _, _ = rand.Read(p) } // never fails, by its documentation

func (s system) Go(f func()) { go f() }

func (s system) NewGate() Gate { return gate{open: make(chan struct{}, 1)} }

func (s system) NewTimer(f func()) Timer {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return timer{s, t}
}

func (s system) WithValue(parent context.Context, key, value any) context.Context {
	return context.WithValue(parent, key, value)
}

func (s system) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(parent)
}

func (s system) WithDeadline(parent context.Context, at time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(parent, s.start.Add(at))
}

func (s system) Remaining(ctx context.Context) (left time.Duration, ok bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	return time.Until(deadline), true
}

// timer is a Timer over the Go runtime's.
type timer struct {
	of system
	t  *time.Timer
}

func (t timer) Set(at time.Duration) { t.t.Reset(at - t.of.Mono()) }

func (t timer) Stop() { t.t.Stop() }

// gate is a Gate over a channel of one.
type gate struct{ open chan struct{} }

func (g gate) Open() {
	select {
	case g.open <- struct{}{}:
	default:
	}
}

func (g gate) Wait(ctx context.Context, d time.Duration) (opened bool, err error) {
	var limit <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-g.open:
		return true, nil
	case <-limit:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
