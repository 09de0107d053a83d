package lockclient

import (
	"context"
	"time"
)

// form is what a Redlock keeps at its key on each master.
type form interface {
	// newOwner returns the identity of one attempt, used by no other.
	newOwner(c *Client) string
	// acquire takes the lock on one master.
	acquire(ctx context.Context, n node, lease time.Duration) NodeResult
	// extend and release do so if it is the owner's there; held is false if not.
	extend(ctx context.Context, n node, lease time.Duration) (held bool, err error)
	release(ctx context.Context, n node) (held bool, err error)
	// hint is when to ask again after a round that failed, if no wake-up comes.
	hint(rt Runtime, failed *round) time.Duration
	// await joins the waiters.
	await(ctx context.Context, r *request, key string, clients []*Client) (waiting, error)
}

// node is a request's master, and in whose name it is made.
type node struct {
	client     *Client
	key, owner string
	limit      time.Duration // of the request
}

// plainForm is that of the Redis documentation: a string, the owner.
type plainForm struct{}

func (plainForm) newOwner(c *Client) string { return string(c.randomHex(20)) } // the documentation's 20 bytes

func (plainForm) acquire(ctx context.Context, n node, lease time.Duration) NodeResult {
	reply, err := n.client.do(ctx, n.limit, n.key, "SET", n.key, n.owner, "NX", "PX", millis(lease))
	return said(reply.Kind == TextReply, err)
}

func (plainForm) extend(ctx context.Context, n node, lease time.Duration) (bool, error) {
	reply, err := ofOwner(n.client.eval(ctx, n.limit, plainExtendCall(n.key, n.owner, lease)))
	return reply.Int == 1, err
}

func (plainForm) release(ctx context.Context, n node) (bool, error) {
	reply, err := ofOwner(n.client.eval(ctx, n.limit, plainReleaseCall(n.key, n.owner)))
	return reply.Int == 1, err
}

func (plainForm) hint(rt Runtime, _ *round) time.Duration { return pollDelay(rt) }

func (plainForm) await(_ context.Context, _ *request, _ string, clients []*Client) (waiting, error) {
	return poller{clients[0].rt.NewGate()}, nil
}

// hashForm is Redisson's: the hash of a Mutex, by the scripts of a Mutex.
type hashForm struct{}

func (hashForm) newOwner(c *Client) string { return c.freshOwner() }

func (hashForm) acquire(ctx context.Context, n node, lease time.Duration) NodeResult {
	m := mutex{n.client, n.key}
	reply, err := n.client.eval(ctx, n.limit, m.acquire(&request{owner: n.owner, lease: lease}))
	var ans answer
	if err == nil {
		err = m.read(reply, &ans)
	}
	result := said(ans.taken, err)
	if result.left = ans.hint; result.left < 0 {
		result.left = n.client.watchdog // a lock without TTL: look again at times
	}
	return result
}

func (hashForm) extend(ctx context.Context, n node, lease time.Duration) (bool, error) {
	ctx, cancel := n.limited(ctx)
	defer cancel()
	reply, err := ofOwner(n.client.eval(ctx, n.client.timeout, n.lock().extension(n.owner, lease)))
	return reply.Int == 1, err
}

func (hashForm) release(ctx context.Context, n node) (bool, error) {
	ctx, cancel := n.limited(ctx)
	defer cancel()
	reply, err := n.lock().unlock(ctx, n.owner, n.client.watchdog, n.client.record(n.key), 0, false)
	return reply.Kind != NilReply, err
}

// lock is the Mutex of a node.
func (n node) lock() *hashLock {
	return &hashLock{client: n.client, key: n.key, dialect: mutex{n.client, n.key}}
}

// limited is ctx for one request.
func (n node) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return n.client.rt.WithDeadline(ctx, n.client.rt.Mono()+n.limit)
}
