package engine

import (
	"bytes"
	"strconv"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// A replica outside of the process is a session that has sent SYNC or PSYNC: it
// gets a data file, and then the stream of effects.
// Source: replication.c of Redis 7.0.

// outside is a session's life as a replica.
type outside struct {
	replica bool
	port    int    // where it says that it listens
	host    string // "": where it comes from
	acks    bool   // it knows PSYNC, and acknowledges what it has
	psync2  bool   // it knows that the history may have got another name
	sent    int64  // up to which offset it has been sent the stream
}

// outsideID is the name of a session among the node's replicas.
func (s *Session) outsideID() int { return -int(s.ID) }

// runPsync is PSYNC replicationid offset, and SYNC.
func runPsync(c *Call) resp.Value {
	n, s := c.Node, c.Session
	switch {
	case n.IsReplica() && n.repl.link != LinkConnected:
		return resp.Err("NOMASTERLINK Can't SYNC while not connected with my master")
	case s.outside.replica:
		return resp.Value{}
	}
	isPsync, next := len(c.Args) > 1, int64(0)
	if isPsync {
		var ok bool
		if next, ok = parseInt(c.Args[2]); !ok {
			return resp.Err(errNotInt)
		}
	}
	s.own().outside.acks = isPsync
	goesOn := isPsync && n.continues(s, string(c.Args[1]), next)
	n.CountSync(goesOn, s.outside.acks && string(c.Args[1]) != "?")
	if goesOn {
		return resp.Value{}
	}
	n.startLog()
	file := n.File()
	if s.outside.acks {
		s.Out = append(s.Out, "+FULLRESYNC "+n.ReplicationID()+" "+decimal(n.repl.offset)+"\r\n"...)
	}
	s.Out = append(s.Out, "$"+strconv.Itoa(len(file))+"\r\n"...)
	s.Out = append(s.Out, file...)
	n.attachOutside(s, n.repl.offset)
	return resp.Value{}
}

// continues attaches a replica that has the history of that name, if it is this node's,
// up to the offset next, from which the log goes on.
func (n *Node) continues(s *Session, history string, next int64) bool {
	if !n.HasHistory(history, next-1) {
		return false
	}
	if _, ok := n.EffectsSince(next - 1); !ok {
		return false
	}
	answer := "+CONTINUE"
	if s.outside.psync2 {
		answer += " " + n.ReplicationID()
	}
	s.Out = append(s.Out, answer+"\r\n"...)
	n.attachOutside(s, next-1)
	return true
}

// attachOutside makes a session a replica that has everything up to offset.
func (n *Node) attachOutside(s *Session, offset int64) {
	host := s.Addr[:max(strings.LastIndexByte(s.Addr, ':'), 0)]
	if s.outside.host != "" {
		host = s.outside.host
	}
	out := &s.own().outside
	out.replica, out.sent = true, offset
	n.repl.pingAt = n.nowMillis() + n.pingMillis()
	n.attach(s.outsideID(), s)
	n.ReplicaAddress(s.outsideID(), host, s.outside.port)
	n.repl.outside = append(n.repl.outside, s)
}

// detachOutside ends what a session is as a replica.
func (n *Node) detachOutside(s *Session) {
	if s.outside.replica {
		n.RemoveReplica(s.outsideID())
		n.repl.outside = without(n.repl.outside, s)
		s.outside = outside{}
	}
}

// CloseOutside ends the connection of a replica outside of the process.
func (n *Node) CloseOutside(id int) {
	for _, s := range n.repl.outside {
		if s.outsideID() == id {
			s.closing = true
			n.markDirty(s)
		}
	}
}

// feedOutside sends the replicas outside of the process what they do not have yet.
func (n *Node) feedOutside() {
	if len(n.repl.outside) == 0 {
		return
	}
	if n.pings() && n.TakeAckRequest() {
		n.Propagate("REPLCONF", "GETACK", "*")
	}
	for _, s := range n.repl.outside {
		stream, ok := n.EffectsSince(s.outside.sent)
		switch {
		case !ok:
			s.closing = true // it is too far behind
		case len(stream) == 0:
			continue
		default:
			s.Out = append(s.Out, stream...)
			s.outside.sent += int64(len(stream))
		}
		n.markDirty(s)
	}
}

// pingOutside keeps the connections of replicas outside of the process alive.
func (n *Node) pingOutside(now int64) {
	if n.pings() && now >= n.repl.pingAt {
		n.Propagate("ping")
		n.repl.pingAt = now + n.pingMillis()
	}
}

func (n *Node) pingMillis() int64 { return 1000 * n.Number("repl-ping-replica-period") }

// pings reports whether the node itself has replicas to keep alive; whoever knows
// other nodes does that for it.
func (n *Node) pings() bool { return len(n.repl.outside) > 0 && n.cfg.Handlers == nil }

// File is the node's data as redis-server's data file holds it.
func (n *Node) File() []byte {
	fields := [][2]string{
		{"redis-ver", Version}, {"redis-bits", "64"},
		{"ctime", decimal(n.unixSeconds())}, {"used-mem", decimal(n.usedMemory())},
		{"repl-stream-db", decimal(int64(n.StreamDB()))}, {"repl-id", n.ReplicationID()},
		{"repl-offset", decimal(n.repl.offset)}, {"aof-base", "0"},
	}
	return n.keys.File(datastore.FileHeader{Fields: fields, Libraries: n.functions.texts()}, n.compresses())
}

// runReplConf is REPLCONF option value [option value ...], from a client that
// prepares to be a replica, or is one. Its acknowledgements are not answered.
func runReplConf(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return resp.Err(errSyntax)
	}
	for i := 1; i < len(c.Args); i += 2 {
		reply := c.replConf(c.Args[i], c.Args[i+1])
		if reply != resp.OK.Str {
			if reply == "" {
				return resp.Value{}
			}
			return resp.Err(reply)
		}
	}
	return resp.OK
}

// replConf is one option of REPLCONF: OK, an error, or "" for no reply.
func (c *Call) replConf(option, value []byte) string {
	s := c.Session
	switch {
	case is(option, "LISTENING-PORT"):
		port, ok := parseInt(value)
		if !ok {
			return errNotInt
		}
		s.own().outside.port = int(port)
	case is(option, "IP-ADDRESS"):
		s.own().outside.host = strings.ToLower(string(value))
	case is(option, "CAPA"):
		if is(value, "PSYNC2") {
			s.own().outside.psync2 = true
		}
	case is(option, "RDB-FILTER-ONLY"):
		for _, part := range bytes.Fields(value) {
			if !is(part, "FUNCTIONS") {
				return "ERR Unsupported rdb-filter-only option: " + resp.CString(part)
			}
		}
	case is(option, "RDB-ONLY"):
		if n, ok := parseInt(value); !ok || n < 0 || n > 1 {
			return "ERR value is out of range, value must between 0 and 1"
		}
	case is(option, "GETACK"):
		c.Node.repl.asked++
		c.Node.repl.askedAt = c.Node.repl.offset
		return ""
	case is(option, "ACK"):
		if offset, ok := parseInt(value); ok && s.outside.replica {
			c.Node.Ack(s.outsideID(), offset)
		}
		return ""
	default:
		return "ERR Unrecognized REPLCONF option: " + resp.CString(option)
	}
	return resp.OK.Str
}
