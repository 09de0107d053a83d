package engine

import (
	"slices"
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
	eof     bool   // it knows of files whose length is not told beforehand
	once    bool   // it wants the file, and nothing behind it
	without parts  // of the file: what it does not want
	sent    int64  // up to which offset it has been sent the stream
}

// parts are those of a data file that a replica may do without.
type parts uint8

const (
	thePairs parts = 1 << iota // keys with their values
	theLibraries
)

// outsideID is the name of a session among the node's replicas.
func (s *Session) outsideID() int { return -int(s.ID) }

// runPsync is PSYNC replicationid offset [FAILOVER], and SYNC.
// Source: syncCommand of Redis 7.0.
func runPsync(c *Call) resp.Value {
	n, s := c.Node, c.Session
	if s.outside.replica || s.monitors {
		return resp.Value{}
	}
	if bad := c.refuseSync(); bad != "" {
		return resp.Err(bad)
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
	file := n.file(s.outside.without)
	if s.outside.acks {
		s.Out = append(s.Out, "+FULLRESYNC "+n.ReplicationID()+" "+decimal(n.repl.offset)+"\r\n"...)
	}
	s.Out = append(s.Out, "$"+strconv.Itoa(len(file))+"\r\n"...)
	s.Out = append(s.Out, file...)
	if s.outside.once {
		s.closing = true
		return resp.Value{}
	}
	n.attachOutside(s, n.repl.offset)
	return resp.Value{}
}

// refuseSync is why a client does not become a replica, or "". With FAILOVER a replica
// becomes the master first.
func (c *Call) refuseSync() string {
	n, s := c.Node, c.Session
	if len(c.Args) > 3 && is(c.Args[3], "FAILOVER") {
		if bad := n.RefuseTakeover(string(c.Args[1])); bad != "" {
			return bad
		}
		if handler := n.cfg.Handlers["psync"]; handler != nil {
			handler(c)
		}
	}
	if bad := n.RefuseSync(); bad != "" {
		return bad
	}
	switch {
	case len(s.Out) > 0 || s.Waiting != nil && s.Waiting() > 0:
		return "ERR SYNC and PSYNC are invalid with pending output"
	case s.outside.without != 0 && !s.outside.eof:
		return "ERR Filtered replica requires EOF capability"
	}
	return ""
}

// RefuseTakeover returns why a node does not become the master when its present master,
// whose history has that name, asks it to; "" if it does.
func (n *Node) RefuseTakeover(history string) string {
	switch {
	case !n.IsReplica():
		return "ERR PSYNC FAILOVER can't be sent to a master."
	case !strings.EqualFold(history, n.ReplicationID()):
		return "ERR PSYNC FAILOVER replid must match my replid."
	}
	return ""
}

// RefuseSync returns why nobody can become a replica of this node now; "" if that is
// possible.
func (n *Node) RefuseSync() string {
	switch {
	case n.repl.failover != "":
		return "NOMASTERLINK Can't SYNC while failing over"
	case n.IsReplica() && n.repl.link != LinkConnected:
		return "NOMASTERLINK Can't SYNC while not connected with my master"
	}
	return ""
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
			n.sendAway(s)
			return
		}
	}
}

// sendAway ends the connection of a replica outside of the process, which is none any more.
func (n *Node) sendAway(s *Session) {
	n.detachOutside(s)
	s.closing = true
	n.markDirty(s)
}

// feedOutside sends the replicas outside of the process what they do not have yet.
func (n *Node) feedOutside() {
	if len(n.repl.outside) == 0 {
		return
	}
	if n.pings() && n.TakeAckRequest() {
		n.Propagate("REPLCONF", "GETACK", "*")
	}
	for _, s := range slices.Clone(n.repl.outside) {
		stream, ok := n.EffectsSince(s.outside.sent)
		switch {
		case !ok: // another history has begun
			n.sendAway(s)
		case len(stream) > 0:
			s.Out = append(s.Out, stream...)
			s.outside.sent += int64(len(stream))
			n.markDirty(s)
		}
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

// File returns the node's data in the format of redis-server's data file.
func (n *Node) File() []byte { return n.file(0) }

// file is File without some parts.
func (n *Node) file(without parts) []byte {
	fields := [][2]string{
		{"redis-ver", Version}, {"redis-bits", "64"},
		{"ctime", decimal(n.unixSeconds())}, {"used-mem", decimal(n.usedMemory())},
		{"repl-stream-db", decimal(int64(n.StreamDB()))}, {"repl-id", n.ReplicationID()},
		{"repl-offset", decimal(n.repl.offset)}, {"aof-base", "0"},
	}
	header := datastore.FileHeader{Fields: fields, Alone: without&thePairs != 0, Past: n.past()}
	if without&theLibraries == 0 {
		header.Libraries = n.functions.texts()
	}
	return n.keys.File(header, n.compresses())
}

// past is what a data file tells of the past of keys.
// Source: rdbSaveKeyValuePair of Redis 7.0.
func (n *Node) past() datastore.Past {
	switch {
	case n.tracksFrequency():
		return datastore.PastUses
	case strings.HasSuffix(n.conf.get("maxmemory-policy"), "-lru"):
		return datastore.PastAccess
	}
	return datastore.PastNothing
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

// longestHost is how many bytes the address may have that a replica says it has.
const longestHost = 255

// filter takes the names of the only parts of the file that a replica wants. It returns OK or
// an error.
func (o *outside) filter(names []byte) string {
	wanted, ok := resp.SplitArgs(names)
	if !ok {
		return "ERR Missing rdb-filter-only values"
	}
	o.without = thePairs | theLibraries
	for _, part := range wanted {
		if !is(part, "FUNCTIONS") {
			return "ERR Unsupported rdb-filter-only option: " + resp.CString(part)
		}
		o.without &^= theLibraries
	}
	return resp.OK.Str
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
		if len(value) > longestHost {
			return "ERR REPLCONF ip-address provided by replica instance is too long: " + strconv.Itoa(len(value)) + " bytes"
		}
		s.own().outside.host = strings.ToLower(string(value))
	case is(option, "CAPA"):
		out := &s.own().outside
		out.psync2 = out.psync2 || is(value, "PSYNC2")
		out.eof = out.eof || is(value, "EOF")
	case is(option, "RDB-FILTER-ONLY"):
		return s.own().outside.filter(value)
	case is(option, "RDB-ONLY"):
		n, ok := parseInt(value)
		switch {
		case !ok:
			return errNotInt
		case n < 0 || n > 1:
			return "ERR value is out of range, value must between 0 and 1"
		}
		s.own().outside.once = n == 1
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
