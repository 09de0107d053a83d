package main

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
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

	"minikv/internal/resp"
)

// asProgram makes the test binary be minikv.
const asProgram = "MINIKV_TEST_PROGRAM"

// asSender makes the test binary be a client.
const asSender = "MINIKV_TEST_SENDER"

func TestMain(m *testing.M) {
	if os.Getenv(asSender) != "" && len(os.Args) == 3 && os.Args[1] == "-send" {
		sender(os.Args[2])
		return
	}
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func fatal(line, text, reason string) string {
	return "\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\nReading the configuration file, at line " + line +
		"\n>>> '" + text + "'\n" + reason + "\n"
}

// What redis-server 7.0.15 prints before it exits with 1; the guesses and exit code 2 are minikv's own.
func TestRefusedArguments(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "conf")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	circle := filepath.Join(dir, "circle.conf")
	require.NoError(t, os.WriteFile(circle, []byte("port 1\ninclude "+circle+"\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--zzzzzzzz", "1"}, fatal("2", `zzzzzzzz "1"`, "Bad directive or wrong number of arguments")},
		{[]string{"--zzzzzzzz=1"}, fatal("2", `zzzzzzzz=1`, "Bad directive or wrong number of arguments")},
		{[]string{"--prot", "1"},
			fatal("2", `prot "1"`, "Bad directive or wrong number of arguments\nDid you mean 'port'?")},
		{[]string{"--max-memory", "1"},
			fatal("2", `max-memory "1"`, "Bad directive or wrong number of arguments\nDid you mean 'maxmemory'?")},
		{[]string{"-x"}, fatal("2", `"-x"`, "Bad directive or wrong number of arguments")},
		{[]string{"-port", "1"},
			fatal("2", `"-port" "1"`, "Bad directive or wrong number of arguments\nDid you mean 'port'?")},
		{[]string{"--prot=1"},
			fatal("2", `prot=1`, "Bad directive or wrong number of arguments\nDid you mean '--port 1'?")},
		{[]string{"--clutser", "3x1"},
			fatal("2", `clutser "3x1"`, "Bad directive or wrong number of arguments\nDid you mean 'cluster'?")},
		{[]string{"--exit-on-stdin"},
			fatal("2", `exit-on-stdin`, "Bad directive or wrong number of arguments\nDid you mean 'exit-with-stdin'?")},
		{[]string{"--sentinel"},
			fatal("2", `sentinel`, "wrong number of arguments: expected sentinel MxR[xS]")},
		{[]string{"--port", "abc"}, fatal("2", `port "abc"`, "argument couldn't be parsed into an integer")},
		{[]string{"--port", "99999"}, fatal("2", `port "99999"`, "argument must be between 0 and 65535 inclusive")},
		{[]string{"--port", "1", "2"}, fatal("2", `port "1" "2"`, "wrong number of arguments")},
		{[]string{"--daemonize"}, fatal("2", `daemonize`, "wrong number of arguments")},
		{[]string{"--maxmemory", "1xb"}, fatal("2", `maxmemory "1xb"`, "argument must be a memory value")},
		{[]string{"--appendonly", "maybe"}, fatal("2", `appendonly "maybe"`, "argument must be 'yes' or 'no'")},
		{[]string{"--loglevel", "x"},
			fatal("2", `loglevel "x"`, "argument(s) must be one of the following: debug, verbose, notice, warning")},
		{[]string{"--save", "a", "b"}, fatal("2", `save "a" "b"`, "Invalid save parameters")},
		{[]string{"--bind", "127.0.0.1", "--save", "900", "1", "--save", "--databases", "0"},
			fatal("5", `databases "0"`, "argument must be between 1 and 2147483647 inclusive")},
		{[]string{"--client-output-buffer-limit", "pubsub", "1"}, fatal("2", `client-output-buffer-limit "pubsub" "1"`,
			"Wrong number of arguments in buffer limit configuration.")},
		{[]string{"--client-output-buffer-limit", "x 1 1 1"}, fatal("2", `client-output-buffer-limit "x 1 1 1"`,
			"Invalid client class specified in buffer limit configuration.")},
		{[]string{file("# x\n\nPORT 7393\nsave \"a\n")},
			fatal("4", `save "a`, "Unbalanced quotes in configuration line")},
		{[]string{"/nonexistent.conf"}, "minikv: Fatal error, can't open config file '/nonexistent.conf': " +
			"no such file or directory\n"},
		{[]string{"--include", "/nonexistent.conf"},
			"minikv: Fatal error, can't open config file '/nonexistent.conf': no such file or directory\n"},
		{[]string{"exce", "--", "true"}, "minikv: Fatal error, can't open config file '" + here + "/exce': " +
			"no such file or directory; or did you mean minikv exec?\n"},
		{[]string{dir}, "minikv: Fatal error, can't open config file '" + dir + "': is a directory\n"},
		{[]string{circle}, "minikv: include " + circle + ": files include each other more than 16 deep\n"},
		{[]string{"--cluster-enabled", "yes"},
			"minikv: cluster-enabled yes: not supported: use --cluster MxR, which starts all " +
				"nodes of a cluster\n"},
		{[]string{"--rename-command", "GET", ""}, "minikv: rename-command GET : not supported\n"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(c.args, strings.NewReader(""), &stdout, &stderr), "%q", c.args)
		assert.Equal(t, c.want, stderr.String(), "%q", c.args)
		assert.Empty(t, stdout.String(), "%q", c.args)
	}
}

// Options of minikv's own that cannot be: one line, and exit code 2.
func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--cluster", "3x1", "--sentinel", "1x2"}, "--cluster 3x1 and --sentinel 1x2: expected only one of them"},
		{[]string{"--nodes", "2", "--nodes", "3"}, "--nodes 2 and --nodes 3: expected only one of them"},
		{[]string{"--cluster", "3"}, "--cluster 3: expected MASTERSxREPLICAS, such as 3x1"},
		{[]string{"--cluster", "3x-1"}, "--cluster 3x-1: expected MASTERSxREPLICAS, such as 3x1"},
		{[]string{"--cluster", "0x1"}, "--cluster 0x1: 0 masters: expected at least 1"},
		{[]string{"--sentinel", "x2"}, "--sentinel x2: expected MASTERSxREPLICAS[xSENTINELS], such as 1x2"},
		{[]string{"--sentinel", "1x2x3x4"}, "--sentinel 1x2x3x4: expected MASTERSxREPLICAS[xSENTINELS], such as 1x2"},
		{[]string{"--sentinel", "1x2x0"}, "--sentinel 1x2x0: expected at least one Sentinel"},
		{[]string{"--cluster", "3x1x3"}, "--cluster 3x1x3: expected MASTERSxREPLICAS, such as 3x1"},
		{[]string{"--nodes", "many"}, "--nodes many: expected a number that is not negative"},
		{[]string{"--nodes", "0"}, "--nodes 0: 0 masters: expected at least 1"},
		{[]string{"--replicas", "-2"}, "--replicas -2: expected a number that is not negative"},
		{[]string{"--replicas", "1000"}, "--replicas 1000: expected at most 1000 processes"},
		{[]string{"--cluster", "99x9"}, "--cluster 99x9: 990 nodes: expected at most 300, as each keeps links to all"},
		{[]string{"--nodes", "5", "--port", "65533"}, "--nodes 5: needs 5 ports from 65533 on, but ports end at 65535"},
		{[]string{"--exit-with-stdin", "maybe"}, "--exit-with-stdin maybe: expected yes or no"},
		{[]string{"--exit-with-stdin", "-"},
			"--exit-with-stdin: not possible with \"-\": the configuration is read until the end of standard input"},
		{[]string{"--nodes", "2", "--unixsocket", "/tmp/x"}, "--nodes 2: not possible together with unixsocket /tmp/x"},
		{[]string{"--control", "--unixsocket", "/tmp/x"}, "--control yes: not possible together with unixsocket /tmp/x"},
		{[]string{"--control", "--port", "65535"}, "--control yes: needs 2 ports from 65535 on, but ports end at 65535"},
		{[]string{"--control", "65536"}, "--control 65536: expected a port, yes or no"},
		{[]string{"--control", "maybe"}, "--control maybe: expected a port, yes or no"},
		{[]string{"--clock", "fast"}, "--clock fast: expected real or virtual"},
		{[]string{"--seed", "0"}, "--seed 0: expected a number from 1"},
		{[]string{"help", "exce"}, `unknown command "exce": "minikv --help" shows all`},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(c.args, strings.NewReader(""), &stdout, &stderr), "%q", c.args)
		assert.Equal(t, "minikv: "+c.want+"\n", stderr.String())
		assert.Empty(t, stdout.String(), "%q", c.args)
	}
}

func TestStandardInputIsRefusedWithItsLine(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitUsage, run([]string{"-"}, strings.NewReader("port 1\nprot 2\n"), &stdout, &stderr))
	assert.Contains(t, stderr.String(), "at line 2\n>>> 'prot 2'\n")
}

func TestHelpAndVersion(t *testing.T) {
	for args, want := range map[string]string{
		"--help": "redis-server's arguments", "-h": "Usage:", "--version": "Redis server v=7.0.15 ", "-v": "minikv",
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitOK, run([]string{args}, strings.NewReader(""), &stdout, &stderr))
		assert.Contains(t, stdout.String(), want)
		assert.Empty(t, stderr.String())
	}
}

func TestAcceptedDirectives(t *testing.T) {
	dir := t.TempDir()
	included := filepath.Join(dir, "more.conf")
	require.NoError(t, os.WriteFile(included, []byte("timeout 7\ninclude "+dir+"/*.none\ninclude "+dir+
		"/[e]ven-*.conf\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "even-more.conf"), []byte("Hz \"2\\x30\"\n"), 0o600))
	conf, err := parseArguments([]string{"--save", "900", "1", "--save", "300 10", "--appendonly", "no",
		"--client-output-buffer-limit", "pubsub 1mb 0 60", "--BIND", "127.0.0.1", "::1", "--requirepass", "--odd",
		"--include", included, "--exit-with-stdin", "--tcp-keepalive 60", "-"}, strings.NewReader("maxclients 5\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"save": "900 1 300 10", "appendonly": "no", "bind": "127.0.0.1 ::1", "requirepass": "--odd",
		"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 0 60",
		"timeout":                    "7", "tcp-keepalive": "60", "maxclients": "5", "hz": "20",
	}, conf.values)
	assert.Equal(t, []order{{"exit-with-stdin", "yes"}}, conf.own)
}

// program is a running minikv.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	pipe   io.Closer
	stdout *bufio.Reader // of pipe
}

func launch(t *testing.T, args ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Dir = t.TempDir()
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &program{t, cmd, pipe, bufio.NewReader(pipe)}
}

// expectLine reads the log until a line that contains text.
func (p *program) expectLine(text string) {
	p.t.Helper()
	for {
		line, err := p.stdout.ReadString('\n')
		require.NoError(p.t, err, "no line with %q", text)
		if strings.Contains(line, text) {
			assert.Regexp(p.t, `^\d+:M \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} [.*#-] `, line)
			return
		}
	}
}

func (p *program) expectExit(code int) {
	p.t.Helper()
	_, _ = io.Copy(io.Discard, p.stdout)
	_ = p.cmd.Wait()
	assert.Equal(p.t, code, p.cmd.ProcessState.ExitCode())
}

func freePort(t *testing.T) string { return strconv.Itoa(freePorts(t, 1)) }

// freePorts returns the first of several free ports in a row, of those that
// systems do not give to outgoing connections.
func freePorts(t *testing.T, count int) (first int) {
	t.Helper()
	for range 100 {
		first, free := 10000+rand.IntN(20000), true
		for i := 0; i < count && free; i++ {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(first+i))
			if free = err == nil; free {
				require.NoError(t, l.Close())
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no free ports in a row")
	return 0
}

// ask sends one command and returns what comes until the connection is quiet.
func ask(t *testing.T, network, address string, command ...string) string {
	t.Helper()
	socket, err := net.Dial(network, address)
	require.NoError(t, err)
	defer func() { _ = socket.Close() }()
	_, err = socket.Write(resp.AppendCommand(nil, command...))
	require.NoError(t, err)
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
	reply := make([]byte, 1024)
	n, _ := socket.Read(reply)
	return string(reply[:n])
}

func TestServesUntilTerminated(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		port := freePort(t)
		p := launch(t, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--databases", "4",
			"--unixsocket", "kv.sock", "--pidfile", "kv.pid")
		p.expectLine("Ready to accept connections")
		assert.Equal(t, "+PONG\r\n", ask(t, "tcp", "127.0.0.1:"+port, "PING"))
		assert.Equal(t, "+PONG\r\n", ask(t, "unix", filepath.Join(p.cmd.Dir, "kv.sock"), "PING"))
		assert.Equal(t, "*2\r\n$4\r\nsave\r\n$0\r\n\r\n", ask(t, "tcp", "127.0.0.1:"+port, "CONFIG", "GET", "save"))
		assert.Equal(t, "-ERR DB index is out of range\r\n", ask(t, "tcp", "127.0.0.1:"+port, "SELECT", "4"))
		assert.FileExists(t, filepath.Join(p.cmd.Dir, "kv.pid"))

		second := launch(t, "--port", port, "--bind", "127.0.0.1")
		second.expectLine("# Failed listening on port " + port + " (TCP), aborting: 127.0.0.1:" + port +
			": address already in use")
		second.expectExit(exitUsage)

		require.NoError(t, p.cmd.Process.Signal(signal))
		p.expectLine("User requested shutdown...")
		p.expectLine("bye bye")
		p.expectExit(exitOK)
		assert.NoFileExists(t, filepath.Join(p.cmd.Dir, "kv.pid"))
	}
}

func TestShutdownCommand(t *testing.T) {
	port := freePort(t)
	p := launch(t, "--port", port, "--bind", "127.0.0.1")
	p.expectLine("Ready to accept connections")
	assert.Empty(t, ask(t, "tcp", "127.0.0.1:"+port, "SHUTDOWN", "NOSAVE"))
	p.expectExit(exitOK)
}

func TestDaemon(t *testing.T) {
	port := freePort(t)
	dir := t.TempDir()
	p := launch(t, "--port", port, "--bind", "127.0.0.1", "--daemonize", "yes", "--dir", dir,
		"--logfile", filepath.Join(dir, "log"))
	p.expectExit(exitOK)
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return strings.Contains(string(text), "Ready to accept connections")
	}, time.Minute, 10*time.Millisecond)
	assert.Empty(t, ask(t, "tcp", "127.0.0.1:"+port, "SHUTDOWN", "NOSAVE"))
}

func TestNowhereToListen(t *testing.T) {
	p := launch(t, "--port", "0")
	p.expectLine("Configured to not listen anywhere, exiting.")
	p.expectExit(exitUsage)
}

func TestServesACluster(t *testing.T) {
	n := freePorts(t, 6)
	first := strconv.Itoa(n)
	p := launch(t, "--cluster", "3x1", "--port", first, "--bind", "127.0.0.1")
	p.expectLine("r3 listens at 127.0.0.1:" + strconv.Itoa(n+5))
	p.expectLine("Ready to accept connections")
	address := "127.0.0.1:" + strconv.Itoa(n+2)
	require.Equal(t, "+OK\r\n", ask(t, "tcp", address, "SET", "a", "1"))
	require.Equal(t, "-MOVED 15495 "+address+"\r\n", ask(t, "tcp", "127.0.0.1:"+first, "GET", "a"))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.expectExit(exitOK)
}

func TestMovesKeysToAnotherProcess(t *testing.T) {
	first := freePorts(t, 2)
	ports := [2]string{strconv.Itoa(first), strconv.Itoa(first + 1)}
	for i := range ports {
		launch(t, "--port", ports[i], "--bind", "127.0.0.1").expectLine("Ready to accept connections")
	}
	from, to := "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1]
	require.Equal(t, "+OK\r\n", ask(t, "tcp", from, "SET", "a", "1"))
	require.Equal(t, "+OK\r\n", ask(t, "tcp", from, "MIGRATE", "127.0.0.1", ports[1], "a", "0", "5000"))
	require.Equal(t, "$-1\r\n", ask(t, "tcp", from, "GET", "a"))
	require.Equal(t, "$1\r\n1\r\n", ask(t, "tcp", to, "GET", "a"))
}
