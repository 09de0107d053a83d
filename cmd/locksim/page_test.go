package main

import (
	"os"
	"path/filepath"
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
