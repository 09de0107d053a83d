package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim/matrix"
)

// Each cell is a JSON object a line, and each replay line does what it says.
func TestMatrixReplays(t *testing.T) {
	code, stdout, stderr := locksim("matrix", "--seeds", "12", "--rows", "2", "--format", "json")
	require.Equal(t, exitExpected, code, stderr)
	violated := 0
	for line := range strings.Lines(stdout) {
		var c matrix.Result
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		if c.Verdict != "violated" {
			continue
		}
		violated++
		args := strings.Fields(c.Replay)
		require.Equal(t, "locksim", args[0])
		for range 2 {
			code, stdout, stderr := locksim(append(args[1:], "--trace", "none")...)
			require.Equal(t, exitExpected, code, stderr)
			require.Regexp(t, `(?m)^\w+ +violated `, stdout)
		}
	}
	require.Greater(t, violated, 5)
}

func TestMatrixRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--seeds 0":                         "--seeds 0: expected a number from 1 to 1000000000",
		"--seeds 1000000001":                "--seeds 1000000001: expected a number",
		"--find -1":                         "--find -1: expected a number from 0",
		"--find 1000000001 --cells 2/x":     "--find 1000000001: expected a number",
		"--cells=":                          "--cells: expected names, such as 7/redisson/mutex",
		"--rows 1 --cells 2/redisson/mutex": "it is in none of the rows",
		"--rows 99":                         "there is no such row",
		"--cells 10/redisson/redlock":       "there is no such cell; there are 10/redisson/redlock/minority, ",
		"--cells 2/x":                       "--cells 2/x: there is no such cell",
		"--cells 10/redisson":               "--cells 10/redisson: there is no such cell\n", // or the list would be long
		"--pages x":                         "expected --format html as well",
		"--format text":                     "expected table, json, markdown or html",
		"more":                              `unknown command "more"`,
	} {
		code, _, stderr := locksim(strings.Fields("matrix " + args)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, want)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	code, stdout, stderr := locksim("matrix", "--rows", "2", "--seeds", "1", "--format", "html", "--pages", file)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--pages: mkdir ")
	require.Empty(t, stdout, "it is said before the search")
	code, _, stderr = locksim("run", "matrix:99/redisson/mutex")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `there is no cell "99/redisson/mutex"`)
	for _, prefix := range []string{"matrix:", "cell:"} {
		_, _, stderr = locksim("run", prefix+"10/redisson/redlock")
		require.Contains(t, stderr, "; there are 10/redisson/redlock/minority, ", prefix)
	}
}

// A run that is stored goes on where it ended, also after half a line, and comes
// to the same.
func TestMatrixIsStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.jsonl")
	fill := func(cells, store string) string {
		args := strings.Fields("matrix --seeds 40 --shrink --format json --cells " + cells + store)
		code, stdout, stderr := locksim(args...)
		require.Equal(t, exitExpected, code, stderr)
		return regexp.MustCompile(`"millis":\d+`).ReplaceAllString(stdout, "")
	}
	const both = "2/redisson/mutex,12/lockclient/mutex"
	whole := fill(both, "")
	fill("2/redisson/mutex", " --store "+file)
	half, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = half.WriteString(`{"row":12,`)
	require.NoError(t, err)
	require.NoError(t, half.Close())
	require.Equal(t, whole, fill(both, " --store "+file))
	require.Equal(t, whole, fill(both, " --store "+file))

	code, _, stderr := locksim("matrix", "--seeds", "41", "--rows", "2", "--store", file)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "line 1: it was made with")

	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	for want, text := range map[string]string{
		"another build of locksim":    regexp.MustCompile(`"build":"[^"]*"`).ReplaceAllString(string(stored), `"build":"0"`),
		"line 2: invalid character":   strings.Replace(string(stored), "\n{", "\n", 1),
		"line 1: expected at most":    strings.Repeat(" ", mostLine+1),
		"this is not a store":         "world\n",
		"line 1: this is not a store": string(stored[bytes.IndexByte(stored, '\n')+1:]),
		`line 2: unknown verdict:`:    strings.Replace(string(stored), `"verdict":"violated"`, `"verdict":"broken"`, 1),
		`line 2: there is no cell`:    strings.Replace(string(stored), `"lock":"mutex"`, `"lock":"spoon"`, 1),
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		code, _, stderr := locksim("matrix", "--seeds", "40", "--shrink", "--rows", "2", "--store", file)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, want)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(left), "what is not understood is not touched")
	}
	taken, err := os.Open(file)
	require.NoError(t, err)
	defer taken.Close()
	if require.NoError(t, lockFile(taken)); runtime.GOOS == "linux" {
		_, _, stderr = locksim("matrix", "--rows", "2", "--store", file)
		require.Contains(t, stderr, "another process is writing it")
	}
}

// The help tells that JSON is not one array.
func TestMatrixFormatIsTold(t *testing.T) {
	require.Contains(t, newMatrix().Flag("format").Usage, "; json: one object a line")
}
