package engine

import (
	"cmp"
	"strings"

	"minikv/internal/resp"
)

// process takes a client's command through everything that may refuse it,
// queue it or hold it back, and otherwise runs it and sends the reply.
// Source: processCommand of Redis 7.0.
func (c *Call) process() {
	n, s := c.Node, c.Session
	cmd, bad := s.last, ""
	if !cmd.isCalled(c.Args[0]) {
		cmd, bad = n.lookup(c.Args)
	}
	c.Cmd, s.last = cmd, nil
	if bad == "" {
		s.last = cmd
		if cmd.script && c.isPlain() {
			c.executePlain()
			return
		}
		bad = c.refusal()
	}
	if bad == "" {
		n.limitTracked()
	}
	switch {
	case bad != "":
		c.reject(bad)
	case n.blocking.holdsBack(c):
		n.postpone(c)
		return
	case s.tx.active && !cmd.runsInMulti():
		s.tx.enqueue(c)
		s.send(queued)
	default:
		c.execute(&c.reply)
		if c.reply.Kind != resp.None {
			s.sendReply(&c.reply)
		}
	}
	s.asking = s.asking && (s.tx.active || cmd != nil && cmd.Name == "ASKING")
}

// isPlain reports whether nothing can refuse a client's script or hold it back,
// and nobody takes note of it but the counters.
func (c *Call) isPlain() bool {
	n, s := c.Node, c.Session
	return n.isPlain(s) && n.conf.minGood == 0 && !n.blocking.pausing() &&
		!n.scripts.host.running && s.authenticated && !s.isLink() && !s.monitors && !s.tx.active && !s.asking &&
		(s.Proto == 3 || !s.Subscribed()) && c.Cmd.accepts(len(c.Args))
}

// executePlain is what process does with a script if isPlain: the shortest way.
func (c *Call) executePlain() {
	n, s := c.Node, c.Session
	c.plain = true
	c.Cmd.Fill(c, &c.reply)
	now := n.cfg.Clock.Mono()
	taken := now - n.slow.since
	n.slow.since = now
	n.stats.commands++
	if c.reply.Kind == resp.Error || taken >= n.conf.notedFrom || n.conf.untimed {
		c.account(taken, failureOf(&c.reply))
	} else {
		one := n.stats.of(c.Cmd)
		one.calls++
		one.taken += taken
		one.times.note(taken)
	}
	if c.reply.Kind == resp.Integer && s.reply == 0 {
		s.Out = resp.AppendInteger(s.Out, c.reply.Int)
	} else {
		s.sendReply(&c.reply)
	}
}

var queued = resp.Simple("QUEUED")

// execute runs a command that nothing refuses any more, sets reply, and
// accounts for what the command did. It is the same for clients, transactions,
// scripts and effects.
func (c *Call) execute(reply *resp.Value) {
	n := c.Node
	announced := c.Cmd.Flags&SkipMonitor != 0 // shown before what it runs
	if n.monitors != nil && announced {
		c.feedMonitors()
	}
	began := n.slow.since
	if c.Script && n.conf.timesScripts {
		began = n.cfg.Clock.Mono()
	}
	c.run(reply)
	n.stats.commands++
	if n.monitors != nil && !announced {
		c.feedMonitors()
	}
	if c.Cmd.Flags&ReadOnly != 0 {
		c.rememberKeys()
	}
	if c.Cmd.lookups != noLookups {
		c.countLookups(reply)
	}
	switch {
	case reply.Kind == resp.None && c.Session.Blocked(): // the rest is accounted for when its wait ends
		n.stats.of(c.Cmd).calls++
	case c.Script && !n.conf.timesScripts:
		n.stats.count(c, failureOf(reply))
	default:
		n.slow.since = n.cfg.Clock.Mono()
		c.account(n.slow.since-began, failureOf(reply))
	}
	c.propagate()
	if n.cfg.Observe != nil && !c.Session.Blocked() {
		n.observeCall(c, *reply)
	}
}

// run has the handler set the reply.
func (c *Call) run(reply *resp.Value) {
	if c.Node.repl.isReplica() && c.changesReplica() {
		defer c.removeExpired()()
	}
	if fill := c.Cmd.Fill; fill != nil {
		fill(c, reply)
		return
	}
	*reply = c.Cmd.Run(c)
}

// failureOf is the text of a reply that is an error, a dash if it has none, or "".
func failureOf(reply *resp.Value) string {
	if reply.Kind == resp.Error {
		return cmp.Or(reply.Str, "-")
	}
	return ""
}

// refusal is why a command may not run now, or "".
func (c *Call) refusal() string {
	n, s := c.Node, c.Session
	if !c.Cmd.accepts(len(c.Args)) {
		return errArity(c.Cmd.full)
	}
	flags := c.scriptFlags(c.flags())
	switch {
	case flags&Protected != 0 && !c.permits("enable-"+c.Cmd.container()+"-command"):
		return errDenied(c.Cmd.container())
	case flags&NoAuth == 0 && !s.Authenticated():
		return errNoAuth
	case s.isLink():
		return ""
	case s.tx.active && flags&NoMulti != 0:
		return errNoMulti
	case s.user.restricted:
		if bad := c.denied(); bad != "" {
			return bad
		}
	}
	if n.cfg.Topology != nil {
		if bad := c.redirect(); bad != "" {
			return bad
		}
	}
	if n.conf.maxMemory > 0 && !n.scripts.host.running {
		n.outOfMemory = n.makeRoom()
		if n.depth == 1 {
			n.sendOwed(s) // of what was evicted it hears before the reply
		}
		if n.outOfMemory && c.refusesForMemory(flags) {
			return errOOM
		}
	}
	switch {
	case flags&Write != 0 && n.refusesWrites() != "":
		return n.refusesWrites()
	case s.Proto == 2 && s.Subscribed() && !c.Cmd.runsSubscribed():
		return "ERR Can't execute '" + c.Cmd.full + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / " +
			"QUIT / RESET are allowed in this context"
	case flags&Stale == 0 && n.stale():
		return errMasterDown
	case n.scripts.host.running && flags&AllowBusy == 0:
		return n.scripts.host.busy()
	case (s.monitors || s.outside.replica) && flags&(Write|ReadOnly|MayReplicate) != 0:
		return "ERR Replica can't interact with the keyspace"
	}
	return ""
}

// flags are those of the command; EXEC has also those of what it will run.
func (c *Call) flags() Flag {
	if c.Cmd.Name == "EXEC" {
		tx := &c.Session.tx
		return (c.Cmd.Flags | tx.flags&(Write|DenyOOM|MayReplicate)) &^ (tx.lacks & Stale)
	}
	return c.Cmd.Flags
}

// reject answers with an error before the command has run; an open transaction
// is spoiled by it, or if it is EXEC's, discarded.
func (c *Call) reject(text string) {
	s := c.Session
	isExec := c.Cmd != nil && c.Cmd.Name == "EXEC"
	aborts := isExec && !isRedirection(text)
	if aborts {
		text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
	}
	c.Node.stats.reject(c.Cmd, c.Session, text)
	switch {
	case isExec:
		c.Node.discard(s)
	case s.tx.active:
		s.tx.spoiled = true
	}
	s.send(resp.Err(text))
	if aborts && c.Node.monitors != nil { // who saw the MULTI sees that it is over
		c.feedMonitors()
	}
}

// isRedirection reports whether an error is one of those of Call.redirect.
func isRedirection(text string) bool {
	switch code, _, _ := strings.Cut(text, " "); code {
	case "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT", "CLUSTERDOWN":
		return true
	}
	return false
}

// runsInMulti reports whether a command runs at once inside MULTI. As in what follows its
// full name counts, since SLOWLOG RESET is no RESET.
func (cmd *Command) runsInMulti() bool {
	switch cmd.full {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return true
	}
	return false
}

// runsSubscribed reports whether a RESP2 client with subscriptions may send a command.
func (cmd *Command) runsSubscribed() bool {
	switch cmd.full {
	case "ping", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe",
		"quit", "reset":
		return true
	}
	return false
}
