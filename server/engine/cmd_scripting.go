package engine

import "minikv/internal/resp"

// Scripting commands, https://redis.io/docs/latest/commands/?group=scripting

// What runs scripts or functions has these flags.
const (
	running    = NoScript | Stale | SkipMonitor | NoMandatoryKeys
	evaluating = running | MayReplicate // if it may write
)

var scriptingCommands = []Command{
	{Name: "EVAL", Arity: -3, Flags: evaluating, Groups: "scripting", script: true, Fill: runEval},
	{Name: "EVALSHA", Arity: -3, Flags: evaluating, Groups: "scripting", script: true, Fill: runEvalSHA},
	{Name: "EVAL_RO", Arity: -3, Flags: running | ReadOnly, Groups: "scripting", script: true, Fill: runEval},
	{Name: "EVALSHA_RO", Arity: -3, Flags: running | ReadOnly, Groups: "scripting", script: true, Fill: runEvalSHA},
	{Name: "SCRIPT", Arity: -2, Sub: scriptSubcommands},
}

var scriptSubcommands = []Command{
	{Name: "LOAD", Arity: 3, Flags: NoScript | Stale, Groups: "scripting", Run: runScriptLoad},
	{Name: "EXISTS", Arity: -3, Flags: NoScript, Groups: "scripting", Run: runScriptExists},
	{Name: "FLUSH", Arity: -2, Flags: NoScript, Groups: "scripting", Run: runScriptFlush},
	{Name: "KILL", Arity: 2, Flags: NoScript | AllowBusy, Groups: "scripting", Run: runScriptKill},
	help("SCRIPT", "scripting", scriptHelp),
}

// runEval is EVAL or EVAL_RO script numkeys [key ...] [arg ...].
func runEval(c *Call, reply *resp.Value) {
	keys, argv, bad := c.scriptArgs()
	if bad != "" {
		*reply = resp.Err(bad)
		return
	}
	script, err := c.Node.scripts.load(c.Node.cfg.Lua, string(c.Args[1]))
	if err != nil {
		*reply = resp.Err(err.Error())
		return
	}
	c.runScript(reply, script, keys, argv)
}

// runEvalSHA is EVALSHA or EVALSHA_RO sha1 numkeys [key ...] [arg ...].
func runEvalSHA(c *Call, reply *resp.Value) {
	if len(c.Args[1]) != shaLen { // before the number of keys is looked at
		*reply = resp.Err(errNoScript)
		return
	}
	rest, count := c.Args[3:], 0
	if text := c.Args[2]; len(text) == 1 && text[0]-'0' <= 9 && int(text[0]-'0') <= len(rest) {
		count = int(text[0] - '0') // as most are
	} else {
		keys, _, bad := c.scriptArgs()
		if bad != "" {
			*reply = resp.Err(bad)
			return
		}
		count = len(keys)
	}
	script := c.Node.scripts.cache.find(c.Args[1])
	if script == nil {
		*reply = resp.Err(errNoScript)
		return
	}
	c.runScript(reply, script, rest[:count], rest[count:])
}

// scriptArgs splits EVAL's arguments.
func (c *Call) scriptArgs() (keys, argv [][]byte, bad string) {
	count, ok := parseInt(c.Args[2])
	rest := c.Args[3:]
	switch {
	case !ok:
		return nil, nil, errNotInt
	case count > int64(len(rest)):
		return nil, nil, "ERR Number of keys can't be greater than number of args"
	case count < 0:
		return nil, nil, "ERR Number of keys can't be negative"
	}
	return rest[:count], rest[count:], ""
}

// runScriptLoad is SCRIPT LOAD script.
func runScriptLoad(c *Call) resp.Value {
	script, err := c.Node.scripts.load(c.Node.cfg.Lua, string(c.Args[2]))
	if err != nil {
		return resp.Err(err.Error())
	}
	return resp.Str(script.SHA())
}

// runScriptExists is SCRIPT EXISTS sha1 [sha1 ...].
func runScriptExists(c *Call) resp.Value {
	list := make([]resp.Value, 0, len(c.Args)-2)
	for _, sha := range c.Args[2:] {
		found := resp.Zero
		if c.Node.scripts.cache.find(sha) != nil {
			found = resp.One
		}
		list = append(list, found)
	}
	return resp.List(list...)
}

// runScriptFlush is SCRIPT FLUSH [ASYNC|SYNC].
func runScriptFlush(c *Call) resp.Value {
	if len(c.Args) > 3 || len(c.Args) == 3 && !is(c.Args[2], "ASYNC") && !is(c.Args[2], "SYNC") {
		return resp.Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	c.Node.scripts.cache = scriptCache{}
	c.Node.scripts.state.Flush()
	return resp.OK
}

// runScriptKill is SCRIPT KILL. It finds a script only when the shell lets a
// client in while one runs (see Node.Do).
func runScriptKill(c *Call) resp.Value { return c.killScript(false) }
