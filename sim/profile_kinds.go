package sim

import (
	"context"
	"slices"
	"time"
)

// redissonLock is a lock of Redisson's client.
type redissonLock interface {
	lockForEver(lease time.Duration) (attempt, error)
	tryLock(wait, lease time.Duration) (attempt, error)
	unlock() error
}

// model is how a client of that profile takes a kind of lock.
type model struct {
	kind string
	part func(c *client, of []*redisson) part // of has an instance for each master
}

// models are in the order in which error messages list them.
var models = []model{
	{"mutex", takesOne(plainSide)},
	{"fair", takesOne(fairSide)},
	{"rw", redissonReadsOrWrites},
	{"multi", func(c *client, of []*redisson) part {
		return newWorker(c, redissonSource{newMultiLock(ofMembers(c, of, plainLock))})
	}},
	{"redlock", func(c *client, of []*redisson) part {
		locks := make([]*rlock, len(of))
		for i := range locks {
			locks[i] = plainLock(of[i], lockName(c.lock))
		}
		return newWorker(c, redissonSource{newRedLock(locks)})
	}},
	{"fenced", takesOne(fencedSide)},
}

// Modelled reports whether there is a model of how Redisson's client takes a kind of lock.
func Modelled(kind string) bool { return slices.Contains(modelled(), kind) }

// modelled are the kinds of lock of which there is a model.
func modelled() (names []string) {
	for _, m := range models {
		names = append(names, m.kind)
	}
	return names
}

// redissonPart is what a client of that profile does.
func redissonPart(c *client) part {
	i := slices.Index(modelled(), c.load.Kind)
	if i < 0 {
		panic("sim: no model of Redisson's " + c.load.Kind)
	}
	return models[i].part(c, c.redissons())
}

func plainLock(r *redisson, name string) *rlock { return r.lock(plainSide, name) }

// takesOne is the part of who takes a lock of one master.
func takesOne(s *side) func(*client, []*redisson) part {
	return func(c *client, of []*redisson) part {
		return newWorker(c, redissonSource{of[0].lock(s, lockName(c.lock))})
	}
}

func redissonReadsOrWrites(c *client, of []*redisson) part {
	one := func(s *side) source { return redissonSource{of[0].lock(s, lockName(c.lock))} }
	if c.reads() {
		return newWorker(c, one(readSide))
	}
	return &worker{c: c, outer: one(writeSide), inner: one(readSide), mixed: true}
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
