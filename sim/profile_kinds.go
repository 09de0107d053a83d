package sim

import (
	"context"
	"time"
)

// redissonLock is a lock of Redisson's client.
type redissonLock interface {
	lockForEver(lease time.Duration) (attempt, error)
	tryLock(wait, lease time.Duration) (attempt, error)
	unlock() error
}

// redissonKinds are the kinds of lock of which there is a model of Redisson's
// client, and what it locks.
var redissonKinds = []string{"mutex", "fair", "rw", "multi", "redlock", "fenced"}

// redissonPart is what a client of that profile does.
func redissonPart(c *client) part {
	of, name := c.redissons(), lockName(c.lock)
	plain := func(r *redisson, name string) *rlock { return r.lock(plainSide, name) }
	one := func(s *side) source { return redissonSource{of[0].lock(s, name)} }
	switch c.load.Kind {
	case "mutex":
		return newWorker(c, one(plainSide))
	case "fenced":
		return newWorker(c, one(fencedSide))
	case "fair":
		return newWorker(c, one(fairSide))
	case "rw":
		if c.reads() {
			return newWorker(c, one(readSide))
		}
		return &worker{c: c, outer: one(writeSide), inner: one(readSide), mixed: true}
	case "multi":
		return newWorker(c, redissonSource{newMultiLock(ofMembers(c, of, plain))})
	case "redlock":
		locks := make([]*rlock, len(of))
		for i := range locks {
			locks[i] = plain(of[i], name)
		}
		return newWorker(c, redissonSource{newRedLock(locks)})
	}
	panic("sim: no model of Redisson's " + c.load.Kind)
}

// redissonSource is a lock of Redisson's client as a source.
type redissonSource struct{ lock redissonLock }

// Lock implements source.
func (s redissonSource) Lock(ctx context.Context, t terms) (holding, error) {
	var a attempt
	var err error
	if t.wait < 0 {
		a, err = s.lock.lockForEver(t.lease)
	} else {
		a, err = s.lock.tryLock(t.wait, t.lease)
	}
	switch {
	case err != nil:
		return nil, err
	case !a.taken:
		return nil, errNotTaken
	}
	return redissonHold{s.lock, a.token, ctx}, nil
}

// redissonHold is what a client of Redisson knows of what it holds: nothing ever
// ends it but its own unlock().
type redissonHold struct {
	lock  redissonLock
	token uint64
	ctx   context.Context
}

func (h redissonHold) Token() (uint64, bool)        { return h.token, h.token > 0 }
func (h redissonHold) Until() time.Duration         { return 0 }
func (h redissonHold) Context() context.Context     { return h.ctx }
func (h redissonHold) Unlock(context.Context) error { return h.lock.unlock() }
