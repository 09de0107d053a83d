package sim

import (
	"context"
	"time"

	"minikv/lockclient"
	"minikv/trace"
)

// guard is the part of a client that takes nothing: it asks again and again
// whether the lock is free, as if that could guard something.
type guard struct {
	c      *client
	locked func(ctx context.Context) (bool, error)
}

// askEvery is how often a guard asks.
var askEvery = Range{100 * time.Millisecond, 2 * time.Second}

func (p guard) round(t *task, ctx context.Context) (more bool) {
	t.sleep(nil, time.Duration(p.c.p.choices.span(askEvery)))
	p.c.note(t, trace.Asks)
	locked, err := p.locked(ctx)
	if err != nil {
		p.c.failed(t, trace.Failed, err)
		return true
	}
	e := trace.Event{Kind: trace.Told, Lock: p.c.lock}
	if locked {
		e.A = 1
	}
	if p.c.p.w.cfg.Details {
		e.Key = lockName(p.c.lock)
	}
	t.note(e)
	return !p.c.p.w.calm
}

// guards tells whether the client only asks: the last ones do.
func (c *client) guards() bool { return c.number > len(c.w.clients)-c.load.Guards }

// guarding is the part of a guard of lockclient's profile.
func (c *client) guarding() part {
	return guard{c, findKind(c.load.Kind).asked(c.clients()[0], lockName(c.lock))}
}

// asks is how to ask whether somebody has a lock.
func asks(
	lock func(*lockclient.Client, string) *lockclient.Lock,
) func(*lockclient.Client, string) func(context.Context) (bool, error) {
	return func(of *lockclient.Client, name string) func(context.Context) (bool, error) {
		return lock(of, name).IsLocked
	}
}

// asksBoth is how to ask whether somebody writes or reads.
func asksBoth(of *lockclient.Client, name string) func(context.Context) (bool, error) {
	rw := of.RW(name)
	return func(ctx context.Context) (bool, error) {
		writes, err := rw.W().IsLocked(ctx) // first, as a writer may read on between the two questions
		if err != nil || writes {
			return writes, err
		}
		return rw.R().IsLocked(ctx)
	}
}

// redissonGuarding is the part of a guard of Redisson's profile: a plain lock
// is asked of a replica, by the default read mode; a read-write lock of the master.
func (c *client) redissonGuarding() part {
	r, name := c.redissons()[0], lockName(c.lock)
	return guard{c, func(context.Context) (bool, error) {
		if c.load.Kind == "rw" {
			reply, err := r.command("HGET", name, "mode")
			return reply.Kind != lockclient.NilReply, err
		}
		ctx, cancel := r.limited(responseTimeout)
		defer cancel()
		l := lane{transport: r.transport}
		for _, n := range r.group.nodes {
			if n != r.group.master {
				l.conn = r.p.conn(n)
			}
		}
		reply, err := l.do(ctx, "EXISTS", name)
		return reply.Int == 1, err
	}}
}
