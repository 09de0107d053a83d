package goredis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"minikv/lockclient"
)

// Subscribe implements lockclient.Transport.
func (t *Transport) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	pubsub, err := t.open(ctx, channel, sharded)
	if err != nil {
		return nil, err
	}
	s := &subscription{pubsub: pubsub}
	confirmed := make(chan struct{})
	go receive(pubsub, confirmed, deliver, lost)
	select {
	case <-confirmed:
		return s, nil
	case <-ctx.Done():
		s.Close()
		return nil, ctx.Err()
	}
}

// open sends the subscription, on a connection of its own.
func (t *Transport) open(ctx context.Context, channel string, sharded bool) (*redis.PubSub, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lockclient.ErrNotSent, err)
	}
	var pubsub *redis.PubSub
	var err error
	if sharded {
		pubsub = t.client.SSubscribe(ctx)
		err = pubsub.SSubscribe(ctx, channel)
	} else {
		pubsub = t.client.Subscribe(ctx)
		err = pubsub.Subscribe(ctx, channel)
	}
	if err != nil {
		return nil, errors.Join(t.notice(ctx, ended(ctx, outcome(err))), pubsub.Close())
	}
	return pubsub, nil
}

// receive hands on what arrives until the subscription is closed. go-redis
// pings an idle connection and subscribes again after reconnecting, which
// shows as another confirmation.
func receive(pubsub *redis.PubSub, confirmed chan<- struct{}, deliver func(payload string), lost func()) {
	first := true
	for event := range pubsub.ChannelWithSubscriptions() {
		switch e := event.(type) {
		case *redis.Subscription:
			if !first {
				lost()
				continue
			}
			first = false
			close(confirmed)
		case *redis.Message:
			deliver(e.Payload)
		}
	}
}

// subscription is a lockclient.Subscription.
type subscription struct{ pubsub *redis.PubSub }

// Close implements lockclient.Subscription. Closing waits while go-redis
// reconnects, so it is done aside.
func (s *subscription) Close() { go s.pubsub.Close() }
