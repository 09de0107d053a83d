package goredis_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// inEachProtocol runs a test against each server with clients of either protocol.
func inEachProtocol(t *testing.T, test func(t *testing.T, rdb *redis.Client, client func() *lockclient.Client)) {
	t.Helper()
	onEachServer(t, func(t *testing.T, addr string) {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { rdb.Close() })
		transport, err := goredis.New(t.Context(), rdb)
		require.NoError(t, err)
		for _, protocol := range [][]lockclient.Option{nil, {lockclient.Compat316()}} {
			test(t, rdb, func() *lockclient.Client {
				c := lockclient.New(transport, lockclient.System(), protocol...)
				t.Cleanup(c.Close)
				return c
			})
		}
	})
}

// What is locked as one kind is not granted as another: it is refused, or where the one is a
// Simple, whose key is no hash, an error.
func TestKindsOfOneNameExcludeEachOther(t *testing.T) { inEachProtocol(t, kindsOfOneName) }

func kindsOfOneName(t *testing.T, _ *redis.Client, client func() *lockclient.Client) {
	c := client()
	key := uniqueKey(t)
	locks := kindsOf(c, key)
	for _, held := range slices.Sorted(maps.Keys(locks)) {
		h, err := locks[held].TryLock(t.Context())
		require.NoError(t, err, held)
		for _, asked := range slices.Sorted(maps.Keys(locks)) {
			if held == "R" && asked == "R" {
				continue
			}
			_, err := locks[asked].TryLock(t.Context())
			switch what := asked + ", while it is locked as " + held; {
			case isText[held] && !isText[asked]:
				assert.ErrorContains(t, err, "WRONGTYPE", what)
			default:
				assert.ErrorIs(t, err, lockclient.ErrNotAcquired, what)
			}
		}
		require.NoError(t, h.Unlock(t.Context()), held)
	}
}

// isText tells of kinds whose key is no hash.
var isText = map[string]bool{"Simple": true, "Redlock": true}

// kindsOf are all kinds of lock that exclude each other.
func kindsOf(c *lockclient.Client, key string) map[string]*lockclient.Lock {
	return map[string]*lockclient.Lock{
		"Mutex": c.Mutex(key), "Fair": c.Fair(key), "Fenced": c.Fenced(key), "Spin": c.Spin(key),
		"NonReentrant": c.NonReentrant(key), "NonReentrantFair": c.NonReentrantFair(key),
		"Simple": c.Simple(key), "R": c.RW(key).R(), "W": c.RW(key).W(),
		"HashRedlock": lockclient.HashRedlock(key, c), "Redlock": lockclient.Redlock(key, c),
	}
}

// Whose lock was removed, and taken as a kind whose key is of another type, has lost it.
func TestLockThatIsOfAnotherTypeNow(t *testing.T) { inEachProtocol(t, ofAnotherType) }

func ofAnotherType(t *testing.T, rdb *redis.Client, client func() *lockclient.Client) {
	c := client()
	key := uniqueKey(t)
	locks := kindsOf(c, key)
	for _, held := range slices.Sorted(maps.Keys(locks)) {
		for _, learns := range []func(h *lockclient.Held) error{
			func(h *lockclient.Held) error { return h.Extend(t.Context(), time.Minute) },
			func(h *lockclient.Held) error { return h.Unlock(t.Context()) },
		} {
			h, err := locks[held].TryLock(t.Context())
			require.NoError(t, err, held)
			other := locks["Mutex"]
			if !isText[held] {
				other = locks["Simple"]
			}
			require.NoError(t, rdb.Del(t.Context(), key).Err())
			successor, err := other.TryLock(t.Context())
			require.NoError(t, err, held)
			assert.ErrorIs(t, learns(h), lockclient.ErrLost, held)
			require.NoError(t, successor.Unlock(t.Context()), held)
		}
	}
}

// What the server still counts of an owner as a reader, among others who read, is nothing that the owner can
// have as another kind.
func TestNameThatHasRead(t *testing.T) { inEachProtocol(t, hasRead) }

func hasRead(t *testing.T, _ *redis.Client, client func() *lockclient.Client) {
	c, heir := client(), client() // who has the name next, and does not know what it had
	for _, kind := range []string{"Mutex", "Fair", "Fenced", "Spin", "NonReentrant", "NonReentrantFair"} {
		key := uniqueKey(t) + kind
		other, err := c.RW(key).R().TryLock(t.Context())
		require.NoError(t, err, kind)
		mine, err := c.RW(key).R().TryLock(t.Context(), lockclient.As("me"), lockclient.Lease(50*time.Millisecond))
		require.NoError(t, err, kind)
		<-mine.Lost()
		time.Sleep(10 * time.Millisecond) // its timer has ended
		require.ErrorIs(t, mine.Unlock(t.Context()), lockclient.ErrLost, kind)
		for _, asks := range []*lockclient.Client{c, heir} {
			for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
				_, err = kindsOf(asks, key)[kind].TryLock(t.Context(), lockclient.As("me"), lockclient.Wait(wait))
				assert.ErrorIs(t, err, lockclient.ErrNotAcquired, "%s beside a reader", kind)
			}
		}
		require.NoError(t, other.Unlock(t.Context()), kind)
		h, err := kindsOf(c, key)[kind].TryLock(t.Context(), lockclient.As("me"))
		require.NoError(t, err, kind)
		require.NoError(t, h.Unlock(t.Context()), kind)
	}
}
