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
	"minikv/lockclient/internal/adapter"
)

// reconnectPause is how long a broken subscription waits before it tries again.
const reconnectPause = 100 * time.Millisecond

// Subscribe implements lockclient.Transport.
func (t *Transport) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	s := &subscription{t: t, channel: channel, sharded: sharded, deliver: deliver, done: make(chan struct{})}
	l, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.link.Store(l)
	go s.keep(l, lost)
	return s, nil
}

// subscription is a lockclient.Subscription. It has a connection of its own.
type subscription struct {
	t       *Transport
	channel string
	sharded bool
	deliver func(payload string)
	done    chan struct{} // closed by Close
	closed  atomic.Bool
	link    atomic.Pointer[link] // the present connection
}

// line is a connection for subscriptions.
type line struct {
	conn    rueidis.DedicatedClient
	release func() // ends it, and gives it back
}

// drop releases a line aside.
func (l *line) drop() { go l.release() }

// link is a line that is subscribed.
type link struct {
	*line
	broken <-chan error  // receives the error that ends the line
	ended  chan struct{} // closed when the subscription has ended after Close
	keep   func() bool   // has the line outlive the context it was subscribed with; false if it has not
}

// Close implements lockclient.Subscription.
func (s *subscription) Close() {
	if s.closed.Swap(true) {
		return
	}
	close(s.done)
	go s.end(s.link.Load())
}

// end unsubscribes, and keeps the line for others.
func (s *subscription) end(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), lockclient.DefaultTimeout)
	defer cancel()
	cmd := l.conn.B().Unsubscribe().Channel(s.channel).Build()
	if s.sharded {
		cmd = l.conn.B().Sunsubscribe().Channel(s.channel).Build()
	}
	if l.conn.Do(ctx, cmd).Error() != nil {
		l.release()
		return
	}
	select {
	case <-l.ended:
		s.t.spares.Keep(s.place(), l.line)
	case <-l.broken:
		l.release()
	case <-ctx.Done():
		l.release()
	}
}

// place is where lines for the channel are kept.
func (s *subscription) place() string { return adapter.Place(s.t.topology.Cluster, s.channel) }

// open subscribes, and returns once that is confirmed. A spare line that does not
// do so, for whatever reason, stands back for a new one.
func (s *subscription) open(ctx context.Context) (*link, error) {
	if spare, ok := s.t.spares.Take(s.place()); ok {
		limited, cancel := context.WithTimeout(ctx, adapter.SpareLimit)
		defer cancel()
		l, err := s.connect(limited, func() *line { return spare })
		if err == nil {
			return l, nil
		}
		spare.drop()
	}
	return s.connect(ctx, s.t.newLine)
}

// newLine connects.
func (t *Transport) newLine() *line {
	conn, giveBack := t.client.Dedicate()
	return &line{conn, sync.OnceFunc(func() {
		conn.Close()
		giveBack()
	})}
}

// connect subscribes on a line that get returns.
func (s *subscription) connect(ctx context.Context, get func() *line) (*link, error) {
	l, err := adapter.Aside(ctx, func() (*link, error) { return s.subscribe(ctx, get()) })
	if err == nil && !l.keep() {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// subscribe subscribes on a line, which is released with ctx unless it is kept.
func (s *subscription) subscribe(ctx context.Context, on *line) (*link, error) {
	l := &link{line: on, ended: make(chan struct{}), keep: context.AfterFunc(ctx, on.release)}
	confirmed := make(chan struct{})
	confirm := sync.OnceFunc(func() { close(confirmed) })
	end := sync.OnceFunc(func() { close(l.ended) })
	l.broken = on.conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { s.deliver(m.Message) },
		OnSubscription: func(e rueidis.PubSubSubscription) {
			switch {
			case !strings.HasSuffix(e.Kind, "unsubscribe"):
				confirm()
			case s.closed.Load():
				end()
			default: // the channel's slot has moved
				on.drop() // which breaks it
			}
		},
	})
	cmd := on.conn.B().Subscribe().Channel(s.channel).Build()
	if s.sharded {
		cmd = on.conn.B().Ssubscribe().Channel(s.channel).Build()
	}
	err := outcome(on.conn.Do(ctx, cmd).Error())
	if err == nil {
		select {
		case <-confirmed:
			return l, nil
		case err = <-l.broken:
			err = fmt.Errorf("rueidis: subscribe: %w", err)
		}
	}
	on.release()
	return nil, s.t.notice(ctx, s.channel, err)
}

// keep subscribes again whenever the connection breaks, until Close.
func (s *subscription) keep(l *link, lost func()) {
	for l != nil {
		select {
		case <-s.done:
			return
		case <-l.broken:
		}
		l.release()
		l = s.again(lost)
	}
}

// again subscribes anew, and tells when that is confirmed; nil after Close.
func (s *subscription) again(lost func()) *link {
	for {
		select {
		case <-s.done:
			return nil
		case <-time.After(reconnectPause):
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockclient.DefaultTimeout)
		l, err := s.open(ctx)
		cancel()
		if err != nil {
			continue
		}
		s.link.Store(l)
		if s.closed.Load() {
			l.release() // Close may have seen the connection before
			return nil
		}
		lost()
		return l
	}
}
