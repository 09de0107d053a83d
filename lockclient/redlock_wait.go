package lockclient

import (
	"context"
	"sync"
	"time"
)

// subscribeLimit is how long a waiter of a HashRedlock waits for the masters to
// confirm its subscriptions: as long as for their answers by default.
const subscribeLimit = DefaultRedlock / 20

// quorumPlace is the place of one waiter of a HashRedlock: a place at the channel
// of each master that could be subscribed to. It wakes when a majority may be
// free: the masters that have sent a message since the last attempt, and those
// that the attempt found free. What these send is not counted, as giving back
// after an attempt that failed tells those who wait for a Mutex there; if it
// were, two waiters would wake each other for ever.
type quorumPlace struct {
	rt     Runtime
	first  *Client
	places []*place // nil: the master does not answer
	closes *place   // where it hears that the first client is closed, also if that master does not answer
	heard  Gate     // opened at each message
	last   *answer  // to the last attempt
	asked  time.Duration
}

// hint trusts in messages until the TTLs have ended, if these are known.
func (hashForm) hint(rt Runtime, failed *round) time.Duration {
	if left, known := failed.untilFree(); known {
		return left
	}
	return pollDelay(rt)
}

func (hashForm) await(ctx context.Context, r *request, key string, clients []*Client) (waiting, error) {
	rt := clients[0].rt
	w := &quorumPlace{rt: rt, first: clients[0], places: make([]*place, len(clients)), heard: rt.NewGate(), last: r.last}
	w.closes = w.first.linger(w.heard)
	limited, cancel := rt.WithDeadline(ctx, rt.Mono()+subscribeLimit)
	defer cancel()
	var mu sync.Mutex
	open, joined := len(clients), rt.NewGate()
	for i, c := range clients {
		c.rt.Go(func() {
			p := &place{gate: rt.NewGate(), need: 1, all: w.heard}
			err := c.seat(limited, p, lockChannel(key), lockWakes)
			mu.Lock()
			if err == nil {
				w.places[i] = p
			}
			open--
			all := open == 0
			mu.Unlock()
			if all {
				joined.Open()
			}
		})
	}
	_, _ = joined.Wait(context.WithoutCancel(ctx), -1) // limited ends all of them
	if ctx.Err() != nil {
		w.leave()
		return nil, contextError(ctx)
	}
	return w, nil
}

func (w *quorumPlace) attempt(f func() error) error {
	for _, p := range w.places {
		if p != nil {
			rest := f
			f = func() error { return p.attempt(rest) }
		}
	}
	err := f()
	w.asked = w.rt.Mono()
	return err
}

func (w *quorumPlace) park(ctx context.Context, d time.Duration) (woken bool, err error) {
	until := w.rt.Mono() + d
	_, trusts := w.last.round.untilFree()
	if _, possible := w.count(); possible < w.last.round.need {
		until, trusts = min(until, w.asked+pollDelay(w.rt)), false
	}
	for {
		opened, err := w.heard.Wait(ctx, max(0, until-w.rt.Mono()))
		if err != nil || !opened {
			return err == nil && !trusts, err // who trusts in nothing looks, also at the end of its wait
		}
		if w.first.isClosed() {
			return true, nil
		}
		if free, _ := w.count(); free >= w.last.round.need {
			return true, w.yield(ctx, until)
		}
	}
}

// yield lets a random delay pass since an attempt that took something, as it may
// have met another one that did, and these would meet again.
func (w *quorumPlace) yield(ctx context.Context, until time.Duration) error {
	for _, n := range w.last.round.results() {
		if n.OK {
			pause := min(until, w.asked+pollDelay(w.rt)) - w.rt.Mono()
			_, err := w.rt.NewGate().Wait(ctx, max(0, pause))
			return err
		}
	}
	return nil
}

// count returns how many masters may be free, and how many can become so with a
// message.
func (w *quorumPlace) count() (free, possible int) {
	nodes := w.last.round.results()
	for i, p := range w.places {
		switch {
		case nodes[i].OK || p != nil && p.woken():
			free++
			possible++
		case p != nil:
			possible++
		}
	}
	return free, possible
}

func (w *quorumPlace) leave() {
	w.closes.leave()
	for _, p := range w.places {
		if p != nil {
			p.leave()
		}
	}
}
