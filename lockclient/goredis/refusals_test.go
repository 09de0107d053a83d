package goredis_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
)

// refusing is a Transport whose next request a test has be refused.
type refusing struct {
	lockclient.Transport
	mu   sync.Mutex
	with *lockclient.ServerError // nil: it is not
	runs bool                    // but executed, if it is a script
}

func (f *refusing) next(with string, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.with, f.runs = &lockclient.ServerError{Text: with}, runs
}

// request makes a request, which is refused before or after it is executed; a plain
// command only before.
func (f *refusing) request(plain bool, execute func() (lockclient.Reply, error)) (r lockclient.Reply, err error) {
	f.mu.Lock()
	with, runs := f.with, f.runs
	f.with = nil
	f.mu.Unlock()
	if with == nil {
		return execute()
	}
	if runs && !plain {
		_, _ = execute()
	}
	return r, with
}

func (f *refusing) Eval(ctx context.Context, s *lockclient.Script, keys, args []string) (lockclient.Reply, error) {
	return f.request(false, func() (lockclient.Reply, error) { return f.Transport.Eval(ctx, s, keys, args) })
}

func (f *refusing) Do(ctx context.Context, key string, args ...string) (lockclient.Reply, error) {
	return f.request(true, func() (lockclient.Reply, error) { return f.Transport.Do(ctx, key, args...) })
}

// refusals are errors with which nothing was done, and those that may come in the middle
// of a script.
var refusals = []struct {
	text string
	runs bool
}{
	{"LOADING Redis is loading the dataset in memory", false},
	{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", false},
	{"OOM command not allowed when used memory > 'maxmemory'.", false},
	{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false},
	{"NOREPLICAS Not enough good replicas to write.", false},
	{"MISCONF Errors writing to the AOF file: No space left on device", false},
	{"READONLY You can't write against a read only replica.", false},
	{"CLUSTERDOWN The cluster is down", false},
	{"TRYAGAIN Multiple keys request during rehashing of slot", false},
	{"NOSCRIPT No matching script. Please use EVAL.", false},
	{"NOAUTH Authentication required.", false},
	{"WRONGPASS invalid username-password pair or user is disabled.", false},
	{"ERR max number of clients reached", false}, // of a new connection, which rueidis takes for an answer
	{"NOPERM ACL failure in script", true},       // of later versions of Redis
	{"ERR The user executing the script can't run this command or subcommand", true},
	{"EXECABORT Transaction discarded because of previous errors.", true},
}

// Of whatever is refused nothing is left, and no hold is lost.
func TestRefusals(t *testing.T) {
	kinds := map[string]func(c *lockclient.Client) *lockclient.Lock{
		"mutex":         func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
		"fair":          func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
		"spin":          func(c *lockclient.Client) *lockclient.Lock { return c.Spin("k") },
		"fenced":        func(c *lockclient.Client) *lockclient.Lock { return c.Fenced("k") },
		"non-reentrant": func(c *lockclient.Client) *lockclient.Lock { return c.NonReentrant("k") },
		"read":          func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").R() },
		"write":         func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
		"permit":        func(c *lockclient.Client) *lockclient.Lock { return c.PermitSemaphore("k").Permit() },
		"multi":         func(c *lockclient.Client) *lockclient.Lock { return lockclient.Multi(c.Mutex("k"), c.Mutex("l")) },
		"simple":        func(c *lockclient.Client) *lockclient.Lock { return c.Simple("k") },
		"redlock":       func(c *lockclient.Client) *lockclient.Lock { return lockclient.Redlock("k", c) },
		"hash-redlock":  func(c *lockclient.Client) *lockclient.Lock { return lockclient.HashRedlock("k", c) },
	}
	for name, lock := range kinds {
		t.Run(name, func(t *testing.T) {
			for _, r := range refusals {
				staged(t, func(s stage) { refused(s, name, lock, r.text, r.runs) })
			}
		})
	}
}

// isQuorum tells of a kind that is a Redlock, for which what all masters refuse is unknown.
func isQuorum(kind string) bool { return strings.HasSuffix(kind, "redlock") }

func refused(
	s stage, name string, lock func(c *lockclient.Client) *lockclient.Lock, text string, runs bool,
) {
	f := &refusing{Transport: s.transport()}
	c, ctx := s.over(f), s.Context()
	if name == "permit" {
		_, err := c.PermitSemaphore("k").TrySetPermits(ctx, 1)
		require.NoError(s, err)
	}
	other, _ := s.client()
	l, another := lock(c), lock(other)
	if name == "read" {
		another = other.RW("k").W()
	}
	// What was asked for before is over, and the lock is free.
	isFree := func(after string) {
		s.Helper()
		time.Sleep(2500 * time.Millisecond)
		h, err := another.TryLock(ctx)
		if assert.NoError(s, err, "after %s, refused with %s", after, text) {
			require.NoError(s, h.Unlock(ctx))
		}
		time.Sleep(time.Minute)
	}
	f.next(text, runs)
	if h, err := l.TryLock(ctx); err == nil {
		require.NoError(s, h.Unlock(ctx))
	}
	isFree("an acquisition")
	h := s.lock(l, ctx)
	f.next(text, runs)
	_ = h.Unlock(ctx)
	isFree("a release")
	h = s.lock(l, ctx, lockclient.Lease(20*time.Second))
	f.next(text, runs)
	require.Error(s, h.Extend(ctx, 2*time.Second))
	time.Sleep(10 * time.Second)
	assert.Equal(s, runs || isQuorum(name), isLost(h), "after an extension, refused with %s", text)
	_ = h.Unlock(ctx)
	isFree("an extension")
	if name == "simple" || isQuorum(name) {
		return // nothing renews it, and it is not taken again
	}
	refusedLater(s, name, l, f, text, runs, isFree)
}

// refusedLater has a renewal and a re-entry be refused.
func refusedLater(
	s stage, name string, l *lockclient.Lock, f *refusing, text string, runs bool, isFree func(after string),
) {
	ctx := s.Context()
	h := s.lock(l, ctx)
	time.Sleep(5 * time.Second)
	f.next(text, runs)
	time.Sleep(time.Minute)
	assert.False(s, isLost(h), "after a renewal, refused with %s", text)
	require.NoError(s, h.Unlock(ctx))
	isFree("a renewal")
	if name != "non-reentrant" && name != "permit" {
		h = s.lock(l, ctx)
		f.next(text, runs)
		if again, err := l.TryLock(h.Context()); err == nil {
			require.NoError(s, again.Unlock(ctx))
		}
		time.Sleep(time.Minute)
		assert.False(s, isLost(h), "after a re-entry, refused with %s", text)
		require.NoError(s, h.Unlock(ctx))
		isFree("a re-entry")
	}
}

// deaf is a Transport that may not subscribe.
type deaf struct{ lockclient.Transport }

func (deaf) Subscribe(
	context.Context, string, bool, func(string), func(),
) (lockclient.Subscription, error) {
	return nil, &lockclient.ServerError{Text: "NOPERM this user has no permissions to access the channel"}
}

// Who may not listen is told so and leaves no place in a queue behind; a waiter of a
// HashRedlock asks again at times instead.
func TestRefusedSubscription(t *testing.T) {
	staged(t, func(s stage) {
		f, ctx := s.transport(), s.Context()
		other, c := s.over(f), s.over(deaf{f})
		for _, lock := range []func(c *lockclient.Client) *lockclient.Lock{
			func(c *lockclient.Client) *lockclient.Lock { return c.Mutex("k") },
			func(c *lockclient.Client) *lockclient.Lock { return c.Fair("k") },
			func(c *lockclient.Client) *lockclient.Lock { return c.RW("k").W() },
		} {
			h := s.lock(lock(other), ctx)
			_, err := lock(c).Lock(ctx)
			require.ErrorContains(s, err, "subscribe: NOPERM")
			time.Sleep(5 * time.Second)
			require.NoError(s, h.Unlock(ctx))
			time.Sleep(5 * time.Second)
			require.Equal(s, "(empty array)", s.server.Do("KEYS", "*"))
		}
		set, err := other.Semaphore("s").TrySetPermits(ctx, 0)
		require.True(s, set, err)
		_, err = c.Semaphore("s").Acquire(ctx, 1)
		require.ErrorContains(s, err, "subscribe: NOPERM")
		h := s.lock(lockclient.HashRedlock("k", other), ctx, lockclient.Lease(time.Minute))
		time.AfterFunc(2*time.Second, func() { _ = h.Unlock(ctx) })
		h = s.lock(lockclient.HashRedlock("k", c), ctx)
		require.NoError(s, h.Unlock(ctx))
	})
}

// A user who may run a part of a script's commands leaves no lock behind that never ends.
func TestForbiddenCommand(t *testing.T) {
	onEachServer(t, func(t *testing.T, addr string) {
		key := uniqueKey(t)
		admin := redis.NewClient(&redis.Options{Addr: addr})
		defer admin.Close()
		user := []any{"ACL", "SETUSER", "worker", "on", ">pw", "allkeys", "allchannels", "+@all", "-pexpire"}
		require.NoError(t, admin.Do(t.Context(), user...).Err())
		defer admin.Do(context.Background(), "ACL", "DELUSER", "worker")
		rdb := redis.NewClient(&redis.Options{Addr: addr, Username: "worker", Password: "pw"})
		defer rdb.Close()
		client := lockclient.New(transportOf(t, rdb), lockclient.System())
		defer client.Close()
		_, err := client.Mutex(key).TryLock(t.Context())
		require.ErrorAs(t, err, new(*lockclient.ServerError))
		assert.Eventually(t, func() bool { return admin.Exists(t.Context(), key).Val() == 0 },
			realTime, 10*time.Millisecond)
	})
}
