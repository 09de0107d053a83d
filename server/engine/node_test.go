package engine

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// fakeClock is a clock that a test moves.
type fakeClock struct {
	wall time.Time
	mono time.Duration
}

func (c *fakeClock) Wall() time.Time     { return c.wall }
func (c *fakeClock) Mono() time.Duration { return c.mono }

func (c *fakeClock) advance(d time.Duration) {
	c.wall = c.wall.Add(d)
	c.mono += d
}

// bench is a node with its clock, and what a test does with them.
type fixture struct {
	t     *testing.T
	node  *Node
	clock *fakeClock
}

// growsWithNumber fails if many take more than sixty times as long as a tenth of them: with
// the square it would be a hundred times. It is the best of three, in turn, as
// a busy machine takes longer for both.
func growsWithNumber(t *testing.T, many int, do func(n int)) {
	t.Helper()
	const never = time.Hour
	few, all := never, never
	for range 3 {
		for n, best := range map[int]*time.Duration{many / 10: &few, many: &all} {
			began := time.Now()
			do(n)
			*best = min(*best, time.Since(began))
		}
	}
	require.Less(t, all, 60*few, "%d take %v, %d take %v", many/10, few, many, all)
}

func newFixture(t *testing.T, change ...func(*Config)) *fixture {
	clock := &fakeClock{wall: time.UnixMilli(1_700_000_000_000)}
	seed := uint64(1)
	cfg := Config{
		Clock: clock, Port: 6379,
		Random: func() uint64 { seed = seed*6364136223846793005 + 1; return seed },
	}
	for _, f := range change {
		f(&cfg)
	}
	return &fixture{t: t, node: New(cfg), clock: clock}
}

func (f *fixture) session() *Session { return f.node.NewSession("127.0.0.1:5000") }

// do runs a command line and returns what the session got, as text.
func (f *fixture) do(s *Session, line string) string {
	args, ok := resp.SplitArgs([]byte(line))
	require.True(f.t, ok, line)
	f.node.Do(s, args)
	f.goOn()
	return f.got(s)
}

// goOn has clients go on that are not blocked any more: what a pause had held back runs.
func (f *fixture) goOn() {
	for f.node.Unblocked() != nil {
	}
}

func (f *fixture) tick() {
	f.node.Tick()
	f.goOn()
}

// got is what a session was sent since the last look, one reply after another.
func (f *fixture) got(s *Session) string {
	var all []string
	for rest := s.Out; len(rest) > 0; {
		value, n, err := resp.Parse(rest)
		require.NoError(f.t, err)
		require.NotZero(f.t, n, "half a reply: %q", rest)
		all = append(all, resp.Describe(value))
		rest = rest[n:]
	}
	s.Out = s.Out[:0]
	return strings.Join(all, "; ")
}

// expect checks pairs of a command line and its reply.
func (f *fixture) expect(s *Session, pairs ...string) {
	f.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		require.Equal(f.t, pairs[i+1], f.do(s, pairs[i]), pairs[i])
	}
}

func TestUnknownCommandsAndArity(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	f.expect(s,
		"nosuch bar baz", "(error) ERR unknown command 'nosuch', with args beginning with: 'bar' 'baz' ",
		`"fo\x01\no" "x\r\ny"`, "(error) ERR unknown command 'fo\x01 o', with args beginning with: 'x  y' ",
		"client nosuch", "(error) ERR unknown subcommand 'nosuch'. Try CLIENT HELP.",
		"client", "(error) ERR wrong number of arguments for 'client' command",
		"echo", "(error) ERR wrong number of arguments for 'echo' command",
		"client id now", "(error) ERR wrong number of arguments for 'client|id' command",
		"pInG", "PONG",
	)
}

// A call has nothing of the one that had its place before: a new field of Call is
// to be set here and cleared in pushIn.
func TestCallBeginsEmpty(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	used := Call{Node: f.node, Session: s, Cmd: &table[0], Args: [][]byte{{1}}, DB: s.db(), Proto: 3, Script: true,
		InTx: true, Again: true, Ready: []byte{1}, reply: resp.OK, changes: 1, replicated: true, forced: true, plain: true,
		quiet: true, counted: errorCounted}
	for i := range reflect.TypeFor[Call]().NumField() {
		require.False(t, reflect.ValueOf(used).Field(i).IsZero(), reflect.TypeFor[Call]().Field(i).Name)
	}
	f.node.calls[0] = used
	c := f.node.push(s)
	f.node.depth--
	require.Equal(t, resp.None, c.reply.Kind)
	c.reply = resp.Value{}
	require.Equal(t, Call{Node: f.node, Session: s, DB: s.db(), Proto: s.Proto}, *c)
}

// An empty request ends what the one before was said to be followed by, but not in MULTI.
func TestAnEmptyRequest(t *testing.T) {
	f := newFixture(t)
	s := f.session()
	s.asking = true
	f.node.Do(s, nil)
	require.False(t, s.asking)
	f.expect(s, "MULTI", "OK")
	s.asking = true
	f.node.Do(s, [][]byte{})
	require.True(t, s.asking)
}

// Who watches a key or waits in a group is told of all that empties the node.
func TestWhatEmptiesTheNode(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Parameters = map[string]string{"enable-debug-command": "yes"} })
	console := f.session()
	for name, empty := range map[string]func(){
		"RemoveAll":     f.node.RemoveAll,
		"LoadSnapshot":  func() { f.node.LoadSnapshot(newFixture(t).node.Snapshot()) },
		"DEBUG LOADAOF": func() { f.do(console, "DEBUG LOADAOF") },
		"FLUSHALL":      func() { f.do(console, "FLUSHALL") },
	} {
		watcher, member := f.session(), f.session()
		f.expect(watcher, "SET k v", "OK", "XGROUP CREATE log g $ MKSTREAM", "OK", "WATCH k", "OK")
		f.do(member, "XREADGROUP GROUP g c BLOCK 0 STREAMS log >")
		empty()
		f.goOn()
		f.expect(watcher, "EXISTS k", "(integer) 0", "MULTI", "OK", "PING", "QUEUED", "EXEC", "(nil array)")
		f.do(console, "PING") // serves who is ready
		require.False(t, member.Blocked(), name)
		f.expect(watcher, "FLUSHALL", "OK")
	}
}
