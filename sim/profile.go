package sim

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikv/lockclient"
)

// The model of Redisson's client. It is written from Redisson's protocol after release
// 4.7.0, and has nothing of lockclient but scripts that the two have in common: nobody is
// told of a loss, a renewal that is refused ends silently, and time is looked at where
// Redisson looks at it. In interop/java, TestProfile holds it to what Redisson 4.7.0 does
// in the same stories, TestScripts its scripts to Redisson's.

// Redisson's defaults.
const (
	responseTimeout     = 3 * time.Second         // timeout
	retryAttempts       = 4                       // retryAttempts
	syncTimeout         = time.Second             // slavesSyncTimeout
	subscriptionTimeout = 7500 * time.Millisecond // subscriptionTimeout
	poolSize            = 64                      // slaveConnectionPoolSize
	fairWaitTimeout     = 5 * time.Minute         // fairLockWaitTimeout
)

// refusals are the errors of a server after which a request is sent again.
var refusals = []string{"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "NOREPLICAS", "READONLY", "TRYAGAIN"}

var (
	// errResponseTimeout is RedisResponseTimeoutException.
	errResponseTimeout = errors.New("no response in time")
	// errNotSynced is NoSyncedSlavesException.
	errNotSynced = errors.New("none of the replicas was synced")
	// errMonitorState is IllegalMonitorStateException.
	errMonitorState = errors.New("attempt to unlock a lock that is not locked by the current thread")
	// errNotTaken says that tryLock() returned false.
	errNotTaken = errors.New("tryLock() returned false")
)

// redisson is one Redisson instance: a process's client of one master.
type redisson struct {
	*transport
	root     *simCtx
	watchdog time.Duration
	fairWait time.Duration
	broken   bool               // releases look at no owner
	replicas map[*node]int64    // of each master, as far as known
	renewals [2]renewals        // of plain locks, of read locks
	loaded   map[scriptAt]int32 // the life of the connection in which it was; of a cluster
	replaced map[*node]*node    // masters that have no slot any more: who has their last one
	lent     map[*node]int      // connections to replicas that never came back
	races    *draws             // of the process: which of its threads is first
}

// redissons makes the process's instances, one for each master.
func (c *client) redissons() []*redisson {
	var list []*redisson
	races := c.p.w.newDraws("races/" + c.p.id())
	for _, g := range c.p.w.groups {
		r := &redisson{transport: &transport{p: c.p, group: g}, root: &simCtx{p: c.p, parent: context.Background()},
			watchdog: c.load.TTL, fairWait: fairWaitTimeout, broken: c.load.Broken,
			replicas: map[*node]int64{}, races: &races}
		if c.load.FairWait > 0 {
			r.fairWait = c.load.FairWait
		}
		list = append(list, r)
	}
	c.p.reconnects = list[0].reconnectDelay
	if list[0].clustered() {
		list[0].connect()
	}
	return list
}

// request is one script with its keys and arguments.
type request struct {
	script     *lockclient.Script
	keys, args []string
	resend     bool // after a response timeout also where there are no replicas
}

// send runs a script. Where masters have replicas it is sent again after a
// response timeout, also if it must not be: the batch is made so. The error is
// errNotSynced if that is checked and no replica has confirmed it.
func (r *redisson) send(q request) (reply lockclient.Reply, err error) {
	if r.clustered() {
		return r.sendInCluster(q)
	}
	var b batch
	err = r.again(q.resend || r.p.w.cfg.Sync, func() (err error) {
		reply, err = r.sendOnce(q, &b)
		return err
	})
	return reply, err
}

// again asks again where the server has refused, or was not reached, and with resend
// where it has not answered.
func (r *redisson) again(resend bool, ask func() error) (err error) {
	for attempt := range retryAttempts + 1 {
		if attempt > 0 {
			r.sleep(r.retryDelay(attempt - 1))
		}
		err = ask()
		unsent := errors.Is(err, lockclient.ErrNotSent) || laterAgain(err)
		if !unsent && !(err == errResponseTimeout && resend) {
			break
		}
	}
	return err
}

func (r *redisson) sendOnce(q request, b *batch) (lockclient.Reply, error) {
	if r.Topology().Replicas {
		return r.sendSynced(q, b)
	}
	ctx, cancel := r.limited(responseTimeout)
	defer cancel()
	reply, err := r.Eval(ctx, q.script, q.keys, q.args)
	return reply, r.answerError(ctx, err)
}

// sendSynced runs a script and waits for as many replicas as the master has said that
// it has: it is asked only if that is not known, or if another number has confirmed.
func (r *redisson) sendSynced(q request, b *batch) (reply lockclient.Reply, err error) {
	n := r.p.server(r.group, first(q.keys))
	c := r.p.conn(n)
	l := lane{transport: r.transport, conn: c, place: c.borrow(), key: first(q.keys)}
	known, ok := r.replicas[n]
	if !ok {
		ctx, cancel := r.limited(responseTimeout)
		defer cancel()
		if known, err = l.replicas(ctx); err != nil {
			return reply, r.answerError(ctx, err)
		}
		r.replicas[n] = known
	}
	ctx, cancel := r.limited(batchTimeout(known))
	defer cancel()
	b.known = known
	reply, err = b.send(ctx, &l, func() (lockclient.Reply, error) {
		return l.eval(ctx, &scriptCall{q.script, q.keys, q.args})
	})
	if ctx.Err() == nil {
		c.giveBack(l.place)
	}
	if err = r.answerError(ctx, err); err != nil {
		return reply, err
	}
	return reply, r.checkSynced(n, b.known, b.confirmed)
}

// batch is a script with WAIT behind it, which are sent again together.
type batch struct {
	known, confirmed int64 // replicas that shall confirm, and have
	readonly         error // the script's first READONLY
}

// send asks and waits until so many replicas have confirmed that, if any shall. It ends
// as a whole, by the first refusal. READONLY is sent again, and stays the answer: what the
// script says from then on is not looked at.
// Source: BatchCommandData.tryFailure, to which RedisReadonlyException is no RedisRetryException.
func (b *batch) send(
	ctx context.Context, l *lane, ask func() (lockclient.Reply, error),
) (reply lockclient.Reply, err error) {
	var refused *lockclient.ServerError
	reply, err = ask()
	if errors.As(err, &refused) && strings.HasPrefix(refused.Text, "READONLY") {
		b.readonly = err
	}
	if err == nil {
		err = b.readonly
	}
	if b.known > 0 && (err == nil || errors.As(err, &refused)) {
		var unconfirmed error
		b.confirmed, unconfirmed = l.wait(ctx, b.known, syncTimeout)
		if err == nil || unconfirmed != nil && !errors.As(unconfirmed, &refused) {
			err = unconfirmed
		}
	}
	return reply, err
}

// batchTimeout is how long an answer that so many replicas shall confirm is waited for.
func batchTimeout(known int64) time.Duration {
	if known > 0 {
		return responseTimeout + syncTimeout
	}
	return responseTimeout
}

// checkSynced looks at how many replicas of a master have confirmed.
func (r *redisson) checkSynced(n *node, known, confirmed int64) error {
	if confirmed != known {
		delete(r.replicas, n)
	}
	if known > 0 && confirmed == 0 {
		return errNotSynced
	}
	return nil
}

// laterAgain reports whether the server has refused a request that is sent again
// then: the rule of RedisExecutor.
func laterAgain(err error) bool {
	var refused *lockclient.ServerError
	if !errors.As(err, &refused) {
		return false
	}
	code, _, _ := strings.Cut(refused.Text, " ")
	return slices.Contains(refusals, code)
}

// publish is the command that scripts wake with: in a cluster to channels of its slots.
func (r *redisson) publish() string {
	if r.Topology().Sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// command runs a plain command; its first argument is a key.
func (r *redisson) command(name string, args ...string) (reply lockclient.Reply, err error) {
	if r.clustered() {
		return r.aimed(aim{}, args[0], func(ctx context.Context, l *lane) (lockclient.Reply, error) {
			return l.do(ctx, append([]string{name}, args...)...)
		})
	}
	err = r.again(true, func() (err error) {
		ctx, cancel := r.limited(responseTimeout)
		defer cancel()
		reply, err = r.Do(ctx, args[0], append([]string{name}, args...)...)
		return r.answerError(ctx, err)
	})
	return reply, err
}

// answerError makes a response timeout of everything that leaves the outcome open: also
// what was sent over a connection that has ended since is waited for until then. Where
// the process stood still while an answer came and its time passed, one thread sees the
// one and another the other, and either may be first: that is drawn, but for a search of
// orders, which runs both.
func (r *redisson) answerError(ctx context.Context, err error) error {
	var refused *lockclient.ServerError
	switch left, _ := r.p.contextOf(ctx).remaining(); {
	case errors.Is(err, lockclient.ErrNotSent):
		return err
	case err == nil || errors.As(err, &refused):
		if left <= 0 && r.p.w.untimed == nil && r.races.draw(2) == 1 {
			return errResponseTimeout
		}
		return err
	}
	for ctx.Err() == nil {
		r.p.running().sleep(r.p.contextOf(ctx), -1)
	}
	return errResponseTimeout
}

// execute repeats what no replica has confirmed.
func (r *redisson) execute(f func() error) error {
	err := f()
	for attempt := 0; err == errNotSynced && attempt < retryAttempts; attempt++ {
		r.sleep(r.retryDelay(attempt + 1))
		err = f()
	}
	return err
}

// limited is a context that ends after d.
func (r *redisson) limited(d time.Duration) (context.Context, context.CancelFunc) {
	return clientRuntime{r.p}.WithDeadline(r.root, r.p.clock.Mono()+d)
}

func (r *redisson) sleep(d time.Duration) { r.p.running().sleep(r.root, d) }

// retryDelay is 1 s, then 2 s, a random half of it less. What no replica has confirmed
// is repeated after the second.
func (r *redisson) retryDelay(attempt int) time.Duration {
	return r.jittered(min(time.Second<<attempt, 2*time.Second))
}

// reconnectDelay is how long a connection that has broken stays so, each time that
// another cannot be made: 100 ms, and twice as long each time, up to 10 s, a random half
// of it less.
func (r *redisson) reconnectDelay(attempt int32) time.Duration {
	return r.jittered(min(100*time.Millisecond<<min(attempt, 7), 10*time.Second))
}

// jittered is d, a random half of it less.
func (r *redisson) jittered(d time.Duration) time.Duration { return d/2 + r.below(d/2) }

// below draws a duration less than d.
func (r *redisson) below(d time.Duration) time.Duration {
	return time.Duration(r.p.random() % uint64(max(d, 1)))
}

// latchTTL is for how long repetitions of an unlock find its outcome.
func (r *redisson) latchTTL() time.Duration {
	return (responseTimeout + r.retryDelay(retryAttempts)) * retryAttempts
}

// requestID names one unlock and its repetitions: 32 hexadecimal digits.
func (r *redisson) requestID() string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], r.p.random())
	binary.LittleEndian.PutUint64(b[8:], r.p.random())
	return hex.EncodeToString(b[:])
}

// date is the process's wall clock in Unix milliseconds: what Redisson measures
// waits with.
func (r *redisson) date() int64 { return r.p.clock.Wall().UnixMilli() }

// inMillis is a duration as scripts take it.
func inMillis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
