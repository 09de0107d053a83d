package engine

import (
	"minikv/internal/resp"
)

// Connection commands, https://redis.io/docs/latest/commands/?group=connection

const (
	preAuth = NoScript | Loading | Stale | Fast | NoAuth | AllowBusy
)

var connectionCommands = []Command{
	{Name: "PING", Arity: -1, Flags: Fast, Groups: "connection", Run: runPing},
	{Name: "ECHO", Arity: 2, Flags: Loading | Stale | Fast, Groups: "connection", Run: runEcho},
	{Name: "SELECT", Arity: 2, Flags: Loading | Stale | Fast, Groups: "connection", Run: runSelect},
	{Name: "QUIT", Arity: -1, Flags: preAuth, Groups: "connection", Run: runQuit},
	{Name: "RESET", Arity: 1, Flags: preAuth, Groups: "connection", Run: runReset},
	{Name: "AUTH", Arity: -2, Flags: preAuth, Groups: "connection", Run: runAuth},
	{Name: "HELLO", Arity: -1, Flags: preAuth, Groups: "connection", Run: runHello},
	{Name: "CLIENT", Arity: -2, Sub: clientCommands},
}

var pong = resp.Simple("PONG")

// runPing is PING [message]. A RESP2 client with subscriptions gets an array.
func runPing(c *Call) resp.Value {
	if len(c.Args) > 2 {
		return resp.Err(errArity("ping"))
	}
	if c.Proto == 2 && c.Session.Subscribed() {
		message := ""
		if len(c.Args) == 2 {
			message = string(c.Args[1])
		}
		return resp.List(resp.Str("pong"), resp.Str(message))
	}
	if len(c.Args) == 2 {
		return resp.Str(string(c.Args[1]))
	}
	return pong
}

// runEcho is ECHO message.
func runEcho(c *Call) resp.Value { return resp.Str(string(c.Args[1])) }

// runSelect is SELECT index. In a script it lasts as long as the script.
func runSelect(c *Call) resp.Value {
	index, bad := parseInt32(c.Args[1], "")
	switch {
	case bad != "":
		return resp.Err(bad)
	case c.Node.cfg.Topology != nil && index != 0:
		return resp.Err("ERR SELECT is not allowed in cluster mode")
	case c.Node.checkDatabase(index) != "":
		return resp.Err(errDBIndex)
	}
	c.Session.DB = index
	return resp.OK
}

// runQuit is QUIT: the connection closes behind the reply.
func runQuit(c *Call) resp.Value {
	c.Session.closing = true
	return resp.OK
}

// runReset is RESET: the session is as new, but for its identity.
func runReset(c *Call) resp.Value {
	n, s := c.Node, c.Session
	n.discard(s)
	n.unsubscribeAll(s)
	n.stopMonitoring(s)
	n.stopTracking(s)
	s.DB, s.Proto, s.Name = 0, 2, ""
	s.asking, s.readOnly = false, false
	s.reply &= replySkip // which Redis forgets
	s.user, s.authenticated = n.access.root, n.access.open()
	return resp.Simple("RESET")
}

// runAuth is AUTH [username] password. Without a name it is the default user.
func runAuth(c *Call) resp.Value {
	switch len(c.Args) {
	case 2:
		if c.Node.access.root.flags&userNoPass != 0 {
			return resp.Err("ERR AUTH <password> called without any password configured for the default user. " +
				"Are you sure your configuration is correct?")
		}
		return c.authenticate("default", string(c.Args[1]))
	case 3:
		return c.authenticate(string(c.Args[1]), string(c.Args[2]))
	}
	return resp.Err(errSyntax)
}

// authenticate makes the session that of a user, if it knows a password.
func (c *Call) authenticate(name, password string) resp.Value {
	u := c.Node.access.authentic(name, password)
	if u == nil {
		c.logDenial(deniedLogin, c.context(), string(c.Args[0]), name)
		return resp.Err("WRONGPASS invalid username-password pair or user is disabled.")
	}
	c.Session.user, c.Session.authenticated = u, true
	return resp.OK
}

// runHello is HELLO [protover [AUTH username password] [SETNAME clientname]].
func runHello(c *Call) resp.Value {
	s := c.Session
	proto, bad := c.helloVersion()
	if bad != "" {
		return resp.Err(bad)
	}
	if bad := c.helloOptions(); bad != "" {
		return resp.Err(bad)
	}
	if !s.authenticated {
		return resp.Err("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO " +
			"AUTH <user> <pass> option can be used to authenticate the client and select the RESP " +
			"protocol version at the same time")
	}
	s.Proto = int(proto)
	return c.Node.greeting(s)
}

// greeting is the reply of HELLO. Only who serves keys has a role.
func (n *Node) greeting(s *Session) resp.Value {
	entries := []resp.Value{
		resp.Str("server"), resp.Str("redis"),
		resp.Str("version"), resp.Str(Version),
		resp.Str("proto"), resp.Int(int64(s.Proto)),
		resp.Str("id"), resp.Int(s.ID),
		resp.Str("mode"), resp.Str(n.modeName()),
	}
	if n.cfg.Mode == nil {
		role := "master"
		if n.repl.isReplica() {
			role = "replica"
		}
		entries = append(entries, resp.Str("role"), resp.Str(role))
	}
	return resp.Pairs(append(entries, resp.Str("modules"), resp.List())...)
}

// helloVersion reads HELLO's version; without one it stays what it is.
func (c *Call) helloVersion() (proto int64, bad string) {
	if len(c.Args) == 1 {
		return int64(c.Session.Proto), ""
	}
	proto, ok := parseInt(c.Args[1])
	switch {
	case !ok:
		return 0, "ERR Protocol version is not an integer or out of range"
	case proto < 2 || proto > 3:
		return 0, "NOPROTO unsupported protocol version"
	}
	return proto, ""
}

// helloOptions reads what follows HELLO's version, authenticating and naming the client
// on the way: what comes before an error has been done.
func (c *Call) helloOptions() (bad string) {
	for i := 2; i < len(c.Args); i++ {
		left := len(c.Args) - i - 1
		switch {
		case is(c.Args[i], "AUTH") && left >= 2:
			if reply := c.authenticate(string(c.Args[i+1]), string(c.Args[i+2])); reply.Kind == resp.Error {
				return reply.Str
			}
			i += 2
		case is(c.Args[i], "SETNAME") && left >= 1:
			if !validName(c.Args[i+1]) {
				return errClientName
			}
			c.Session.Name = string(c.Args[i+1])
			i++
		default:
			return "ERR Syntax error in HELLO option '" + resp.CString(c.Args[i]) + "'"
		}
	}
	return ""
}

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

// validName reports whether a client's name is printable without spaces.
func validName(name []byte) bool {
	for _, b := range name {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}
