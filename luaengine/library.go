package luaengine

import (
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// userFunction is the chunk name of libraries.
const userFunction = "@user_function"

// Function is a function that a library has registered. It belongs to the Engine that
// loaded the library. It keeps what the library's locals hold from call to call, so nodes
// must not share it.
type Function struct {
	Name        string
	Description string
	Described   bool // there is a description
	Script      *Script
}

// ScriptFlags returns the names of flags in Redis's order.
func (f ScriptFlag) ScriptFlags() (names []string) {
	for _, one := range scriptFlags {
		if f&one.flag != 0 {
			names = append(names, one.name)
		}
	}
	return names
}

// scene is which globals a script sees.
type scene uint8

const (
	sceneScript   scene = iota // EVAL
	sceneLibrary               // FUNCTION LOAD: redis alone, to register functions
	sceneFunction              // FCALL: as EVAL, without KEYS and ARGV
)

// LoadLibrary runs code, a library without its first line, and returns the functions that
// it has registered, in that order. bad, unless "", is the reply of FUNCTION LOAD.
// Source: function_lua.c of Redis 7.0.
func (e *Engine) LoadLibrary(code string, h Host) (functions []Function, bad string) {
	c, err := e.compile(code, userFunction, false, 0)
	if err != nil {
		return nil, "ERR Error compiling function: " + err.Error()
	}
	s := &Script{text: code, header: Header{Present: true}, chunk: c, library: &shared{}}
	e.begin(s, h, RunOptions{})
	e.sand.enter(sceneLibrary)
	e.loading = s
	reply := e.execute(c, nil, nil)
	e.loading = nil
	e.sand.enter(sceneScript)
	s.library.loaded = append(s.library.loaded, e.run.loaded...)
	e.end(c)
	if reply.Kind == resp.Error && s.library.failed {
		return nil, reply.Str
	}
	return s.library.functions, ""
}

// shared is what a library's functions have in common.
type shared struct {
	functions []Function
	loaded    []*chunk // by load, while the library was loaded
	failed    bool
}

// runFunction calls the function of a library with its keys and arguments.
func (e *Engine) runFunction(s *Script, keys, argv [][]byte) (reply resp.Value) {
	if e.thread == nil {
		e.thread = e.newThread()
	}
	L := e.thread
	defer func() {
		e.sand.enter(sceneScript)
		if cause := recover(); cause != nil {
			reply = e.failed(L, cause)
			e.thread = nil
		}
	}()
	e.run.loaded = append(e.run.loaded, s.library.loaded...)
	e.sand.enter(sceneFunction)
	L.Push(s.function)
	L.Push(e.listOf(keys))
	L.Push(e.listOf(argv))
	L.Call(2, 1)
	reply = e.reply(L.Get(-1))
	L.Pop(1)
	return reply
}

// listOf is texts as a Lua table, which a function may keep.
func (e *Engine) listOf(texts [][]byte) *lua.LTable {
	t := e.main.CreateTable(len(texts), 0)
	for i, text := range texts {
		t.RawSetInt(i+1, lua.LString(text))
	}
	return t
}

// openScenes makes the globals of libraries and functions.
func (s *sandbox) openScenes(e *Engine) {
	L := e.main
	all := e.redisLibrary()
	register := L.CreateTable(0, 8)
	s.add(e, register, library{"log": all["log"], "register_function": e.registerFunction})
	called := L.CreateTable(0, len(all)+len(redisConstants))
	for _, name := range []string{"breakpoint", "debug", "replicate_commands"} {
		delete(all, name)
	}
	s.add(e, called, all)
	s.addConstants(called, redisConstants)
	for _, name := range slices.Sorted(maps.Keys(redisConstants)) {
		if !strings.HasPrefix(name, "REPL_") {
			register.RawSetString(name, redisConstants[name])
		}
	}
	missing := s.names.Metatable
	register.Metatable = missing
	loading := L.CreateTable(0, 1)
	loading.RawSetString("redis", s.view(L, e, register))
	loading.Metatable = missing
	calling := L.CreateTable(0, 64)
	for name, value := s.names.Next(lua.LNil); name != lua.LNil; name, value = s.names.Next(name) {
		calling.RawSet(name, value)
	}
	calling.RawSetString("__redis__err__handler", lua.LNil) // only EVAL has its error handler among the globals
	calling.RawSetString("redis", s.view(L, e, called))
	calling.Metatable = missing
	s.scenes = [...]*lua.LTable{s.names, loading, calling}
}

// enter changes the globals that all functions see.
func (s *sandbox) enter(which scene) {
	s.globals.Metatable.(*lua.LTable).RawSetString("__index", s.scenes[which])
	s.behind[s.globals] = s.scenes[which]
}

// registerFunction is redis.register_function.
func (e *Engine) registerFunction(L *lua.LState) int {
	f := Function{}
	var callback *lua.LFunction
	var flags ScriptFlag
	bad := ""
	switch L.GetTop() {
	case 1:
		bad = e.namedArguments(L, &f, &callback, &flags)
	case 2:
		name, ok := e.stringArgument(L.Get(1))
		f.Name = name
		if !ok {
			bad = "first argument to redis.register_function must be a string"
		} else if callback, ok = L.Get(2).(*lua.LFunction); !ok {
			bad = "second argument to redis.register_function must be a function"
		}
	default:
		bad = "wrong number of arguments to redis.register_function"
	}
	s := e.loading
	switch {
	case s == nil: // a function has kept what was there for its library
		bad = "redis.register_function can only be called on FUNCTION LOAD command"
	case bad != "":
	case !ValidName(f.Name):
		bad = InvalidName
	default:
		for _, known := range s.library.functions {
			if known.Name == f.Name {
				bad = "Function already exists in the library"
			}
		}
	}
	if bad != "" {
		return e.commandError(L, "ERR "+bad, false)
	}
	f.Script = &Script{
		sha: f.Name, text: s.text, header: Header{Present: true, Flags: flags}, chunk: s.chunk,
		library: s.library, function: callback,
	}
	s.library.functions = append(s.library.functions, f)
	return 0
}

// stringArgument is a string or number as text.
func (e *Engine) stringArgument(v lua.LValue) (text string, ok bool) {
	return e.textOr(v, ""), isText(v)
}

// namedArguments reads the one table that redis.register_function was given.
func (e *Engine) namedArguments(
	L *lua.LState, f *Function, callback **lua.LFunction, flags *ScriptFlag,
) (bad string) {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		return "calling redis.register_function with a single argument is only applicable to Lua table " +
			"(representing named arguments)."
	}
	named := false
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		name, ok := e.stringArgument(key)
		if !ok {
			return "named argument key given to redis.register_function is not a string"
		}
		switch lowerASCII(name) {
		case "function_name":
			if f.Name, named = e.stringArgument(value); !named {
				return "function_name argument given to redis.register_function must be a string"
			}
		case "description":
			if f.Description, f.Described = e.stringArgument(value); !f.Described {
				return "description argument given to redis.register_function must be a string"
			}
		case "callback":
			if *callback, ok = value.(*lua.LFunction); !ok {
				return "callback argument given to redis.register_function must be a function"
			}
		case "flags":
			if bad = e.flagArguments(value, flags); bad != "" {
				return bad
			}
		default:
			return "unknown argument given to redis.register_function"
		}
	}
	switch {
	case !named:
		return "redis.register_function must get a function name argument"
	case *callback == nil:
		return "redis.register_function must get a callback argument"
	}
	return ""
}

func (e *Engine) flagArguments(v lua.LValue, flags *ScriptFlag) (bad string) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return "flags argument to redis.register_function must be a table representing function flags"
	}
	for i := 1; !isNil(element(t, i)); i++ {
		name, _ := element(t, i).(lua.LString)
		flag, ok := flagNamed(string(name))
		if !ok {
			return "unknown flag given"
		}
		*flags |= flag
	}
	return ""
}

// InvalidName is the error for the name of a library or function that ValidName refuses.
const InvalidName = "Library names can only contain letters, numbers, or underscores(_) and must be at least " +
	"one character long"

// ValidName reports whether a library or a function may have that name.
func ValidName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_')
	})
}

// FunctionName returns the name of a library's function, "" for a script.
func (s *Script) FunctionName() string {
	if s.function == nil {
		return ""
	}
	return s.sha
}
