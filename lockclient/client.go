package lockclient

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// refusalPause is how long a request waits before it is sent again that was
	// refused. The next pause is twice as long, up to refusalPauseMax.
	refusalPause    = 50 * time.Millisecond
	refusalPauseMax = 400 * time.Millisecond
	// retryPeriod is how long background work waits before it repeats a request.
	retryPeriod = time.Second
	// syncLimit is Redisson's default slavesSyncTimeout.
	syncLimit = time.Second
)

// Client makes locks on one Redis: a server, a sentinel set or a cluster. It is safe for
// concurrent use. Its background work (renewing leases, giving back after lost replies)
// runs while there is something to do, and ends with Close. Where replies are slow it
// repeats requests one after the other, so that other requests get connections too.
type Client struct {
	transport Transport
	rt        Runtime
	id        string // the client's part of owner ids
	watchdog  time.Duration
	timeout   time.Duration
	poll      time.Duration // how long waiters of semaphores, latches and read sides trust in messages
	fairWait  time.Duration // how long a place in a fair queue is kept for a silent waiter
	publish   PublishMode
	backoff   Backoff
	compat316 bool  // the protocol of Redisson 3.16: scripts and arguments are chosen by it
	replicas  int64 // so many must confirm, however few the master knows of; 0: one of those that it knows of
	observer  func(Event)

	base  context.Context // of background work
	close context.CancelCauseFunc

	mu      sync.Mutex // never held across a call of Runtime (but of a Timer), Transport or user
	owners  uint64     // fresh owner ids given out
	keeper  keeper
	hub     hub
	repeats repeats
}

// New makes a Client over a Transport and a Runtime, which is System() in production. It
// sends nothing.
func New(t Transport, rt Runtime, opts ...Option) *Client {
	c := &Client{
		transport: t,
		rt:        rt,
		watchdog:  DefaultWatchdog,
		timeout:   DefaultTimeout,
		poll:      DefaultPoll,
		fairWait:  DefaultFairWait,
		backoff:   DefaultBackoff,
	}
	for _, opt := range opts {
		opt(c)
	}
	if c.id == "" {
		c.id = c.randomUUID()
	}
	c.base, c.close = rt.WithCancelCause(context.Background())
	c.keeper.timer = rt.NewTimer(c.look)
	return c
}

// Close ends the client's background work. Locks that are still held are reported lost,
// since nothing renews them any more; Redis frees them when their leases end. Calls that
// wait, and calls that ask for something to hold from now on, return ErrClosed. A waiter
// for a lock that wakes nobody returns it at its next attempt. The Transport stays open:
// it is the caller's.
func (c *Client) Close() {
	c.close(ErrClosed)
	c.loseAll()
	c.mu.Lock()
	channels := slices.Clone(c.hub.channels)
	c.mu.Unlock()
	for _, ch := range channels {
		c.wakeWaiters(ch, everyone)
	}
}

func (c *Client) isClosed() bool { return c.base.Err() != nil }

// ID returns the client's part of its owner ids: a UUID, or what WithID has set.
func (c *Client) ID() string { return c.id }

// eval runs a script under a time limit.
func (c *Client) eval(ctx context.Context, limit time.Duration, q call) (Reply, error) {
	ctx2, cancel := c.rt.WithDeadline(ctx, c.rt.Mono()+limit)
	defer cancel()
	reply, err := c.transport.Eval(ctx2, q.script, q.keys, q.args)
	return reply, outcomeError(ctx, err)
}

// evalSynced is eval of a write that must not be lost with its master. The
// error is ErrReplication if the master has replicas and none confirmed within
// syncLimit, or fewer than RequireReplicas asks for; the script was run then. For as
// long as patience, and ctx, a request is repeated that is refused on the way, see
// persist. A request itself is made with sends, by q each time anew.
func (c *Client) evalSynced(
	ctx, sends context.Context, patience time.Duration, q func() call,
) (reply Reply, err error) {
	until := c.patienceEnds(patience)
	once := func() (err error) {
		reply, err = c.evalSyncedOnce(sends, q())
		return err
	}
	err = c.persist(ctx, until, once(), once)
	return reply, err
}

func (c *Client) evalSyncedOnce(ctx context.Context, q call) (Reply, error) {
	t, ok := c.replicated()
	switch {
	case !ok && c.replicas > 0:
		return Reply{}, fmt.Errorf("%w: %w", ErrNotSent, ErrReplication)
	case !ok:
		return c.eval(ctx, c.timeout, q)
	}
	ctx2, cancel := c.rt.WithDeadline(ctx, c.rt.Mono()+c.timeout+syncLimit)
	defer cancel()
	reply, known, confirmed, err := t.EvalReplicated(ctx2, q.script, q.keys, q.args, syncLimit)
	if err == nil && confirmed < max(c.replicas, min(known, 1)) {
		return reply, ErrReplication
	}
	return reply, outcomeError(ctx, err)
}

// replicated tells whether masters may have replicas: what these have not confirmed may be
// lost with its master.
func (c *Client) replicated() (t Replicated, ok bool) {
	t, ok = c.transport.(Replicated)
	return t, ok && (c.replicas > 0 || c.transport.Topology().Replicas)
}

// persist sends a request again, refused with err, that is refused because a slot is
// on its way, or nobody serves it, or a new master does, until the Mono time that patienceEnds gave.
// It was not executed: only what has an unknown outcome is never sent again.
func (c *Client) persist(ctx context.Context, until time.Duration, err error, send func() error) error {
	if !isOnItsWay(err) {
		return err
	}
	pause := refusalPause
	gate := c.rt.NewGate()
	for isOnItsWay(err) && c.rt.Mono()+pause <= until {
		if _, ended := gate.Wait(ctx, pause); ended != nil {
			return fmt.Errorf("%w: %w", contextError(ctx), err)
		}
		pause = min(2*pause, refusalPauseMax)
		err = send()
	}
	return err
}

// patienceEnds is the Mono time until which a request that is sent now may be
// sent again: for as long as patience, and as one request may take.
func (c *Client) patienceEnds(patience time.Duration) time.Duration {
	return c.rt.Mono() + min(patience, c.timeout)
}

// patienceOf is for how long an acquisition is repeated that is refused: not beyond its wait.
func (c *Client) patienceOf(l limit) time.Duration {
	if left := l.remaining(c.rt); left >= 0 {
		return left
	}
	return c.timeout
}

// isOnItsWay tells whether a server has refused a request for a reason that
// passes when a slot has moved or a master was replaced. The new one may not know
// the script that was loaded into the old one.
func isOnItsWay(err error) bool {
	switch refusal(err) {
	case "ASK", "CLUSTERDOWN", "MOVED", "NOSCRIPT", "TRYAGAIN":
		return true
	}
	return false
}

// do runs a plain command under a time limit.
func (c *Client) do(ctx context.Context, limit time.Duration, key string, args ...string) (Reply, error) {
	ctx2, cancel := c.rt.WithDeadline(ctx, c.rt.Mono()+limit)
	defer cancel()
	reply, err := c.transport.Do(ctx2, key, args...)
	return reply, outcomeError(ctx, err)
}

// integer runs a command whose reply is a number, nil counting as 0.
func (c *Client) integer(ctx context.Context, key string, args ...string) (int64, error) {
	reply, err := c.do(ctx, c.timeout, key, args...)
	if err != nil || reply.Kind == NilReply {
		return 0, err
	}
	n, ok := reply.Integer()
	if !ok {
		return 0, fmt.Errorf("%s replied no number: %+v", args[0], reply)
	}
	return n, nil
}

// exists tells whether there is a key.
func (c *Client) exists(ctx context.Context, key string) (bool, error) {
	n, err := c.integer(ctx, key, "EXISTS", key)
	return n == 1, err
}

// insist gives back, in the background, what owner may have of key: it repeats a
// request until it has no error, or patience is over, as its turn comes. A closed
// client asks once.
func (c *Client) insist(key, owner string, patience time.Duration, request func(ctx context.Context) error) {
	c.insistWhile(func(err error) bool { return err != nil }, key, owner, patience, request)
}

// insistWhile is insist for a request that is repeated for as long as its error is open.
func (c *Client) insistWhile(
	open func(err error) bool, key, owner string, patience time.Duration, request func(ctx context.Context) error,
) {
	until := c.rt.Mono() + patience
	c.rt.Go(func() {
		pause := c.rt.NewGate()
		err := request(context.WithoutCancel(c.base))
		for open(err) && c.rt.Mono() < until {
			if _, ended := pause.Wait(c.base, retryPeriod); ended != nil {
				return
			}
			if closed := c.again(until, func() { err = request(c.base) }); closed != nil {
				return
			}
		}
		c.observe(Event{Kind: GivenBack, Key: key, Owner: owner, Err: err})
	})
}

// recall gives back, in the background, what an acquisition has taken, or in doubt may have. Then it
// asks again for as long as the acquisition can still be on its way: what gave
// back may have overtaken it. TCP sends again at pauses that double, so behind a partition that
// is as long again as the acquisition was under way when the first answer came.
func (c *Client) recall(
	key, owner string, patience time.Duration, doubtful bool, giveBack func(ctx context.Context) error,
) {
	asked, late := c.rt.Mono()-c.timeout, time.Duration(0)
	c.insist(key, owner, patience, func(ctx context.Context) error {
		sent := c.rt.Mono()
		err := giveBack(ctx)
		if err != nil || !doubtful {
			return err
		}
		if now := c.rt.Mono(); late == 0 {
			late = now + (now - asked)
		}
		if sent < late {
			return ErrUnknown
		}
		return nil
	})
}

// sharded tells whether wake-ups go by sharded pub/sub.
func (c *Client) sharded() bool {
	switch {
	case c.compat316:
		return false
	case c.publish == PublishAuto:
		return c.transport.Topology().Sharded
	}
	return c.publish == PublishSharded
}

// publishCommand is the command that scripts wake waiters with.
func (c *Client) publishCommand() string {
	if c.sharded() {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// ownerOr returns the owner that the caller has named, or a fresh one.
func (c *Client) ownerOr(named string) string {
	if named != "" {
		return named
	}
	return c.freshOwner()
}

// freshOwner returns an owner id that no other acquisition uses.
func (c *Client) freshOwner() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owners++
	return c.id + ":" + strconv.FormatUint(c.owners, 10)
}

func (c *Client) observe(e Event) {
	if c.observer != nil {
		c.observer(e)
	}
}

// randomHex returns n random bytes as lower-case hexadecimal.
func (c *Client) randomHex(n int) []byte {
	p := make([]byte, 3*n)
	c.rt.Random(p[2*n:])
	hex.Encode(p, p[2*n:])
	return p[:2*n]
}

// randomUUID returns a UUID of version 4 (RFC 9562).
func (c *Client) randomUUID() string {
	var u [16]byte
	c.rt.Random(u[:])
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// isDoubtful tells whether a request may have been executed without our
// knowing of its effect.
func isDoubtful(err error) bool { return errors.Is(err, ErrUnknown) || errors.Is(err, ErrLost) }

// mayHaveRun tells whether a request that failed may have done what was asked, or a part
// of it: a server's error can come in the middle of a script, as when a user may not run
// one of its commands. All of them look at the types of keys before they take anything.
func mayHaveRun(err error) bool {
	if serverError(err) != nil {
		return !notRun(err) && refusal(err) != "WRONGTYPE"
	}
	return isDoubtful(err) || errors.Is(err, ErrReplication)
}
