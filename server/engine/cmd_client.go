package engine

import (
	"slices"
	"strconv"
	"strings"

	"minikv/internal/resp"
)

// CLIENT and its subcommands, https://redis.io/docs/latest/commands/client/

const clientPlain = NoScript | Loading | Stale

var clientCommands = []Command{
	{Name: "CACHING", Arity: 3, Flags: clientPlain, Groups: "connection", Run: runClientCaching},
	{Name: "GETNAME", Arity: 2, Flags: clientPlain, Groups: "connection", Run: runClientGetName},
	{Name: "GETREDIR", Arity: 2, Flags: clientPlain, Groups: "connection", Run: runClientGetRedir},
	{Name: "ID", Arity: 2, Flags: clientPlain, Groups: "connection", Run: runClientID},
	{Name: "INFO", Arity: 2, Flags: clientPlain, Groups: "connection", Run: runClientInfo},
	{Name: "KILL", Arity: -3, Flags: administering, Groups: "connection", Run: runClientKill},
	{Name: "LIST", Arity: -2, Flags: administering, Groups: "connection", Run: runClientList},
	{Name: "NO-EVICT", Arity: 3, Flags: administering, Groups: "connection", Run: runClientNoEvict},
	{Name: "PAUSE", Arity: -3, Flags: administering, Groups: "connection", Run: runClientPause},
	{Name: "REPLY", Arity: 3, Flags: clientPlain, Groups: "connection", Run: runClientReply},
	{Name: "SETNAME", Arity: 3, Flags: clientPlain, Groups: "connection", Run: runClientSetName},
	{Name: "TRACKING", Arity: -3, Flags: clientPlain, Groups: "connection", Run: runClientTracking},
	{Name: "TRACKINGINFO", Arity: 2, Flags: clientPlain, Groups: "connection", Run: runClientTrackingInfo},
	{Name: "UNBLOCK", Arity: -3, Flags: administering, Groups: "connection", Run: runClientUnblock},
	{Name: "UNPAUSE", Arity: 2, Flags: administering, Groups: "connection", Run: runClientUnpause},
	help("CLIENT", "connection", clientHelp),
}

// runClientGetName is CLIENT GETNAME.
func runClientGetName(c *Call) resp.Value {
	if c.Session.Name == "" {
		return resp.Null
	}
	return resp.Str(c.Session.Name)
}

// runClientID is CLIENT ID.
func runClientID(c *Call) resp.Value { return resp.Int(c.Session.ID) }

// runClientInfo is CLIENT INFO.
func runClientInfo(c *Call) resp.Value {
	return resp.Value{Kind: resp.Verbatim, Str: c.describe(c.Session) + "\n"}
}

// runClientNoEvict is CLIENT NO-EVICT ON|OFF.
func runClientNoEvict(c *Call) resp.Value {
	switch {
	case is(c.Args[2], "ON"):
		c.Session.own().noEvict = true
	case is(c.Args[2], "OFF"):
		c.Session.own().noEvict = false
	default:
		return resp.Err(errSyntax)
	}
	return resp.OK
}

// runClientReply is CLIENT REPLY ON|OFF|SKIP. Only ON is answered.
func runClientReply(c *Call) resp.Value {
	s := c.Session
	switch {
	case is(c.Args[2], "ON"):
		s.reply &= replySkipNext
		return resp.OK
	case is(c.Args[2], "OFF"):
		s.reply |= replyOff
	case is(c.Args[2], "SKIP"):
		if s.reply&replyOff == 0 {
			s.reply |= replySkipNext
		}
	default:
		return resp.Err(errSyntax)
	}
	return resp.Value{}
}

// runClientSetName is CLIENT SETNAME name; the empty name takes it away.
func runClientSetName(c *Call) resp.Value {
	if !validName(c.Args[2]) {
		return resp.Err(errClientName)
	}
	c.Session.Name = string(c.Args[2])
	return resp.OK
}

// runClientPause is CLIENT PAUSE timeout [WRITE|ALL], in milliseconds. A pause
// that is longer or holds back more is not shortened or weakened.
func runClientPause(c *Call) resp.Value {
	n, all := c.Node, true
	if len(c.Args) > 4 {
		return resp.Err(errSubSyntax("CLIENT", c.Args[1]))
	}
	if len(c.Args) == 4 {
		all = is(c.Args[3], "ALL")
		if !all && !is(c.Args[3], "WRITE") {
			return resp.Err("ERR CLIENT PAUSE mode must be WRITE or ALL")
		}
	}
	timeout, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return resp.Err(errTimeoutInt)
	case timeout < 0:
		return resp.Err(errNegTimeout)
	}
	n.Pause(PausedByClient, n.nextMillis()+timeout, all)
	return resp.OK
}

// runClientUnpause is CLIENT UNPAUSE.
func runClientUnpause(c *Call) resp.Value {
	c.Node.Unpause(PausedByClient)
	return resp.OK
}

// runClientUnblock is CLIENT UNBLOCK id [TIMEOUT|ERROR].
func runClientUnblock(c *Call) resp.Value {
	if len(c.Args) > 4 {
		return resp.Err(errSubSyntax("CLIENT", c.Args[1]))
	}
	withError := len(c.Args) == 4 && is(c.Args[3], "ERROR")
	if len(c.Args) == 4 && !withError && !is(c.Args[3], "TIMEOUT") {
		return resp.Err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	}
	id, ok := parseInt(c.Args[2])
	if !ok {
		return resp.Err(errNotInt)
	}
	s := c.Node.sessions.byID(id)
	if s == nil || s.block == nil || s.block.postponed || s.block.suspended {
		return resp.Zero
	}
	if withError {
		c.Node.endWait(s, resp.Err("UNBLOCKED client unblocked via CLIENT UNBLOCK"))
		c.Node.failRunning()
	} else {
		c.Node.timeOut(s)
	}
	c.Node.accountEnd(s, nil, errUnblocked) // in both cases, and without its arguments
	return resp.One
}

// runClientList is CLIENT LIST [TYPE type] [ID id [id ...]]. By IDs, clients come in the
// order in which they are named, and as often.
func runClientList(c *Call) resp.Value {
	filter, text := clientFilter{}, []byte{}
	add := func(s *Session) { text = append(append(text, c.describe(s)...), '\n') }
	switch {
	case len(c.Args) == 2:
	case len(c.Args) == 4 && is(c.Args[2], "TYPE"):
		if bad := filter.setType(c.Args[3]); bad != "" {
			return resp.Err(bad)
		}
	case len(c.Args) > 3 && is(c.Args[2], "ID"):
		for _, arg := range c.Args[3:] {
			id, ok := parseInt(arg)
			if !ok {
				return resp.Err("ERR Invalid client ID")
			}
			if s := c.Node.sessions.byID(id); s != nil {
				add(s)
			}
		}
		return resp.Value{Kind: resp.Verbatim, Str: string(text)}
	default:
		return resp.Err(errSyntax)
	}
	for s := c.Node.sessions.first; s != nil; s = s.next {
		if filter.matches(s) {
			add(s)
		}
	}
	return resp.Value{Kind: resp.Verbatim, Str: string(text)}
}

// runClientKill is CLIENT KILL addr, or CLIENT KILL filter value [filter value ...].
func runClientKill(c *Call) resp.Value {
	if len(c.Args) == 3 {
		filter := clientFilter{addr: new(resp.CString(string(c.Args[2])))}
		if c.kill(filter) == 0 {
			return resp.Err("ERR No such client")
		}
		return resp.OK
	}
	filter, bad := c.killFilter()
	if bad != "" {
		return resp.Err(bad)
	}
	return resp.Int(c.kill(filter))
}

// killFilter reads the filters of CLIENT KILL.
func (c *Call) killFilter() (filter clientFilter, bad string) {
	args := c.Args[2:]
	filter.skip = c.Session
	for ; len(args) > 1 && bad == ""; args = args[2:] {
		value := string(args[1])
		switch {
		case is(args[0], "ID"):
			id, ok := parseInt(args[1])
			if !ok || id < 1 {
				return filter, "ERR client-id should be greater than 0"
			}
			filter.id = id
		case is(args[0], "TYPE"):
			bad = filter.setType(args[1])
		case is(args[0], "ADDR"):
			filter.addr = new(resp.CString(value))
		case is(args[0], "LADDR"):
			filter.localAddr = new(resp.CString(value))
		case is(args[0], "USER"):
			if filter.user = c.Node.access.find(value); filter.user == nil {
				return filter, oneLine([]byte("ERR No such user '" + resp.CString(value) + "'"))
			}
		case is(args[0], "SKIPME") && is(args[1], "YES"):
			filter.skip = c.Session
		case is(args[0], "SKIPME") && is(args[1], "NO"):
			filter.skip = nil
		default:
			return filter, errSyntax
		}
	}
	if bad == "" && len(args) > 0 {
		bad = errSyntax
	}
	return filter, bad
}

// kill closes the sessions that match and returns how many; the caller's own
// still gets its reply.
func (c *Call) kill(filter clientFilter) int64 {
	var killed int64
	c.Node.eachSession(func(s *Session) {
		if filter.matches(s) {
			killed++
			c.kick(s)
		}
	})
	return killed
}

// clientFilter selects sessions; what is zero does not matter.
type clientFilter struct {
	id              int64
	class           string // normal, pubsub, master or replica
	addr, localAddr *string
	user            *user
	skip            *Session
}

// setType takes the name of a class of clients.
func (f *clientFilter) setType(name []byte) (bad string) {
	switch {
	case is(name, "NORMAL"):
		f.class = "normal"
	case is(name, "PUBSUB"):
		f.class = "pubsub"
	case is(name, "MASTER"):
		f.class = "master"
	case is(name, "REPLICA"), is(name, "SLAVE"):
		f.class = "replica"
	default:
		return "ERR Unknown client type '" + resp.CString(name) + "'"
	}
	return ""
}

// isElsewhere tells whether a filter has an address, and a session another one. Without
// any, as in memory, it is none's.
func isElsewhere(session string, filter *string) bool {
	return filter != nil && (*filter == "" || session != *filter)
}

func (f *clientFilter) matches(s *Session) bool {
	if s == f.skip || f.user != nil && s.user != f.user ||
		isElsewhere(s.Addr, f.addr) || isElsewhere(s.localAddr(), f.localAddr) {
		return false
	}
	if f.class != "" && s.class() != f.class {
		return false
	}
	return f.id == 0 || f.id == s.ID
}

// class is which of CLIENT LIST's types a session is of.
// Source: getClientType of Redis 7.0.
func (s *Session) class() string {
	switch {
	case s.link == toMaster:
		return "master"
	case s.isReplica():
		return "replica"
	case s.Subscribed():
		return "pubsub"
	}
	return "normal"
}

// execWords is how many bytes the words of EXEC have, which takes no others.
const execWords = len("EXEC")

// describe is a session's line in CLIENT LIST.
// Source: catClientInfoString of Redis 7.0, and execCommand, which leaves argv_len_sum alone.
func (c *Call) describe(s *Session) string {
	var args [][]byte
	if s == c.Session {
		args = c.Args
	} else if s.block != nil {
		args = s.block.args
	} else {
		args = s.held
	}
	memory := s.footprint(args)
	if s == c.Session && c.InTx { // it counts the words that were sent last
		memory.total += execWords - memory.args
		memory.args = execWords
	}
	if s != c.Session { // a command that waits is not in the buffer any more
		memory.query, memory.queryFree = 0, memory.query+memory.queryFree
	}
	now := s.node.cfg.Clock.Mono()
	multi := -1
	if queue, open := s.inMulti(); open {
		multi = len(queue)
	}
	command := "NULL"
	if s.last != nil {
		command = s.last.full
	}
	text := make([]byte, 0, 256)
	add := func(name, value string) { text = append(append(append(text, name...), '='), value+" "...) }
	add("id", strconv.FormatInt(s.ID, 10))
	add("addr", s.Addr)
	add("laddr", s.localAddr())
	add("fd", strconv.FormatInt(s.ID+firstDescriptor, 10))
	add("name", s.Name)
	add("age", strconv.Itoa(int((now - s.created).Seconds())))
	add("idle", strconv.Itoa(int((now - s.lastUsed).Seconds())))
	add("flags", s.flagLetters())
	add("db", strconv.Itoa(s.DB))
	add("sub", strconv.Itoa(s.subs.channels.len()))
	add("psub", strconv.Itoa(s.subs.patterns.len()))
	add("ssub", strconv.Itoa(s.subs.shards.len()))
	add("multi", strconv.Itoa(multi))
	add("qbuf", strconv.Itoa(memory.query))
	add("qbuf-free", strconv.Itoa(memory.queryFree))
	add("argv-mem", strconv.Itoa(memory.args))
	add("multi-mem", strconv.Itoa(memory.queued))
	add("rbs", strconv.Itoa(memory.reply))
	add("rbp", strconv.Itoa(memory.replyPeak))
	add("obl", strconv.Itoa(memory.inBuffer))
	add("oll", strconv.Itoa(memory.blocks))
	add("omem", strconv.Itoa(memory.outside))
	add("tot-mem", strconv.Itoa(memory.total))
	add("events", "r")
	add("cmd", command)
	add("user", s.user.name)
	add("redir", strconv.FormatInt(s.tracking.redirection(), 10))
	add("resp", strconv.Itoa(s.Proto))
	return string(text[:len(text)-1])
}

// localAddr is the address the client connected to.
func (s *Session) localAddr() string {
	if s.LocalAddr != "" {
		return s.LocalAddr
	}
	return "127.0.0.1:" + s.node.clientPort()
}

// unixPath is the socket of the file system over which the client came, or "": both
// ends of such a connection have its path as their address.
func (s *Session) unixPath() string {
	if s.LocalAddr == "" || s.LocalAddr != s.Addr {
		return ""
	}
	return strings.TrimSuffix(s.Addr, ":0")
}

// firstDescriptor is the file descriptor that a redis-server's first client gets, less one.
const firstDescriptor = 7

// flagLetters are the letters of CLIENT LIST's flags.
// Source: catClientInfoString of Redis 7.0.
func (s *Session) flagLetters() string {
	letters := []byte{}
	add := func(letter byte, set bool) {
		if set {
			letters = append(letters, letter)
		}
	}
	add('S', s.isReplica())
	add('M', s.link == toMaster)
	add('O', s.monitors)
	add('P', s.Subscribed())
	_, open := s.inMulti()
	add('x', open)
	add('b', s.block != nil)
	add('t', s.tracking.on)
	add('R', s.tracking.broken)
	add('B', s.tracking.bcast)
	add('d', s.tx.touched)
	add('c', s.closing)
	add('u', s.unblocked)
	add('A', slices.Contains(s.node.condemned, s))
	add('U', s.unixPath() != "")
	add('r', s.readOnly)
	add('e', s.noEvict)
	if len(letters) == 0 {
		return "N"
	}
	return string(letters)
}
