package topology

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"minikv/cluster"
	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// Fault is a rule that strikes commands of clients: those that match all of its
// conditions. An empty condition matches everything. Inside a transaction a command
// counts when it is sent, and EXEC counts as a command of its own. A Fault never strikes
// what nodes send each other; for that there are Drop, Delay and Partition.
type Fault struct {
	Node    string // a node's name or address
	Command string // a glob for the command's name, in any case, without a subcommand
	Key     string // a glob for one of its keys
	Client  string // the client's name, or its number at the node

	Nth     int // the first match that is struck, counted from when the rule is made; 0: 1
	Times   int // how many matches are struck from there on; 0: all, or one if Nth is given
	Percent int // how many percent of these are struck, at random; 0: all

	Delay       time.Duration // the command waits for so long, others do not
	Error       string        // the reply, in place of the command's; it begins with its code word
	DropRequest bool          // the command gets lost and does not run
	DropReply   bool          // the command runs; its reply gets lost
	Duplicate   bool          // the command runs twice, as if the client had sent it again; the second reply gets lost
	// Close ends the connection: with DropReply after the command ran, otherwise before.
	// Without Close a connection that has lost something stays open, but nothing passes over
	// it any more, as when a network dies.
	Close bool
}

// FaultState is a rule and what it has done so far.
type FaultState struct {
	ID     int // 1, 2, 3, … in the order in which rules are made
	Fault  Fault
	Seen   int // how many commands have matched
	Struck int // how many of them it has struck
}

// faults are the rules of a topology.
type faults struct {
	inUse atomic.Bool // there is a rule
	mu    sync.Mutex
	last  int
	rules []*FaultState
	draw  func() uint64
}

// Check returns an error that says what is wrong with a rule; nil if nothing is.
func (f Fault) Check() error {
	switch {
	case f.Nth < 0 || f.Times < 0:
		return fmt.Errorf("topology: fault: NTH and TIMES count from 1")
	case f.Percent < 0 || f.Percent > 100:
		return fmt.Errorf("topology: fault: %d percent: expected 1 to 100", f.Percent)
	case f.Delay < 0:
		return fmt.Errorf("topology: fault: delay %v: expected more than 0", f.Delay)
	case strings.ContainsAny(f.Command, " \t\r\n"):
		return fmt.Errorf("topology: fault: command %q: expected one word, without a subcommand", f.Command)
	case strings.ContainsAny(f.Error, "\r\n"):
		return fmt.Errorf("topology: fault: error %q: expected one line", f.Error)
	case f.DropRequest && f.DropReply:
		return fmt.Errorf("topology: fault: expected DROPREQUEST or DROPREPLY, not both")
	case f.Error != "" && (f.DropRequest || f.DropReply):
		return fmt.Errorf("topology: fault: ERROR does not go with DROPREQUEST or DROPREPLY: there is nothing to lose")
	case f.Duplicate && (f.Error != "" || f.DropRequest || f.Close && !f.DropReply):
		return fmt.Errorf("topology: fault: DUPLICATE does not go with ERROR, DROPREQUEST, or CLOSE without DROPREPLY" +
			": the command does not run")
	case f.Delay == 0 && f.Error == "" && !f.DropRequest && !f.DropReply && !f.Duplicate && !f.Close:
		return fmt.Errorf("topology: fault: no effect: expected DELAY, ERROR, DROPREQUEST, DROPREPLY, DUPLICATE or CLOSE")
	}
	return nil
}

// Inject puts a rule in force and returns its number. If several rules match a command,
// only the oldest that is due, by its Nth, Times and Percent, strikes it; rules behind
// that one do not see the command. An error is that of Check, or an unknown node.
func (t *Topology) Inject(f Fault) (id int, err error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	if f.Node != "" {
		n, err := t.named(f.Node)
		if err != nil {
			return 0, err
		}
		f.Node = n.name
	}
	r := &t.faults
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.rules = append(r.rules, &FaultState{ID: r.last, Fault: f})
	r.inUse.Store(true)
	return r.last, nil
}

// Faults returns the rules, oldest first, including those that have struck all that they
// were to strike.
func (t *Topology) Faults() []FaultState {
	r := &t.faults
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]FaultState, len(r.rules))
	for i, one := range r.rules {
		all[i] = *one
	}
	return all
}

// WaitStruck returns when a rule has struck at least that many commands, and those that
// it delays are waiting. The error wraps the context's and says how many there were, or
// says that there is no such rule, or that the topology is closed.
func (t *Topology) WaitStruck(ctx context.Context, id, times int) error {
	err := t.wait(ctx, func() (missing string, err error) {
		rules := t.Faults()
		at := slices.IndexFunc(rules, func(one FaultState) bool { return one.ID == id })
		if at < 0 {
			return "", fmt.Errorf("topology: there is no fault %d", id)
		}
		if struck := rules[at].Struck; struck < times {
			missing = fmt.Sprintf("fault %d has struck %d times, not %d", id, struck, times)
		}
		return missing, nil
	})
	if err != nil {
		return err
	}
	for _, n := range t.nodes {
		n.Try(func(cluster.Process) {}) // whoever was just struck is through
	}
	return nil
}

// RemoveFault removes a rule; it returns false if there is none with that number.
func (t *Topology) RemoveFault(id int) bool {
	return t.removeFaults(func(one *FaultState) bool { return one.ID == id })
}

// ClearFaults removes all rules. Connections that have lost something stay dead.
func (t *Topology) ClearFaults() { t.removeFaults(func(*FaultState) bool { return true }) }

func (t *Topology) removeFaults(which func(*FaultState) bool) bool {
	r := &t.faults
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.rules)
	r.rules = slices.DeleteFunc(r.rules, which)
	r.inUse.Store(len(r.rules) > 0)
	return len(r.rules) < before
}

// strike finds the rule that strikes a command, and counts.
func (r *faults) strike(n *Node, s *engine.Session, cmd [][]byte) (f Fault, struck bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.rules {
		if !one.Fault.matches(n, s, cmd) {
			continue
		}
		one.Seen++
		if one.wants() && (one.Fault.Percent == 0 || int(r.draw()%100) < one.Fault.Percent) {
			one.Struck++
			return one.Fault, true
		}
	}
	return Fault{}, false
}

// wants reports whether the match that was just seen is one to strike.
func (one *FaultState) wants() bool {
	f := one.Fault
	if one.Seen < max(f.Nth, 1) {
		return false
	}
	times := f.Times
	if times == 0 && f.Nth > 0 {
		times = 1
	}
	return times == 0 || one.Struck < times
}

func (f *Fault) matches(n *Node, s *engine.Session, cmd [][]byte) bool {
	switch {
	case f.Node != "" && f.Node != n.name:
		return false
	case f.Command != "" && !engine.MatchGlob(strings.ToUpper(f.Command), strings.ToUpper(string(cmd[0]))):
		return false
	case f.Client != "" && f.Client != s.Name && f.Client != strconv.FormatInt(s.ID, 10):
		return false
	case f.Key == "":
		return true
	}
	m, ok := n.process.(*cluster.Member)
	return ok && slices.ContainsFunc(m.Node().KeysOf(cmd), func(key []byte) bool {
		return engine.MatchGlob(f.Key, string(key))
	})
}

// before is asked by the server about each command, under its gate.
func (n *Node) before(s *engine.Session, cmd [][]byte) (treatment server.Treatment, some bool) {
	t := n.topology
	if t.cfg.Control != nil && strings.EqualFold(string(cmd[0]), controlCommand) {
		return n.control(s, cmd), true
	}
	var wait time.Duration
	if n.clock.base.virtual {
		wait = time.Duration(n.slow.Load()) // on a real one the machine takes its time
	}
	var f Fault
	struck := false
	if t.faults.inUse.Load() {
		f, struck = t.faults.strike(n, s, cmd)
	}
	if wait += f.Delay; wait > 0 {
		treatment.Wait = n.delay(wait)
	}
	if !struck {
		return treatment, wait > 0
	}
	what := f.effects()
	treatment.Close, treatment.Twice = f.Close, f.Duplicate
	switch {
	case f.Error != "":
		record, proto := n.commandEvent(s, cmd, what), s.Proto
		treatment.Answer = func() []byte {
			reply := resp.Append(nil, resp.Err(f.Error), proto)
			t.trace.answered(record, reply)
			return reply
		}
	case f.DropReply:
		treatment.Lose = server.LoseReply
		n.strikes(s, what)
	case f.DropRequest || f.Close:
		treatment.Lose = server.LoseRequest
		t.trace.answered(n.commandEvent(s, cmd, what), nil)
	default:
		n.strikes(s, what)
	}
	return treatment, true
}

// delay waits by the topology's clock, from now on. On a virtual one Advance then
// waits for the command that was delayed, unless the node stands still.
func (n *Node) delay(d time.Duration) func(closed <-chan struct{}) (done func()) {
	rung, finished := make(chan struct{}), make(chan struct{})
	stop := n.clock.base.afterFunc(d, func() {
		close(rung)
		if n.clock.base.virtual && !n.frozen.Load() {
			<-finished
		}
	})
	return func(closed <-chan struct{}) func() {
		select {
		case <-rung:
		case <-closed:
			stop()
		}
		return func() { close(finished) }
	}
}
