package engine

import (
	"fmt"

	"minikv/internal/resp"
)

// MONITOR, https://redis.io/docs/latest/commands/monitor/

var monitorCommands = []Command{
	{Name: "MONITOR", Arity: 1, Flags: Admin | NoScript | Loading | Stale,
		Groups: "admin slow dangerous", Run: runMonitor},
}

// runMonitor is MONITOR: the session is shown every command from now on.
func runMonitor(c *Call) resp.Value {
	s := c.Session
	if s.monitors {
		return resp.Value{}
	}
	s.monitors = true
	c.Node.monitors = append(c.Node.monitors, s)
	return resp.OK
}

// feedMonitors shows a command to the sessions that have asked for all of them,
// unless it is an administrator's.
func (c *Call) feedMonitors() {
	if c.Cmd.Flags&Admin != 0 || c.Session.internal {
		return
	}
	now := c.Node.cfg.Clock.Wall()
	from := c.Session.Addr
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
		s.push(resp.Simple(string(line)))
	}
}

// secret reports whether an argument is a password or comes with one.
func (c *Call) secret(i int) bool {
	switch c.Cmd.Name {
	case "AUTH":
		return i > 0 && len(c.Args) <= 3 // one of too many words is refused before
	case "HELLO":
		return i > 1 && is(c.Args[i-1], "AUTH") || i > 2 && is(c.Args[i-2], "AUTH")
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
