package minikvtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"minikv/topology"
)

// Fault is a rule under construction: what it strikes, then what happens. Inject puts it
// in force. Without Nth or Times it strikes every command that matches. A Fault may be
// used several times: each method returns a changed copy.
type Fault struct {
	f     topology.Fault
	wrong error // the first number that is none
}

// On makes a rule for commands whose name matches a glob, in any case; * is all. It
// matches names without subcommand: CLIENT, not CLIENT SETNAME.
func On(command string) Fault { return Fault{f: topology.Fault{Command: command}} }

// Key restricts the rule to commands that name a key which matches the glob.
func (f Fault) Key(glob string) Fault { f.f.Key = glob; return f }

// Client restricts the rule to the client of that name or number.
func (f Fault) Client(name string) Fault { f.f.Client = name; return f }

// Node restricts the rule to commands at the node with that name or address.
func (f Fault) Node(name string) Fault { f.f.Node = name; return f }

// Nth restricts the rule to the n-th command that matches, counted from 1. With Times it
// strikes from that one on.
func (f Fault) Nth(n int) Fault { f.f.Nth = f.from1("Nth", n); return f }

// Times limits the rule to n commands, at least 1: after these it strikes no more.
func (f Fault) Times(n int) Fault { f.f.Times = f.from1("Times", n); return f }

// Percent makes the rule strike only p percent of the commands that match, at random: 1
// to 100.
func (f Fault) Percent(p int) Fault { f.f.Percent = f.from1("Percent", p); return f }

// from1 is n, of which Inject is to complain if it is less than 1: 0 would be no limit.
func (f *Fault) from1(name string, n int) int {
	if n < 1 && f.wrong == nil {
		f.wrong = fmt.Errorf("fault: %s(%d): expected a number from 1", name, n)
	}
	return n
}

// Delay lets the command wait for d while other clients go on.
func (f Fault) Delay(d time.Duration) Fault { f.f.Delay = d; return f }

// Error answers in place of the command, which does not run. The text begins with the
// code word: "LOADING Redis is loading the dataset in memory".
func (f Fault) Error(text string) Fault { f.f.Error = text; return f }

// DropRequest loses the command: it does not run. The connection stays open, but nothing
// passes over it any more; with Close it ends at once.
func (f Fault) DropRequest() Fault { f.f.DropRequest = true; return f }

// DropReply runs the command and loses its reply. The connection stays open, but nothing
// passes over it any more; with Close it ends at once.
func (f Fault) DropReply() Fault { f.f.DropReply = true; return f }

// Duplicate runs the command twice, as when a client sends it again; the second reply is
// lost.
func (f Fault) Duplicate() Fault { f.f.Duplicate = true; return f }

// Close ends the connection: with DropReply after the command has run, otherwise in place
// of the command.
func (f Fault) Close() Fault { f.f.Close = true; return f }

// Injected is a rule in force.
type Injected struct {
	servers *Servers
	id      int
}

// Inject puts a rule in force. If several rules match a command, only the oldest that is
// due, by its Nth, Times and Percent, strikes it. A rule that makes no sense fails the
// test.
func (s *Servers) Inject(f Fault) *Injected {
	s.t.Helper()
	s.check(f.wrong)
	id, err := s.top.Inject(f.f)
	s.check(err)
	return &Injected{s, id}
}

// Struck returns how many commands the rule has struck; 0 after it was removed.
func (i *Injected) Struck() int {
	for _, state := range i.servers.top.Faults() {
		if state.ID == i.id {
			return state.Struck
		}
	}
	return 0
}

// Wait returns when the rule has struck at least n commands; on a virtual clock, commands
// that it delays are then waiting for Advance. It fails t when that has not happened
// after 10 seconds, which do not follow a virtual Clock.
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

// ClearFaults removes all rules. Connections that have lost something stay dead.
func (s *Servers) ClearFaults() { s.top.ClearFaults() }
