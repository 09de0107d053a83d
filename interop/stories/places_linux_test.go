package stories

import (
	"fmt"
	"sync"

	"minikv/interop/namespace"
)

// enter has the tests run where each process has an address of its own. It returns why they
// cannot, "" if they do.
func enter() (absent string) { return namespace.Enter() }

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
	return namespace.Run("iptables", "-w", how, "INPUT", "-s", p.address(from), "-d", p.address(to), "-j", "DROP")
}
