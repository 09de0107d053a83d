package engine

import (
	"minikv/datastore"
	"minikv/internal/resp"
)

// FUNCTION, its subcommands, and FCALL, https://redis.io/docs/latest/commands/function/

var functionCommands = []Command{
	{Name: "FCALL", Arity: -3, Flags: evaluating, Groups: "scripting", Fill: runFCall},
	{Name: "FCALL_RO", Arity: -3, Flags: running | ReadOnly, Groups: "scripting", Fill: runFCall},
	{Name: "FUNCTION", Arity: -2, Sub: functionSubcommands},
}

var functionSubcommands = []Command{
	{Name: "DELETE", Arity: 3, Flags: Write | NoScript, Groups: "scripting", Run: runFunctionDelete},
	{Name: "DUMP", Arity: 2, Flags: NoScript, Groups: "scripting", Run: runFunctionDump},
	{Name: "FLUSH", Arity: -2, Flags: Write | NoScript, Groups: "scripting", Run: runFunctionFlush},
	{Name: "KILL", Arity: 2, Flags: NoScript | AllowBusy, Groups: "scripting", Run: runFunctionKill},
	{Name: "LIST", Arity: -2, Flags: NoScript, Groups: "scripting", Run: runFunctionList},
	{Name: "LOAD", Arity: -3, Flags: Write | DenyOOM | NoScript, Groups: "scripting", Run: runFunctionLoad},
	{Name: "RESTORE", Arity: -3, Flags: Write | DenyOOM | NoScript, Groups: "scripting", Run: runFunctionRestore},
	{Name: "STATS", Arity: 2, Flags: NoScript | AllowBusy, Groups: "scripting", Run: runFunctionStats},
	help("FUNCTION", "scripting", functionHelp),
}

// runFCall is FCALL or FCALL_RO function numkeys [key ...] [arg ...].
func runFCall(c *Call, reply *resp.Value) {
	f := c.Node.functions.member(string(c.Args[1]))
	if f == nil {
		*reply = resp.Err("ERR Function not found")
		return
	}
	keys, argv, bad := c.scriptArgs()
	switch {
	case bad == errNotInt:
		*reply = resp.Err("ERR Bad number of keys provided")
	case bad != "":
		*reply = resp.Err(bad)
	default:
		c.runScript(reply, f.Script, keys, argv)
	}
}

// runFunctionLoad is FUNCTION LOAD [REPLACE] code.
func runFunctionLoad(c *Call) resp.Value {
	last := len(c.Args) - 1
	for _, arg := range c.Args[2:last] {
		if !is(arg, "REPLACE") {
			return resp.Err(oneLine([]byte("ERR Unknown option given: " + resp.CString(arg))))
		}
	}
	name, bad := c.Node.functions.load(c.Node, string(c.Args[last]), last > 2)
	if bad != "" {
		return resp.Err(bad)
	}
	c.functionsChanged()
	return resp.Str(name)
}

// functionsChanged counts a change of the libraries, which replicas make as well.
func (c *Call) functionsChanged() {
	c.Node.stats.dirty++
	c.ReplicateAnyway()
}

// runFunctionDelete is FUNCTION DELETE library.
func runFunctionDelete(c *Call) resp.Value {
	name := string(c.Args[2])
	if c.Node.functions.find(name) == nil {
		return resp.Err("ERR Library not found")
	}
	c.Node.functions.remove(name)
	c.functionsChanged()
	return resp.OK
}

// runFunctionFlush is FUNCTION FLUSH [ASYNC|SYNC].
func runFunctionFlush(c *Call) resp.Value {
	switch {
	case len(c.Args) > 3:
		return resp.Err(errSubSyntax("FUNCTION", c.Args[1]))
	case len(c.Args) == 3 && !is(c.Args[2], "ASYNC") && !is(c.Args[2], "SYNC"):
		return resp.Err("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	c.Node.functions = functions{}
	c.functionsChanged()
	return resp.OK
}

// runFunctionList is FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE].
func runFunctionList(c *Call) resp.Value {
	pattern, named, withCode := "", false, false
	for args := c.Args[2:]; len(args) > 0; args = args[1:] {
		switch {
		case !withCode && is(args[0], "WITHCODE"):
			withCode = true
		case !named && is(args[0], "LIBRARYNAME"):
			if len(args) == 1 {
				return resp.Err("ERR library name argument was not given")
			}
			args = args[1:]
			pattern, named = string(args[0]), true
		default:
			// Line ends at its end stay, as blanks: 7.0 does not trim this text.
			return resp.Err("ERR Unknown argument " + blanked([]byte(resp.CString(args[0]))))
		}
	}
	list := []resp.Value{}
	for _, library := range c.Node.functions.libraries {
		if !named || matchGlobFold(pattern, library.name) {
			list = append(list, library.reply(withCode))
		}
	}
	return resp.List(list...)
}

// reply is the library as FUNCTION LIST shows it.
func (l *functionLibrary) reply(withCode bool) resp.Value {
	members := []resp.Value{}
	for i := range l.members {
		f := &l.members[i]
		flags := []resp.Value{}
		for _, name := range f.Script.Header().Flags.ScriptFlags() {
			flags = append(flags, resp.Simple(name))
		}
		members = append(members, resp.Pairs(
			resp.Str("name"), resp.Str(f.Name),
			resp.Str("description"), textReply(f.Description, f.Described, nil),
			resp.Str("flags"), resp.Value{Kind: resp.Set, List: flags},
		))
	}
	pairs := []resp.Value{
		resp.Str("library_name"), resp.Str(l.name), resp.Str("engine"), resp.Str("LUA"),
		resp.Str("functions"), resp.List(members...),
	}
	if withCode {
		pairs = append(pairs, resp.Str("library_code"), resp.Str(l.code))
	}
	return resp.Pairs(pairs...)
}

// runFunctionStats is FUNCTION STATS. A function or a script runs only when the
// shell lets a client in meanwhile (see Node.Do).
func runFunctionStats(c *Call) resp.Value {
	n, running := c.Node, resp.Null
	switch h := &n.scripts.host; {
	case h.running && h.function == "":
		return resp.Err(errBusy)
	case h.running:
		words := make([]resp.Value, len(h.command))
		for i, word := range h.command {
			words[i] = resp.Str(string(word))
		}
		running = resp.Pairs(
			resp.Str("name"), resp.Str(h.function),
			resp.Str("command"), resp.List(words...),
			resp.Str("duration_ms"), resp.Int((n.cfg.Clock.Mono() - h.started).Milliseconds()),
		)
	}
	return resp.Pairs(
		resp.Str("running_script"), running,
		resp.Str("engines"), resp.Pairs(resp.Str("LUA"), resp.Pairs(
			resp.Str("libraries_count"), resp.Int(int64(len(n.functions.libraries))),
			resp.Str("functions_count"), resp.Int(int64(n.functions.count())),
		)),
	)
}

// runFunctionKill is FUNCTION KILL.
func runFunctionKill(c *Call) resp.Value { return c.killScript(true) }

// killScript ends the script, or the function, that runs.
func (c *Call) killScript(function bool) resp.Value {
	h := &c.Node.scripts.host
	switch {
	case !h.running:
		return resp.Err(errNotBusy)
	case h.wrote:
		return resp.Err(errUnkillable)
	case function != (h.function != ""):
		return resp.Err(h.busy())
	}
	h.killed = true
	return resp.OK
}

// busy is the error of a command that cannot run while a script does.
func (h *scriptHost) busy() string {
	if h.function != "" {
		return errBusyFunction
	}
	return errBusy
}

// runFunctionDump is FUNCTION DUMP.
func runFunctionDump(c *Call) resp.Value {
	return resp.Str(string(datastore.DumpFunctions(c.Node.functions.texts(), c.Node.compresses())))
}

// runFunctionRestore is FUNCTION RESTORE payload [FLUSH|APPEND|REPLACE].
func runFunctionRestore(c *Call) resp.Value {
	flush, replace := false, false
	switch {
	case len(c.Args) > 4:
		return resp.Err(errSubSyntax("FUNCTION", c.Args[1]))
	case len(c.Args) == 3 || is(c.Args[3], "APPEND"):
	case is(c.Args[3], "FLUSH"):
		flush = true
	case is(c.Args[3], "REPLACE"):
		replace = true
	default:
		return resp.Err("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
	}
	if !datastore.SealedDump(c.Args[2], c.Node.conf.anyChecksum) {
		return resp.Err("ERR DUMP payload version or checksum are wrong")
	}
	codes, fault := datastore.LoadFunctions(c.Args[2])
	var restored functions
	for _, code := range codes {
		if _, bad := restored.load(c.Node, code, false); bad != "" {
			return resp.Err(bad)
		}
	}
	if fault != "" { // behind those of the libraries before it: Redis compiles each as it reads it
		return resp.Err("ERR " + fault)
	}
	if flush {
		c.Node.functions = restored
	} else if bad := c.Node.functions.join(restored, replace); bad != "" {
		return resp.Err(bad)
	}
	c.functionsChanged()
	return resp.OK
}
