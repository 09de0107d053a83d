package engine

import (
	"strings"

	"minikv/internal/resp"
)

// COMMAND and its subcommands, https://redis.io/docs/latest/commands/command/

var commandCommands = []Command{
	{Name: "COUNT", Arity: 2, Flags: Loading | Stale, Groups: "connection", Run: runCommandCount},
	{Name: "DOCS", Arity: -2, Flags: Loading | Stale, Groups: "connection", Run: runCommandDocs},
	{Name: "GETKEYS", Arity: -4, Flags: Loading | Stale, Groups: "connection", Run: runCommandGetKeys},
	{Name: "GETKEYSANDFLAGS", Arity: -4, Flags: Loading | Stale, Groups: "connection", Run: runCommandGetKeysAndFlags},
	{Name: "INFO", Arity: -2, Flags: Loading | Stale, Groups: "connection", Run: runCommandInfo},
	{Name: "LIST", Arity: -2, Flags: Loading | Stale, Groups: "connection", Run: runCommandList},
	help("COMMAND", "connection", commandHelp),
}

// flagNames are the flags as COMMAND INFO shows them, in its order.
var flagNames = []struct {
	flag Flag
	name string
}{
	{Write, "write"}, {ReadOnly, "readonly"}, {DenyOOM, "denyoom"}, {Admin, "admin"}, {PubSub, "pubsub"},
	{NoScript, "noscript"}, {Blocking, "blocking"}, {Loading, "loading"}, {Stale, "stale"},
	{SkipMonitor, "skip_monitor"}, {SkipSlowlog, "skip_slowlog"}, {Asking, "asking"}, {Fast, "fast"},
	{NoAuth, "no_auth"}, {NoMandatoryKeys, "no_mandatory_keys"}, {NoAsyncLoading, "no_async_loading"},
	{NoMulti, "no_multi"}, {AllowBusy, "allow_busy"}, {MovableKeys, "movablekeys"},
}

// runCommand is COMMAND without a subcommand: all of them.
func runCommand(c *Call) resp.Value {
	all := c.Node.commands()
	list := make([]resp.Value, len(all))
	for i := range all {
		list[i] = all[i].info()
	}
	return resp.List(list...)
}

// runCommandCount is COMMAND COUNT.
func runCommandCount(c *Call) resp.Value { return resp.Int(int64(len(c.Node.commands()))) }

// runCommandInfo is COMMAND INFO [name ...]; a name may be container|subcommand.
func runCommandInfo(c *Call) resp.Value {
	if len(c.Args) == 2 {
		return runCommand(c)
	}
	list := make([]resp.Value, 0, len(c.Args)-2)
	for _, name := range c.Args[2:] {
		if cmd := c.Node.byFullName(string(name)); cmd != nil {
			list = append(list, cmd.info())
		} else {
			list = append(list, resp.Null)
		}
	}
	return resp.List(list...)
}

// runCommandDocs is COMMAND DOCS [name ...]: what the table knows.
func runCommandDocs(c *Call) resp.Value {
	var list []resp.Value
	if len(c.Args) == 2 {
		all := c.Node.commands()
		for i := range all {
			list = append(list, resp.Str(all[i].full), all[i].docs())
		}
	}
	for _, name := range c.Args[2:] {
		if cmd := c.Node.byFullName(string(name)); cmd != nil {
			list = append(list, resp.Str(cmd.full), cmd.docs())
		}
	}
	return resp.Pairs(list...)
}

// runCommandGetKeys is COMMAND GETKEYS command [argument ...].
func runCommandGetKeys(c *Call) resp.Value {
	return c.listKeys(func(key resp.Value, _ keyFlag) resp.Value { return key })
}

// runCommandGetKeysAndFlags is COMMAND GETKEYSANDFLAGS command [argument ...].
func runCommandGetKeysAndFlags(c *Call) resp.Value {
	return c.listKeys(func(key resp.Value, flags keyFlag) resp.Value { return resp.List(key, flags.reply()) })
}

// listKeys shows the keys of the command behind COMMAND GETKEYS.
func (c *Call) listKeys(show func(key resp.Value, flags keyFlag) resp.Value) resp.Value {
	args := c.Args[2:]
	cmd, _ := c.Node.lookup(args)
	switch {
	case cmd == nil:
		return resp.Err("ERR Invalid command specified")
	case !cmd.specifiesKeys():
		return resp.Err("ERR The command has no key arguments")
	case !cmd.accepts(len(args)):
		return resp.Err("ERR Invalid number of arguments specified for command")
	}
	refs := cmd.refs(args)
	if len(refs) == 0 && cmd.Flags&NoMandatoryKeys == 0 {
		return resp.Err("ERR Invalid arguments specified for command")
	}
	list := make([]resp.Value, len(refs))
	for i, ref := range refs {
		list[i] = show(resp.Str(string(args[ref.at])), ref.flags)
	}
	return resp.List(list...)
}

// runCommandList is COMMAND LIST [FILTERBY MODULE name|ACLCAT category|PATTERN pattern].
func runCommandList(c *Call) resp.Value {
	matches := func(*Command) bool { return true }
	switch {
	case len(c.Args) == 2:
	case len(c.Args) != 5 || !is(c.Args[2], "FILTERBY"):
		return resp.Err(errSyntax)
	case is(c.Args[3], "MODULE"):
		matches = func(*Command) bool { return false }
	case is(c.Args[3], "ACLCAT"):
		category := groupOf(string(c.Args[4]))
		matches = func(cmd *Command) bool { return cmd.groups&category != 0 }
	case is(c.Args[3], "PATTERN"):
		pattern := string(c.Args[4])
		matches = func(cmd *Command) bool { return matchGlobFold(pattern, cmd.full) }
	default:
		return resp.Err(errSyntax)
	}
	list := []resp.Value{}
	for cmd := range eachRow(c.Node.commands()) {
		if matches(cmd) {
			list = append(list, resp.Str(cmd.full))
		}
	}
	return resp.List(list...)
}

// byFullName finds a command or, with '|', a subcommand; nil if there is none.
func (n *Node) byFullName(name string) *Command {
	container, sub, isSub := strings.Cut(name, "|")
	cmd := n.byName([]byte(container))
	if cmd == nil || !isSub {
		return cmd
	}
	return cmd.sub([]byte(sub))
}

// tips is what proxies and clients should know of the command.
func (cmd *Command) tips() resp.Value {
	list := []resp.Value{}
	for tip := range strings.FieldsSeq(tipsOf[cmd.full]) {
		list = append(list, resp.Str(tip))
	}
	return resp.Value{Kind: resp.Set, List: list}
}

// info is the command's entry in the reply of COMMAND.
func (cmd *Command) info() resp.Value {
	flags := []resp.Value{}
	for _, one := range flagNames {
		if cmd.Flags&one.flag != 0 {
			flags = append(flags, resp.Simple(one.name))
		}
	}
	groups := []resp.Value{}
	for i, name := range aclCategories {
		if cmd.groups&(1<<i) != 0 {
			groups = append(groups, resp.Simple("@"+name))
		}
	}
	subs := resp.Value{Kind: resp.Set, List: []resp.Value{}}
	if len(cmd.Sub) > 0 {
		subs.Kind = resp.Array
	}
	for i := range cmd.Sub {
		subs.List = append(subs.List, cmd.Sub[i].info())
	}
	return resp.List(
		resp.Str(cmd.full), resp.Int(int64(cmd.Arity)), resp.Value{Kind: resp.Set, List: flags},
		resp.Int(int64(cmd.firstKey)), resp.Int(int64(cmd.lastKey)), resp.Int(int64(cmd.keyStep)),
		resp.Value{Kind: resp.Set, List: groups},
		cmd.tips(), cmd.describeSpecs(), subs,
	)
}

// docs is the command's entry in the reply of COMMAND DOCS.
func (cmd *Command) docs() resp.Value {
	entry := []resp.Value{}
	add := func(name, value string) {
		if value != "" {
			entry = append(entry, resp.Str(name), resp.Str(value))
		}
	}
	add("since", sinceOf[cmd.full])
	add("group", groupsIn[cmd.container()])
	if len(cmd.Sub) > 0 {
		var subs []resp.Value
		for i := range cmd.Sub {
			subs = append(subs, resp.Str(cmd.Sub[i].full), cmd.Sub[i].docs())
		}
		entry = append(entry, resp.Str("subcommands"), resp.Pairs(subs...))
	}
	return resp.Pairs(entry...)
}
