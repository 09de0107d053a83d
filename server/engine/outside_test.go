package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// script is what a server outside says, connection by connection: lines, or ways in
// which it does not answer.
type script struct {
	f           *fixture
	connections []string
	dialed      int
	got         []string
}

func (s *script) dial(host string, port int, timeout time.Duration) (Peer, error) {
	require.Equal(s.f.t, "there 7 500ms", strings.Join([]string{host, decimal(int64(port)), timeout.String()}, " "))
	said := s.connections[min(s.dialed, len(s.connections)-1)]
	s.dialed++
	switch said {
	case "refused":
		return nil, ErrRefused
	case "no way":
		return nil, errors.New("no way")
	}
	return &scripted{s, strings.Fields(said)}, nil
}

type scripted struct {
	script *script
	words  []string
}

func (s *scripted) Write(text []byte) error {
	for rest := text; len(rest) > 0; {
		v, n, err := resp.Parse(rest)
		require.NoError(s.script.f.t, err)
		words := []string{}
		for i, word := range v.List {
			if i == 3 { // the value
				word.Str = "…"
			}
			words = append(words, word.Str)
		}
		s.script.got = append(s.script.got, strings.Join(words, " "))
		rest = rest[n:]
	}
	switch {
	case len(s.words) > 0 && s.words[0] == "deaf":
		return ErrTimeout
	case len(s.words) > 0 && s.words[0] == "broken":
		return errors.New("broken")
	}
	return nil
}

func (s *scripted) Line() (string, error) {
	if len(s.words) == 0 {
		return "", errors.New("closed")
	}
	word := s.words[0]
	s.words = s.words[1:]
	if word == "silence" {
		return "", ErrTimeout
	}
	return strings.ReplaceAll(word, "_", " "), nil
}

func (s *scripted) Close() {}

// newOutside is a node with three keys that can reach a server which says what
// connections tell.
func newOutside(t *testing.T, connections ...string) (*fixture, *script) {
	s := &script{connections: connections}
	f := newFixture(t, withLua, func(cfg *Config) { cfg.Dial = s.dial })
	s.f = f
	f.do(f.session(), "MSET a 1 b 2 c 3")
	return f, s
}

// What redis-server does with three keys when the other server says these lines, as
// recorded with one that says them.
func TestMigrateOutside(t *testing.T) {
	const reading = "(error) IOERR error or timeout reading to target instance"
	const writing = "(error) IOERR error or timeout writing to target instance"
	const refused = "(error) ERR Target instance replied with error: "
	for _, c := range []struct {
		says    []string
		options string
		reply   string
		left    string
		dialed  int
	}{
		{[]string{"+OK +OK +OK +OK"}, "", "OK", "", 1},
		{[]string{"+OK +OK +OK +OK"}, "COPY", "OK", "abc", 1},
		{[]string{"refused"}, "", writing, "abc", 2},
		{[]string{"no way"}, "", "(error) IOERR error or timeout connecting to the client", "abc", 1},
		{[]string{"deaf"}, "", writing, "abc", 1},
		{[]string{"broken"}, "", writing, "abc", 2},
		{[]string{"silence"}, "", reading, "abc", 1},
		{[]string{""}, "", reading, "abc", 2},
		{[]string{"+OK"}, "", reading, "abc", 2},
		{[]string{"+OK", "+OK +OK +OK +OK"}, "", "OK", "", 2},
		{[]string{"+OK +OK +OK"}, "", reading, "c", 1},
		{[]string{"+OK +OK silence"}, "", reading, "bc", 1},
		{[]string{"+OK +OK -BUSYKEY_x_y +OK"}, "", refused + "BUSYKEY x y", "b", 1},
		{[]string{"+OK +OK -BUSYKEY_x_y"}, "", refused + "BUSYKEY x y", "bc", 1},
		{[]string{"+OK -A +OK -B"}, "COPY", refused + "A", "abc", 1},
		{[]string{"-ERR_sel +OK +OK +OK"}, "", refused + "ERR sel", "abc", 1},
		{[]string{"-WRONGPASS -ERR_sel +OK -x +OK"}, "AUTH p", refused + "WRONGPASS", "abc", 1},
		{[]string{"-WRONGPASS"}, "AUTH p", reading, "abc", 2},
		{[]string{"+OK :5 $2 hi"}, "", "OK", "", 1},
	} {
		f, s := newOutside(t, c.says...)
		require.Equal(t, c.reply, f.do(f.session(), `MIGRATE there 7x "" 0 500 `+c.options+" KEYS a b none c"), "%+v", c)
		left := ""
		for _, key := range []string{"a", "b", "c"} {
			if f.do(f.session(), "EXISTS "+key) == "(integer) 1" {
				left += key
			}
		}
		require.Equal(t, c.left, left, "%+v", c)
		require.Equal(t, c.dialed, s.dialed, "%+v", c)
	}
}

func TestMigrateOutsideSends(t *testing.T) {
	f, s := newOutside(t, "+OK +OK +OK +OK +OK")
	f.do(f.session(), "PEXPIRE b 1500")
	f.expect(f.session(), `MIGRATE there 7 "" 3 500 COPY REPLACE AUTH2 user secret KEYS a b`, "OK",
		"MIGRATE there 7 c -1 500", "OK")
	require.Equal(t, []string{"AUTH user secret", "SELECT 3", "RESTORE a 0 … REPLACE", "RESTORE b 1500 … REPLACE",
		"RESTORE c 0 …"}, s.got)
	f, s = newOutside(t, "+OK +OK")
	f.node.cfg.Topology = &fakeTopology{}
	f.expect(f.session(), "MIGRATE there 7 a 0 500", "OK")
	require.Equal(t, []string{"SELECT 0", "RESTORE-ASKING a 0 …"}, s.got)
}

// Replicas are told of the keys that have gone, in transactions and scripts as well.
func TestMigrateOutsideIsADel(t *testing.T) {
	f, _ := newOutside(t, "+OK +OK -BUSYKEY +OK")
	f.node.AddReplica(1)
	offset := f.node.Offset()
	s := f.session()
	f.do(s, `MIGRATE there 7 "" 0 500 KEYS a b c`)
	require.Equal(t, "| SELECT 0 | DEL a c", f.stream(offset))

	f, _ = newOutside(t, "+OK +OK")
	f.node.AddReplica(1)
	offset = f.node.Offset()
	s = f.session()
	f.expect(s, "MULTI", "OK", "SET x 1", "QUEUED", "MIGRATE there 7 a 0 500", "QUEUED", "EXISTS a", "QUEUED",
		"EXEC", "1) OK\n2) OK\n3) (integer) 0",
		`EVAL "return redis.call('migrate','there','7','b','0','500')" 0`, "OK",
		"MIGRATE there 7 c 0 500 COPY", "OK", "DBSIZE", "(integer) 2")
	require.Equal(t, "| SELECT 0 | MULTI | SET x 1 | DEL a | EXEC | DEL b", f.stream(offset))
}
