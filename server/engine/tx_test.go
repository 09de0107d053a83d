package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTransactions(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"EXEC", "(error) ERR EXEC without MULTI",
		"DISCARD", "(error) ERR DISCARD without MULTI",
		"MULTI", "OK",
		"MULTI", "(error) ERR MULTI calls can not be nested",
		"WATCH a", "(error) ERR WATCH inside MULTI is not allowed",
		"SET a 1", "QUEUED",
		"HGET a b", "QUEUED",
		"GET a", "QUEUED",
		"EXEC", "1) OK\n2) (error) "+errWrongType+"\n3) \"1\"",
		"MULTI", "OK",
		"nosuch", "(error) ERR unknown command 'nosuch', with args beginning with: ",
		"SET a 2", "QUEUED",
		"EXEC", "(error) EXECABORT Transaction discarded because of previous errors.",
		"MULTI", "OK",
		"SHUTDOWN", "(error) ERR Command not allowed inside a transaction",
		"EXEC x", "(error) EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
		"EXEC", "(error) ERR EXEC without MULTI",
		"MULTI", "OK",
		"SET a 3", "QUEUED",
		"DISCARD", "OK",
		"GET a", `"1"`,
	)
	require.Nil(t, f.node.ShutdownRequested())
}

func TestWatch(t *testing.T) {
	f := newFixture(t, withLua)
	s, other := f.session(), f.session()
	for _, c := range []struct {
		change string
		fails  bool
	}{
		{"SET w 1", true}, {"GET w", false}, {"SET other 1", false}, {"DEL w", true},
		{"DEL nosuch", false}, {"FLUSHALL", true}, {`EVAL "redis.call('set','w','x')" 0`, true},
		{"PEXPIRE w 100", true},
	} {
		f.do(other, "SET w 0")
		f.do(s, "WATCH w nosuch")
		f.do(other, c.change)
		f.do(s, "MULTI")
		f.do(s, "PING")
		want := "1) PONG"
		if c.fails {
			want = "(nil array)"
		}
		f.expect(s, "EXEC", want)
	}
	require.Nil(t, f.node.watched)
	f.expect(s, "WATCH w", "OK", "SET w 1", "OK", "UNWATCH", "OK", "MULTI", "OK", "EXEC", "(empty array)")
}

// The time that WATCH, a change, UNWATCH and a command that blocks take grows with the
// number of keys, not with its square.
func TestManyKeysAreWatched(t *testing.T) {
	growsWithNumber(t, 50_000, func(n int) {
		f := newFixture(t)
		s, other := f.session(), f.session()
		watch, set, pop := words("WATCH"), words("MSET"), words("BLPOP")
		for i := range n {
			key := strconv.AppendInt(nil, int64(i), 10)
			watch, set, pop = append(watch, key), append(set, key, key), append(pop, key)
		}
		f.node.Do(s, watch)
		f.node.Do(other, set)
		f.got(s)
		f.expect(s, "UNWATCH", "OK", "FLUSHALL", "OK")
		f.node.Do(s, append(pop, []byte("0")))
		f.do(other, "RPUSH 5 a")
		require.Equal(t, "1) \"5\"\n2) \"a\"", f.got(s))
		require.Empty(t, f.node.watched)
		require.Empty(t, f.node.blocking.keys)
	})
}

// A key that expires while it is watched has changed; one that had expired
// before has not.
func TestWatchAndExpiry(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s, "SET a 1 PX 10", "OK", "WATCH a", "OK")
	f.clock.advance(time.Second)
	f.expect(s, "MULTI", "OK", "EXEC", "(nil array)")
	f.do(s, "SET a 1 PX 10")
	f.clock.advance(time.Second)
	f.expect(s, "WATCH a", "OK", "MULTI", "OK", "PING", "QUEUED", "EXEC", "1) PONG")
}

func TestClosingInsideATransactionLeavesNothing(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s, "WATCH a b", "OK", "MULTI", "OK", "SET a 1", "QUEUED")
	f.node.Close(s)
	require.Nil(t, f.node.watched)
	require.Equal(t, transaction{}, s.tx)
	f.node.Do(s, words("EXEC"))
	require.Empty(t, f.got(s))
}

// What one session has of its own is no other's: nothing writes to what ordinary
// sessions share.
func TestOrdinarySessionsStayOrdinary(t *testing.T) {
	n := newFixture(t).node
	for _, line := range []string{"MULTI", "WATCH k", "UNWATCH", "EXEC", "DISCARD", "nonsense", "CLIENT TRACKING on",
		"CLIENT TRACKING off", "CLIENT CACHING yes", "REPLCONF listening-port 1", "REPLCONF ip-address h", "PSYNC ? -1",
		"SUBSCRIBE c", "UNSUBSCRIBE", "MONITOR", "CLIENT NO-EVICT on", "CLIENT NO-EVICT off", "GET k", "RESET", "QUIT"} {
		s := n.NewSession("")
		n.Do(s, words(line))
		n.Do(s, words("SET k v"))
		require.Zero(t, ordinary, line)
		n.Close(s)
		require.Zero(t, ordinary, line)
	}
}
