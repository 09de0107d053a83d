package goredis

import (
	"context"
	"errors"
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

// subscription is a lockclient.Subscription. It has a connection of its own.
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
		go s.unsubscribe(s.pubsub)
	}
}

// place is where connections for the channel are kept.
func (s *subscription) place() string { return adapter.Place(s.t.topology.Cluster, s.channel) }

// unsubscribe ends the subscription; keep hears of it.
func (s *subscription) unsubscribe(pubsub *redis.PubSub) {
	unsubscribe := pubsub.Unsubscribe
	if s.sharded {
		unsubscribe = pubsub.SUnsubscribe
	}
	if err := unsubscribe(context.Background(), s.channel); err != nil {
		pubsub.Close()
	}
}

func (s *subscription) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// drop closes a connection aside, as that waits while go-redis reconnects.
func drop(pubsub *redis.PubSub) { go pubsub.Close() }

// open subscribes, and returns once that is confirmed. A spare connection that
// does not do so, for whatever reason, stands back for a new one.
func (s *subscription) open(ctx context.Context) (*redis.PubSub, error) {
	if pubsub, ok := s.t.spares.Take(s.place()); ok {
		limited, cancel := context.WithTimeout(ctx, adapter.SpareLimit)
		defer cancel()
		if s.subscribe(limited, pubsub) == nil {
			return pubsub, nil
		}
	}
	pubsub := s.t.client.Subscribe(ctx) // to nothing, which does not connect yet
	if err := s.subscribe(ctx, pubsub); err != nil {
		return nil, s.t.notice(ctx, err)
	}
	return pubsub, nil
}

// subscribe subscribes on a connection, and drops it if that fails.
func (s *subscription) subscribe(ctx context.Context, pubsub *redis.PubSub) error {
	subscribe := pubsub.Subscribe
	if s.sharded {
		subscribe = pubsub.SSubscribe
	}
	_, err := adapter.Aside(ctx, func() (confirmed bool, err error) {
		err = subscribe(ctx, s.channel)
		for err == nil && !confirmed {
			var event any
			event, err = pubsub.Receive(ctx)
			confirmed = subscribed(event) // not the answer to a PING, or of what has ended
		}
		return confirmed, outcome(err)
	})
	if err != nil {
		drop(pubsub)
	}
	return err
}

// subscribed tells whether an event confirms a subscription.
func subscribed(event any) bool {
	e, ok := event.(*redis.Subscription)
	return ok && (e.Kind == "subscribe" || e.Kind == "ssubscribe")
}

// keep hands on what arrives, and subscribes anew when the connection breaks or
// the server ends the subscription, as it does when the channel's slot moves,
// until Close.
func (s *subscription) keep(pubsub *redis.PubSub) {
	for pubsub != nil {
		if ended := s.receive(pubsub); ended && s.isClosed() {
			s.t.spares.Keep(s.place(), pubsub)
			return
		}
		drop(pubsub)
		pubsub = s.again()
	}
}

// receive hands on what arrives, until the subscription has ended, or, with
// false, the connection.
func (s *subscription) receive(pubsub *redis.PubSub) (ended bool) {
	for asked := false; ; {
		event, err := pubsub.ReceiveTimeout(context.Background(), silence)
		var quiet net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &quiet) && quiet.Timeout() && !asked && pubsub.Ping(context.Background()) == nil:
			asked = true
		default:
			return false
		}
		switch e := event.(type) {
		case *redis.Subscription:
			return true
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
