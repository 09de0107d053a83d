package sim

import (
	"context"
	"errors"
	"time"

	"minikv/lockclient"
)

// pingInterval is pingConnectionInterval: a connection over which nothing is answered
// is closed one to two of them later.
const pingInterval = 30 * time.Second

// errUnconfirmed is the RedisTimeoutException of a subscription.
var errUnconfirmed = errors.New("subscription response timeout")

// entry is a subscription with its permits: a message of 0 is one permit,
// which stays until it is used; a message of 1 is one for each who waits now.
type entry struct {
	of      *redisson
	sub     *subscription
	gate    lockclient.Gate
	permits int
	waiting bool
	both    bool // a message of 0 wakes who waits and is a permit as well: of calls that return a token
}

// subscribe subscribes, and returns when that is confirmed: within the response timeout,
// over this connection or, where that breaks, the next. What gets lost then is not
// noticed. What is confirmed later has failed, and who waits is told when it has ended
// again; nothing ends it before it is confirmed. limit is for how long to wait at all;
// negative: until the connection is closed.
// Source: PubSubConnectionEntry.subscribe, and CommandsQueuePubSub, which writes nothing
// before what it has written is answered.
func (l *rlock) subscribe(limit time.Duration) (*entry, error) {
	r := l.of
	ctx, cancel := r.within(limit)
	defer cancel()
	c := r.p.conn(r.p.server(r.group, l.side.channel(l)))
	e := &entry{of: r, gate: clientRuntime{r.p}.NewGate(), both: l.side.token}
	s := &subscription{group: r.group, conn: c, channel: l.side.channel(l), sharded: r.Topology().Sharded,
		deliver: e.deliver, lost: func() {}, patient: true}
	e.sub, s.call = s, &call{task: r.p.running()}
	c.subs, c.pending = append(c.subs, s), append(c.pending, s.call)
	c.ask(s, "SUBSCRIBE", s.call)
	if s.isAnswered(ctx, responseTimeout) && s.call.err == nil {
		return e, nil
	}
	defer s.Close()
	switch {
	case s.call.done:
		return nil, s.call.err
	case s.refused:
		s.Close()
		r.p.running().sleep(r.p.contextOf(ctx), r.endOf(s, c))
	case !s.again:
		s.patient = false
		s.isAnswered(ctx, pingInterval-responseTimeout+r.below(pingInterval))
	}
	return nil, errUnconfirmed
}

// endOf is for how long the end of a subscription is waited for that the server does not
// serve: twice as long where it was learned in between that another does.
func (r *redisson) endOf(s *subscription, asked *conn) time.Duration {
	if asked.n == r.p.server(s.group, s.channel) {
		return responseTimeout
	}
	return 2 * responseTimeout
}

// isAnswered waits until a subscription is confirmed, or its connection has ended.
func (s *subscription) isAnswered(ctx context.Context, limit time.Duration) bool {
	p := s.conn.p
	ctx, cancel := clientRuntime{p}.WithDeadline(ctx, p.clock.Mono()+limit)
	defer cancel()
	for !s.call.done && ctx.Err() == nil {
		p.running().sleep(p.contextOf(ctx), -1)
	}
	return s.call.done
}

// within is a context that ends after d; negative: never.
func (r *redisson) within(d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return r.root, func() {}
	}
	return r.limited(d)
}

func (e *entry) deliver(payload string) {
	if payload != "0" && !(payload == "1" && e.waiting) {
		return
	}
	e.permits++
	if e.waiting {
		e.gate.Open()
	}
}

// wait takes a permit, or waits for one as long as d; negative: without limit.
// Source: RedissonLockEntry, and for calls that return a token RedissonFencedLock.tryLockAsync.
func (e *entry) wait(d time.Duration) {
	if e.of.p.w.untimed != nil && d == 0 { // else time would never go on
		d = time.Millisecond
	}
	if e.permits == 0 {
		e.waiting = true
		_, _ = e.gate.Wait(e.of.root, d)
		e.waiting = false
		if e.both {
			return
		}
	}
	e.permits = max(0, e.permits-1)
}
