package engine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/slot"
)

func TestBlockedClientsAreServedInTheirOrder(t *testing.T) {
	f := newFixture(t, withLua)
	f.node.AddReplica(1)
	a, b, w := f.session(), f.session(), f.session()
	f.expect(a, "BLPOP k other 0", "")
	f.expect(b, "BLPOP k 0", "")
	require.True(t, a.Blocked())
	f.node.Dirty()
	f.expect(w, "RPUSH k 1", "(integer) 1")
	require.Equal(t, []*Session{w, a}, f.node.Dirty())
	require.Equal(t, "1) \"k\"\n2) \"1\"", f.got(a))
	require.True(t, b.Blocked())
	f.expect(w, "MULTI", "OK", "RPUSH k 2", "QUEUED", "LLEN k", "QUEUED", "EXEC",
		"1) (integer) 1\n2) (integer) 1")
	require.Equal(t, "1) \"k\"\n2) \"2\"", f.got(b))
	require.Contains(t, f.stream(0), "RPUSH k 1 | LPOP k")
	require.Nil(t, f.node.blocking.keys)
}

func TestBlockingTimesOutByTheWallClock(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.expect(s, "BLPOP k 0.5", "")
	left, _ := f.node.NextDeadline()
	require.Equal(t, 500*time.Millisecond, left)
	f.clock.wall = f.clock.wall.Add(time.Second) // a jump
	left, _ = f.node.NextDeadline()
	require.Zero(t, left)
	f.tick()
	require.Equal(t, "(nil array)", f.got(s))
	_, ok := f.node.NextDeadline()
	require.False(t, ok)
}

// What may write is held back by a pause of writes, also a function that is not there:
// Redis looks at the command's flags then. CLIENT LIST has the bytes of its arguments,
// as of those of a client that waits for a key.
func TestPauseHoldsBackWhatMayWrite(t *testing.T) {
	f := newFixture(t, withLua)
	a, b, c := f.session(), f.session(), f.session()
	f.expect(a, "CLIENT PAUSE 30000 WRITE", "OK")
	f.expect(c, "FCALL_RO nofn 0", "(error) ERR Function not found")
	f.do(b, "FCALL nofn 0")
	f.do(c, "BLPOP nokey 0")
	require.True(t, b.Blocked())
	list := f.do(a, "CLIENT LIST")
	require.Regexp(t, fmt.Sprintf(`id=%d .* argv-mem=10 `, b.ID), list)
	require.Regexp(t, fmt.Sprintf(`id=%d .* argv-mem=11 `, c.ID), list)
	f.expect(a, "CLIENT UNPAUSE", "OK")
	require.Equal(t, "(error) ERR Function not found", f.got(b))
	f.expect(b, "MULTI", "OK", "FCALL nofn 0", "QUEUED")
	f.expect(a, "CLIENT PAUSE 30000 WRITE", "OK")
	f.do(b, "EXEC")
	require.True(t, b.Blocked())
}

// A wait that begins within a millisecond does not end before its time, nor does a
// pause: Redis ends both behind their deadlines. Who waits for 100 ms measures it.
func TestNoWaitIsShorterThanAskedFor(t *testing.T) {
	for _, cmd := range []string{"BLPOP k 0.1", "XREAD BLOCK 100 STREAMS x $", "WAIT 1 100", "CLIENT PAUSE 100"} {
		f := newFixture(t, withLua)
		f.clock.advance(300 * time.Microsecond)
		f.do(f.session(), cmd)
		left, _ := f.node.NextDeadline()
		require.GreaterOrEqual(t, left, 100*time.Millisecond, cmd)
		require.Less(t, left, 101*time.Millisecond, cmd)
	}
}

func TestBlockingIsNotForTransactionsAndScripts(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.expect(s, "MULTI", "OK", "BLPOP k 0", "QUEUED", "EXEC", "1) (nil array)",
		`EVAL "return redis.call('blmpop',0,1,'k','left')" 0`, "(nil)")
	require.False(t, s.Blocked())
}

func TestAWrongTypeLeavesTheClientWaiting(t *testing.T) {
	f := newFixture(t, withLua)
	s, w := f.session(), f.session()
	f.do(s, "BLPOP k 0")
	f.do(w, "HSET k a b")
	require.True(t, s.Blocked())
	f.do(w, "DEL k")
	f.do(w, "RPUSH k v")
	require.Equal(t, "1) \"k\"\n2) \"v\"", f.got(s))
}

func TestClosingABlockedClientLeavesNothing(t *testing.T) {
	f := newFixture(t, withLua)
	s, w := f.session(), f.session()
	f.do(s, "BLPOP k 5")
	f.node.Close(s)
	f.node.Close(s)
	f.expect(w, "RPUSH k v", "(integer) 1", "LLEN k", "(integer) 1")
	require.Nil(t, f.node.blocking.keys)
	require.Nil(t, f.node.keys.OnNew, "nobody wants to hear of new keys")
	require.Empty(t, f.node.blocking.timed)
	require.Zero(t, f.node.blocking.count)
	require.Equal(t, 1, f.node.sessions.count)
}

func TestClientUnblock(t *testing.T) {
	f := newFixture(t, withLua)
	s, w := f.session(), f.session()
	f.do(s, "BLPOP k 0")
	f.expect(w, "CLIENT UNBLOCK 1", "(integer) 1", "CLIENT UNBLOCK 1", "(integer) 0", "CLIENT UNBLOCK 2", "(integer) 0")
	require.Equal(t, "(nil array)", f.got(s))
	f.do(s, "BLPOP k 0")
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
	f.tick()
	f.expect(admin, "EXISTS short", "(integer) 0", "DBSIZE", "(integer) 1", "PUBLISH c m", "")
	f.clock.advance(50 * time.Millisecond)
	f.tick()
	require.Equal(t, "OK", f.got(s))
	require.Equal(t, "(integer) 0", f.got(admin))
	f.tick()
	f.expect(admin, "DBSIZE", "(integer) 1", "CLIENT PAUSE 1000", "OK", "PING", "")
	f.clock.advance(time.Second)
	f.tick()
	require.Equal(t, "PONG", f.got(admin))
}

// What a pause holds back is asked about its slot when it runs, and is still the
// command behind ASKING.
func TestPauseBehindAsking(t *testing.T) {
	f, topology := newCluster(t)
	admin, s := f.session(), f.session()
	topology.slots[slot.OfString("k")] = SlotState{Owner: "10.0.0.2:7001", Importing: true}
	f.expect(admin, "CLIENT PAUSE 1000 WRITE", "OK")
	f.expect(s, "ASKING", "OK", "SET k v", "")
	f.expect(admin, "CLIENT UNPAUSE", "OK")
	require.Equal(t, "OK", f.got(s))
	f.expect(s, "SET k v", "(error) MOVED 7629 10.0.0.2:7001")
}

// As long as any pause of all commands lasts nothing goes on; behind it reads do.
func TestPausesOfTwoKinds(t *testing.T) {
	f := newFixture(t)
	a, b := f.session(), f.session()
	f.node.Pause(PausedByFailover, math.MaxInt64, false)
	f.do(a, "APPEND k a")
	f.node.Pause(PausedByMigration, math.MaxInt64, true)
	f.do(b, "GET k")
	f.node.Unpause(PausedByMigration)
	f.goOn()
	require.Equal(t, "(nil)", f.got(b))
	require.True(t, a.Blocked())
	f.node.Unpause(PausedByFailover)
	f.goOn()
	require.Equal(t, "(integer) 1", f.got(a))
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
