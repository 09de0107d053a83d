package redisserver

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// Version is the redis-server whose behaviour minikv has.
const Version = "7.0.15"

// Installed reports whether redis-server is there, in that version: others answer
// otherwise.
func Installed() bool {
	text, err := exec.Command("redis-server", "--version").Output()
	return err == nil && strings.Contains(string(text), "v="+Version+" ")
}

// Process is a redis-server that was started.
type Process struct {
	Pid int
	end func()
}

// holder is a shell that tells the server's process id, and kills the server when
// its own input ends: with End, or with this process, however that ends.
const holder = `"$@" >/dev/null & echo $!; read _; kill -9 $!; wait`

// Start starts a redis-server with arguments of its command line; it may not listen
// yet. What it logs to its standard output is lost.
func Start(binary string, args ...string) (*Process, error) {
	cmd := exec.Command("sh", append([]string{"-c", holder, "sh", binary}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{end: sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})}
	if _, err = fmt.Fscan(out, &p.Pid); err != nil {
		p.End()
		return nil, fmt.Errorf("redisserver: %s: %w", binary, err)
	}
	return p, nil
}

// End kills the server, however it stands, and returns when it is gone. It may be
// called again.
func (p *Process) End() { p.end() }
