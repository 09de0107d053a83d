package sim

import (
	"fmt"
	"time"

	"minikv/lockclient"
)

// rlock is one of Redisson's locks on one master, used by the process's only thread.
type rlock struct {
	of    *redisson
	side  *side
	name  string
	owner string
	lease time.Duration // of the latest acquisition: what a release leaves to the holds that remain
}

// lock makes an rlock. The owner is the same at each acquisition: process and thread.
func (r *redisson) lock(s *side, name string) *rlock {
	return &rlock{of: r, side: s, name: name, owner: r.p.id() + ":1" + s.suffix, lease: r.watchdog}
}

// attempt is what one attempt said.
type attempt struct {
	taken bool
	hint  time.Duration // not taken: until when to wait; negative: without limit
	token uint64
}

// try asks once. lease 0 has the watchdog renew.
func (l *rlock) try(lease, wait time.Duration, once bool) (a attempt, err error) {
	q := l.side.acquire(l, l.leaseOr(lease), wait, once)
	ask := func() error {
		reply, err := l.of.send(q)
		if err == nil {
			a = l.side.read(reply)
		}
		if err == errNotSynced && !l.side.token { // taken or not
			_, _ = l.giveBack(l.of.requestID())
		}
		return err
	}
	if l.side.token {
		err = ask() // the calls that return a token are not repeated
	} else {
		err = l.of.execute(ask)
	}
	if err != nil || !a.taken {
		a.taken = false
		return a, err
	}
	l.lease = l.leaseOr(lease)
	if lease <= 0 {
		l.of.register(l)
	}
	return a, nil
}

func (l *rlock) leaseOr(lease time.Duration) time.Duration {
	if lease > 0 {
		return lease
	}
	return l.of.watchdog
}

// read reads the reply of an acquisition. The pair of a fenced one begins with
// -1 when it was taken, and when the lock has no TTL.
func (s *side) read(reply lockclient.Reply) attempt {
	if s.token && len(reply.List) == 2 {
		first := reply.List[0].Int
		return attempt{taken: first == -1, token: uint64(max(reply.List[1].Int, 0)),
			hint: time.Duration(first) * time.Millisecond}
	}
	return attempt{taken: reply.Kind == lockclient.NilReply, hint: time.Duration(reply.Int) * time.Millisecond}
}

// lockForEver is lock(): it looks at no clock.
func (l *rlock) lockForEver(lease time.Duration) (attempt, error) {
	a, err := l.try(lease, 0, false)
	if err != nil || a.taken {
		return a, err
	}
	limit := subscriptionTimeout
	if l.side.token {
		limit = -1 // the calls that return a token have none
	}
	e, err := l.subscribe(limit)
	if err != nil {
		return a, fmt.Errorf("subscribe: %w", err)
	}
	defer e.sub.Close()
	for {
		a, err = l.try(lease, 0, false)
		if err != nil || a.taken {
			return a, err
		}
		e.wait(a.hint)
	}
}

// tryLock is tryLock(wait, lease): false when the wait is over, by the date. Without a
// wait and a lease it is tryLock(), which asks once and joins no queue.
func (l *rlock) tryLock(wait, lease time.Duration) (attempt, error) {
	if wait <= 0 && lease <= 0 {
		return l.try(lease, 0, true)
	}
	until := l.of.p.clock.Wall().Add(wait)
	left := func() time.Duration { return until.Sub(l.of.p.clock.Wall()) }
	a, err := l.try(lease, wait, false)
	if err != nil || a.taken {
		return a, err
	}
	if left() <= 0 {
		return attempt{}, l.giveUp(wait)
	}
	e, err := l.subscribe(left())
	if err != nil {
		return attempt{}, l.giveUp(wait)
	}
	defer e.sub.Close()
	for left() > 0 {
		a, err = l.try(lease, wait, false)
		if err == errResponseTimeout {
			break
		}
		if err != nil || a.taken {
			return a, err
		}
		d := left()
		if d <= 0 {
			break
		}
		if a.hint < 0 || d < a.hint {
			a.hint = d
		}
		e.wait(a.hint)
	}
	return attempt{}, l.giveUp(wait)
}

// giveUp leaves the queue, if there is one. It is an error of tryLock() if that fails.
func (l *rlock) giveUp(wait time.Duration) error {
	q, queued := l.side.fail(l, wait)
	if !queued {
		return nil
	}
	return l.of.execute(func() error {
		_, err := l.of.send(q)
		return err
	})
}

// unlock gives back one hold. Each attempt ends the renewal of one: what no replica has
// confirmed at first ends that of a hold that stays.
func (l *rlock) unlock() error {
	if l.of.broken {
		l.of.unregister(l)
		_, err := l.of.command("DEL", l.name)
		return err
	}
	id := l.of.requestID()
	var reply lockclient.Reply
	err := l.of.execute(func() (err error) {
		reply, err = l.giveBack(id)
		l.of.unregister(l)
		return err
	})
	if err != nil {
		return err
	}
	if reply.Kind == lockclient.NilReply {
		return errMonitorState
	}
	return nil
}

// giveBack gives back one hold under a name, and has the record of it removed.
func (l *rlock) giveBack(id string) (lockclient.Reply, error) {
	reply, err := l.of.send(l.side.release(l, id))
	if err == nil {
		l.of.p.spawn(func() { _, _ = l.of.command("DEL", latchOf(l, id)) })
	}
	return reply, err
}
