package engine

import (
	"math"
	"slices"
	"time"

	"minikv/internal/resp"
)

// SLOWLOG and its subcommands, https://redis.io/docs/latest/commands/slowlog/

var slowlogCommands = []Command{
	{Name: "GET", Arity: -2, Flags: Admin | Loading | Stale, Run: runSlowlogGet},
	{Name: "LEN", Arity: 2, Flags: Admin | Loading | Stale, Run: runSlowlogLen},
	{Name: "RESET", Arity: 2, Flags: Admin | Loading | Stale, Run: runSlowlogReset},
	help("SLOWLOG", "", slowlogHelp),
}

// slowlog is the commands that took long, by the monotonic clock.
type slowlog struct {
	entries []slowCommand // the newest first
	next    int64         // number of the next one
	since   time.Duration // when the running command began
}

type slowCommand struct {
	id       int64
	unixTime int64
	taken    time.Duration
	args     []resp.Value
	addr     string
	name     string
}

// noteSlow logs a command that has just run and took long.
func (c *Call) noteSlow(taken time.Duration) {
	n := c.Node
	if c.Cmd.Flags&SkipSlowlog != 0 {
		return
	}
	addr, name := c.Session.Addr, c.Session.Name
	if c.Script {
		addr, name = "?:0", "" // Redis has a client without a connection for scripts
	}
	entry := slowCommand{n.slow.next, n.cfg.Clock.Wall().Unix(), taken, c.slowArgs(), addr, name}
	n.slow.next++
	n.slow.entries = slices.Insert(n.slow.entries, 0, entry)
	if most := int(n.conf.number("slowlog-max-len")); len(n.slow.entries) > most {
		n.slow.entries = n.slow.entries[:most]
	}
}

// slowArgs are a command's arguments, shortened as Redis does.
func (c *Call) slowArgs() []resp.Value {
	const mostArgs, mostBytes = 32, 128
	list := make([]resp.Value, 0, min(len(c.Args), mostArgs))
	for i, arg := range c.Args {
		text := string(arg)
		switch {
		case len(c.Args) > mostArgs && i == mostArgs-1:
			left := decimal(int64(len(c.Args) - i))
			return append(list, resp.Str("... ("+left+" more arguments)"))
		case c.secret(i):
			text = "(redacted)"
		case len(text) > mostBytes:
			text = text[:mostBytes] + "... (" + decimal(int64(len(text)-mostBytes)) + " more bytes)"
		}
		list = append(list, resp.Str(text))
	}
	return list
}

// runSlowlogGet is SLOWLOG GET [count]; -1 is all.
func runSlowlogGet(c *Call) resp.Value {
	count := int64(10)
	if len(c.Args) > 3 {
		return resp.Err(errSubSyntax("SLOWLOG", c.Args[1]))
	}
	if len(c.Args) == 3 {
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < -1 {
			return resp.Err("ERR count should be greater than or equal to -1")
		}
	}
	if count == -1 {
		count = math.MaxInt64
	}
	entries := c.Node.slow.entries
	list := []resp.Value{}
	for _, e := range entries[:min(count, int64(len(entries)))] {
		list = append(list, resp.List(resp.Int(e.id), resp.Int(e.unixTime), resp.Int(e.taken.Microseconds()),
			resp.List(e.args...), resp.Str(e.addr), resp.Str(e.name)))
	}
	return resp.List(list...)
}

// runSlowlogLen is SLOWLOG LEN.
func runSlowlogLen(c *Call) resp.Value { return resp.Int(int64(len(c.Node.slow.entries))) }

// runSlowlogReset is SLOWLOG RESET.
func runSlowlogReset(c *Call) resp.Value {
	c.Node.slow.entries = nil
	return resp.OK
}
