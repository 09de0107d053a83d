package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
