package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/trace"
)

func TestMessagesComeInTheOrderOfSubscription(t *testing.T) {
	f := newFixture(t)
	a, b, w := f.session(), f.session(), f.session()
	f.expect(b, "SUBSCRIBE c", "1) \"subscribe\"\n2) \"c\"\n3) (integer) 1")
	f.do(a, "PSUBSCRIBE c*")
	f.do(a, "SUBSCRIBE c")
	f.node.Dirty()
	f.expect(w, "PUBLISH c hi", "(integer) 3")
	require.Equal(t, []*Session{w, b, a}, f.node.Dirty())
	require.Equal(t, "1) \"message\"\n2) \"c\"\n3) \"hi\"", f.got(b))
	require.Equal(t, "1) \"message\"\n2) \"c\"\n3) \"hi\"; 1) \"pmessage\"\n2) \"c*\"\n3) \"c\"\n4) \"hi\"", f.got(a))
}

func TestSubscribedOnRESP2(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"SUBSCRIBE a b", "1) \"subscribe\"\n2) \"a\"\n3) (integer) 1; 1) \"subscribe\"\n2) \"b\"\n3) (integer) 2",
		"PING", "1) \"pong\"\n2) \"\"",
		"PING x", "1) \"pong\"\n2) \"x\"",
		"GET a", "(error) ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "+
			"allowed in this context",
		"SSUBSCRIBE a", "1) \"ssubscribe\"\n2) \"a\"\n3) (integer) 1",
		"UNSUBSCRIBE", "1) \"unsubscribe\"\n2) \"a\"\n3) (integer) 1; 1) \"unsubscribe\"\n2) \"b\"\n3) (integer) 0",
		"UNSUBSCRIBE", "1) \"unsubscribe\"\n2) (nil)\n3) (integer) 0",
		"SUNSUBSCRIBE a nosuch", "1) \"sunsubscribe\"\n2) \"a\"\n3) (integer) 0; "+
			"1) \"sunsubscribe\"\n2) \"nosuch\"\n3) (integer) 0",
		"GET a", "(nil)",
		"PUNSUBSCRIBE p", "1) \"punsubscribe\"\n2) \"p\"\n3) (integer) 0",
	)
}

func TestPushesOnRESP3(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.do(s, "HELLO 3")
	f.expect(s,
		"SUBSCRIBE c", "1> \"subscribe\"\n2> \"c\"\n3> (integer) 1",
		"GET a", "(nil)",
		"PUBLISH c m", "1> \"message\"\n2> \"c\"\n3> \"m\"; (integer) 1",
		"CLIENT REPLY OFF", "",
		"PUBLISH c m", "1> \"message\"\n2> \"c\"\n3> \"m\"",
		"CLIENT REPLY ON", "OK",
		"MULTI", "OK",
		"PUBLISH c m", "QUEUED",
	)
	f.node.Do(s, words("EXEC"))
	require.Equal(t, "*1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n:1\r\n", string(s.Out), "as 7.0.15 sends it")
}

func TestPubSubCommand(t *testing.T) {
	f := newFixture(t)
	s, w := f.session(), f.session()
	f.do(s, "SUBSCRIBE b a")
	f.do(s, "PSUBSCRIBE x* y*")
	f.do(s, "SSUBSCRIBE sh")
	f.expect(w,
		"PUBSUB CHANNELS", "1) \"a\"\n2) \"b\"",
		"PUBSUB CHANNELS a*", "1) \"a\"",
		"PUBSUB CHANNELS a b", "(error) ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.",
		"PUBSUB NUMSUB a z", "1) \"a\"\n2) (integer) 1\n3) \"z\"\n4) (integer) 0",
		"PUBSUB NUMPAT", "(integer) 2",
		"PUBSUB SHARDCHANNELS", "1) \"sh\"",
		"PUBSUB SHARDNUMSUB 0", "1) \"0\"\n2) (integer) 0",
		"SPUBLISH sh m", "(integer) 1",
		"PUBLISH sh m", "(integer) 0",
	)
}

func TestClosingASubscriberLeavesNothing(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.do(s, "SUBSCRIBE a")
	f.do(s, "PSUBSCRIBE p")
	f.do(s, "SSUBSCRIBE s")
	f.do(s, "MULTI")
	f.node.Close(s)
	require.Empty(t, f.node.pubsub.channels)
	require.Empty(t, f.node.pubsub.patterns)
	require.Empty(t, f.node.pubsub.shards)
	require.Nil(t, f.node.sessions.first)
	f.expect(f.session(), "PUBLISH a m", "(integer) 0")
}

// A pattern that everybody has left and somebody subscribes to again is the last one.
func TestPatternsKeepTheirOrder(t *testing.T) {
	f := newFixture(t)
	s, w := f.session(), f.session()
	for _, command := range []string{
		"PSUBSCRIBE a*", "PSUBSCRIBE *b", "PSUBSCRIBE *", "PUNSUBSCRIBE *b", "PSUBSCRIBE *b", "PUNSUBSCRIBE a*",
	} {
		f.do(s, command)
	}
	f.node.Dirty()
	f.expect(w, "PUBLISH ab m", "(integer) 2")
	require.Equal(t, "1) \"pmessage\"\n2) \"*\"\n3) \"ab\"\n4) \"m\"; "+
		"1) \"pmessage\"\n2) \"*b\"\n3) \"ab\"\n4) \"m\"", f.got(s))
	f.expect(w, "PUBSUB NUMPAT", "(integer) 2")
}

// What a client costs at its end grows with its subscriptions, not with their square.
func TestManySubscriptionsEndAtOnce(t *testing.T) {
	growsWithNumber(t, 50_000, func(n int) {
		f := newFixture(t)
		subscribed := func(command string) *Session {
			s := f.session()
			args := [][]byte{[]byte(command)}
			for i := range n {
				args = append(args, strconv.AppendInt(nil, int64(i), 10))
			}
			f.node.Do(s, args)
			s.Out = nil
			return s
		}
		f.node.Close(subscribed("PSUBSCRIBE"))
		f.do(subscribed("PSUBSCRIBE"), "PUNSUBSCRIBE")
		f.do(subscribed("SUBSCRIBE"), "UNSUBSCRIBE")
		require.Empty(t, f.node.pubsub.patterns)
		require.Empty(t, f.node.pubsub.inOrder)
	})
}

func TestKeyspaceNotifications(t *testing.T) {
	f := newFixture(t)
	s, w := f.session(), f.session()
	f.expect(w, "CONFIG SET notify-keyspace-events KEA", "OK",
		"CONFIG GET notify-keyspace-events", "1) \"notify-keyspace-events\"\n2) \"AKE\"")
	f.do(s, "PSUBSCRIBE __key*")
	message := func(channel, text string) string {
		return "1) \"pmessage\"\n2) \"__key*\"\n3) \"" + channel + "\"\n4) \"" + text + "\""
	}
	f.do(w, "SET k v PX 10")
	require.Equal(t, message("__keyspace@0__:k", "set")+"; "+message("__keyevent@0__:set", "k")+"; "+
		message("__keyspace@0__:k", "expire")+"; "+message("__keyevent@0__:expire", "k"), f.got(s))
	f.do(w, "CONFIG SET notify-keyspace-events Ex")
	f.clock.advance(11 * time.Millisecond)
	f.node.Tick()
	require.Equal(t, message("__keyevent@0__:expired", "k"), f.got(s))
	f.do(w, "SET k v")
	require.Empty(t, f.got(s))
}

func TestObserverSeesWhatHappened(t *testing.T) {
	var seen []trace.Detail
	f := newFixture(t, withLua, func(cfg *Config) { cfg.Observe = func(d trace.Detail) { seen = append(seen, d) } })
	s := f.session()
	f.do(s, `EVAL "redis.call('set',KEYS[1],'a b') return redis.call('publish','c','m')" 1 k`)
	require.Equal(t, []trace.Detail{
		{What: trace.Called, Text: `set k "a b"`, Reply: "OK"},
		{What: trace.Changed, Key: "k", Text: f.node.Keyspace().DB(0).Describe([]byte("k"))},
		{What: trace.Published, Key: "c", Text: "m"},
		{What: trace.Called, Text: "publish c m", Reply: "(integer) 0"},
	}, seen[:4])
	require.Len(t, seen, 5)
	f.do(s, "PEXPIRE k 10")
	f.clock.advance(time.Second)
	seen = nil
	f.do(s, "GET k")
	require.Equal(t, []trace.Detail{
		{What: trace.Expired, Key: "k"}, {What: trace.Called, Text: "GET k", Reply: "(nil)"},
	}, seen)
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", false}, {"**", "", false}, {"?*", "", false},
		{"a*c", "abbbc", true}, {"a*c", "abbbd", false}, {"a*b*c", "aXbYbZc", true},
		{"?", "", false}, {"a?c", "abc", true}, {"[a-c]x", "bx", true}, {"[c-a]x", "bx", true},
		{"[^a-c]x", "bx", false}, {"[^a-c]x", "dx", true}, {`\*`, "*", true}, {`\*`, "a", false},
		{"[abc", "b", true}, {"[abc", "d", false}, {`[\]]`, "]", true}, {"a**", "a", true}, {"", "", true},
		{"", "a", false}, {`a\`, `a\`, true}, {"h[^e]llo", "hallo", true}, {"*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaa", false},
		{"*", "a", true}, {"a*", "a", true}, {"*a", "a", true}, {"[z-\xff]", "a", true}, {"[z-\xff]", "{", false},
	} {
		require.Equal(t, c.want, matchGlob(c.pattern, c.text), "%q %q", c.pattern, c.text)
	}
}
