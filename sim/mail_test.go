// The way of the requests of the random tests. Of a hundred so many meet a fate as their server's site
// says: they are refused, lost, or executed without an answer, or they or their answers come late; so
// may subscriptions and messages.

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
	*diary
	*transport
	from *party
	site *site
}

// site is a server as those who send to it meet it.
type site struct {
	number   int
	group    *group
	fates    int           // of a hundred requests so many meet one
	kinds    []int         // of fates; nil: all
	refusals []string      // what the server answers; nil: that it is loading
	timid    bool          // subscriptions meet fates, too
	resets   bool          // those that are lost fail, else they wait for ever
	mild     bool          // requests may be refused, and answers late, but nothing is lost
	cut      time.Duration // true time until which nobody reaches it
	still    time.Duration // true time until which nothing late is sent to it: it stands still, or soon will
	slow     bool          // more may hold up what is late, which is less late for that
	carrier  *party        // of what is late; nil: its sender
	lag      time.Duration // so late messages may be, in their order
	claims   bool          // it claims to have replicas, which do not confirm all

	// confirmed, if not nil, is told whether replicas have what a script has done: all that there are,
	// of which there may be none.
	confirmed func(keys, args []string, has bool)
}

var errLost = errors.New("connection reset")

// sender hears of the requests that are sent with a context.
type sender interface {
	sends(s *lockclient.Script, keys []string)
	executed(r lockclient.Reply)
	hears(r lockclient.Reply, err error, subscribes bool)
	unconfirmed()
}

// senderKey finds the sender in a context.
type senderKey struct{}

// nobody is the sender where none wants to hear.
type nobody struct{}

func (nobody) sends(*lockclient.Script, []string)  {}
func (nobody) executed(lockclient.Reply)           {}
func (nobody) hears(lockclient.Reply, error, bool) {}
func (nobody) unconfirmed()                        {}

func senderOf(ctx context.Context) sender {
	if s, ok := ctx.Value(senderKey{}).(sender); ok {
		return s
	}
	return nobody{}
}

// send is one request.
type send func(ctx context.Context, t *transport) (lockclient.Reply, error)

// Eval implements lockclient.Transport.
func (m *mail) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	senderOf(ctx).sends(s, keys)
	return m.carry(ctx, s.Name+" "+readable(args), func(ctx context.Context, t *transport) (lockclient.Reply, error) {
		return t.Eval(ctx, s, keys, args)
	})
}

// Do implements lockclient.Transport.
func (m *mail) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	return m.carry(ctx, strings.Join(args, " "), func(ctx context.Context, t *transport) (lockclient.Reply, error) {
		return t.Do(ctx, key, args...)
	})
}

// EvalReplicated implements lockclient.Replicated.
func (m *mail) EvalReplicated(
	ctx context.Context, s *lockclient.Script, keys, args []string, limit time.Duration,
) (r lockclient.Reply, known, confirmed int64, err error) {
	var had, have int64
	if m.site.claims {
		r, err = m.Eval(ctx, s, keys, args)
		if had, have = 1, 1; err == nil && m.draw(100) < m.site.fates/2 {
			m.note("  no replica has %s", s.Name)
			have = 0
		}
	} else {
		senderOf(ctx).sends(s, keys)
		what := s.Name + " " + readable(args)
		r, err = m.carry(ctx, what, func(ctx context.Context, t *transport) (r lockclient.Reply, err error) {
			r, had, have, err = t.EvalReplicated(ctx, s, keys, args, limit)
			return r, err
		})
	}
	switch {
	case err != nil:
	case had > 0 && have == 0:
		senderOf(ctx).unconfirmed()
	case m.site.confirmed != nil:
		m.site.confirmed(keys, args, had > 0)
	}
	return r, had, have, err
}

// Topology implements lockclient.Transport.
func (m *mail) Topology() lockclient.Topology {
	if m.site.claims {
		return lockclient.Topology{Replicas: true}
	}
	return m.transport.Topology()
}

// Subscribe implements lockclient.Transport.
func (m *mail) Subscribe(
	ctx context.Context, channel string, sharded bool, deliver func(payload string), lost func(),
) (s lockclient.Subscription, err error) {
	if m.site.timid && (m.isCut() || m.draw(100) < m.site.fates) {
		err = m.unsubscribed(ctx, channel)
	} else {
		late := m.lateMessages(deliver)
		s, err = m.transport.Subscribe(ctx, channel, sharded, func(payload string) {
			if (m.draw(100) >= m.site.fates || m.site.mild) && !m.isCut() {
				late(payload)
			} else {
				m.note("  message %s is lost", payload)
			}
		}, lost)
	}
	senderOf(ctx).hears(lockclient.Reply{}, err, true)
	return s, err
}

// unsubscribed is the fate of a subscription.
func (m *mail) unsubscribed(ctx context.Context, channel string) (err error) {
	fate, after := m.draw(2), time.Duration(-1)
	m.note("  fate %d of a subscription to %s", fate, channel)
	if fate == 0 || m.site.mild {
		_, err = m.refused()
		return err
	}
	if m.site.resets {
		after = m.within(requestTimeout)
	}
	_, err = m.lost(ctx, after)
	return err
}

// lateMessages delivers messages as late as they may be.
func (m *mail) lateMessages(deliver func(payload string)) func(payload string) {
	if m.site.lag == 0 {
		return deliver
	}
	last, rt := time.Duration(0), m.from.rt
	return func(payload string) {
		last = max(last+time.Microsecond, rt.Mono()+m.within(m.site.lag)*time.Duration(m.draw(2)))
		wait := last - rt.Mono()
		rt.Go(func() {
			m.from.sleep(wait)
			deliver(payload)
		})
	}
}

func (m *mail) isCut() bool { return m.site.cut > m.w.now }

// carry has a request meet its fate, and tells its sender what becomes of it.
func (m *mail) carry(ctx context.Context, what string, plain send) (r lockclient.Reply, err error) {
	from := senderOf(ctx)
	send := func(ctx context.Context, t *transport) (lockclient.Reply, error) {
		r, err := plain(ctx, t)
		if err == nil {
			from.executed(r)
		}
		return r, err
	}
	switch {
	case m.isCut():
		r, err = m.cutOff(ctx, what, send)
	case m.draw(100) >= m.site.fates:
		r, err = send(ctx, m.transport)
	default:
		r, err = m.fate(ctx, what, send)
	}
	from.hears(r, err, false)
	return r, err
}

// fate is that of a request that meets one. What is late arrives before the time limit of one
// request has passed again since it was given up: what gives back reckons with no more.
func (m *mail) fate(ctx context.Context, what string, send send) (r lockclient.Reply, err error) {
	fate := m.draw(6)
	switch kinds := m.site.kinds; {
	case m.site.mild:
		fate %= 3
	case kinds != nil:
		fate = kinds[fate%len(kinds)]
	}
	m.note("  fate %d of %s at %d", fate, what, m.site.number)
	switch fate {
	case 0:
		return m.refused()
	case 1:
		text := "LOADING Redis is loading the dataset in memory"
		if some := m.site.refusals; some != nil {
			text = some[m.draw(len(some))]
			m.note("  %s", text)
		}
		return r, &lockclient.ServerError{Text: text}
	case 2:
		if m.site.mild {
			r, err = send(ctx, m.transport)
			m.from.sleep(m.within(20 * time.Millisecond))
			return r, err
		}
		return m.lost(ctx, m.within(requestTimeout))
	case 3: // the reply is
		_, _ = send(ctx, m.transport)
		return r, errLost
	}
	before, after := m.within(m.latest(ctx)), time.Duration(0)
	if fate == 5 {
		before, after = after, before
	}
	return m.late(ctx, what, send, before, after)
}

// cutOff is the fate of a request to a server that nobody reaches.
func (m *mail) cutOff(ctx context.Context, what string, send send) (lockclient.Reply, error) {
	left := m.site.cut - m.w.now
	fate := m.draw(3)
	m.note("  cut off, fate %d of %s at %d", fate, what, m.site.number)
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
	if _, ended := m.from.rt.NewGate().Wait(ctx, after); ended != nil {
		return lockclient.Reply{}, ended
	}
	return lockclient.Reply{}, errLost
}

// tooLate is how long after the end of its time limit a late request is void.
const tooLate = requestTimeout * 9 / 10

// latest is how late a request may be.
func (m *mail) latest(ctx context.Context) time.Duration {
	limit, _ := m.from.rt.Remaining(ctx)
	if m.site.slow {
		return max(0, limit) + time.Millisecond
	}
	return max(0, limit) + tooLate
}

// late sends a request when before has passed, and has its reply come when after has. A carrier
// goes on when the sender is given up, or stands still.
func (m *mail) late(
	ctx context.Context, what string, send send, before, after time.Duration,
) (r lockclient.Reply, err error) {
	by, answered, gone := m.site.carrier, m.from.rt.NewGate(), farAway
	if by == nil {
		by = m.from
	}
	to, late, cancel := &transport{p: by.p, group: m.group}, by.root, context.CancelFunc(func() {})
	if m.site.slow {
		limit, _ := m.from.rt.Remaining(ctx)
		late, cancel = by.rt.WithDeadline(late, by.rt.Mono()+limit+requestTimeout/20)
	}
	by.p.spawn(func() {
		defer cancel()
		by.sleep(before)
		if m.w.now < m.site.still || before > 0 && m.isCut() || m.w.now-tooLate > gone {
			return
		}
		m.note("  now: %s at %d", what, m.site.number)
		reply, failed := send(late, to)
		by.sleep(after)
		r, err = reply, failed
		answered.Open()
	})
	if _, ended := answered.Wait(ctx, -1); ended != nil {
		gone = m.w.now
		return lockclient.Reply{}, ended
	}
	return r, err
}
