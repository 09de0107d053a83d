package engine

import (
	"strconv"
	"strings"
)

// link says what of replication goes over a session. The sessions of links to other
// nodes of the topology are there to be seen by clients, and to be killed, and one of
// them applies the master's effects: the shell knows nothing of them, moves the bytes
// in its own way, and reads no Out.
type link uint8

const (
	noLink    link = iota
	toReplica      // from the replica, at its master
	toMaster       // to the master, at a replica
)

// isLink reports whether s is no client's, but stands for a link.
func (s *Session) isLink() bool { return s.link != noLink }

// isReplica reports whether a replica is at the other end.
func (s *Session) isReplica() bool { return s.link == toReplica || s.outside.replica }

// replicaSession stands for the link of a new replica of the topology.
func (n *Node) replicaSession() *Session {
	s := n.NewSession("")
	s.link = toReplica
	s.last = byName([]byte("REPLCONF"))
	return s
}

// address is the text of one.
// Source: formatAddr of Redis 7.0.
func address(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// masterSession applies the master's effects. A replica keeps it, with its database,
// until it gets a copy of the data.
func (n *Node) masterSession() *Session {
	if n.repl.master == nil {
		s := n.session("")
		s.link, s.user, s.authenticated = toMaster, superuser, true
		n.repl.master = s
	}
	return n.repl.master
}

// showMaster lists the link to the master, which is there.
func (n *Node) showMaster() {
	s := n.masterSession()
	s.Addr = address(n.repl.masterHost, n.repl.masterPort)
	n.sessions.remove(s)
	n.sessions.add(s)
}

// hideMaster follows the end of the link to the master.
func (n *Node) hideMaster() {
	if n.repl.master != nil {
		n.sessions.remove(n.repl.master)
	}
}

// forgetMaster forgets the link to the master, and what was selected there.
func (n *Node) forgetMaster() {
	n.hideMaster()
	n.repl.master = nil
}

// cut ends a link, as CLIENT KILL does.
func (n *Node) cut(s *Session) {
	n.repl.cutOff = true
	if s.link == toMaster {
		n.SetMasterLink(LinkConnect)
		return
	}
	for _, r := range n.repl.replicas {
		if r.session == s {
			n.RemoveReplica(r.ID)
			return
		}
	}
}

// CutOff reports, once, whether clients have ended links. The shell then closes the
// connection to the master if MasterLink is down, and those to replicas that are no
// longer among Replicas.
func (n *Node) CutOff() bool {
	cut := n.repl.cutOff
	n.repl.cutOff = false
	return cut
}

// CountSync counts an answer to PSYNC, for INFO: whether the replica goes on with the
// history that it has, and whether it asked to.
func (n *Node) CountSync(goesOn, asked bool) {
	switch {
	case goesOn:
		n.stats.partSyncs++
		return
	case asked:
		n.stats.failedSyncs++
	}
	n.stats.fullSyncs++
}

// Unsynced reports whether the node is a replica that has no history yet.
func (n *Node) Unsynced() bool { return n.repl.unsynced }
