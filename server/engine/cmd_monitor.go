package engine

import (
	"fmt"
	"strings"

	"minikv/internal/resp"
)

// MONITOR, https://redis.io/docs/latest/commands/monitor/

var monitorCommands = []Command{
	{Name: "MONITOR", Arity: 1, Flags: administering, Run: runMonitor},
}

// runMonitor is MONITOR: the session is shown every command from now on.
func runMonitor(c *Call) resp.Value {
	s := c.Session
	if c.InTx {
		return resp.Err("ERR MONITOR isn't allowed for DENY BLOCKING client")
	}
	if s.monitors || s.outside.replica {
		return resp.Value{}
	}
	s.own().monitors = true
	c.Node.monitors = append(c.Node.monitors, s)
	return resp.OK
}

// feedMonitors shows a command to the sessions that have asked for all of them,
// unless it is an administrator's. At a replica they see what its master sends, too.
func (c *Call) feedMonitors() {
	if c.Cmd.Flags&Admin != 0 {
		return
	}
	now := c.Node.cfg.Clock.Wall()
	from := c.Session.Addr
	if path := c.Session.unixPath(); path != "" {
		from = "unix:" + path
	}
	if c.Script {
		from = "lua"
	}
	line := fmt.Appendf(nil, "%d.%06d [%d %s]", now.Unix(), now.Nanosecond()/1000, c.Session.DB, from)
	for i, arg := range c.Args {
		text := string(arg)
		if c.secret(i) {
			text = "(redacted)"
		}
		line = append(append(line, ' '), resp.Quote(text)...)
	}
	for _, s := range c.Node.monitors {
		s.send(resp.Simple(string(line)))
		c.Node.markDirty(s)
	}
}

// How many words the options take among which a password is.
var (
	migrateOptions = map[string]int{"COPY": 0, "REPLACE": 0, "AUTH": 1, "AUTH2": 2}
	helloOptions   = map[string]int{"AUTH": 2, "SETNAME": 1}
)

// secret reports whether an argument is a password or comes with one. What a command
// does not get to read, because of an error before it, is none.
func (c *Call) secret(i int) bool {
	switch c.Cmd.full {
	case "migrate":
		return authenticates(c.Args, 6, i, migrateOptions)
	case "config|set":
		return i > 2 && i%2 == 1 && len(c.Args)%2 == 0 && isSensitive(string(c.Args[i-1]))
	case "auth":
		return i > 0 && len(c.Args) <= 3 // one of too many words is refused before
	case "acl|setuser":
		return i > 1
	case "hello":
		_, bad := c.helloVersion()
		return bad == "" && authenticates(c.Args, 2, i, helloOptions)
	}
	return false
}

// authenticates reports whether argument i belongs to an option AUTH or AUTH2, among those that
// begin at an argument and take so many words each.
func authenticates(args [][]byte, begin, i int, options map[string]int) bool {
	for begin < i {
		name := upperASCII(string(args[begin]))
		words, known := options[name]
		end := begin + 1 + words
		if !known || end > len(args) {
			return false
		}
		if i < end {
			return strings.HasPrefix(name, "AUTH")
		}
		begin = end
	}
	return false
}

// isSensitive reports whether a parameter is a password, or a name that goes with one.
// Those of TLS keys are none to Redis 7.0.15.
func isSensitive(name string) bool {
	switch lowerASCII(name) {
	case "requirepass", "masterauth", "masteruser":
		return true
	}
	return false
}

// stopMonitoring ends MONITOR for a session that leaves or is reset.
func (n *Node) stopMonitoring(s *Session) {
	if s.monitors {
		s.monitors = false
		n.monitors = without(n.monitors, s)
	}
}
