package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"minikv/lockclient"
)

// errReplyLost is what a client sees of a request whose reply is lost.
var errReplyLost = errors.New("connection reset")

// faults is a Transport that fails as told.
type faults struct {
	lockclient.Transport

	mu        sync.Mutex
	loseReply int  // so many of the next scripts are executed, their replies lost
	refuse    int  // so many of the next scripts are refused
	cut       bool // nothing reaches the server
	deaf      bool // messages get lost
	scripts   int  // sent
	answers   int  // to plain commands, so far
	refused   int  // requests while it was cut, so far
}

// set changes the faults.
func (f *faults) set(change func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// sent returns how many scripts were sent so far.
func (f *faults) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scripts
}

// answered returns how many plain commands were answered so far.
func (f *faults) answered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers
}

// refusals returns how many requests failed so far because nothing reached the server.
func (f *faults) refusals() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// next tells what becomes of the next request.
func (f *faults) next(script bool) (lost bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.cut:
		f.refused++
		return false, fmt.Errorf("unreachable: %w", lockclient.ErrNotSent)
	case script && f.refuse > 0:
		f.refuse--
		return false, &lockclient.ServerError{Text: "LOADING Redis is loading the dataset in memory"}
	}
	if script {
		f.scripts++
		lost = f.loseReply > 0
	}
	if lost {
		f.loseReply--
	}
	return lost, nil
}

// Eval implements lockclient.Transport.
func (f *faults) Eval(
	ctx context.Context, script *lockclient.Script, keys, args []string,
) (lockclient.Reply, error) {
	lost, err := f.next(true)
	if err != nil {
		return lockclient.Reply{}, err
	}
	reply, err := f.Transport.Eval(ctx, script, keys, args)
	if lost {
		return lockclient.Reply{}, errReplyLost
	}
	return reply, err
}

// Do implements lockclient.Transport.
func (f *faults) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	if _, err := f.next(false); err != nil {
		return lockclient.Reply{}, err
	}
	reply, err := f.Transport.Do(ctx, key, args...)
	f.set(func(f *faults) { f.answers++ })
	return reply, err
}

// Subscribe implements lockclient.Transport.
func (f *faults) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	heard := func(payload string) {
		f.mu.Lock()
		deaf := f.deaf
		f.mu.Unlock()
		if !deaf {
			deliver(payload)
		}
	}
	return f.Transport.Subscribe(ctx, channel, sharded, heard, lost)
}
