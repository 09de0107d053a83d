package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages: a run becomes a page at once, or from its trace.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	direct, events, late := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.html")
	code, stdout, stderr := locksim("run", "pause_outlives_lease", "--trace", "jsonl", "--html", direct)
	require.Zero(t, code, stderr)
	require.NoError(t, os.WriteFile(events, []byte(stdout), 0o600))
	code, stdout, stderr = locksim("page", events, "--html", late)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	for path, want := range map[string]string{direct: "<b>exclusion</b> violated", late: "<b>fencing</b> holds"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), want)
		require.Contains(t, string(text), `"says":"resource refuses the write of c1 token=1, it has seen token 2"`)
	}
}

// A line that came to nothing is told of behind the verdicts, and on the page.
func TestIdleLinesAreToldOf(t *testing.T) {
	folder, file := writeScenario(t, "world clients=1 rounds=1\nexpect exclusion=holds\nat 0s start c1\n"+
		"at 1s evict m1 key=1\nat 1s drop m1 c1 next=2\nrun for=2s\n")
	html := filepath.Join(folder, "run.html")
	code, out, errs := locksim("run", file, "--trace", "none", "--html", html)
	require.Equal(t, exitExpected, code, errs)
	require.Contains(t, out, "\nline 4: \"at 1s evict m1 key=1\" did nothing\n"+
		"line 5: \"at 1s drop m1 c1 next=2\" struck 0 of 2 messages\ngrants ")
	text, err := os.ReadFile(html)
	require.NoError(t, err)
	require.Contains(t, string(text), `<p class="note">&#34;at 1s evict m1 key=1&#34; did nothing.</p>`)
}

func TestPageRefusals(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.jsonl")
	require.NoError(t, os.WriteFile(cut, []byte(`{"n":1,"t":0,"actor":"c1","kind":"start"}`+"\n"+`{"n":2,"t":`), 0o600))
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"page", cut, "--html", filepath.Join(dir, "x.html")}, "cut.jsonl:2: the trace is cut short"},
		{[]string{"page", "./no.jsonl", "--html", "x.html"}, "no.jsonl: no such file"},
		{[]string{"page", "--html", "x.html"}, "page takes one trace, got 0 arguments"},
		{[]string{"page", cut}, `required flag(s) "html" not set`},
		{[]string{"run", "contention", "--trace", "none", "--html", filepath.Join(dir, "no", "x.html")}, "no such file"},
	} {
		code, _, stderr := locksim(bad.args...)
		require.Equal(t, exitUsage, code, bad.args)
		require.Contains(t, stderr, bad.want)
	}
	require.NoFileExists(t, filepath.Join(dir, "x.html"))
}

// TestLuaLines: the trace says which line decided, if it is asked to, and a page that
// is made from it shows the line.
func TestLuaLines(t *testing.T) {
	const story = "failover_before_replication"
	const decided = "decided by line 11: if free or redis.call('hexists', KEYS[1], ARGV[2]) == 1"
	code, plain, stderr := locksim("run", story)
	require.Zero(t, code, stderr)
	require.NotContains(t, plain, "decided by")
	code, lua, stderr := locksim("run", story, "--lua")
	require.Zero(t, code, stderr)
	require.Equal(t, 2, strings.Count(lua, decided), lua)
	var told []string
	for line := range strings.Lines(lua) {
		if !strings.Contains(line, "decided by line ") {
			told = append(told, line)
		}
	}
	require.Equal(t, plain, strings.Join(told, ""), "the rest is the same, hash included")

	dir := t.TempDir()
	events, html := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "a.html")
	code, jsonl, stderr := locksim("run", story, "--lua", "--trace", "jsonl")
	require.Zero(t, code, stderr)
	require.NoError(t, os.WriteFile(events, []byte(jsonl), 0o600))
	code, _, stderr = locksim("page", events, "--html", html)
	require.Zero(t, code, stderr)
	text, err := os.ReadFile(html)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(text), `"decided":11}`), "two acquisitions, and the release of what is gone")
}
