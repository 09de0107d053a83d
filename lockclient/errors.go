package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors that callers branch on, with errors.Is. Errors of a context that
// ended stay errors of that context.
var (
	// ErrNotAcquired says that the lock was taken, and stayed so for as long as the caller
	// wanted to wait.
	ErrNotAcquired = errors.New("lock not acquired")
	// ErrLost says that a lock ended before it was unlocked: somebody else may
	// hold it now. It is also the cause with which a Held's context ends.
	ErrLost = errors.New("lock lost")
	// ErrNotHeld says that a Held was used after its Unlock.
	ErrNotHeld = errors.New("lock not held")
	// ErrUnknown says that a request was sent and its outcome is not known. An acquisition
	// is then given back in the background and never reported as held; an Unlock is repeated
	// in the background (As names exceptions). If the request was a waiter's subscription,
	// nothing was taken and nothing is given back.
	ErrUnknown = errors.New("outcome unknown")
	// ErrDeadlock says that the caller itself holds a lock that cannot be taken again, or not
	// as this kind, so that it would wait for ever.
	ErrDeadlock = errors.New("the caller holds the lock already")
	// ErrReplication says that no replica has confirmed a change, or fewer than
	// RequireReplicas asks for. An acquisition was therefore given back, unless its owner
	// may have other holds (see As). Any other change stays.
	ErrReplication = errors.New("too few replicas have confirmed the lock")
	// ErrNoLatch says that a latch has no count in Redis: it was not set, has
	// opened before, was deleted, or Redis lost it.
	ErrNoLatch = errors.New("no such latch")
	// ErrClosed says that the Client was closed, so that nothing can be taken.
	ErrClosed = errors.New("lock client closed")
)

// QuorumError says why a Redlock did not reach a quorum. It is wrapped together with
// ErrNotAcquired in the error of an acquisition, and with ErrUnknown in that of Extend
// and Unlock.
type QuorumError struct {
	Need  int          // masters needed: n/2+1
	Got   int          // masters that agreed
	Nodes []NodeResult // one for each client given to Redlock, in that order
}

// NodeResult is what one master of a quorum answered.
type NodeResult struct {
	OK    bool  // it agreed
	Taken bool  // it refused: the lock is not this caller's there
	Err   error // it gave no usable answer in time

	left time.Duration // Taken: how long if nobody unlocks, where the master has said so
}

// said is the result of a request that a master agrees to or refuses.
func said(agreed bool, err error) NodeResult {
	return NodeResult{OK: agreed && err == nil, Taken: !agreed && err == nil, Err: err}
}

// Error gives the numbers of masters and the reason of each that did not agree. Masters are
// counted from 1 there: the first given to Redlock is master 1.
func (e *QuorumError) Error() string {
	text := fmt.Sprintf("%d of %d masters agreed, %d needed", e.Got, len(e.Nodes), e.Need)
	for i, n := range e.Nodes {
		switch {
		case n.Taken:
			text += fmt.Sprintf("; master %d: taken", i+1)
		case n.Err != nil:
			text += fmt.Sprintf("; master %d: %v", i+1, n.Err)
		}
	}
	return text
}

// refused counts the masters that refused.
func (e *QuorumError) refused() int {
	n := 0
	for _, node := range e.Nodes {
		if node.Taken {
			n++
		}
	}
	return n
}

// opError puts an operation and its lock before an error.
func opError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lockclient: %s %q: %w", op, key, err)
}

// contextError is the error of an ended context, with its cause if that says more.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// serverError is the server's error in err, nil if there is none.
func serverError(err error) *ServerError {
	refused, _ := errors.AsType[*ServerError](err)
	return refused
}

// ofOwner is the reply to a request about what an owner has of a lock. Where the key is of another type by
// now, as the lock ended and somebody has taken it as another kind, that is nothing, which the zero reply says.
func ofOwner(reply Reply, err error) (Reply, error) {
	if refusal(err) == "WRONGTYPE" {
		return Reply{}, nil
	}
	return reply, err
}

// outcomeError sorts a Transport's error. The caller's ended context stays
// visible in it; a time limit of our own does not, as no caller set it.
func outcomeError(ctx context.Context, err error) error {
	if err == nil || serverError(err) != nil {
		return err
	}
	kind := ErrUnknown
	if errors.Is(err, ErrNotSent) {
		kind = ErrNotSent
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", kind, contextError(ctx))
	}
	return fmt.Errorf("%w: %s", kind, strings.TrimPrefix(err.Error(), kind.Error()+": "))
}
