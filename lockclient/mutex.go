package lockclient

import (
	"context"
	"fmt"
	"time"
)

// Messages on a lock's channel, in Redisson's numbers.
const (
	wakeOne = "0" // one waiter of each process
	wakeAll = "1" // every waiter
)

// Mutex names Redisson's reentrant lock (RLock): a hash of owner to hold count
// at key, unfair, its waiters woken by pub/sub and by TTL.
func (c *Client) Mutex(key string) *Lock {
	return &Lock{client: c, key: key, kind: &mutex{client: c, key: key}}
}

// Fenced names Redisson's fenced lock (RFencedLock): a Mutex whose every
// acquisition draws a larger token, see Held.Token. A resource that refuses a
// token smaller than the largest it has seen is safe from a holder that does
// not know yet that its lease has ended. A Mutex of the same key excludes it.
func (c *Client) Fenced(key string) *Lock {
	return &Lock{client: c, key: key, kind: &mutex{client: c, key: key, fenced: true}}
}

// mutex is the kind of Mutex and Fenced.
type mutex struct {
	client *Client
	key    string
	fenced bool
}

func (m *mutex) reentrant() bool { return true }

func (m *mutex) defaultLease() (time.Duration, bool) { return m.client.watchdog, true }

func (m *mutex) newOwner() string { return m.client.freshOwner() }

func (m *mutex) await(ctx context.Context) (waiting, error) {
	return m.client.join(ctx, lockChannel(m.key))
}

func (m *mutex) acquire(ctx context.Context, r request) (answer, error) {
	c := m.client
	script, keys := mutexAcquire, []string{m.key}
	if m.fenced {
		script, keys = fencedAcquire, []string{m.key, tokenKey(m.key)}
	}
	ans := answer{owner: r.owner, sent: c.rt.Mono()}
	reply, err := c.evalSynced(ctx, script, keys, []string{millis(r.lease), r.owner})
	unsynced := err == ErrReplication
	if err == nil || unsynced {
		err = m.read(reply, &ans)
	}
	switch {
	case err == nil && ans.taken && unsynced:
		m.giveBack(r)
		return ans, ErrReplication
	case err == nil && ans.taken && validity(ans.sent, r.lease) <= c.rt.Mono():
		err = fmt.Errorf("the lease ended before its reply came: %w", ErrLost)
	}
	if isDoubtful(err) && r.hold == nil && !r.named {
		m.giveBack(r)
	}
	return ans, err
}

// read reads the reply of an acquire script. Redisson takes a first element of
// -1 for success, which a lock without TTL has too; the token tells them apart.
func (m *mutex) read(reply Reply, ans *answer) error {
	if !m.fenced && reply.Kind == NilReply {
		ans.taken = true
		return nil
	}
	hint := reply
	if m.fenced {
		if reply.Kind != ListReply || len(reply.List) != 2 {
			return fmt.Errorf("unexpected reply: %+v", reply)
		}
		hint = reply.List[0]
		if token := reply.List[1].Int; token > 0 {
			ans.taken, ans.token = true, uint64(token)
			return nil
		}
	}
	ttl, ok := hint.Integer()
	if !ok {
		return fmt.Errorf("unexpected reply: %+v", reply)
	}
	ans.hint = time.Duration(ttl) * time.Millisecond
	return nil
}

// giveBack releases in the background what an owner has taken, or may have
// taken if nothing else can be in its name.
func (m *mutex) giveBack(r request) {
	c := m.client
	id := c.requestID()
	c.persist(c.rt.Mono()+c.latchTTL(), func(ctx context.Context) error {
		_, err := m.unlock(ctx, r.owner, r.lease, id)
		return err
	})
}

func (m *mutex) extend(ctx context.Context, h *hold, lease time.Duration) error {
	c := m.client
	reply, err := c.eval(ctx, c.timeout, mutexRenew, []string{m.key}, []string{millis(lease), h.owner})
	if err != nil {
		return err
	}
	if len(reply.List) != 1 || reply.List[0].Int != 1 {
		return ErrLost
	}
	return nil
}

func (m *mutex) release(ctx context.Context, h *hold, l leaving) error {
	c := m.client
	sent, id := c.rt.Mono(), c.requestID()
	reply, err := m.unlock(ctx, h.owner, l.lease, id)
	if err != nil {
		if isDoubtful(err) {
			c.doubt(h)
		}
		c.persist(sent+c.latchTTL(), func(ctx context.Context) error {
			_, err := m.unlock(ctx, h.owner, l.lease, id)
			return err
		})
		return err
	}
	freed, held := reply.Integer()
	switch {
	case !held || freed == 1 && l.left > 0:
		return ErrLost // the server knew of fewer acquisitions than we
	case l.left > 0:
		c.prolong(h, sent, l.lease)
	case freed == 0 && l.doubtful > 0:
		return m.settle(ctx, h, l)
	}
	return nil
}

// settle ends a hold of which the server still counts acquisitions, when as
// many were of unknown outcome. It reads the count first: never is a hold
// decremented on suspicion.
func (m *mutex) settle(ctx context.Context, h *hold, l leaving) error {
	c := m.client
	n, err := c.HoldCount(ctx, m.key, h.owner)
	for range min(n, int64(l.doubtful)) {
		if err != nil {
			break
		}
		_, err = m.unlock(ctx, h.owner, l.lease, c.requestID())
	}
	return err
}

// unlock runs the release script once. Repeated with the same id it changes
// nothing: the first run has left its outcome in the latch, which is deleted
// when the reply has come.
func (m *mutex) unlock(ctx context.Context, owner string, lease time.Duration, id string) (Reply, error) {
	c := m.client
	latch := latchKey(m.key, id)
	reply, err := c.eval(ctx, c.timeout, mutexRelease,
		[]string{m.key, lockChannel(m.key), latch},
		[]string{wakeOne, millis(lease), owner, c.publishCommand(), millis(c.latchTTL())})
	if err == nil && reply.Kind != NilReply {
		c.rt.Go(func() { _, _ = c.do(c.base, c.timeout, latch, "DEL", latch) })
	}
	return reply, err
}

// latchTTL is how long an unlock may be repeated. Redisson's rule with its
// default settings gives 16 s to 20 s.
func (c *Client) latchTTL() time.Duration { return 4*c.timeout + 8*time.Second }

// requestID names one unlock and its repetitions.
func (c *Client) requestID() string { return c.randomHex(16) }
