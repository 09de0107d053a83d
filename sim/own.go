package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"minikv/lockclient"
	"minikv/sim/check"
	"minikv/trace"
)

// OwnKind is the value of lock= for a lock that a test brings.
const OwnKind = "own"

// Own is what a test brings to a scenario with lock=own: its lock, or all that its
// clients do, and its invariant. A search of orders does not know what such clients ask
// for, so it leaves out fewer orders of what they do than of other clients.
type Own struct {
	// Lock makes a client's lock. The clients take it as the world line says: rounds of
	// lock, work, write to the resource, unlock, think.
	Lock func(c *Client) Lock
	// Run, if not nil, is all that a client does; Lock is not used then. If it returns
	// before the run ends, it is called again, as rounds= and think= say. Where it starts tasks
	// that take the lock, exclusion does not see that two of them have it at the same time.
	Run func(ctx context.Context, c *Client)
	// Check, if not nil, makes the check called own, whatever name its results have. A result
	// with neither a name nor a reason, such as the zero Result, is an error. It is
	// given the actors' names and sees a run's events. Only the numbers in these count: Key,
	// Text and Details are empty in most runs. A story of a violation leaves out
	// clients as long as the check is violated, so it should count what they do and not be
	// told how much that is; but if the violation names no events, something has not
	// happened, and all clients and all the time stay. With such a check a search of orders
	// leaves out hardly any order, since the check may look at all of them, so it takes small
	// worlds.
	Check func(names check.Names) check.Checker
	// Alive, if not nil, is called by each run every few thousand steps and at its end.
	// Where several runs are under way it is called by several goroutines. Client code that
	// blocks keeps its run from calling it.
	Alive func()
}

// Lock is a lock under test.
type Lock interface {
	// Lock returns when the client has the lock, or an error without it.
	Lock(ctx context.Context) (Held, error)
}

// Held is a lock that a client has. It may have two more methods:
//
//   - Token() (uint64, bool) returns the fencing token that goes with each write, and
//     whether there is one.
//   - Lost() context.Context returns a context that ends when the client is told that it
//     no longer has the lock, with a cause that wraps lockclient.ErrLost; nil if nobody
//     tells the client.
type Held interface {
	// Unlock gives the lock back. The belief in it ends when Unlock is called.
	Unlock(ctx context.Context) error
}

// Client is one client process as a test's code sees it. Whatever waits must wait through
// its Runtime and its Transports, with contexts that come from them or from the one that
// the code was given. It must not be used after the run, or from goroutines that the code
// starts by itself.
type Client struct {
	c    *client
	asks bool // for its lock, which it has not got
}

// Name returns c1, c2, …
func (c *Client) Name() string { return c.c.name() }

// ID returns the client's name, and another text after each restart of the process.
func (c *Client) ID() string { return c.c.p.id() }

// Key returns the name of the lock that the client takes. The check of theft looks at
// what a lock keeps under just this name: a text that is no number, or a hash whose fields
// are owners. What is there belongs to who put it there until its TTL ends: whoever takes
// over a lock whose end is a date inside of it, is a thief to that check. The check of lease
// looks at the TTL of just this key; if in a run it never has one, nothing is said of leases.
// The check of fencing learns here which requests may have got a client the lock: those that
// put something there. That turns are ordered it knows of other locks by Asks alone.
func (c *Client) Key() string { return lockName(c.c.lock) }

// Lease returns ttl= of the world line. An explanation tells what other leases would have
// changed, which is true of a lock that takes its own from here.
func (c *Client) Lease() time.Duration { return c.c.load.TTL }

// Reads reports whether the client is one of readers= of the world line: beliefs of
// readers may overlap.
func (c *Client) Reads() bool { return c.c.reads() }

// Runtime returns the client's clock, and its way to wait and to start tasks.
func (c *Client) Runtime() lockclient.Runtime { return clientRuntime{c.c.p} }

// Transports returns the client's connections, one for each master with its replicas. A
// cluster has one for all nodes: it goes to the master of a key's slot, and follows MOVED
// and ASK. The key is the one that Do is told, the first of a script's, or the channel. As
// with go-redis, it asks who serves the slots when it is pointed elsewhere or refused a
// connection, and when what it knows is a minute old: so long requests to a master that
// does not answer end with their deadlines, though another has taken its place. Nothing
// keeps the commands of MULTI or WATCH together on one connection: use scripts. A
// command that blocks, such as BLPOP, keeps the client's other requests there waiting
// until it is answered, unless the world line says pool=on.
func (c *Client) Transports() (list []lockclient.Transport) {
	for _, g := range c.c.p.w.groups {
		list = append(list, &transport{p: c.c.p, group: g, bare: true})
	}
	return list
}

// Sleep waits for d on the client's clock, or until ctx ends. It returns ctx's error.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error {
	p := c.c.p
	p.running().sleep(p.contextOf(ctx), max(d, 0))
	return ctx.Err()
}

// Draw returns a choice of the run from 0 to bound-1; 0 is the dull one. A search of orders
// draws nothing: there it is 0 each time, and the search says so (see explore.Exhausted).
func (c *Client) Draw(bound int) int { return int(c.c.p.choices.draw(uint64(max(bound, 1)))) }

// Asks records that the client begins to wait for its lock. The wait ends when Believes
// is called, or when Own.Run returns: then the lock was refused. Progress is judged by
// it, and so is fencing if tokens do not grow with the turns: of two turns of which neither
// is known to be the later one, any may have the larger token. A stall strikes who waits.
func (c *Client) Asks() {
	c.asks, c.c.p.asking = true, true
	c.c.note(c.c.p.running(), trace.Acquire)
}

// Believes records that the client holds its lock from now on, with a fencing token; 0:
// none. Exclusion is judged by it, between clients: a client that believes a second time, in
// whichever of its tasks, is taken to re-enter the lock, so beliefs of two tasks of one client are
// never an overlap.
func (c *Client) Believes(token uint64) *Belief {
	c.asks, c.c.p.asking = false, false
	return c.c.p.running().beginBelief(c.c.lock, &ownHolding{token: token}, 0)
}

// Ends records that the client no longer believes b. lost says that it was told that it
// has lost the lock; otherwise it gives the lock back.
func (c *Client) Ends(b *Belief, lost bool) {
	kind := trace.Release
	if lost {
		kind = trace.Lost
	}
	c.c.p.w.endBelief(b, kind, c.c.p.w.cause(), "")
}

// Write writes to what the lock protects, with the belief's token. It reports whether the
// write was accepted; an error means that no answer came.
func (c *Client) Write(ctx context.Context, b *Belief) (bool, error) { return c.c.p.write(ctx, b) }

// ownCheck is the check that a test brings, under the name by which scenarios expect it.
type ownCheck struct {
	check.Checker
	run    *runner
	seen   uint64 // events
	broken error  // it has panicked, and is not called again
}

// newOwnCheck makes the check of a test that brings one.
func newOwnCheck(m making) check.Checker {
	if m.own == nil || m.own.Check == nil {
		return check.NewNothing("own", "only the test that brings the check can judge it")
	}
	c := &ownCheck{run: m.runner}
	c.guard("Own.Check", func() { c.Checker = m.own.Check(m.names) })
	if c.Checker == nil && c.broken == nil {
		return check.NewNothing("own", "Own.Check returned no Checker")
	}
	return c
}

// guard calls f, code of the test's check, unless that has panicked before. A panic is the
// run's error, as one of a client is, and so is the end of its goroutine.
func (c *ownCheck) guard(what string, f func()) {
	returned := false
	defer func() {
		if reason := recover(); reason != nil {
			c.broken = fmt.Errorf("sim: %s panicked: %v\n%s", what, reason, debug.Stack())
		} else if !returned {
			c.broken = fmt.Errorf("sim: %s ended its goroutine (runtime.Goexit), as t.FailNow and package require do\n%s",
				what, debug.Stack())
		}
		c.refuse(c.broken)
	}()
	if c.broken == nil {
		f()
	}
	returned = true
}

// refuse makes an error, if there is one, the run's.
func (c *ownCheck) refuse(err error) {
	c.broken = err
	if err != nil && c.run.w != nil { // there is no world yet when the check is made
		c.run.w.fail(err)
	}
}

// Observe implements check.Checker.
func (c *ownCheck) Observe(e *trace.Event) {
	c.seen = e.N
	c.guard("the Checker of Own.Check, in Observe,", func() { c.Checker.Observe(e) })
}

// Result implements check.Checker. Of the events that it names those count that there are.
func (c *ownCheck) Result(end time.Duration) check.Result {
	r := check.NewNothing("own", "it panicked").Result(end)
	const what = "the Checker of Own.Check, in Result,"
	c.guard(what, func() { r = c.Checker.Result(end) })
	if r.Check == "" && r.Reason == "" && c.seen > 0 { // before that there is nothing to say
		c.refuse(fmt.Errorf("sim: %s returned a Result without a Reason or a Check, as if nobody had filled it in", what))
	}
	if !r.Verdict.Known() {
		c.refuse(fmt.Errorf("sim: %s returned verdict %d, which there is not", what, r.Verdict))
		r.Verdict = check.Unknown
	}
	r.Check = "own"
	r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(n uint64) bool { return n < 1 || n > c.seen })
	return r
}

// ownHolding is a Held as the workload sees it.
type ownHolding struct {
	held  Held
	ctx   context.Context
	token uint64
}

func (h *ownHolding) Token() (uint64, bool) {
	if t, ok := h.held.(interface{ Token() (uint64, bool) }); ok {
		return t.Token()
	}
	return h.token, h.token > 0
}

func (h *ownHolding) Until() time.Duration { return 0 }

func (h *ownHolding) Context() context.Context { return h.ctx }

func (h *ownHolding) Unlock(ctx context.Context) error { return h.held.Unlock(ctx) }

// ownSource is a test's lock as a source.
type ownSource struct {
	c    *Client
	lock Lock
}

// Lock implements source.
func (s ownSource) Lock(ctx context.Context, _ terms) (holding, error) {
	held, err := s.lock.Lock(ctx)
	switch {
	case err != nil:
		return nil, err
	case held == nil:
		panic("its Lock returned neither a Held nor an error")
	}
	h := &ownHolding{held: held, ctx: ctx}
	if l, ok := held.(interface{ Lost() context.Context }); ok {
		if ctx := l.Lost(); ctx != nil {
			if lost := s.c.c.p.contextOf(ctx); lost != nil {
				h.ctx = lost
			}
		}
	}
	return h, nil
}

// ownRun is the part of a client that is the test's alone.
type ownRun struct {
	c   *Client
	run func(ctx context.Context, c *Client)
}

func (p ownRun) round(t *task, ctx context.Context) (more bool) {
	p.run(ctx, p.c)
	if p.c.asks {
		p.c.asks, p.c.c.p.asking = false, false
		p.c.c.note(t, trace.Refused)
	}
	return true
}

// ownPart is the part of a client whose lock the test brings.
func ownPart(c *client, _ []*lockclient.Client) part {
	own := &Client{c: c}
	if c.own.Run != nil {
		return ownRun{own, c.own.Run}
	}
	lock := c.own.Lock(own)
	if lock == nil {
		panic("Own.Lock returned no Lock")
	}
	return newWorker(c, ownSource{own, lock})
}

// checkOwn reports a lock that nobody has brought.
func (s *Scenario) checkOwn(own *Own) error {
	isOwn := s.World.Load.Kind == OwnKind
	switch {
	case isOwn && (own == nil || own.Lock == nil && own.Run == nil):
		return errors.New("lock=own: only the test that brings the lock can run this")
	case !isOwn && own != nil && (own.Lock != nil || own.Run != nil):
		return errors.New("a test's own lock: expected lock=own in the world line")
	}
	return nil
}
