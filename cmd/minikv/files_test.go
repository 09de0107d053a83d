package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/topology"
)

// What has no end is not read for ever.
func TestFilesWithoutAnEnd(t *testing.T) {
	for _, args := range [][]string{{"/dev/zero"}, {"trace", "/dev/zero"}, {"diff", "127.0.0.1:1", "/dev/zero"}} {
		var errs bytes.Buffer
		require.Equal(t, 2, run(args, strings.NewReader(""), &bytes.Buffer{}, &errs), args)
		require.Contains(t, errs.String(), "expected at most 64 MiB", args)
	}
}

// A folder where a file is to be made stays: it is not taken for one of an earlier run.
func TestFoldersStay(t *testing.T) {
	for _, option := range []string{"--unixsocket", "--ready-file"} {
		folder := t.TempDir()
		var errs bytes.Buffer
		code := run([]string{"--port", "0", "--exit-with-stdin", option, folder}, strings.NewReader(""), &errs, &errs)
		require.Equal(t, 2, code, errs.String())
		require.Contains(t, errs.String(), folder+": is a directory")
		require.DirExists(t, folder)
	}
}

// Links and devices stay: no ready file takes the place of /dev/stdout, which is a link to
// one or the other, nor takes it away.
func TestLinksAndDevicesStay(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	for _, target := range []string{os.DevNull, file} {
		require.NoError(t, os.Symlink(target, link))
		var errs bytes.Buffer
		code := run([]string{"--exit-with-stdin", "--ready-file", link}, strings.NewReader(""), &errs, &errs)
		require.Equal(t, 2, code, errs.String())
		require.Contains(t, errs.String(), "ready-file "+link+": is not a regular file")
		if target == os.DevNull {
			require.ErrorIs(t, writeFile(link, nil, publicMode), errNoFile)
		}
		require.NoError(t, os.Remove(link), "it is still there")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}

// A file is complete or not there, whoever reads it meanwhile, and nothing else stays.
func TestWriteFile(t *testing.T) {
	folder := t.TempDir()
	name, read := filepath.Join(folder, "a"), filepath.Join(folder, "b")
	require.NoError(t, writeFile(name, []byte("old"), publicMode))
	require.NoError(t, os.Link(name, read))
	require.NoError(t, writeFile(name, []byte("new"), publicMode))
	for file, want := range map[string]string{name: "new", read: "old"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	taken := filepath.Join(folder, "c")
	require.NoError(t, os.Mkdir(taken, 0o700))
	require.Error(t, writeFile(taken, nil, publicMode))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 3)
}

// A trace has no gap: what comes behind a missing event is not written.
func TestTraceHasNoGap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	r := &recorder{logs: &logger{out: &bytes.Buffer{}}}
	require.NoError(t, r.begin(file))
	writable := r.file
	unwritable, err := os.Open(file)
	require.NoError(t, err)
	r.file = unwritable
	r.note(topology.Event{Number: 1})
	require.NoError(t, unwritable.Close())
	r.file = writable
	r.note(topology.Event{Number: 2})
	r.end()
	require.ErrorContains(t, r.incomplete(), "the trace ends at event 1: ")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, text)
}

// Lines that are longer than the reader's buffer are read as a whole.
func TestReadLine(t *testing.T) {
	long := strings.Repeat("a", 10_000)
	in := bufio.NewReaderSize(strings.NewReader(long+"\nb"), 16)
	line, err := readLine(in)
	require.NoError(t, err)
	require.Equal(t, long+"\n", string(line))
	line, err = readLine(in)
	require.Error(t, err)
	require.Equal(t, "b", string(line))
}
