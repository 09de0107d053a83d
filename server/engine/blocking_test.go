package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/luaengine"
)

// testPop is a blocking command as the list family would write it: it takes a
// string away as soon as there is one.
var testPop = Command{
	Name: "TESTPOP", Arity: -3, Flags: Write | Blocking, Keys: keyRange(1, -2, 1),
	Run: func(c *Call) resp.Value {
		millis, bad := blockTimeout(c.Args[len(c.Args)-1])
		if bad != "" {
			return resp.Err(bad)
		}
		keys := c.Args[1 : len(c.Args)-1]
		for _, key := range keys {
			text, ok, err := c.DB.String(key)
			if err != nil {
				return resp.Err(errWrongType)
			}
			if ok {
				c.DB.Delete(key)
				c.Changed(key, "del")
				c.Replicate([]byte("DEL"), key)
				return resp.Str(text)
			}
		}
		return c.Block(keys, millis, resp.NullList)
	},
}

// withTestPop registers TESTPOP while a test runs.
func withTestPop(t *testing.T) *fixture {
	rows, oldTable := tableRows, table
	cmd := testPop
	table = append(table[:len(table):len(table)], cmd)
	prepare(&table[len(table)-1])
	tableFind[cmd.Name] = luaengine.Handle(len(table) - 1)
	t.Cleanup(func() {
		table, tableRows = oldTable, rows
		delete(tableFind, cmd.Name)
	})
	return newFixture(t, withLua)
}

func TestBlockedClientsAreServedInTheirOrder(t *testing.T) {
	f := withTestPop(t)
	f.node.AddReplica(1)
	a, b, w := f.session(), f.session(), f.session()
	f.expect(a, "TESTPOP k other 0", "")
	f.expect(b, "TESTPOP k 0", "")
	require.True(t, a.Blocked())
	f.node.Dirty()
	f.expect(w, "SET k 1", "OK")
	require.Equal(t, []*Session{w, a}, f.node.Dirty())
	require.Equal(t, `"1"`, f.got(a))
	require.True(t, b.Blocked())
	f.expect(w, "MULTI", "OK", "SET k 2", "QUEUED", "GET k", "QUEUED", "EXEC", "1) OK\n2) \"2\"")
	require.Equal(t, `"2"`, f.got(b))
	require.Contains(t, f.stream(0), "SET k 1 | DEL k")
	require.Nil(t, f.node.blocking.keys)
}

func TestBlockingTimesOutByTheWallClock(t *testing.T) {
	f := withTestPop(t)
	s := f.session()
	f.expect(s, "TESTPOP k 0.5", "")
	left, _ := f.node.NextDeadline()
	require.Equal(t, 500*time.Millisecond, left)
	f.clock.wall = f.clock.wall.Add(time.Second) // a jump
	left, _ = f.node.NextDeadline()
	require.Zero(t, left)
	f.node.Tick()
	require.Equal(t, "(nil array)", f.got(s))
	_, ok := f.node.NextDeadline()
	require.False(t, ok)
}

func TestBlockingIsNotForTransactionsAndScripts(t *testing.T) {
	f := withTestPop(t)
	s := f.session()
	f.expect(s, "MULTI", "OK", "TESTPOP k 0", "QUEUED", "EXEC", "1) (nil array)",
		`EVAL "return redis.call('testpop','k',0)" 0`, "(nil)")
	require.False(t, s.Blocked())
}

func TestAWrongTypeLeavesTheClientWaiting(t *testing.T) {
	f := withTestPop(t)
	s, w := f.session(), f.session()
	f.do(s, "TESTPOP k 0")
	f.do(w, "HSET k a b")
	require.True(t, s.Blocked())
	f.do(w, "DEL k")
	f.do(w, "SET k v")
	require.Equal(t, `"v"`, f.got(s))
}

func TestClosingABlockedClientLeavesNothing(t *testing.T) {
	f := withTestPop(t)
	s, w := f.session(), f.session()
	f.do(s, "TESTPOP k 5")
	f.node.Close(s)
	f.node.Close(s)
	f.expect(w, "SET k v", "OK", "GET k", `"v"`)
	require.Nil(t, f.node.blocking.keys)
	require.Empty(t, f.node.blocking.timed)
	require.Zero(t, f.node.blocking.count)
	require.Equal(t, 1, f.node.sessions.count)
}

func TestClientUnblock(t *testing.T) {
	f := withTestPop(t)
	s, w := f.session(), f.session()
	f.do(s, "TESTPOP k 0")
	f.expect(w, "CLIENT UNBLOCK 1", "(integer) 1", "CLIENT UNBLOCK 1", "(integer) 0", "CLIENT UNBLOCK 2", "(integer) 0")
	require.Equal(t, "(nil array)", f.got(s))
	f.do(s, "TESTPOP k 0")
	f.expect(w, "CLIENT UNBLOCK 1 ERROR", "(integer) 1")
	require.Equal(t, "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK", f.got(s))
}

func TestClientPause(t *testing.T) {
	f := newFixture(t, withLua)
	admin, s := f.session(), f.session()
	f.do(s, "SET short 1 PX 10")
	f.expect(admin, "CLIENT PAUSE 100 WRITE", "OK")
	f.expect(s, "GET short", `"1"`, "PING", "PONG", "SET a 1", "")
	require.True(t, s.Blocked())
	f.clock.advance(50 * time.Millisecond)
	f.node.Tick()
	f.expect(admin, "EXISTS short", "(integer) 0", "DBSIZE", "(integer) 1", "PUBLISH c m", "")
	f.clock.advance(50 * time.Millisecond)
	f.node.Tick()
	require.Equal(t, "OK", f.got(s))
	require.Equal(t, "(integer) 0", f.got(admin))
	f.node.Tick()
	f.expect(admin, "DBSIZE", "(integer) 1", "CLIENT PAUSE 1000", "OK", "PING", "")
	f.clock.advance(time.Second)
	f.node.Tick()
	require.Equal(t, "PONG", f.got(admin))
}

func TestUnpauseRunsWhatWasHeldBack(t *testing.T) {
	f := newFixture(t)
	admin, a, b := f.session(), f.session(), f.session()
	f.do(admin, "CLIENT PAUSE 1000 WRITE")
	f.do(a, "APPEND k a")
	f.do(b, "APPEND k b")
	f.expect(admin, "CLIENT UNPAUSE", "OK")
	require.Equal(t, "(integer) 1", f.got(a))
	require.Equal(t, "(integer) 2", f.got(b))
	f.expect(admin, "GET k", `"ab"`)
}
