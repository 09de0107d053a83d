package goredis_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/lockclient"
	"minikv/lockclient/goredis"
)

// What is locked as one kind is not granted as another: it is refused, or where the one is a
// Simple, whose key is no hash, an error.
func TestKindsOfOneNameExcludeEachOther(t *testing.T) { onEachServer(t, kindsOfOneName) }

func kindsOfOneName(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	transport, err := goredis.New(t.Context(), rdb)
	require.NoError(t, err)
	for _, protocol := range [][]lockclient.Option{nil, {lockclient.Compat316()}} {
		c := lockclient.New(transport, lockclient.System(), protocol...)
		defer c.Close()
		key, isText := uniqueKey(t), map[string]bool{"Simple": true, "Redlock": true}
		locks := map[string]*lockclient.Lock{
			"Mutex": c.Mutex(key), "Fair": c.Fair(key), "Fenced": c.Fenced(key), "Spin": c.Spin(key),
			"NonReentrant": c.NonReentrant(key), "NonReentrantFair": c.NonReentrantFair(key),
			"Simple": c.Simple(key), "R": c.RW(key).R(), "W": c.RW(key).W(),
			"HashRedlock": lockclient.HashRedlock(key, c), "Redlock": lockclient.Redlock(key, c),
		}
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
}
