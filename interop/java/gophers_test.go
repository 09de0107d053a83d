package java

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"minikv/lockclient"
)

// gophers is the party of this process: lockclient, a goroutine for a thread.
type gophers struct {
	ctx     context.Context
	clients []*lockclient.Client // one for each independent master
	held    stacks[*lockclient.Held]
	permits stacks[*lockclient.Permits]
}

// locks are the kinds that are locks, by the agent's names.
var locks = map[string]func(c []*lockclient.Client, key string) *lockclient.Lock{
	"mutex":             onFirst((*lockclient.Client).Mutex),
	"fair":              onFirst((*lockclient.Client).Fair),
	"spin":              onFirst((*lockclient.Client).Spin),
	"fenced":            onFirst((*lockclient.Client).Fenced),
	"nonreentrant":      onFirst((*lockclient.Client).NonReentrant),
	"nonreentrant-fair": onFirst((*lockclient.Client).NonReentrantFair),
	"read":              func(c []*lockclient.Client, key string) *lockclient.Lock { return c[0].RW(key).R() },
	"write":             func(c []*lockclient.Client, key string) *lockclient.Lock { return c[0].RW(key).W() },
	"redlock": func(c []*lockclient.Client, key string) *lockclient.Lock {
		return lockclient.HashRedlock(key, c...)
	},
	"multi": func(c []*lockclient.Client, key string) *lockclient.Lock {
		return lockclient.Multi(c[0].Mutex(key+":a"), c[0].Mutex(key+":b"))
	},
}

// onFirst names locks that live on one master.
func onFirst(
	name func(c *lockclient.Client, key string) *lockclient.Lock,
) func(c []*lockclient.Client, key string) *lockclient.Lock {
	return func(c []*lockclient.Client, key string) *lockclient.Lock { return name(c[0], key) }
}

func (g *gophers) name() string { return "Go" }

func (g *gophers) call(q request) (string, error) {
	c := g.clients[0]
	switch q.kind {
	case "semaphore":
		return g.semaphore(q, c.Semaphore(q.key))
	case "permits":
		return g.permit(q, c.PermitSemaphore(q.key))
	case "latch":
		return g.latch(q, c.Latch(q.key))
	}
	if named := locks[q.kind]; named != nil {
		return g.lock(q, named(g.clients, q.key))
	}
	return "", fmt.Errorf("lockclient has no kind %q", q.kind)
}

func (g *gophers) lock(q request, lock *lockclient.Lock) (string, error) {
	as := lockclient.As(g.clients[0].ID() + ":" + q.thread)
	at := place{q.thread, q.kind, q.key}
	switch q.verb {
	case "lock":
		held, err := lock.Lock(g.ctx, as, lockclient.Lease(q.duration()))
		if err != nil {
			return "", err
		}
		g.held.push(at, held)
		token, _ := held.Token()
		return fmt.Sprint(token), nil
	case "tryLock":
		held, err := lock.TryLock(g.ctx, as, lockclient.NodeTimeout(callLimit)) // a busy machine is not refused
		if err == nil {
			g.held.push(at, held)
		}
		return unless(lockclient.ErrNotAcquired, err)
	case "unlock":
		held, ok := g.held.pop(at)
		if !ok {
			return "", fmt.Errorf("%s does not hold %q", q.thread, q.key)
		}
		return "", held.Unlock(g.ctx)
	case "forceUnlock":
		freed, err := lock.ForceUnlock(g.ctx)
		return fmt.Sprint(freed), err
	case "owner":
		return g.owner(q), nil
	case "holdCount":
		n, err := lock.HoldCount(g.ctx, g.owner(q))
		return fmt.Sprint(n), err
	case "holdCountOf":
		n, err := lock.HoldCount(g.ctx, q.argument)
		return fmt.Sprint(n), err
	}
	return "", fmt.Errorf("unknown verb %q", q.verb)
}

// owner is how a thread appears in a lock.
func (g *gophers) owner(q request) string {
	owner := g.clients[0].ID() + ":" + q.thread
	if q.kind == "write" {
		owner += ":write"
	}
	return owner
}

func (g *gophers) semaphore(q request, semaphore *lockclient.Semaphore) (string, error) {
	at := place{q.thread, q.kind, q.key}
	switch q.verb {
	case "set":
		set, err := semaphore.TrySetPermits(g.ctx, q.number())
		return fmt.Sprint(set), err
	case "acquire":
		permits, err := semaphore.Acquire(g.ctx, q.number())
		if err == nil {
			g.permits.push(at, permits)
		}
		return "", err
	case "tryAcquire":
		permits, err := semaphore.TryAcquire(g.ctx, q.number())
		if err == nil {
			g.permits.push(at, permits)
		}
		return unless(lockclient.ErrNotAcquired, err)
	case "release":
		permits, ok := g.permits.pop(at)
		if !ok || permits.Count() != q.number() {
			return "", fmt.Errorf("%s did not take %s permits", q.thread, q.argument)
		}
		return "", permits.Release(g.ctx)
	case "available":
		n, err := semaphore.Available(g.ctx)
		return fmt.Sprint(n), err
	}
	return "", fmt.Errorf("unknown verb %q", q.verb)
}

func (g *gophers) permit(q request, semaphore *lockclient.PermitSemaphore) (string, error) {
	switch q.verb {
	case "set":
		set, err := semaphore.TrySetPermits(g.ctx, q.number())
		return fmt.Sprint(set), err
	case "acquire", "tryAcquire":
		take := semaphore.Acquire
		if q.verb == "tryAcquire" {
			take = semaphore.TryAcquire
		}
		held, err := take(g.ctx, q.duration())
		if errors.Is(err, lockclient.ErrNotAcquired) {
			return "null", nil
		}
		if err != nil {
			return "", err
		}
		g.held.push(place{q.key, q.kind, held.Owner()}, held)
		return held.Owner(), nil
	case "release":
		held, ok := g.held.pop(place{q.key, q.kind, q.argument})
		if !ok {
			return "false", nil
		}
		return unless(lockclient.ErrLost, held.Unlock(g.ctx))
	case "available":
		n, err := semaphore.Available(g.ctx)
		return fmt.Sprint(n), err
	}
	return "", fmt.Errorf("unknown verb %q", q.verb)
}

func (g *gophers) latch(q request, latch *lockclient.Latch) (string, error) {
	switch q.verb {
	case "set":
		set, err := latch.TrySetCount(g.ctx, q.number())
		return fmt.Sprint(set), err
	case "await":
		return "", latch.Wait(g.ctx)
	case "countDown":
		_, err := latch.CountDown(g.ctx)
		return "", err
	case "count":
		n, err := latch.Count(g.ctx)
		return fmt.Sprint(n), err
	}
	return "", fmt.Errorf("unknown verb %q", q.verb)
}

// unless is the result of what may be refused with one error.
func unless(refusal, err error) (string, error) {
	if errors.Is(err, refusal) {
		return "false", nil
	}
	return "true", err
}

// stacks are what threads have taken: the last taken is the first given back.
type stacks[T any] struct {
	mu sync.Mutex
	of map[place][]T
}

// place is one thread's use of one lock. A permit is anybody's, by its id.
type place struct{ thread, kind, name string }

func (s *stacks[T]) push(at place, taken T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[place][]T{}
	}
	s.of[at] = append(s.of[at], taken)
}

func (s *stacks[T]) pop(at place) (taken T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.of[at]) - 1
	if last < 0 {
		return taken, false
	}
	taken = s.of[at][last]
	s.of[at] = s.of[at][:last]
	return taken, true
}
