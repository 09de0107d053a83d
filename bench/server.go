package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// target is a server under measurement, in a process of its own.
type target struct {
	name    string
	version string
	addr    string
	cmd     *exec.Cmd
	startup time.Duration // from the start of the process to its first PONG
}

// asMiniredis makes this binary serve miniredis instead of measuring.
const asMiniredis = "BENCH_MINIREDIS_ADDR"

// serveMiniredis runs until the process is killed.
func serveMiniredis(addr string) error {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		return err
	}
	select {}
}

// startTargets builds minikv into dir and starts it, redis-server if it is
// installed, and miniredis. Missing ones are named on standard error.
func startTargets(dir string) ([]*target, error) {
	minikv := filepath.Join(dir, "minikv")
	build := exec.Command("go", "build", "-o", minikv, "./cmd/minikv")
	build.Dir = ".." // the command is run in its own folder: go -C bench run .
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build minikv: %w\n%s", err, out)
	}
	var targets []*target
	add := func(name string, make func(port string) *exec.Cmd) error {
		t, err := startTarget(name, make)
		if err == nil {
			targets = append(targets, t)
		}
		return err
	}
	err := add("minikv", func(port string) *exec.Cmd {
		return exec.Command(minikv, "--port", port, "--bind", "127.0.0.1", "--save", "")
	})
	if err != nil {
		return targets, err
	}
	if redis, err := exec.LookPath("redis-server"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: redis-server is not installed: no ratios to it")
	} else if err := add("redis", func(port string) *exec.Cmd {
		return exec.Command(redis, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir)
	}); err != nil {
		return targets, err
	}
	self, err := os.Executable()
	if err != nil {
		return targets, err
	}
	return targets, add("miniredis", func(port string) *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), asMiniredis+"=127.0.0.1:"+port)
		return cmd
	})
}

// startTarget starts a server on a free port and waits until it answers.
func startTarget(name string, make func(port string) *exec.Cmd) (*target, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	t := &target{name: name, addr: "127.0.0.1:" + port, cmd: make(port)}
	begun := time.Now()
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	for time.Since(begun) < 10*time.Second {
		if reply, err := t.ask("PING"); err == nil && reply == "+PONG" {
			t.startup = time.Since(begun)
			t.version = t.readVersion()
			return t, nil
		}
		time.Sleep(time.Millisecond)
	}
	t.stop()
	return nil, fmt.Errorf("%s does not answer on %s", name, t.addr)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// stop ends the process that startTarget started.
func (t *target) stop() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
}

// ask sends one command on a connection of its own and returns the first line
// of the reply, or the bulk string.
func (t *target) ask(args ...string) (string, error) {
	c, err := net.DialTimeout("tcp", t.addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write(command(args...)); err != nil {
		return "", err
	}
	buf := make([]byte, 1<<16)
	n, err := c.Read(buf)
	line, rest, _ := bytes.Cut(buf[:n], []byte("\r\n"))
	if len(line) > 0 && line[0] == '$' {
		line = bytes.TrimSuffix(rest, []byte("\r\n"))
	}
	return string(line), err
}

// dial opens a connection that the server has answered on once.
func (t *target) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", t.addr, time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err = c.Write(command("PING")); err == nil {
		err = expect(c, "+PONG\r\n")
	}
	return c, err
}

// readVersion is the version in INFO server, or "".
func (t *target) readVersion() string {
	info, _ := t.ask("INFO", "server")
	for _, line := range strings.Split(info, "\r\n") {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return v
		}
	}
	return ""
}

// memory is the resident size of the process in bytes.
func (t *target) memory() int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// command is one request in RESP.
func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// perConnection is how much memory an idle connection costs the server.
func perConnection(t *target) (float64, error) {
	const count = 1000
	before := t.memory()
	conns := make([]interface{ Close() error }, 0, count)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range count {
		c, err := t.dial()
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
	}
	return float64(t.memory()-before) / count, nil
}
