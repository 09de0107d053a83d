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

// Constant after initialisation.
var (
	mutexAcquire    = embedded("mutex_acquire")
	fencedAcquire   = embedded("fenced_acquire")
	mutexRelease    = embedded("mutex_release")
	mutexRelease316 = embedded("mutex_release_316")
	mutexExtend     = embedded("mutex_extend")
	mutexForce      = embedded("mutex_force")
	mutexForce316   = embedded("mutex_force_316")
)

// Mutex names Redisson's reentrant lock (RLock): a hash of owner to hold count at key. It
// is unfair, and its waiters are woken by pub/sub and by TTL.
func (c *Client) Mutex(key string) *Lock {
	return c.hashLock(key, mutex{c, key})
}

// Fenced names Redisson's fenced lock (RFencedLock): a Mutex of which every acquisition
// draws a larger token, see Held.Token. A resource that refuses any token smaller than
// the largest it has seen is safe from a holder that does not know yet that its lease has
// ended. A Mutex of the same key excludes it.
func (c *Client) Fenced(key string) *Lock {
	return c.hashLock(key, fenced{mutex{c, key}})
}

// hashLock makes a Lock of a kind that keeps a hash.
func (c *Client) hashLock(key string, d dialect) *Lock {
	return &Lock{client: c, key: key, kind: &hashLock{client: c, key: key, dialect: d}}
}

// mutex is the dialect of Mutex, from which others differ.
type mutex struct {
	client *Client
	key    string
}

func (m mutex) reentrant() bool { return true }

func (m mutex) acquire(r *request) call {
	return call{mutexAcquire, []string{m.key}, r.again(millis(r.lease), r.owner)}
}

// again adds to the arguments of an acquisition that its owner has the lock.
func (r *request) again(args ...string) []string {
	if r.reenters {
		args = append(args, "again")
	}
	return args
}

func (m mutex) read(reply Reply, ans *answer) error {
	if reply.Kind == NilReply {
		ans.taken = true
		return nil
	}
	return ans.refused(reply)
}

// refused notes the remaining TTL with which an acquisition was refused.
func (ans *answer) refused(ttlMillis Reply) error {
	n, ok := ttlMillis.Integer()
	if !ok {
		return fmt.Errorf("unexpected reply: %+v", ttlMillis)
	}
	ans.hint = fromMillis(n)
	return nil
}

func (m mutex) withdraw(*request) (call, bool) { return call{}, false }

func (m mutex) release(owner string, lease time.Duration, latch string) call {
	c := m.client
	keys := []string{m.key, lockChannel(m.key), latch}
	args := []string{wakeOne, millis(lease), owner, c.publishCommand(), millis(c.latchTTL())}
	if c.compat316 {
		return call{mutexRelease316, keys[:2], args[:3]}
	}
	return call{mutexRelease, keys, args}
}

func (m mutex) force() call {
	keys := []string{m.key, lockChannel(m.key)}
	if m.client.compat316 {
		return call{mutexForce316, keys, []string{wakeOne}}
	}
	return call{mutexForce, keys, []string{wakeOne, m.client.publishCommand()}}
}

func (m mutex) await(ctx context.Context, _ *request) (waiting, error) {
	return m.client.join(ctx, lockChannel(m.key))
}

// fenced is the dialect of Fenced.
type fenced struct{ mutex }

func (f fenced) acquire(r *request) call {
	return call{fencedAcquire, []string{f.key, tokenKey(f.key)}, r.again(millis(r.lease), r.owner)}
}

// read expects a pair. Redisson takes a first element of -1 for success, which
// a lock without TTL has too; the token tells them apart.
func (f fenced) read(reply Reply, ans *answer) error {
	if reply.Kind != ListReply || len(reply.List) != 2 {
		return fmt.Errorf("unexpected reply: %+v", reply)
	}
	if token := reply.List[1].Int; token > 0 {
		ans.taken, ans.token = true, uint64(token)
		return nil
	}
	return ans.refused(reply.List[0])
}
