package lockclient

import (
	"context"
	"time"
)

// Runtime is where a Client gets time, waiting, identity and concurrency from: the Go
// runtime in production ([System]), virtual time and coroutines in the simulator. All of
// lockclient waits only through it and through Transport. Its methods may be called
// concurrently.
type Runtime interface {
	// Mono is a monotonic clock with any origin. It measures leases.
	Mono() time.Duration
	// WallMillis is the date in Unix milliseconds. It may jump. It is used only where the
	// protocol demands it: in fair queues and expirable permits.
	WallMillis() int64
	// Random fills p with random bytes, for client identities, owner ids and jitter.
	Random(p []byte)
	// Go runs f concurrently with its caller. f ends when its work is done; Runtime cannot
	// stop it.
	Go(f func())
	// NewGate returns a closed gate.
	NewGate() Gate
	// NewTimer returns a stopped timer that calls f, which must not wait.
	NewTimer(f func()) Timer

	// WithValue, WithCancelCause and WithDeadline are the functions of package
	// context on this Runtime's time. A context given to lockclient may come
	// from anywhere in production; in the simulator it must be derived here.
	WithValue(parent context.Context, key, value any) context.Context
	WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc)
	// WithDeadline ends the context with context.DeadlineExceeded at the given Mono time.
	WithDeadline(parent context.Context, at time.Duration) (context.Context, context.CancelFunc)
	// Remaining is how long ctx has until its deadline; ok is false if it has none.
	Remaining(ctx context.Context) (left time.Duration, ok bool)
}

// Timer calls its function once its time has come. Its methods return at once and do not
// call the function themselves, so the caller may hold a mutex that the function takes.
type Timer interface {
	// Set has the function called at the given Mono time; it replaces an earlier Set.
	Set(at time.Duration)
	// Stop prevents the call, unless it has begun.
	Stop()
}

// Gate is a parking place for one waiter. It remembers at most one opening, so that an
// Open before the Wait is not lost.
type Gate interface {
	// Wait parks until the gate is opened (true), d has passed (false), or ctx ends (false
	// and ctx's error). A negative d means no limit. When Wait returns true, the gate is
	// closed again.
	Wait(ctx context.Context, d time.Duration) (opened bool, err error)
	// Open lets the waiter through. It never blocks and may be called from anywhere, also by
	// a Transport's deliver function.
	Open()
}
