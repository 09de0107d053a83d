package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNullOfFlushKeepsTheProtocolOfWhoTracks(t *testing.T) {
	f := newFixture(t)
	listener, modern := f.session(), f.session()
	f.do(listener, "SUBSCRIBE any")
	f.do(modern, "HELLO 3")
	fromModern, fromOld, w := f.session(), f.session(), f.session()
	f.do(fromModern, "HELLO 3")
	f.do(fromModern, "CLIENT TRACKING ON REDIRECT 1")
	f.do(fromOld, "CLIENT TRACKING ON REDIRECT 2")
	f.do(w, "FLUSHALL")
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n_\r\n", string(listener.Out),
		"as 7.0.15 sends it")
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n$-1\r\n", string(modern.Out), "as 7.0.15 sends it")
}

func TestInvalidationsGoOutInTheOrderOfIDs(t *testing.T) {
	f := newFixture(t)
	a, b, c, w := f.session(), f.session(), f.session(), f.session()
	for _, s := range []*Session{c, a, b} {
		f.do(s, "HELLO 3")
		f.do(s, "CLIENT TRACKING ON")
		f.do(s, "GET k")
	}
	f.node.Dirty()
	f.node.Do(w, words("SET", "k", "v"))
	require.Equal(t, []*Session{w, a, b, c}, f.node.Dirty())
}

// What is tracked beyond tracking-table-max-keys is forgotten a tenth of a second later, unless a
// command comes before.
func TestTooManyTrackedKeysAreForgottenLater(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s, "CONFIG SET tracking-table-max-keys 1", "OK")
	f.do(s, "HELLO 3")
	f.do(s, "CLIENT TRACKING ON")
	f.do(s, "MGET k l")
	wait, ok := f.node.NextDeadline()
	require.True(t, ok)
	require.Equal(t, 100*time.Millisecond, wait)
	f.clock.advance(99 * time.Millisecond)
	f.node.Tick()
	require.Empty(t, s.Out)
	f.clock.advance(time.Millisecond)
	f.node.Tick()
	require.Contains(t, string(s.Out), "invalidate")
	_, ok = f.node.NextDeadline()
	require.False(t, ok)
}

func TestTrackingIsCounted(t *testing.T) {
	f := newFixture(t)
	a, b, c := f.session(), f.session(), f.session()
	count := func() [4]int {
		n := f.node
		return [4]int{n.tracking.clients, len(n.tracking.keys), n.tracking.items, len(n.tracking.prefixes)}
	}
	f.do(a, "CLIENT TRACKING ON")
	f.do(b, "CLIENT TRACKING ON NOLOOP")
	f.do(c, "CLIENT TRACKING ON BCAST PREFIX x PREFIX y")
	f.do(a, "MGET k k l")
	f.do(b, "GET k")
	f.do(c, "GET m")
	require.Equal(t, [4]int{3, 2, 3, 2}, count())
	require.Contains(t, f.do(a, "INFO clients"), `tracking_clients:3\r\n`)
	require.Contains(t, f.do(a, "INFO stats"),
		`tracking_total_keys:2\r\ntracking_total_items:3\r\ntracking_total_prefixes:2\r\n`)
	f.do(a, "SET k v")
	require.Equal(t, [4]int{3, 1, 1, 2}, count())
	f.node.Close(c)
	f.do(a, "RESET")
	require.Equal(t, [4]int{1, 1, 1, 0}, count(), "what a has read stays until it changes")
	f.do(b, "SET l v")
	f.node.Close(b)
	require.Equal(t, [4]int{}, count())
}

func TestWhoHasLeftIsNotToldAnything(t *testing.T) {
	f := newFixture(t)
	reader, broadcast, w := f.session(), f.session(), f.session()
	f.do(reader, "HELLO 3")
	f.do(reader, "CLIENT TRACKING ON")
	f.do(reader, "GET k")
	f.do(broadcast, "HELLO 3")
	f.do(broadcast, "CLIENT TRACKING ON BCAST")
	f.node.Close(reader)
	f.node.Close(broadcast)
	f.do(w, "SET k v")
	f.do(w, "FLUSHALL")
	require.Empty(t, reader.Out)
	require.Empty(t, broadcast.Out)
}

func TestExpiryInvalidatesWithoutACommand(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.do(s, "HELLO 3")
	f.do(s, "CLIENT TRACKING ON")
	f.do(s, "SET k v PX 10")
	f.do(s, "GET k")
	f.node.Dirty()
	f.clock.advance(11 * time.Millisecond)
	f.node.Tick()
	require.Equal(t, []*Session{s}, f.node.Dirty())
	require.Equal(t, "1> \"invalidate\"\n2> 1) \"k\"", f.got(s))
}

func TestExpiryFoundByAReadComesBehindItsReplyAndIsReadAgain(t *testing.T) {
	f := newFixture(t)
	s, w := f.session(), f.session()
	f.do(s, "HELLO 3")
	f.do(s, "CLIENT TRACKING ON")
	f.do(s, "SET k v PX 10")
	f.do(s, "GET k")
	f.clock.advance(11 * time.Millisecond)
	f.node.Do(s, words("GET", "k"))
	require.Equal(t, "_\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", string(s.Out))
	s.Out = nil
	f.do(w, "SET k v")
	require.Equal(t, "1> \"invalidate\"\n2> 1) \"k\"", f.got(s))
}

func TestLoadingASnapshotInvalidatesEverything(t *testing.T) {
	f, master := newFixture(t), newFixture(t)
	s := f.session()
	f.do(s, "HELLO 3")
	f.do(s, "CLIENT TRACKING ON")
	f.do(s, "GET k")
	f.node.LoadSnapshot(master.node.Snapshot())
	require.Equal(t, "1> \"invalidate\"\n2> (nil)", f.got(s))
}

// The order and the bytes are what redis-server 7.0.15 sends for pipelines.
func TestBroadcastsEndATurn(t *testing.T) {
	f := newFixture(t)
	a, w := f.session(), f.session()
	f.do(a, "HELLO 3")
	f.do(a, "CLIENT TRACKING ON BCAST")
	for _, line := range []string{"SET b 1", "SET a 1", "SET b 2", "FLUSHALL", "SET y 1"} {
		f.node.Do(w, words(strings.Fields(line)...))
	}
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n_\r\n", string(a.Out))
	a.Out = nil
	f.node.Dirty()
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\ny\r\n", string(a.Out))
	a.Out = nil
	f.node.Do(a, words("SET", "k", "1"))
	f.node.Do(a, words("PING"))
	f.node.Dirty()
	require.Equal(t, "+OK\r\n+PONG\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", string(a.Out))
}
