package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/luaengine"
)

const acquireScript = `if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
redis.call('hincrby', KEYS[1], ARGV[2], 1);
redis.call('pexpire', KEYS[1], ARGV[1]);
return nil;
end;
return redis.call('pttl', KEYS[1]);`

const releaseScript = `if (redis.call('hexists', KEYS[1], ARGV[2]) == 0) then return nil; end;
local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1);
if (counter > 0) then
redis.call('pexpire', KEYS[1], ARGV[1]);
return 0;
else
redis.call('del', KEYS[1]);
redis.call('publish', KEYS[2], ARGV[3]);
return 1;
end;`

func words(text ...string) [][]byte {
	args := make([][]byte, len(text))
	for i, one := range text {
		args[i] = []byte(one)
	}
	return args
}

// benchNode is a node with both scripts loaded, and the two commands.
func benchNode(fast bool) (n *Node, s *Session, acquire, release [][]byte) {
	lua := luaengine.New(Resolve)
	lua.SetFastPass(fast)
	clock := &fakeClock{wall: time.UnixMilli(1_700_000_000_000)}
	n = New(Config{Clock: clock, Random: func() uint64 { return 1 }, Lua: lua})
	s = n.NewSession("127.0.0.1:5000")
	n.Do(s, words("SCRIPT", "LOAD", acquireScript))
	n.Do(s, words("SCRIPT", "LOAD", releaseScript))
	acquire = words("EVALSHA", luaengine.SHA1Hex(acquireScript), "1", "lock", "30000", "uuid:1")
	release = words("EVALSHA", luaengine.SHA1Hex(releaseScript), "2", "lock", "channel", "30000", "uuid:1", "0")
	return n, s, acquire, release
}

// BenchmarkLock is one acquire and one release script through Node.Do, with
// and without the fast pass over their syntax trees, and what they do to the
// keyspace alone. With "ratio" both take turns of a few microseconds, so that
// whatever else the machine does strikes both: medians, and their ratio.
func BenchmarkLock(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		n, _, acquire, _ := benchNode(true)
		b.ReportAllocs()
		for b.Loop() {
			storePair(n, acquire)
		}
	})
	for _, mode := range []struct {
		name string
		fast bool
	}{{"fast", true}, {"plain", false}} {
		b.Run(mode.name, func(b *testing.B) {
			n, s, acquire, release := benchNode(mode.fast)
			b.ReportAllocs()
			for b.Loop() {
				scriptPair(n, s, acquire, release)
			}
		})
	}
	b.Run("ratio", func(b *testing.B) {
		const pairs = 32
		n, s, acquire, release := benchNode(true)
		var scripts, store []time.Duration
		for b.Loop() {
			began := time.Now()
			for range pairs {
				scriptPair(n, s, acquire, release)
			}
			middle := time.Now()
			for range pairs {
				storePair(n, acquire)
			}
			scripts, store = append(scripts, middle.Sub(began)), append(store, time.Since(middle))
		}
		slices.Sort(scripts)
		slices.Sort(store)
		x, y := float64(scripts[len(scripts)/2])/pairs, float64(store[len(store)/2])/pairs
		b.ReportMetric(x, "ns/op")
		b.ReportMetric(y, "store-ns")
		b.ReportMetric(x/y, "ratio")
	})
}

// scriptPair is an acquire and a release by scripts.
func scriptPair(n *Node, s *Session, acquire, release [][]byte) {
	n.Do(s, acquire)
	n.Do(s, release)
	n.Dirty()
	s.Out = s.Out[:0]
}

// storePair is the same in the keyspace alone.
func storePair(n *Node, acquire [][]byte) {
	db, key, owner := n.Keyspace().DB(0), acquire[3], acquire[5]
	db.Exists(key)
	_, _ = db.HashIncrBy(key, owner, 1)
	db.SetDeadline(key, n.nowMillis()+30_000)
	_, _, _ = db.HashGet(key, owner)
	_, _ = db.HashIncrBy(key, owner, -1)
	db.Delete(key)
}

// TestLockPairAllocatesInTheStoreOnly: of what an acquire and a release script
// allocate, the keyspace has all.
func TestLockPairAllocatesInTheStoreOnly(t *testing.T) {
	n, s, acquire, release := benchNode(true)
	store := testing.AllocsPerRun(100, func() { storePair(n, acquire) })
	scripts := testing.AllocsPerRun(100, func() { scriptPair(n, s, acquire, release) })
	require.Equal(t, store, scripts)
}

// BenchmarkSetGet is two plain commands.
func BenchmarkSetGet(b *testing.B) {
	n, s, _, _ := benchNode(true)
	set, get := words("SET", "key", "value"), words("GET", "key")
	b.ReportAllocs()
	for b.Loop() {
		n.Do(s, set)
		n.Do(s, get)
		n.Dirty()
		s.Out = s.Out[:0]
	}
}

// BenchmarkNewNode is what an empty node costs to make.
func BenchmarkNewNode(b *testing.B) {
	cfg := Config{Clock: &fakeClock{}, Random: func() uint64 { return 1 }}
	b.ReportAllocs()
	for b.Loop() {
		New(cfg)
	}
}
