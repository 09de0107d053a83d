package rueidis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"minikv/lockclient"
)

// reconnectPause is how long a broken subscription waits before it tries again.
const reconnectPause = 100 * time.Millisecond

// Subscribe implements lockclient.Transport.
func (t *Transport) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	s := &subscription{t: t, channel: channel, sharded: sharded, deliver: deliver, done: make(chan struct{})}
	confirmed := make(chan struct{})
	broken, err := s.open(ctx, func() { close(confirmed) })
	if err != nil {
		return nil, err
	}
	select {
	case <-confirmed:
		go s.keep(broken, lost)
		return s, nil
	case err := <-broken:
		s.Close()
		return nil, fmt.Errorf("rueidis: subscribe: %w", err)
	case <-ctx.Done():
		s.Close()
		return nil, ctx.Err()
	}
}

// subscription is a lockclient.Subscription on a connection of its own.
type subscription struct {
	t       *Transport
	channel string
	sharded bool
	deliver func(payload string)
	done    chan struct{} // closed by Close
	closed  atomic.Bool
	release atomic.Pointer[func()] // gives the present connection back
}

// Close implements lockclient.Subscription.
func (s *subscription) Close() {
	if s.closed.Swap(true) {
		return
	}
	close(s.done)
	if release := s.release.Load(); release != nil {
		go (*release)()
	}
}

// open subscribes on a new connection. confirmed is called once; broken
// receives the error that ends the connection.
func (s *subscription) open(ctx context.Context, confirmed func()) (broken <-chan error, err error) {
	conn, giveBack := s.t.client.Dedicate()
	release := sync.OnceFunc(func() {
		conn.Close()
		giveBack()
	})
	s.release.Store(&release)
	first := true
	broken = conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { s.deliver(m.Message) },
		OnSubscription: func(e rueidis.PubSubSubscription) {
			switch {
			case strings.HasSuffix(e.Kind, "unsubscribe"): // the channel's slot has moved
				go release() // which breaks it
			case first:
				first = false
				confirmed()
			}
		},
	})
	cmd := conn.B().Subscribe().Channel(s.channel).Build()
	if s.sharded {
		cmd = conn.B().Ssubscribe().Channel(s.channel).Build()
	}
	if err := conn.Do(ctx, cmd).Error(); err != nil {
		release()
		return nil, s.t.notice(ctx, s.channel, outcome(err))
	}
	return broken, nil
}

// keep subscribes again whenever the connection breaks, until Close.
func (s *subscription) keep(broken <-chan error, lost func()) {
	for {
		select {
		case <-s.done:
			return
		case <-broken:
		}
		broken = s.again(lost)
		if broken == nil {
			return
		}
	}
}

// again subscribes anew, and tells when that is confirmed; nil after Close.
func (s *subscription) again(lost func()) <-chan error {
	for {
		if release := s.release.Load(); release != nil {
			(*release)()
		}
		select {
		case <-s.done:
			return nil
		case <-time.After(reconnectPause):
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockclient.DefaultTimeout)
		broken, err := s.open(ctx, lost)
		cancel()
		if s.closed.Load() {
			(*s.release.Load())() // Close may have seen the connection before
			return nil
		}
		if err == nil {
			return broken
		}
	}
}
