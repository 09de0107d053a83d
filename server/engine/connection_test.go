package engine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/datastore"
)

func TestAuthentication(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"AUTH x", "(error) ERR AUTH <password> called without any password configured for the default user. "+
			"Are you sure your configuration is correct?",
		"AUTH default x", "OK",
		"AUTH a b", "(error) WRONGPASS invalid username-password pair or user is disabled.",
		"AUTH a b c", "(error) ERR syntax error",
		"CONFIG SET requirepass sesame", "OK",
		"PING", "PONG")
	n := f.session()
	require.False(t, n.Authenticated())
	f.expect(n,
		"PING", "(error) NOAUTH Authentication required.",
		"nosuch", "(error) ERR unknown command 'nosuch', with args beginning with: ",
		"GET", "(error) ERR wrong number of arguments for 'get' command",
		"HELLO 3", "(error) NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "+
			"AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at "+
			"the same time",
		"AUTH bad", "(error) WRONGPASS invalid username-password pair or user is disabled.",
		"AUTH sesame", "OK",
		"PING", "PONG",
		"RESET", "RESET",
		"PING", "(error) NOAUTH Authentication required.")
}

func TestHello(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"HELLO 4", "(error) NOPROTO unsupported protocol version",
		"HELLO x", "(error) ERR Protocol version is not an integer or out of range",
		"HELLO 2 foo", "(error) ERR Syntax error in HELLO option 'foo'",
		"HELLO 2 AUTH a", "(error) ERR Syntax error in HELLO option 'AUTH'",
		`HELLO 2 SETNAME "a b"`, "(error) ERR Client names cannot contain spaces, newlines or special characters.",
		"HELLO 3 AUTH default any SETNAME me", "1# \"server\" => \"redis\"\n2# \"version\" => \"7.0.15\"\n"+
			"3# \"proto\" => (integer) 3\n4# \"id\" => (integer) 1\n5# \"mode\" => \"standalone\"\n"+
			"6# \"role\" => \"master\"\n7# \"modules\" => (empty array)",
		"CLIENT GETNAME", `"me"`,
		"GET nosuch", "(nil)")
	require.Equal(t, 3, s.Proto)
	require.Equal(t, "me", s.Name)
}

// TestHardLimitsEndReplies: what is more than may ever wait for a client is not even
// written, as it may be more than there is memory.
func TestHardLimitsEndReplies(t *testing.T) {
	f := newFixture(t)
	admin := f.session()
	f.expect(admin, "SETRANGE k 29999 x", "(integer) 30000",
		`CONFIG SET client-output-buffer-limit "normal 100000 0 0 pubsub 20000 0 0"`, "OK")

	s := f.session()
	require.NotEmpty(t, f.do(s, "MGET k k k"), "what may wait")
	require.Empty(t, f.do(s, "MGET k k k k"))
	require.True(t, s.Overflowed() && s.Closing())

	s = f.session()
	for _, line := range []string{"MULTI", "GET k", "GET k", "GET k", "GET k", "SET done 1", "PING"} {
		require.NotEmpty(t, f.do(s, line))
	}
	require.Empty(t, f.do(s, "EXEC"))
	require.True(t, s.Overflowed() && s.Closing())
	f.expect(admin, "GET done", `"1"`)

	s = f.session()
	f.do(s, "SUBSCRIBE c")
	f.expect(admin, "PUBLISH c "+strings.Repeat("x", 30000), "(integer) 1")
	require.Empty(t, s.Out)
	require.True(t, s.Overflowed() && s.Closing())
}

func TestSelectAndReset(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"SELECT 16", "(error) ERR DB index is out of range",
		"SELECT -1", "(error) ERR DB index is out of range",
		"SELECT x", "(error) ERR value is not an integer or out of range",
		"SELECT 3", "OK", "SET a 1", "OK", "MULTI", "OK", "SUBSCRIBE c", "QUEUED",
		"RESET", "RESET",
		"GET a", "(nil)", "EXEC", "(error) ERR EXEC without MULTI")
	require.Zero(t, s.DB)
}

func TestQuitAndKill(t *testing.T) {
	f := newFixture(t)
	a, b, c := f.session(), f.session(), f.session()
	b.Addr = "127.0.0.1:6000"
	f.expect(a,
		"CLIENT KILL 1.2.3.4:5", "(error) ERR No such client",
		"CLIENT KILL ID x", "(error) ERR client-id should be greater than 0",
		"CLIENT KILL TYPE foo", "(error) ERR Unknown client type 'foo'",
		"CLIENT KILL USER nobody", "(error) ERR No such user 'nobody'",
		"CLIENT KILL SKIPME maybe", "(error) ERR syntax error",
		"CLIENT KILL ID 2 LADDR", "(error) ERR syntax error",
		"CLIENT KILL 127.0.0.1:6000", "OK")
	require.True(t, b.Closing())
	require.Contains(t, f.node.Dirty(), b)
	f.expect(a, "CLIENT KILL TYPE normal", "(integer) 1", "CLIENT KILL ID 1 SKIPME no", "(integer) 1")
	require.True(t, c.Closing())
	require.True(t, a.Closing())
	q := f.session()
	f.expect(q, "QUIT", "OK", "PING", "")
	require.True(t, q.Closing())
}

// TestRepliesEndInsideExec: commands of a transaction behind one that ends the
// connection are executed without a reply; CLIENT REPLY SKIP is about the command
// behind EXEC. So redis-server 7.0.15 has it, whose bytes these are.
func TestRepliesEndInsideExec(t *testing.T) {
	f := newFixture(t)
	exec := func(s *Session, queued ...string) string {
		f.do(s, "MULTI")
		for _, line := range queued {
			f.expect(s, line, "QUEUED")
		}
		f.node.Do(s, bytesOf([]string{"EXEC"}))
		defer func() { s.Out = s.Out[:0] }()
		return string(s.Out)
	}
	s := f.session()
	require.Equal(t, "*3\r\n+OK\r\n$1\r\n1\r\n", exec(s, "CLIENT REPLY SKIP", "SET x 1", "GET x"))
	f.expect(s, "PING", "", "PING", "PONG")
	require.Equal(t, "*2\r\n:1\r\n", exec(s, "CLIENT KILL ID 1 SKIPME no", "SET x 2"))
	require.True(t, s.Closing())
	f.expect(f.session(), "GET x", `"2"`)
}

func TestClientListAndReply(t *testing.T) {
	f := newFixture(t)
	s, o := f.session(), f.session()
	f.clock.advance(3 * time.Second)
	f.do(o, "MULTI")
	f.do(o, "PING")
	f.expect(s,
		"CLIENT LIST ID 2", `"id=2 addr=127.0.0.1:5000 laddr=127.0.0.1:6379 fd=9 name= age=3 idle=0 flags=x db=0 sub=0 `+
			`psub=0 ssub=0 multi=1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=12 rbs=1024 rbp=0 obl=0 oll=0 omem=0 `+
			`tot-mem=1852 events=r cmd=ping user=default redir=-1 resp=2\n"`,
		"CLIENT LIST ID x", "(error) ERR Invalid client ID",
		"CLIENT LIST TYPE pubsub", `""`,
		"CLIENT LIST foo", "(error) ERR syntax error",
		"CLIENT REPLY SKIP", "", "PING", "", "PING", "PONG",
		"CLIENT REPLY OFF", "", "PING", "", "nosuch", "", "CLIENT REPLY SKIP", "", "PING", "",
		"CLIENT REPLY ON", "OK", "PING", "PONG")
}

// TestMemoryOfAQueue has what redis-server 7.0.15 adds to tot-mem for commands that wait for EXEC, without their words.
func TestMemoryOfAQueue(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	before := s.footprint(nil).total
	f.do(s, "MULTI")
	for i, want := range []int{48, 48, 96, 96, 192, 192, 192, 192, 384} {
		f.do(s, "PING")
		now := s.footprint(nil)
		require.Equal(t, want, now.total-now.queued-before, "%d commands", i+1)
	}
}

func TestConfig(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Parameters = map[string]string{"maxmemory": "1MB", "databases": "2"} })
	s := f.session()
	prefix := "(error) ERR CONFIG SET failed (possibly related to argument "
	f.expect(s,
		"CONFIG GET maxmemory port", "1) \"maxmemory\"\n2) \"1048576\"\n3) \"port\"\n4) \"6379\"",
		"CONFIG GET slave-priority", "1) \"slave-priority\"\n2) \"100\"",
		"SELECT 2", "(error) ERR DB index is out of range",
		"CONFIG SET hz 3 hz 4", prefix+"'hz') - duplicate parameter",
		"CONFIG SET hz 7 nosuch 1", "(error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
		"CONFIG SET hz 7 timeout -1", prefix+"'timeout') - argument must be between 0 and 2147483647 inclusive",
		"CONFIG GET hz", "1) \"hz\"\n2) \"10\"",
		"CONFIG SET databases 4", prefix+"'databases') - can't set immutable config",
		"CONFIG SET maxmemory abc", prefix+"'maxmemory') - argument must be a memory value",
		"CONFIG SET appendonly x", prefix+"'appendonly') - argument must be 'yes' or 'no'",
		"CONFIG SET hz 9 timeout 3", "OK",
		"CONFIG GET hz timeout", "1) \"hz\"\n2) \"9\"\n3) \"timeout\"\n4) \"3\"")
	require.EqualError(t, ValidateParameter("nosuch", "1"), "Bad directive or wrong number of arguments")
	require.EqualError(t, ValidateParameter("port", "70000"), "argument must be between 0 and 65535 inclusive")
	require.NoError(t, ValidateParameter("SAVE", ""))
}

func TestCommandAndMemory(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.do(s, "SET aa bb")
	f.do(s, "SET in 12345")
	f.do(s, "HSET hh a b")
	f.expect(s,
		"COMMAND GETKEYS GET a", `1) "a"`,
		"COMMAND GETKEYS EVAL x 1 a b", `1) "a"`,
		"COMMAND GETKEYS MSET a b c d", "1) \"a\"\n2) \"c\"",
		"COMMAND GETKEYS nosuch a", "(error) ERR Invalid command specified",
		"COMMAND GETKEYS PING a", "(error) ERR The command has no key arguments",
		"COMMAND LIST FILTERBY PATTERN s*b*h", "1) \"spublish\"",
		"COMMAND LIST FILTERBY foo bar", "(error) ERR syntax error",
		"COMMAND INFO ping nosuch", "1)  1) \"ping\"\n    2) (integer) -1\n    3) 1) fast\n    4) (integer) 0\n"+
			"    5) (integer) 0\n    6) (integer) 0\n    7) 1) @fast\n       2) @connection\n"+
			"    8) 1) \"request_policy:all_shards\"\n       2) \"response_policy:all_succeeded\"\n"+
			"    9) (empty array)\n   10) (empty array)\n2) (nil)",
		"MEMORY USAGE aa", "(integer) 64",
		"MEMORY USAGE in", "(integer) 48",
		"MEMORY USAGE hh", "(integer) 64",
		"MEMORY USAGE nosuch", "(nil)",
		"MEMORY USAGE aa SAMPLES -1", "(error) ERR syntax error",
		"DEBUG SET-ACTIVE-EXPIRE 0", "(error) "+errDenied("debug"))
}

// Sizes of strings that redis-server 7.0.15 with jemalloc reports.
func TestAllocated(t *testing.T) {
	for _, c := range []struct {
		bytes int
		size  int64
	}{{1, 8}, {8, 8}, {9, 16}, {17, 32}, {128, 128}, {129, 160}, {257, 320}, {513, 640}, {1024, 1024}} {
		require.Equal(t, c.size, datastore.Allocated(c.bytes), c.bytes)
	}
}

func TestEmptyNodeIsCheap(t *testing.T) {
	const nodes = 1000
	cfg := Config{Clock: &fakeClock{}, Random: func() uint64 { return 1 }}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range nodes {
		New(cfg)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/nodes, uint64(8<<10))
}

// What is permitted to local clients is not to others.
func TestLocalOnly(t *testing.T) {
	f := newFixture(t, func(cfg *Config) {
		cfg.Parameters = map[string]string{"enable-debug-command": "local", "enable-protected-configs": "local"}
	})
	for _, addr := range []string{"127.0.0.1:5000", "[::1]:5000", ""} {
		f.expect(f.node.NewSession(addr), "DEBUG SET-ACTIVE-EXPIRE 1", "OK", "CONFIG SET dir /", "OK")
	}
	for _, addr := range []string{"10.0.0.1:5000", "127.0.0.2:5000", "[::2]:5000"} {
		f.expect(f.node.NewSession(addr), "DEBUG SET-ACTIVE-EXPIRE 1", "(error) "+errDenied("debug"),
			"CONFIG SET dir /", "(error) "+errConfigSet("dir", "can't set protected config"))
	}
}
