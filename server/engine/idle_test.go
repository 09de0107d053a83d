package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who is silent for longer than the parameter timeout is sent away; who waits, listens or
// looks on is not.
func TestTimeout(t *testing.T) {
	f := newFixture(t)
	idle, busy, waits := f.session(), f.session(), f.session()
	listens, shard, looks := f.session(), f.session(), f.session()
	f.do(idle, "MULTI")
	f.do(waits, "BLPOP list 0")
	f.do(listens, "SUBSCRIBE c")
	f.do(shard, "SSUBSCRIBE c")
	f.do(looks, "MONITOR")
	_, timed := f.node.NextDeadline()
	require.False(t, timed)

	f.expect(busy, "CONFIG SET timeout 3", "OK")
	f.tick()
	wait, timed := f.node.NextDeadline()
	require.True(t, timed)
	require.Equal(t, 4*time.Second, wait, "longer than three seconds")
	f.clock.advance(3 * time.Second)
	f.expect(busy, "PING", "PONG")
	f.tick()
	require.False(t, idle.Closing())
	f.clock.advance(time.Second)
	f.tick()
	require.True(t, idle.Closing())
	for _, s := range []*Session{waits, listens, shard, looks, busy} {
		require.False(t, s.Closing())
	}

	f.expect(busy, "RPUSH list a", "(integer) 1")
	f.do(listens, "UNSUBSCRIBE")
	f.clock.advance(4 * time.Second)
	f.tick()
	require.True(t, busy.Closing())
	require.True(t, listens.Closing())
	require.True(t, waits.Closing())
	require.False(t, shard.Closing())

	f.node.Restart(true)
	late := f.session()
	f.tick()
	f.clock.advance(4 * time.Second)
	f.tick()
	require.True(t, late.Closing())
	_, timed = f.node.NextDeadline()
	require.False(t, timed, "there is nobody left")
}

// A client is not silent as long as it sends parts of a command, or is sent something.
func TestTimeoutSeesTraffic(t *testing.T) {
	f := newFixture(t)
	sends, gets, neither := f.session(), f.session(), f.session()
	f.do(sends, "CONFIG SET timeout 1")
	f.clock.advance(1500 * time.Millisecond)
	sends.Received(1)
	gets.Sent(1)
	f.tick()
	f.clock.advance(1500 * time.Millisecond)
	f.tick()
	require.False(t, sends.Closing())
	require.False(t, gets.Closing())
	require.True(t, neither.Closing())
}
