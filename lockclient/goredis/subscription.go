package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
	"minikv/lockclient/internal/adapter"
)

const (
	// silence is how long a connection may be silent before it is asked whether
	// it still works, and how long the answer may take.
	silence = 3 * time.Second
	// retryPause is how long a subscription that has ended waits before it is
	// made anew.
	retryPause = 100 * time.Millisecond
)

// Subscribe implements lockclient.Transport.
func (t *Transport) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	s := &subscription{t: t, channel: channel, sharded: sharded, deliver: deliver, lost: lost,
		done: make(chan struct{})}
	pubsub, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.pubsub = pubsub
	go s.keep(pubsub)
	return s, nil
}

// subscription is a lockclient.Subscription, on a connection of its own.
type subscription struct {
	t       *Transport
	channel string
	sharded bool
	deliver func(payload string)
	lost    func()
	done    chan struct{} // closed by Close

	mu     sync.Mutex
	pubsub *redis.PubSub
	closed bool
}

// Close implements lockclient.Subscription.
func (s *subscription) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
		drop(s.pubsub)
	}
}

// drop closes a connection aside, as that waits while go-redis reconnects.
func drop(pubsub *redis.PubSub) { go pubsub.Close() }

// open subscribes on a new connection, and returns once that is confirmed.
func (s *subscription) open(ctx context.Context) (*redis.PubSub, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	var pubsub *redis.PubSub
	var err error
	if s.sharded {
		pubsub = s.t.client.SSubscribe(ctx)
		err = pubsub.SSubscribe(ctx, s.channel)
	} else {
		pubsub = s.t.client.Subscribe(ctx)
		err = pubsub.Subscribe(ctx, s.channel)
	}
	if err == nil {
		err = confirmation(ctx, pubsub)
	}
	if err != nil {
		drop(pubsub)
		return nil, s.t.notice(ctx, adapter.Ended(ctx, outcome(err)))
	}
	return pubsub, nil
}

// confirmation waits for a subscription to be confirmed.
func confirmation(ctx context.Context, pubsub *redis.PubSub) error {
	confirmed := make(chan error, 1)
	go func() {
		_, err := pubsub.Receive(ctx)
		confirmed <- err
	}()
	select {
	case err := <-confirmed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep hands on what arrives, and subscribes anew when the connection breaks or
// the server ends the subscription, as it does when the channel's slot moves,
// until Close.
func (s *subscription) keep(pubsub *redis.PubSub) {
	for pubsub != nil {
		s.receive(pubsub)
		drop(pubsub)
		pubsub = s.again()
	}
}

// receive hands on what arrives, until nothing more can.
func (s *subscription) receive(pubsub *redis.PubSub) {
	for asked := false; ; {
		event, err := pubsub.ReceiveTimeout(context.Background(), silence)
		var quiet net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &quiet) && quiet.Timeout() && !asked && pubsub.Ping(context.Background()) == nil:
			asked = true
		default:
			return
		}
		switch e := event.(type) {
		case *redis.Subscription:
			return // the server has ended it
		case *redis.Message:
			s.deliver(e.Payload)
		}
	}
}

// again subscribes anew, and tells when that is confirmed; nil after Close.
func (s *subscription) again() *redis.PubSub {
	for {
		select {
		case <-s.done:
			return nil
		case <-time.After(retryPause):
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockclient.DefaultTimeout)
		pubsub, err := s.open(ctx)
		cancel()
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.pubsub = pubsub
		closed := s.closed
		s.mu.Unlock()
		if closed {
			drop(pubsub)
			return nil
		}
		s.lost()
		return pubsub
	}
}
