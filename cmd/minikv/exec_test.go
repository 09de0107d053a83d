package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runExec is minikv exec in this process.
func runExec(args ...string) (code int, stdout, stderr string) {
	var out, bad bytes.Buffer
	code = run(append([]string{"exec"}, args...), strings.NewReader("typed"), &out, &bad)
	return code, out.String(), bad.String()
}

func TestExecTellsTheCommandWhereItsServersAre(t *testing.T) {
	const show = `printf '%s\n' "$REDIS_URL" "$REDIS_NODES" "$REDIS_SENTINELS" "$REDIS_SENTINEL_MASTER" \
		"$MINIKV_CONTROL"; cat; exit 7`
	for _, name := range []string{"REDIS_SENTINELS", "REDIS_SENTINEL_MASTER", "MINIKV_CONTROL"} {
		t.Setenv(name, "of other servers")
	}
	for _, c := range []struct {
		args []string
		want string // a pattern
	}{
		{nil, `^redis://(127.0.0.1:\d+)\n\1\n\n\n\ntyped$`},
		{[]string{"--cluster", "3x1", "--requirepass", "a b"},
			`^redis://default:a%20b@(127.0.0.1:\d+)\n\1(,127.0.0.1:\d+){5}\n\n\n\ntyped$`},
		{[]string{"--nodes", "2"}, `^redis://(127.0.0.1:\d+)\n\1,127.0.0.1:\d+\n\n\n\ntyped$`},
		{[]string{"--sentinel", "2x1"}, `^redis://(127.0.0.1:\d+)\n\1(,127.0.0.1:\d+){3}\n` +
			`127.0.0.1:\d+(,127.0.0.1:\d+){2}\nmymaster1,mymaster2\n\ntyped$`},
		{[]string{"--sentinel", "1x0x5"},
			`^redis://(127.0.0.1:\d+)\n\1\n127.0.0.1:\d+(,127.0.0.1:\d+){4}\nmymaster\n\ntyped$`},
	} {
		code, stdout, stderr := runExec(append(c.args, "--", "sh", "-c", show)...)
		assert.Equal(t, 7, code, "%q", c.args)
		assert.Empty(t, stderr)
		first, _, _ := strings.Cut(stdout[strings.LastIndex(stdout[:strings.Index(stdout, "\n")], "127."):], "\n")
		assert.Regexp(t, strings.ReplaceAll(c.want, `\1`, first), stdout, "%q", c.args)
		_, err := net.Dial("tcp", first)
		assert.Error(t, err, "%q: a server is left", c.args)
	}
}

func TestExecEndsAsItsCommandDoes(t *testing.T) {
	notRunnable := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(notRunnable, nil, 0o600))
	for _, c := range []struct {
		command []string
		code    int
		stderr  string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 3"}, 3, ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 128 + 9, ""},
		{[]string{"no-such-command"}, 127, "minikv: exec: no-such-command: command not found\n"},
		{[]string{"/no/such/command", "-x"}, 127, "minikv: exec: /no/such/command: command not found\n"},
		{[]string{notRunnable}, 126, "minikv: exec: " + notRunnable + ": cannot be run: permission denied\n"},
	} {
		code, stdout, stderr := runExec(append([]string{"--"}, c.command...)...)
		assert.Equal(t, c.code, code, "%q", c.command)
		assert.Equal(t, c.stderr, stderr)
		assert.Empty(t, stdout)
	}
}

// With --strict it is a failure if the command has sent what minikv has not.
func TestExecIsStrict(t *testing.T) {
	send := func(line string) []string {
		return []string{"--strict", "--", os.Args[0], "-send", line}
	}
	const absent = "minikv: --strict: clients have sent commands of redis-server that minikv does not have: " +
		"SCRIPT DEBUG\n"
	for _, c := range []struct {
		line   string
		code   int
		stderr string
	}{
		{"PING", 0, ""},
		{"CLIENT MAINT_NOTIFICATIONS ON", 0, ""}, // redis-server has it neither
		{"SCRIPT DEBUG YES", 1, absent},
		{"FAIL\nSCRIPT DEBUG YES\nSCRIPT DEBUG NO", 4, absent},
	} {
		t.Setenv(asSender, "1")
		code, _, stderr := runExec(send(c.line)...)
		assert.Equal(t, c.code, code, "%q", c.line)
		assert.Equal(t, c.stderr, stderr)
	}
}

// sender sends inline commands to REDIS_URL and waits for their replies. It
// fails if the first is FAIL.
func sender(text string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(os.Getenv("REDIS_URL"), "redis://"))
	if err != nil {
		panic(err)
	}
	lines := strings.Split(text, "\n")
	in := bufio.NewReader(conn)
	for _, line := range lines {
		if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
			panic(err)
		}
		if _, err := in.ReadString('\n'); err != nil {
			panic(err)
		}
	}
	if lines[0] == "FAIL" {
		os.Exit(4)
	}
}

func TestExecRefusesBadInput(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "exec: no command: expected minikv exec [options] -- COMMAND [ARGUMENT ...]"},
		{[]string{"--cluster", "3x1", "--"}, "exec: no command: expected minikv exec [options] -- COMMAND [ARGUMENT ...]"},
		{[]string{"-", "--", "true"}, "exec: -: standard input is for the command: put the configuration into a file"},
		{[]string{"--daemonize", "yes", "--", "true"},
			"exec: --daemonize yes: not possible, as the servers end with the command"},
		{[]string{"--exit-with-stdin", "--", "true"},
			"exec: --exit-with-stdin yes: not possible, as the servers end with the command"},
		{[]string{"--cluster", "3x1", "--nodes", "2", "--", "true"},
			"--cluster 3x1 and --nodes 2: expected only one of them"},
		{[]string{"--port", port, "--", "true"}, "Failed listening on port " + port + " (TCP), aborting: 127.0.0.1:" + port +
			": address already in use"},
		{[]string{"--nodes", "2", "--port", port, "--", "true"}, "Failed listening on port " + port +
			" (TCP), aborting: 127.0.0.1:" + port + ": address already in use"},
		{[]string{"--control", "--bind", "127.0.0.1", "127.0.0.2", "--", "true"}, "bind 127.0.0.1 127.0.0.2: expected " +
			"one address for several nodes, or for options that only minikv has"},
		{[]string{"--nodes", "2", "--bind", "", "--", "true"}, "Configured to not listen anywhere, exiting."},
		{[]string{"--ready-file", "/no/such/folder/ready", "--", "true"},
			"ready-file /no/such/folder/ready: no such file or directory"},
		{[]string{"/no/such.conf", "--", "true"},
			"Fatal error, can't open config file '/no/such.conf': no such file or directory"},
	} {
		code, stdout, stderr := runExec(c.args...)
		assert.Equal(t, exitUsage, code, "%q", c.args)
		assert.Equal(t, "minikv: "+c.want+"\n", stderr)
		assert.Empty(t, stdout)
	}
}

// A signal to minikv exec is one to its command.
func TestExecPassesSignalsOn(t *testing.T) {
	const script = `trap 'echo stopped; exit 5' TERM; trap 'echo interrupted' INT; echo begun
while :; do sleep 0.01; done`
	p := launch(t, "exec", "--", "sh", "-c", script)
	line := func() string {
		text, err := p.stdout.ReadString('\n')
		require.NoError(t, err)
		return text
	}
	require.Equal(t, "begun\n", line())
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, "interrupted\n", line())
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "stopped\n", line())
	p.expectExit(5)
}

// A ready file appears when clients can connect and is gone in the end; a free
// port is in it. The server ends with its standard input.
func TestReadyFileAndStandardInput(t *testing.T) {
	for _, args := range [][]string{{"--port", "0"}, {"--port", "0", "--cluster", "3x0"}} {
		file := filepath.Join(t.TempDir(), "ready.json")
		require.NoError(t, os.WriteFile(file, []byte("of an earlier run"), 0o600))
		cmd := exec.Command(os.Args[0], append(args, "--bind", "127.0.0.1", "--ready-file", file, "--exit-with-stdin")...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		input, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		var ready struct {
			PID   int
			URL   string
			Nodes []string
		}
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(file)
			return err == nil && json.Unmarshal(text, &ready) == nil
		}, time.Minute, time.Millisecond)
		assert.Equal(t, cmd.Process.Pid, ready.PID)
		assert.Equal(t, "redis://"+ready.Nodes[0], ready.URL)
		for _, node := range ready.Nodes {
			assert.Equal(t, "+PONG\r\n", ask(t, "tcp", node, "PING"))
			_, port, _ := net.SplitHostPort(node)
			assert.Contains(t, ask(t, "tcp", node, "INFO", "server"), "tcp_port:"+port+"\r\n")
		}
		_, err = io.WriteString(input, "what is typed is not read\n")
		require.NoError(t, err)
		assert.Equal(t, "+PONG\r\n", ask(t, "tcp", ready.Nodes[0], "PING"))
		require.NoError(t, input.Close())
		require.NoError(t, cmd.Wait())
		assert.NoFileExists(t, file)
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "--ready"}, "--ready-file\twritten when"},
		{[]string{"__complete", "exec", "--maxcl"}, "--maxclients\tof redis.conf\n"},
		{[]string{"__complete", "ex"}, "exec\tRun a command"},
		{[]string{"completion", "bash"}, "__start_minikv"},
		{[]string{"help", "exec"}, "minikv exec [options] -- COMMAND"},
		{[]string{"exec", "--help"}, "REDIS_SENTINEL_MASTER"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitOK, run(c.args, strings.NewReader(""), &stdout, &stderr), "%q", c.args)
		assert.Contains(t, stdout.String(), c.want)
	}
}

// needIPv6 skips a test of addresses that a computer without IPv6 does not have.
func needIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this computer has no IPv6")
	}
	require.NoError(t, l.Close())
}

// Nodes that listen everywhere do so in both families of addresses.
func TestNodesListenInBothFamilies(t *testing.T) {
	needIPv6(t)
	g := &golden{t: t}
	g.start([]string{"--bind", "*", "-::*", "--nodes", "1", "--control"})
	for _, address := range g.addresses { //tidy:unordered each by itself
		_, port, _ := net.SplitHostPort(address)
		assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+port, "PING"))
		assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "[::1]:"+port, "PING"))
		assert.Equal(t, "127.0.0.1:"+port, address)
	}
}

// With the same seed the nodes choose the same by chance.
func TestSeed(t *testing.T) {
	var names []string
	for _, seed := range []string{"7", "7", "8"} {
		t.Run("", func(t *testing.T) {
			g := &golden{t: t}
			g.start([]string{"--cluster", "1x0", "--seed", seed})
			g.send("m1", [][]byte{[]byte("CLUSTER"), []byte("MYID")})
			names = append(names, g.receive("m1", time.Minute))
		})
	}
	assert.Equal(t, names[0], names[1])
	assert.NotEqual(t, names[0], names[2])
}

// As redis-server it goes on when its terminal is gone or nobody reads its log.
func TestOutlivesTerminalAndReader(t *testing.T) {
	port := freePort(t)
	p := launch(t, "--port", port, "--bind", "127.0.0.1", "--loglevel", "debug")
	p.expectLine("Ready to accept connections")
	require.NoError(t, p.pipe.Close())
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	for range 3 {
		assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+port, "PING"))
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	_, err := p.cmd.Process.Wait()
	require.NoError(t, err)
}

// A configuration on standard input, as some harnesses give it; the socket is
// announced as redis-server does.
func TestConfigurationOnStandardInput(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdin = strings.NewReader("port 0\nunixsocket '" + dir + "/kv.sock'\nunixsocketperm 700\ndir " + dir + "\n")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p := &program{t, cmd, out, bufio.NewReader(out)}
	p.expectLine("The server is now ready to accept connections at " + dir + "/kv.sock")
	info, err := os.Stat(dir + "/kv.sock")
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	assert.Equal(t, "*2\r\n$3\r\ndir\r\n$"+strconv.Itoa(len(dir))+"\r\n"+dir+"\r\n",
		ask(t, "unix", dir+"/kv.sock", "CONFIG", "GET", "dir"))
	assert.Empty(t, ask(t, "unix", dir+"/kv.sock", "SHUTDOWN"))
	p.expectExit(exitOK)
	assert.NoFileExists(t, dir+"/kv.sock")
}
