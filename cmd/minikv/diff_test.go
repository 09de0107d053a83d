package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// startPeer returns the address of a minikv that stands for the other server.
func startPeer(t *testing.T) string {
	conf, err := parseArguments([]string{"--port", "0"}, nil)
	require.NoError(t, err)
	shell := server.New(server.Config{Machine: func(limit func() string) server.Machine {
		return engine.New(nodeConfig(conf, limit, &logger{out: &bytes.Buffer{}, least: server.LevelWarning + 1}))
	}})
	address, err := shell.Listen("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(shell.Close)
	return address.String()
}

func runDiff(t *testing.T, address, text string) (code int, stdout, stderr string) {
	file := filepath.Join(t.TempDir(), "commands.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out, bad bytes.Buffer
	code = run([]string{"diff", address, file}, strings.NewReader(""), &out, &bad)
	return code, strings.ReplaceAll(out.String(), file, "FILE"), strings.ReplaceAll(bad.String(), file, "FILE")
}

func TestDiffOfEqualServers(t *testing.T) {
	for _, text := range []string{
		"SET k v\n\n# a comment\nGET k\nclient=b SUBSCRIBE x y\nPUBLISH x \"a\\x00b\"\nsleep=10\nclient=b PING\n",
		"# A golden file.\nmask\n\\d -> N\n----\n\ndo client=b proto=3\nSET k v\nGET k\n----\nwhat is here\n\n" +
			"sleep 10\n----\n\nrecv\n----\n",
	} {
		code, stdout, stderr := runDiff(t, startPeer(t), text)
		assert.Empty(t, stderr)
		assert.Regexp(t, `^0 of [25] replies differ\n$`, stdout)
		assert.Equal(t, exitOK, code)
	}
}

func TestDiffShowsWhatDiffers(t *testing.T) {
	address := startPeer(t)
	socket, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer socket.Close()
	_, err = socket.Write(resp.AppendCommand(nil, "RPUSH", "k", "a", "b"))
	require.NoError(t, err)
	reply := make([]byte, 16)
	_, err = socket.Read(reply)
	require.NoError(t, err)

	code, stdout, stderr := runDiff(t, address, "PING\nLRANGE k 0 -1\n")
	assert.Empty(t, stderr)
	assert.Equal(t, "FILE:2: LRANGE k 0 -1\n"+address+"\n  1) \"a\"\n  2) \"b\"\nminikv\n  (empty array)\n\n"+
		"1 of 2 replies differ\n", stdout)
	assert.Equal(t, exitFailure, code)
}

func TestDiffOfBadInput(t *testing.T) {
	address := startPeer(t)
	for text, want := range map[string]string{ //tidy:unordered each by itself
		"PING\nGET \"x\n": "FILE:2: unbalanced quotes",
		"sleep=x\n":       "FILE:1: strconv.ParseUint: parsing \"x\": invalid syntax",
		"client=b\n":      "FILE:1: client=NAME: expected a command after it",
		"# nothing\n":     "FILE: no commands",
		"do blocks\nBLPOP k 0\n----\nok\n": `FILE:1: "do blocks": commands that are left without a reply ` +
			"cannot be compared",
	} {
		code, stdout, stderr := runDiff(t, address, text)
		assert.Empty(t, stdout)
		assert.Equal(t, "minikv: "+want+"\n", stderr)
		assert.Equal(t, exitUsage, code)
	}
	var out, bad bytes.Buffer
	assert.Equal(t, exitUsage, run([]string{"diff", address}, strings.NewReader(""), &out, &bad))
	assert.Equal(t, exitUsage, run([]string{"diff", address, "/no/such/file"}, strings.NewReader(""), &out, &bad))
	assert.Equal(t, exitUsage, run([]string{"diff", "127.0.0.1:1", "-"}, strings.NewReader("PING"), &out, &bad))
	assert.Contains(t, bad.String(), "connection refused")
}
