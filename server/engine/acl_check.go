package engine

import "minikv/internal/resp"

// denial is why a user may not run a command; a greater one tells more.
type denial uint8

const (
	allowed denial = iota
	deniedCommand
	deniedKey
	deniedChannel
	deniedLogin
)

// What who is denied something is told: a client, the client of a transaction
// whose rules have changed since it was queued, and a script.
var denialTexts = [...]struct{ client, exec, script string }{
	deniedKey: {
		client: "NOPERM this user has no permissions to access one of the keys used as arguments",
		exec:   "no permission to touch the specified keys",
		script: "can't access at least one of the keys mentioned in the command arguments",
	},
	deniedChannel: {
		client: "NOPERM this user has no permissions to access one of the channels used as arguments",
		exec:   "no permission to access one of the channels used as arguments",
		script: "can't publish to the channel mentioned in the command",
	},
	deniedCommand: {
		exec:   "no permission to execute the command or subcommand",
		script: "can't run this command or subcommand",
	},
}

// permission asks whether a user may run a command.
type permission struct {
	cmd    *Command
	args   [][]byte
	refs   []keyRef
	sought bool // refs are those of the command
}

// denies is why u may not run cmd, and the argument that is concerned. Of
// several selectors the one that comes closest tells it.
// Source: ACLCheckAllUserCommandPerm of Redis 7.0.
func (u *user) denies(cmd *Command, args [][]byte) (why denial, at int) {
	if !u.restricted {
		return allowed, 0
	}
	p := permission{cmd: cmd, args: args}
	why = deniedCommand
	concerned := 0
	for _, s := range u.selectors {
		one, found := p.deniedBy(s)
		if found > 0 { // who denies the command itself leaves what the selector before was concerned with
			concerned = found
		}
		switch {
		case one == allowed:
			return allowed, 0
		case one > why, one == why && concerned > at:
			why, at = one, concerned
		}
	}
	return why, at
}

// deniedBy is why a selector does not allow the command.
// Source: ACLSelectorCheckCmd of Redis 7.0.
func (p *permission) deniedBy(s *selector) (why denial, at int) {
	if !s.allCommands && p.cmd.Flags&NoAuth == 0 && !s.commands.has(p.cmd.row) && !p.isFirstArg(s) {
		return deniedCommand, 0
	}
	if !s.allKeys {
		for _, ref := range p.keys() {
			if ref.at < len(p.args) && !s.allowsKey(p.args[ref.at], ref.flags.access()) {
				return deniedKey, ref.at
			}
		}
	}
	if !s.allChannels {
		from, to, pattern := p.cmd.channelArgs(len(p.args))
		for at := from; at < to; at++ {
			if !s.allowsChannel(string(p.args[at]), pattern) {
				return deniedChannel, at
			}
		}
	}
	return allowed, 0
}

// isFirstArg reports whether the command is allowed because of its first argument.
func (p *permission) isFirstArg(s *selector) bool {
	if len(p.args) < 2 || s.firstArgs == nil {
		return false
	}
	for _, arg := range s.firstArgsOf(p.cmd.row) {
		if lowered(arg) == lowered(string(p.args[1])) {
			return true
		}
	}
	return false
}

// keys finds the keys once for all selectors.
func (p *permission) keys() []keyRef {
	if !p.sought {
		p.refs, p.sought = p.cmd.refs(p.args), true
	}
	return p.refs
}

// allowsKey reports whether some pattern allows an access to a key.
func (s *selector) allowsKey(key []byte, access keyAccess) bool {
	for i := range s.patterns {
		if one := &s.patterns[i]; one.may&access == access && matchGlob(one.pattern, string(key)) {
			return true
		}
	}
	return false
}

// allowsChannel reports whether a channel matches some pattern, or a pattern is
// one of them.
func (s *selector) allowsChannel(channel string, isPattern bool) bool {
	return matchesChannel(s.channels, channel, isPattern)
}

func matchesChannel(patterns []string, channel string, isPattern bool) bool {
	for _, pattern := range patterns {
		if isPattern && pattern == resp.CString(channel) || !isPattern && matchGlob(pattern, channel) {
			return true
		}
	}
	return false
}

// channelArgs are which of n arguments are channels that must be allowed, and
// whether they are patterns.
func (cmd *Command) channelArgs(n int) (from, to int, pattern bool) {
	if cmd.Flags&PubSub == 0 {
		return 0, 0, false
	}
	switch cmd.full {
	case "subscribe", "ssubscribe":
		return 1, n, false
	case "psubscribe":
		return 1, n, true
	case "publish", "spublish":
		return 1, min(2, n), false
	}
	return 0, 0, false
}

// readsAnyKey reports whether u may run cmd and, besides, read every key.
// Source: ACLUserCheckCmdWithUnrestrictedKeyAccess of Redis 7.0.
func (u *user) readsAnyKey(cmd *Command, args [][]byte) bool {
	if !u.restricted {
		return true
	}
	p := permission{cmd: cmd, args: args}
	for _, s := range u.selectors {
		if why, _ := p.deniedBy(s); why == allowed && s.readsAnyKey() {
			return true
		}
	}
	return false
}

func (s *selector) readsAnyKey() bool {
	for _, one := range s.patterns {
		if one.may&mayRead != 0 && one.pattern == "*" {
			return true
		}
	}
	return s.allKeys
}

// denied is why the session's user may not run the command, or "". It is logged.
func (c *Call) denied() string {
	why := c.checkAccess(c.context())
	switch why {
	case allowed:
		return ""
	case deniedCommand:
		return errNoCommand(c.Cmd)
	}
	return denialTexts[why].client
}

func errNoCommand(cmd *Command) string {
	return "NOPERM this user has no permissions to run the '" + cmd.full + "' command"
}

// context is where a client was denied something, as ACL LOG shows it.
func (c *Call) context() string {
	if c.Session.tx.active {
		return "multi"
	}
	return "toplevel"
}

// deniedNow is denied for a command that was queued.
func (c *Call) deniedNow() (reply resp.Value, denied bool) {
	why := c.checkAccess("multi")
	if why == allowed {
		return resp.Value{}, false
	}
	text := "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + denialTexts[why].exec
	c.Node.stats.countError(text)
	return resp.Err(text), true
}

// checkAccess is why the session's user may not run the command, which is logged.
func (c *Call) checkAccess(context string) denial {
	why, at := c.Session.user.denies(c.Cmd, c.Args)
	switch why {
	case allowed:
	case deniedCommand:
		c.logDenial(why, context, c.Cmd.full, c.Session.user.name)
	default:
		c.logDenial(why, context, string(c.Args[at]), c.Session.user.name)
	}
	return why
}
