package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikv/lockclient"
)

// mail is a Transport of which a run decides what is late or lost.
type mail struct {
	*transport
	o    *office
	rt   clientRuntime // of who sends
	site *site
}

// site is a server as those who send to it meet it.
type site struct {
	number int
	fates  int           // of a hundred requests so many meet one
	kinds  []int         // of fates; nil: all
	timid  bool          // subscriptions meet them too
	cut    time.Duration // true time until which nobody reaches it
	still  time.Duration // true time until which nothing late is sent to it: it stands still, or soon will
}

var errLost = errors.New("connection reset")

// send is one request.
type send func(ctx context.Context, t *transport) (lockclient.Reply, error)

// Eval implements lockclient.Transport.
func (m *mail) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	what := s.Name + " " + strings.Join(args, " ")
	return m.carry(ctx, what, func(ctx context.Context, t *transport) (lockclient.Reply, error) {
		return t.Eval(ctx, s, keys, args)
	})
}

// Do implements lockclient.Transport.
func (m *mail) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	what := strings.Join(args, " ")
	return m.carry(ctx, what, func(ctx context.Context, t *transport) (lockclient.Reply, error) {
		return t.Do(ctx, key, args...)
	})
}

// Subscribe implements lockclient.Transport.
func (m *mail) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (lockclient.Subscription, error) {
	if m.site.timid && (m.isCut() || m.o.draw(100) < m.site.fates) {
		fate := m.o.draw(2)
		m.o.note("  fate %d of a subscription to %s", fate, channel)
		if fate == 0 {
			return nil, fmt.Errorf("refused: %w", lockclient.ErrNotSent)
		}
		_, ended := m.rt.NewGate().Wait(ctx, -1)
		return nil, ended
	}
	return m.transport.Subscribe(ctx, channel, sharded, func(payload string) {
		if m.o.draw(100) >= m.site.fates && !m.isCut() {
			deliver(payload)
		}
	}, lost)
}

func (m *mail) isCut() bool { return m.site.cut > m.o.w.now }

// carry has a request meet its fate. What is late arrives before the time limit of one
// request has passed again since it was given up: what gives back reckons with no more.
func (m *mail) carry(ctx context.Context, what string, send send) (lockclient.Reply, error) {
	o := m.o
	if m.isCut() {
		return m.cutOff(ctx, what, send)
	}
	if o.draw(100) >= m.site.fates {
		return send(ctx, m.transport)
	}
	fate := o.draw(6)
	if kinds := m.site.kinds; kinds != nil {
		fate = kinds[fate%len(kinds)]
	}
	o.note("  fate %d of %s at %d", fate, what, m.site.number)
	switch fate {
	case 0:
		return m.refused()
	case 1:
		return lockclient.Reply{}, &lockclient.ServerError{Text: "LOADING Redis is loading the dataset in memory"}
	case 2: // the request is lost
		return m.lost(ctx, o.within(ownersTimeout))
	case 3: // the reply is
		_, _ = send(ctx, m.transport)
		return lockclient.Reply{}, errLost
	}
	before, after := o.within(m.latest(ctx)), time.Duration(0)
	if fate == 5 {
		before, after = after, before
	}
	return m.late(ctx, what, send, before, after)
}

// cutOff is the fate of a request to a server that nobody reaches.
func (m *mail) cutOff(ctx context.Context, what string, send send) (lockclient.Reply, error) {
	o, left := m.o, m.site.cut-m.o.w.now
	fate := o.draw(3)
	o.note("  cut off, fate %d of %s at %d", fate, what, m.site.number)
	switch {
	case fate == 0:
		return m.refused()
	case fate == 1 && left < m.latest(ctx):
		return m.late(ctx, what, send, left, 0)
	}
	return m.lost(ctx, -1)
}

// refused is the fate of a request that is not sent.
func (m *mail) refused() (lockclient.Reply, error) {
	return lockclient.Reply{}, fmt.Errorf("refused: %w", lockclient.ErrNotSent)
}

// lost is that of one of which nobody hears for a while, negative for as long as it may take.
func (m *mail) lost(ctx context.Context, after time.Duration) (lockclient.Reply, error) {
	if _, ended := m.rt.NewGate().Wait(ctx, after); ended != nil {
		return lockclient.Reply{}, ended
	}
	return lockclient.Reply{}, errLost
}

// latest is how late a request may be.
func (m *mail) latest(ctx context.Context) time.Duration {
	limit, _ := m.rt.Remaining(ctx)
	return max(0, limit) + ownersTimeout*9/10
}

// late sends a request when before has passed, and has its reply come when after has. Who carries
// it goes on when its sender is given up, or stands still.
func (m *mail) late(
	ctx context.Context, what string, send send, before, after time.Duration,
) (r lockclient.Reply, err error) {
	o, answered, gone := m.o, m.rt.NewGate(), farAway
	o.p.spawn(func() {
		o.sleep(before)
		if o.w.now < m.site.still || before > 0 && m.isCut() || o.w.now-ownersTimeout*9/10 > gone {
			return
		}
		o.note("  now: %s at %d", what, m.site.number)
		reply, failed := send(o.root, &transport{p: o.p, group: m.group})
		o.sleep(after)
		r, err = reply, failed
		answered.Open()
	})
	if _, ended := answered.Wait(ctx, -1); ended != nil {
		gone = o.w.now
		return lockclient.Reply{}, ended
	}
	return r, err
}
