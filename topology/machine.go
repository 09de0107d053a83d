package topology

import (
	"bytes"

	"minikv/cluster"
	"minikv/server/engine"
)

// machine is the process as a server uses it: slower if that is wished, and
// watched if there is a trace.
type machine struct {
	cluster.Process
	node *Node
}

// Do implements server.Machine.
func (m machine) Do(s *engine.Session, cmd [][]byte) {
	m.node.takeTime()
	if m.node.watch == nil || len(cmd) == 0 { // *0 on the wire is nothing to tell of
		m.Process.Do(s, cmd)
		return
	}
	m.node.watch.do(s, cmd)
}

// Unblocked implements server.Machine. What the session was blocked in is answered
// before it goes on.
func (m machine) Unblocked() *engine.Session {
	s := m.Process.Unblocked()
	if s != nil && m.node.watch != nil {
		m.node.watch.sent([]*engine.Session{s})
		m.node.watch.seen[s] = len(s.Out)
	}
	return s
}

// Dirty implements server.Machine.
func (m machine) Dirty() []*engine.Session {
	sessions := m.Process.Dirty()
	if m.node.watch != nil {
		m.node.watch.sent(sessions)
	}
	return sessions
}

// Close implements server.Machine.
func (m machine) Close(s *engine.Session) {
	m.Process.Close(s)
	if m.node.watch != nil {
		m.node.watch.forget(s)
	}
}

// watch sees what clients do at one node, and tells the trace. It is used under
// the server's gate.
type watch struct {
	node  *Node
	trace *Trace

	struck map[*engine.Session]string   // what a fault has in store for the command that comes next
	open   map[*engine.Session]bool     // is blocked: its reply comes later
	seen   map[*engine.Session]int      // how many bytes of Out have been told of
	queued map[*engine.Session][]string // keys of the transaction that it makes
}

func newWatch(n *Node, trace *Trace) *watch {
	w := &watch{node: n, trace: trace}
	w.reset()
	return w
}

// reset forgets all clients: the process has been restarted.
func (w *watch) reset() {
	w.struck, w.open = map[*engine.Session]string{}, map[*engine.Session]bool{}
	w.seen, w.queued = map[*engine.Session]int{}, map[*engine.Session][]string{}
}

func (w *watch) forget(s *engine.Session) {
	delete(w.struck, s)
	delete(w.open, s)
	delete(w.seen, s)
	delete(w.queued, s)
}

// do runs a command, and tells of it and of the locks that it has changed.
func (w *watch) do(s *engine.Session, cmd [][]byte) {
	e := w.node.commandEvent(s, cmd, w.struck[s])
	delete(w.struck, s)
	db := s.DB
	all := w.lockKeys(s, cmd)
	keys := w.trace.watched(all, cmd)
	before, changes := w.lockStates(db, keys, false)
	from := len(s.Out)
	w.node.process.Do(s, cmd)
	w.checkSupport(cmd, s.Out[min(from, len(s.Out)):])
	w.trace.answered(e, s.Out[min(from, len(s.Out)):])
	w.seen[s] = len(s.Out)
	if s.Blocked() {
		w.open[s] = true
	}
	switch {
	case bytes.Equal(e.reply, queuedReply):
		w.queue(s, all)
	case len(keys) > 0:
		after := before
		if w.node.process.(*cluster.Member).Node().Changes() != changes {
			after, _ = w.lockStates(db, keys, makesToken(cmd))
		}
		w.holdsChanged(s, db, keys, before, after)
	}
}

// checkSupport tells Config.Unsupported of a command that is not there.
func (w *watch) checkSupport(cmd [][]byte, reply []byte) {
	told := w.node.topology.cfg.Unsupported
	if told == nil || !bytes.HasPrefix(bytes.ToLower(reply[:min(len(reply), 13)]), unknownReply) {
		return
	}
	if name := engine.Absent(cmd); name != "" {
		told(w.node.name, name)
	}
}

// unknownReply is how errors begin about a command or subcommand that is not known.
var unknownReply = []byte("-err unknown ")

// sent tells of what clients are sent that no command of theirs has just got.
func (w *watch) sent(sessions []*engine.Session) {
	for _, s := range sessions {
		if s.Addr == consoleAddr {
			continue
		}
		if told := min(w.seen[s], len(s.Out)); told < len(s.Out) {
			kind := Pushed
			if w.open[s] && !s.Blocked() {
				kind = Replied
			}
			w.trace.sent(w.node, s, kind, s.Out[told:])
		}
		if !s.Blocked() {
			delete(w.open, s)
		}
		delete(w.seen, s)
	}
}

// strikes notes what a fault does to the command that runs next.
func (n *Node) strikes(s *engine.Session, what string) {
	if n.watch != nil {
		n.watch.struck[s] = what
	}
}
