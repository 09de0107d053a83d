package luaengine

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// Texts of the redis library, Redis 7.0.15.
const (
	errNoArguments  = "ERR Please specify at least one argument for this redis lib call"
	errArgumentType = "ERR Lua redis lib command arguments must be strings or integers"
)

// redisConstants are the members of redis that are no functions.
var redisConstants = map[string]lua.LValue{
	"LOG_DEBUG":         lua.LNumber(0),
	"LOG_VERBOSE":       lua.LNumber(1),
	"LOG_NOTICE":        lua.LNumber(2),
	"LOG_WARNING":       lua.LNumber(3),
	"REPL_NONE":         lua.LNumber(0),
	"REPL_AOF":          lua.LNumber(1),
	"REPL_SLAVE":        lua.LNumber(2),
	"REPL_REPLICA":      lua.LNumber(2),
	"REPL_ALL":          lua.LNumber(3),
	"REDIS_VERSION":     lua.LString("7.0.15"),
	"REDIS_VERSION_NUM": lua.LNumber(7<<16 | 15),
}

func (e *Engine) redisLibrary() library {
	return library{
		"call":               func(L *lua.LState) int { return e.callByName(L, false) },
		"pcall":              func(L *lua.LState) int { return e.callByName(L, true) },
		"error_reply":        func(L *lua.LState) int { return e.makeReply(L, "err") },
		"status_reply":       func(L *lua.LState) int { return e.makeReply(L, "ok") },
		"sha1hex":            e.redisSHA1,
		"log":                e.redisLog,
		"setresp":            e.redisSetResp,
		"set_repl":           e.redisSetRepl,
		"replicate_commands": pushTrue,
		"breakpoint":         pushFalse,
		"debug":              func(*lua.LState) int { return 0 },
		"acl_check_cmd":      e.redisACL,
	}
}

func pushTrue(L *lua.LState) int {
	L.Push(lua.LTrue)
	return 1
}

func pushFalse(L *lua.LState) int {
	L.Push(lua.LFalse)
	return 1
}

// command is redis.call or redis.pcall of one command.
type command struct {
	handle  Handle
	word    []byte // the name as the script has it; nil: it is the first argument
	protect bool   // redis.pcall
}

// command returns redis.call, or redis.pcall, of one command as a function of
// its arguments. The fast pass puts it where a script names the command.
func (e *Engine) command(name string, protect bool) *lua.LFunction {
	key := "call " + name
	if protect {
		key = "pcall " + name
	}
	if fn, ok := e.sand.commands[key]; ok {
		return fn
	}
	c := &command{e.resolve(name), []byte(name), protect}
	fn := e.main.NewFunction(func(L *lua.LState) int {
		r := &e.run
		r.args = append(r.args[:0], c.word)
		if !e.collect(L, 1) {
			return e.commandError(L, errArgumentType, protect)
		}
		return e.invoke(L, c.handle, protect)
	})
	e.sand.commands[key] = fn
	e.sand.commandOf[fn] = c
	return fn
}

// callByName is redis.call or redis.pcall as scripts have it.
func (e *Engine) callByName(L *lua.LState, protect bool) int {
	if L.GetTop() == 0 {
		return e.commandError(L, errNoArguments, protect)
	}
	e.run.args = e.run.args[:0]
	if !e.collect(L, 1) {
		return e.commandError(L, errArgumentType, protect)
	}
	name := e.run.args[0]
	return e.invoke(L, e.resolve(string(name)), protect)
}

// collect appends the function's arguments from the given one on to run.args,
// numbers with 17 digits; false if one is neither string nor number.
func (e *Engine) collect(L *lua.LState, from int) bool {
	r := &e.run
	r.digits = r.digits[:0]
	top := L.GetTop()
	for i := from; i <= top; i++ {
		if !r.push(L.Get(i)) {
			return false
		}
	}
	return true
}

// push appends an argument of a command; false if it is neither string nor
// number.
func (r *run) push(v lua.LValue) bool {
	switch v := v.(type) {
	case lua.LString:
		r.args = append(r.args, view(string(v)))
	case lua.LNumber:
		r.args = append(r.args, r.wordOf(float64(v)))
	default:
		return false
	}
	return true
}

// invoke has the host run run.args and pushes the reply.
func (e *Engine) invoke(L *lua.LState, cmd Handle, protect bool) int {
	v := &e.activation.reply
	e.run.host.Call(cmd, e.run.args, e.run.proto, v)
	if v.Kind == resp.Error {
		return e.giveError(L, errorTable(L, v.Str), protect)
	}
	L.Push(e.toLua(L, *v))
	return 1
}

// commandError raises an error of redis.call, or returns it from redis.pcall.
func (e *Engine) commandError(L *lua.LState, text string, protect bool) int {
	return e.giveError(L, field(L, "err", lua.LString(text)), protect)
}

func (e *Engine) giveError(L *lua.LState, t *lua.LTable, protect bool) int {
	if !protect {
		e.raise(L, t)
	}
	L.Push(t)
	return 1
}

// fieldCounted is true in an error that the server has counted already.
const fieldCounted = "ignore_error_stats_update"

// errorTable is the error of a command as scripts see it. The text begins with
// its code.
// Source: script_lua.c, redisProtocolToLuaType_Error.
func errorTable(L *lua.LState, text string) *lua.LTable {
	t := field(L, "err", lua.LString(text))
	t.RawSetString(fieldCounted, lua.LTrue)
	return t
}

// makeReply is redis.error_reply and redis.status_reply.
func (e *Engine) makeReply(L *lua.LState, field string) int {
	v := L.Get(1)
	if L.GetTop() != 1 {
		v = lua.LNil
	}
	L.Push(replyTable(L, field, v))
	return 1
}

// replyTable is the table of an error or a status, of which v is the text.
func replyTable(L *lua.LState, name string, v lua.LValue) *lua.LTable {
	name, text := replyText(name, v)
	return field(L, name, lua.LString(text))
}

// replyText is the one field of a reply's table, and what it holds.
func replyText(name string, v lua.LValue) (field, value string) {
	text, ok := v.(lua.LString)
	if !ok {
		return "err", "ERR wrong number or type of arguments"
	}
	s := string(text)
	if name == "err" {
		s = strings.TrimRight(strings.TrimPrefix(cString(s), "-"), "\r\n")
		if !strings.Contains(s, " ") {
			s = "ERR " + s
		}
	}
	return name, s
}

func (e *Engine) redisSHA1(L *lua.LState) int {
	if L.GetTop() != 1 {
		return e.commandError(L, "ERR wrong number of arguments", false)
	}
	L.Push(lua.LString(SHA1Hex(e.textOr(L.Get(1), ""))))
	return 1
}

func (e *Engine) redisLog(L *lua.LState) int {
	if L.GetTop() < 2 {
		return e.commandError(L, "ERR redis.log() requires two arguments or more.", false)
	}
	f, ok := toNumber(L.Get(1))
	if !ok {
		return e.commandError(L, "ERR First argument must be a number (log level).", false)
	}
	level := toInteger(f)
	if level < 0 || level > 3 {
		return e.commandError(L, "ERR Invalid debug level.", false)
	}
	var words []string
	for i := 2; i <= L.GetTop(); i++ {
		words = append(words, e.textOr(L.Get(i), ""))
	}
	e.run.host.Log(int(level), strings.Join(words, " "))
	return 0
}

// textOr is a string or number as text, and other for anything else.
func (e *Engine) textOr(v lua.LValue, other string) string {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return numberText(float64(v))
	}
	return other
}

func (e *Engine) redisSetResp(L *lua.LState) int {
	if L.GetTop() != 1 {
		return e.commandError(L, "ERR redis.setresp() requires one argument.", false)
	}
	f, _ := toNumber(L.Get(1))
	version := toInteger(f)
	if version != 2 && version != 3 {
		return e.commandError(L, "ERR RESP version must be 2 or 3.", false)
	}
	e.run.proto = int(version)
	return 0
}

func (e *Engine) redisSetRepl(L *lua.LState) int {
	if L.GetTop() != 1 {
		return e.commandError(L, "ERR redis.set_repl() requires two arguments.", false)
	}
	f, _ := toNumber(L.Get(1))
	flags := int(toInteger(f))
	if flags&^3 != 0 {
		return e.commandError(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
			false)
	}
	e.run.host.SetRepl(flags)
	return 0
}

func (e *Engine) redisACL(L *lua.LState) int {
	if L.GetTop() == 0 {
		return e.commandError(L, errNoArguments, false)
	}
	e.run.args = e.run.args[:0]
	if !e.collect(L, 1) {
		return e.commandError(L, errArgumentType, false)
	}
	may, known := e.run.host.CheckACL(e.run.args)
	if !known {
		return e.commandError(L, "ERR Invalid command passed to redis.acl_check_cmd()", false)
	}
	L.Push(lua.LBool(may))
	return 1
}
