package stories

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// inside is set in the namespace.
const inside = "STORIES_INSIDE"

// enter runs this program once more, in a network namespace that ends with it, in which each
// process has an address of its own. It returns where there can be none, or inside of it, and
// why there is none.
func enter() (absent string) {
	if os.Getenv(inside) != "" {
		_, err := command("ip", "link", "set", "lo", "up")
		if err != nil {
			panic(err)
		}
		return ""
	}
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	rules := exec.Command("iptables", "-w", "-S")
	rules.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if _, err := rules.CombinedOutput(); err != nil {
		return "there is no network namespace with iptables"
	}
	runtime.LockOSThread() // the thread with which Pdeathsig is bound up

	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := again.Run(); again.ProcessState == nil {
		panic(err)
	}
	os.Exit(again.ProcessState.ExitCode())
	return ""
}

func command(words ...string) (said string, err error) {
	output, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, output)
	}
	return string(output), err
}

// places are the addresses of a story's processes. What goes from one to another can be
// cut: packets are dropped where they arrive, and sent again by the kernel.
type places struct {
	story int // 1, 2, 3, …
	mu    sync.Mutex
	names []string
	cuts  [][2]string
}

// address is that of a process.
func (p *places) address(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, known := range p.names {
		if known == name {
			return fmt.Sprintf("127.1.%d.%d", p.story, i+1)
		}
	}
	p.names = append(p.names, name)
	return fmt.Sprintf("127.1.%d.%d", p.story, len(p.names))
}

func (p *places) cut(from, to string) error {
	err := p.rule("-A", from, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, [2]string{from, to})
	return err
}

// mend ends all cuts.
func (p *places) mend() (err error) {
	p.mu.Lock()
	cuts := p.cuts
	p.cuts = nil
	p.mu.Unlock()
	for _, c := range cuts {
		if failed := p.rule("-D", c[0], c[1]); failed != nil {
			err = failed
		}
	}
	return err
}

func (p *places) rule(how, from, to string) error {
	_, err := command("iptables", "-w", how, "INPUT", "-s", p.address(from), "-d", p.address(to), "-j", "DROP")
	return err
}
