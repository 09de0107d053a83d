package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/topology"
)

// What --trace writes is shown by minikv trace; the exit code tells whether a
// lock was held by two.
func TestTraceOfARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	g := &golden{t: t}
	t.Run("run", func(t *testing.T) {
		g.t = t
		g.start([]string{"--clock", "virtual", "--control", "--replicas", "1", "--trace", file})
		for _, line := range []string{
			"SET lock:a c1 NX PX 30000", "SET other c1 PX 5", "MINIKV CLOCK ADVANCE 100", "MINIKV HOLD r1",
			"SET lock:b c1 NX PX 30000", "MINIKV FAULT ADD ON GET DELAY 5", "DEL lock:a",
		} {
			g.send("m1", bytes.Fields([]byte(line)))
			g.receive("m1", time.Minute)
		}
	})
	code, stdout, stderr := runTrace(file, "--key", "lock:a")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stderr)
	assert.Equal(t, `#1         0.000s m1  client 2 SET lock:a c1 NX PX 30000 -> OK
#2         0.000s m1  client 2 lock:a is held by c1 until 30.000s
`, stdout[:strings.Index(stdout, "#4")])
	_, all, _ := runTrace(file)
	assert.Contains(t, all, "SET other c1 PX 5 -> OK\n")
	_, some, _ := runTrace(file, "--node", "r1")
	assert.NotContains(t, some, "lock:a")
	code, _, stderr = runTrace(file, "--node", "m9", "--key", "lock:c")
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "minikv: "+file+" has no event at node \"m9\"; it has some at m1, r1\n"+
		"minikv: "+file+" has no event about key \"lock:c\"\n", stderr)
}

// What happens before the file may be touched is its beginning.
func TestTraceBeginsWithWhatCameEarly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	r := &recorder{}
	r.note(topology.Event{Number: 1, Kind: topology.NodeEvent, Node: "m1", Text: "is early"})
	require.NoError(t, r.begin(file))
	r.note(topology.Event{Number: 2, Kind: topology.NodeEvent, Node: "m1", Text: "is late"})
	r.end()
	_, stdout, _ := runTrace(file)
	require.Equal(t, "#1         0.000s m1  is early\n#2         0.000s m1  is late\n", stdout)
}

// A minikv that cannot start leaves the trace of another one alone.
func TestTraceOfAnotherRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(heldTwice), 0o600))
	code, _, stderr := runExec("--trace", file, "--port", port, "--", "true")
	require.Equal(t, exitUsage, code, stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, heldTwice, string(text))
}

func runTrace(args ...string) (code int, stdout, stderr string) {
	var out, bad bytes.Buffer
	code = run(append([]string{"trace"}, args...), strings.NewReader(""), &out, &bad)
	return code, out.String(), bad.String()
}

const heldTwice = `{"n":1,"at":0,"kind":"hold","node":"m1","key":"lock:a","owner":"c1","until":30000000000,"sets":1}

{"n":2,"at":1000000000,"kind":"node","node":"m1","text":"is killed"}
{"n":3,"at":2000000000,"kind":"hold","node":"r1","key":"lock:a","owner":"c2","until":32000000000,"sets":1}
{"n":4,"at":3000000000,"kind":"free","node":"r1","key":"lock:a","owner":"c2","sets":1}`

func TestTraceOfBadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		file := filepath.Join(dir, "trace.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	code, stdout, _ := runTrace(write(heldTwice))
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, stdout, "#2         1.000s m1  is killed\n")
	assert.Contains(t, stdout, "lock:a is held by c2 no more\n")
	assert.Contains(t, stdout, "\nlock:a was held by c1 and by c2 from 2.000s to 3.000s\n")
	code, stdout, _ = runTrace(write(heldTwice), "--node", "m1") // what is not shown counts
	assert.Equal(t, exitFailure, code)
	assert.NotContains(t, stdout, "no more")
	for _, c := range []struct{ text, want string }{
		{heldTwice + "\n{\"n\":5,\n", ":6: not an event of a trace: unexpected EOF"},
		{heldTwice + "\nhello\n", ":6: not an event of a trace: invalid character 'h' looking for beginning of value"},
		{`{"seq":1,"at":0,"kind":"hold"}`, `:1: not an event of a trace: json: unknown field "seq"`},
		{"\n{}", ":2: not an event of a trace: it has no number or no kind"},
	} {
		file := write(c.text)
		code, _, stderr := runTrace(file)
		assert.Equal(t, exitUsage, code)
		assert.Equal(t, "minikv: "+file+c.want+"\n", stderr)
	}
	code, _, stderr := runTrace("/no/such/file")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "minikv: trace /no/such/file: no such file or directory\n", stderr)
	code, _, stderr = runTrace()
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "minikv: accepts 1 arg(s), received 0: expected minikv trace FILE\n", stderr)
	code, _, stderr = runExec("--trace", "/no/such/folder/x", "--", "true")
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, "minikv: trace /no/such/folder/x: no such file or directory\n", stderr)
}
