package minikvtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"minikv/topology"
)

// Fault is a rule under construction: what it strikes, then what happens. It is
// given to Inject. Without Nth or Times it strikes every command that matches.
type Fault struct {
	f     topology.Fault
	wrong error // the first number that is none
}

// On strikes commands of that name, a glob in any case; * is all. Subcommands have no
// rules of their own: CLIENT, not CLIENT SETNAME.
func On(command string) Fault { return Fault{f: topology.Fault{Command: command}} }

// Key strikes only commands that name a key which matches the glob.
func (f Fault) Key(glob string) Fault { f.f.Key = glob; return f }

// Client strikes only the client of that name, or number.
func (f Fault) Client(name string) Fault { f.f.Client = name; return f }

// Node strikes only commands at the node of that name.
func (f Fault) Node(name string) Fault { f.f.Node = name; return f }

// Nth strikes the n-th command that matches, from 1, and no other; with Times
// also those after it.
func (f Fault) Nth(n int) Fault { f.f.Nth = f.from1("Nth", n); return f }

// Times strikes n commands and no more.
func (f Fault) Times(n int) Fault { f.f.Times = f.from1("Times", n); return f }

// Percent strikes that share of the commands that match, by chance: 1 to 100.
func (f Fault) Percent(p int) Fault { f.f.Percent = f.from1("Percent", p); return f }

// from1 is n, of which Inject is to complain if it is less than 1: 0 would be no limit.
func (f *Fault) from1(name string, n int) int {
	if n < 1 && f.wrong == nil {
		f.wrong = fmt.Errorf("fault: %s(%d): expected a number from 1", name, n)
	}
	return n
}

// Delay lets the command wait, while others go on.
func (f Fault) Delay(d time.Duration) Fault { f.f.Delay = d; return f }

// Error answers in the command's place: "LOADING Redis is loading the dataset in memory".
func (f Fault) Error(text string) Fault { f.f.Error = text; return f }

// DropRequest loses the command: it does not run, and nothing passes over its
// connection any more. With Close that ends at once.
func (f Fault) DropRequest() Fault { f.f.DropRequest = true; return f }

// DropReply lets the command run and loses its reply; nothing passes over its
// connection any more. With Close that ends at once.
func (f Fault) DropReply() Fault { f.f.DropReply = true; return f }

// Duplicate lets the command run twice, as when a client sends it again: the
// second reply gets lost.
func (f Fault) Duplicate() Fault { f.f.Duplicate = true; return f }

// Close ends the connection: with DropReply after the command has run,
// otherwise in its place.
func (f Fault) Close() Fault { f.f.Close = true; return f }

// Injected is a rule in force.
type Injected struct {
	servers *Servers
	id      int
}

// Inject makes a rule. Of several that match a command the oldest strikes that wants to.
func (s *Servers) Inject(f Fault) *Injected {
	s.t.Helper()
	s.check(f.wrong)
	id, err := s.top.Inject(f.f)
	s.check(err)
	return &Injected{s, id}
}

// Struck is how many commands the rule has struck; 0 once it was removed.
func (i *Injected) Struck() int {
	for _, state := range i.servers.top.Faults() {
		if state.ID == i.id {
			return state.Struck
		}
	}
	return 0
}

// Wait returns when the rule has struck at least n commands; on a virtual clock
// those that it delays then wait for Advance. It fails the test when that does not
// happen within 10 seconds.
func (i *Injected) Wait(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := i.servers.top.WaitStruck(ctx, i.id, n); err != nil {
		t.Fatalf("minikvtest: %v", err)
	}
}

// Remove ends the rule.
func (i *Injected) Remove() { i.servers.top.RemoveFault(i.id) }

// ClearFaults ends all rules.
func (s *Servers) ClearFaults() { s.top.ClearFaults() }
