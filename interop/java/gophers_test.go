package java

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"minikv/lockclient"
)

// gophers is the party of this process: lockclient, a goroutine for a thread.
type gophers struct {
	ctx     context.Context
	clients []*lockclient.Client // one for each independent master

	mu   sync.Mutex
	held map[place][]*lockclient.Held // the last taken is the first given back
}

// place is what one thread has of one lock.
type place struct{ thread, kind, key string }

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
	if named := locks[q.kind]; named != nil {
		return g.lock(q, named(g.clients, q.key))
	}
	return "", fmt.Errorf("lockclient has no kind %q", q.kind)
}

func (g *gophers) lock(q request, lock *lockclient.Lock) (string, error) {
	as := lockclient.As(g.clients[0].ID() + ":" + q.thread)
	switch q.verb {
	case "lock":
		millis, err := strconv.Atoi(q.argument)
		if err != nil {
			return "", err
		}
		held, err := lock.Lock(g.ctx, as, lockclient.Lease(time.Duration(millis)*time.Millisecond))
		if err != nil {
			return "", err
		}
		g.push(q, held)
		token, _ := held.Token()
		return fmt.Sprint(token), nil
	case "tryLock":
		held, err := lock.TryLock(g.ctx, as)
		if err == nil {
			g.push(q, held)
		}
		return answered(err)
	case "unlock":
		return "", g.pop(q).Unlock(g.ctx)
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

// answered is the result of an attempt that may be refused.
func answered(err error) (string, error) {
	if errors.Is(err, lockclient.ErrNotAcquired) {
		return "false", nil
	}
	return fmt.Sprint(err == nil), err
}

func (g *gophers) push(q request, held *lockclient.Held) {
	at := place{q.thread, q.kind, q.key}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held[at] = append(g.held[at], held)
}

func (g *gophers) pop(q request) *lockclient.Held {
	at := place{q.thread, q.kind, q.key}
	g.mu.Lock()
	defer g.mu.Unlock()
	last := len(g.held[at]) - 1
	held := g.held[at][last]
	g.held[at] = g.held[at][:last]
	return held
}
