package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/internal/memory"
)

func TestStepPrintsEveryStatement(t *testing.T) {
	code, stdout, stderr := locksim("step", "mutex-acquire", "--walk", "2")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `Its owner takes it once more: the count rises, the lease starts anew.`)
	require.Contains(t, stdout, `
step 4, line 12: redis.call('hincrby', KEYS[1], ARGV[2], 1)
    > hincrby orders:42 9d1e:1 1
      (integer) 2
    * orders:42: hash{9d1e:1:1} ttl=12000ms -> hash{9d1e:1:2} ttl=12000ms
`)
}

func TestStepThroughAFile(t *testing.T) {
	dir := t.TempDir()
	script, setup := filepath.Join(dir, "my.lua"), filepath.Join(dir, "before.redis")
	require.NoError(t, os.WriteFile(script,
		[]byte("local n = redis.call('get', KEYS[1]) redis.call('set', KEYS[1], n + 1) redis.call('get', 'x') return n"),
		0o600))
	require.NoError(t, os.WriteFile(setup, []byte("# a number\nSET n 41\n"), 0o600))
	code, stdout, stderr := locksim("step", script, "--keys", "n", "--setup", setup, "--json")
	require.Zero(t, code, stderr)
	var r recording
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Len(t, r.Steps, 4, "a script in one line is laid out")
	require.Equal(t, []keyChange{{"n", `string{41}`, `string{42}`}}, r.Steps[1].Changes)
	require.Equal(t, `"41"`, r.Reply)
}

func TestStepRefusals(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.lua")
	require.NoError(t, os.WriteFile(broken, []byte("local a = 1\nif a the"), 0o600))
	setup := filepath.Join(dir, "setup.redis")
	require.NoError(t, os.WriteFile(setup, []byte("# two lines\n\nSET a 1\nSTE a 1\n"), 0o600))
	quoted := filepath.Join(dir, "quoted.redis")
	require.NoError(t, os.WriteFile(quoted, []byte("SET \"a 1\r\n"), 0o600))
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"step", "mutex-acquire", "--setup", setup}, setup + ":4: ERR unknown command 'STE'"},
		{[]string{"step", "mutex-acquire", "--setup", quoted}, quoted + ":1: unbalanced quotes"},
		{[]string{"step"}, "step takes one script, got 0 arguments; the known ones are fair-acquire"},
		{[]string{"step", "mutex-aquire"}, "there is no script mutex-aquire; there are mutex-acquire, "},
		{[]string{"step", "mutex-acquire", "--walk", "9"}, "--walk 9: mutex-acquire has walks 1 to 4"},
		{[]string{"step", "mutex-acquire", "--walk", "0"}, "--walk 0: mutex-acquire has walks 1 to 4"},
		{[]string{"step", "mutex-acquire", "--walk", "1", "--keys", "a"}, "--walk: only scripts of lockclient have walks"},
		{[]string{"step", broken, "--walk", "1"}, "--walk: only scripts of lockclient have walks"},
		{[]string{"step", "./no.lua"}, "no.lua: no such file"},
		{[]string{"step", broken}, "ERR Error compiling script (new function): user_script:2: "},
		{[]string{"step", broken}, "   1  local a = 1\n>  2  if a the"},
	} {
		code, stdout, stderr := locksim(bad.args...)
		require.Equal(t, exitUsage, code, bad.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, bad.want)
	}
}

// TestEndlessScriptEnds: stepping through it ends, and shows what it did.
func TestEndlessScriptEnds(t *testing.T) {
	r, err := record(t.Context(), exercise{text: "while true do local a = 1 end"})
	require.NoError(t, err)
	require.Contains(t, r.Reply, fmt.Sprintf("has not ended after %d statements", len(r.Steps)))
	r, err = record(t.Context(), exercise{text: "while true do end"})
	require.NoError(t, err)
	require.Len(t, r.Steps, 1)
	require.Regexp(t, `has not ended after \d+ turns of its loops`, r.Reply)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []exercise{{text: "while true do end"}, {setup: []string{"EVAL 'while true do end' 0"}}} {
		_, err = record(ctx, x)
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err = record(t.Context(), exercise{setup: []string{"EVAL 'while true do end' 0"}})
	require.ErrorContains(t, err, "has not ended after")
}

// TestHugeScriptEnds: one that builds more than there is memory for is ended before.
func TestHugeScriptEnds(t *testing.T) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(m.HeapAlloc)*2 + 128<<20))
	r, err := record(t.Context(), exercise{text: "local t = {} for i = 1, 4000 do t[i] = string.rep('x', 2e5) .. i end"})
	require.NoError(t, err)
	require.Contains(t, r.Reply, memory.ErrScript)
}

// TestStepViewGoesBack: what the screen shows of a step does not depend on where
// one came from, and the end shows the reply.
func TestStepViewGoesBack(t *testing.T) {
	_, walks, ok := lockScript("mutex-acquire")
	require.True(t, ok)
	var out strings.Builder
	v := &viewer{ctx: t.Context(), out: &out, name: "mutex-acquire", walks: walks}
	require.NoError(t, v.choose(0))
	press := func(key string) string {
		require.NoError(t, v.key(key))
		out.Reset()
		v.draw(80, 40)
		return out.String()
	}
	first, second := press("n"), press("n")
	require.Contains(t, first, "step 2 of 6")
	require.Contains(t, second, "'mode') == 0 then", "a long line is shown whole")
	require.Contains(t, second, "step 3 of 6")
	third := press("n")
	require.Contains(t, third, "step 4 of 6")
	require.Contains(t, third, "\x1b[7m> 12    redis.call('hincrby'")
	require.Contains(t, third, "> hincrby ")
	require.Contains(t, press("G"), "reply: (nil)")
	require.Contains(t, press("\x1b[D"), "step 6 of 6")
	require.Contains(t, press("p"), "step 5 of 6")
	require.Equal(t, third, press("h"))
	require.Equal(t, second, press("\x7f"))
	require.Equal(t, first, press("k"))
	begin := press("k")
	require.Contains(t, begin, "step 1 of 6")
	require.Equal(t, begin, press("k"), "there is none before the first")
	require.Contains(t, press("]"), "walk 2 of 4")
	require.Contains(t, press("["), "walk 1 of 4")
	v.draw(20, 5) // a very small terminal
}

// Keys that come at once, as when one is held, each count; so do arrows of either mode.
func TestKeysThatComeAtOnce(t *testing.T) {
	keys := make(chan string, 20)
	readKeys(strings.NewReader("n\x1b[C\x1b[C\x1bOD[\x1b[1;5C\x1b"), keys)
	var got []string
	for key := range keys {
		got = append(got, key)
	}
	require.Equal(t, []string{"n", "\x1b[C", "\x1b[C", "\x1b[D", "[", "\x1b[1;5C", "\x1b"}, got)
}

// TestHostileStep: what keys, values and scripts say does not reach the terminal
// as a command.
func TestHostileStep(t *testing.T) {
	script := filepath.Join(t.TempDir(), "evil.lua")
	require.NoError(t, os.WriteFile(script, []byte("redis.call('set', KEYS[1], '\x1b[31m\u202e\xff') "+
		"return redis.call('get', KEYS[1])"), 0o600))
	code, stdout, stderr := locksim("step", script, "--keys", "k\x1b]0;evil\x07\u202e")
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "\x1b")
	require.NotContains(t, stdout, "\x07")
	require.NotContains(t, stdout, "\u202e")
	require.Contains(t, stdout, "step 2, line 2: return redis.call('get', KEYS[1])", "one line becomes two")
	require.Contains(t, stdout, "KEYS[1] = k·]0;evil··")
}
