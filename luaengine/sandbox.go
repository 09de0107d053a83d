package luaengine

import (
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// sandbox is what scripts find when they start: the globals of Redis 7.0.15,
// which no script can change.
type sandbox struct {
	scenes      [3]*lua.LTable // the globals by scene
	globals     *lua.LTable    // the view of names that scripts have as _G
	names       *lua.LTable    // what it shows
	behind      map[*lua.LTable]*lua.LTable
	strings     *lua.LTable               // the members of string
	commands    map[string]*lua.LFunction // redis.call or pcall of one command
	commandOf   map[*lua.LFunction]*command
	builtins    map[*lua.LFunction]builtin
	procedures  map[*lua.LFunction]procedure
	ipairs      *lua.LFunction
	errorReply  *lua.LFunction
	statusReply *lua.LFunction
	unpack      *lua.LFunction
	tonumber    *lua.LFunction
	tick        *lua.LFunction
	step        *lua.LFunction
	forBounds   *lua.LFunction
	concat      *lua.LFunction
	modulo      *lua.LFunction
	power       *lua.LFunction
	product     *lua.LFunction
	quotient    *lua.LFunction
	sum         *lua.LFunction
	difference  *lua.LFunction
	reversed    map[*lua.LFunction]*lua.LFunction // these with the right operand first
	extend      *lua.LFunction
	null        *lua.LUserData // cjson.null: what null decodes to
	stringMeta  lua.LValue     // what getmetatable('') shows
	globalMeta  lua.LValue     // what getmetatable(_G) shows
	typeNames   [lua.LTChannel + 1]lua.LValue
	keys        *lua.LTable // nil: to be made
	argv        *lua.LTable
}

// library is the functions of one global table.
type library map[string]lua.LGFunction

// start makes the Lua state on first use.
func (e *Engine) start() {
	if e.main != nil {
		return
	}
	for i := range e.numbers {
		e.numbers[i] = lua.LNumber(i)
	}
	e.run.boxes = newBoxes()
	e.activation.listed = make([]resp.Value, 0, boxesPerRun)
	e.run.text = make([]byte, 0, textPerRun)
	e.main = lua.NewState(lua.Options{
		CallStackSize:       maxCalls,
		MinimizeStackMemory: true,
		RegistrySize:        startSlots,
		RegistryMaxSize:     maxSlots,
		RegistryGrowStep:    slotsPerGrow,
		SkipOpenLibs:        true,
	})
	e.sand.open(e)
}

func (s *sandbox) open(e *Engine) {
	L := e.main
	s.behind = make(map[*lua.LTable]*lua.LTable)
	s.commands = make(map[string]*lua.LFunction)
	s.commandOf = make(map[*lua.LFunction]*command)
	s.tick = L.NewFunction(e.tick)
	s.step = L.NewFunction(e.stepHere)
	s.forBounds = L.NewFunction(e.forBounds)
	s.concat = L.NewFunction(e.concat)
	s.modulo = L.NewFunction(e.operation("__mod"))
	s.power = L.NewFunction(e.operation("__pow"))
	s.product = L.NewFunction(e.operation("__mul"))
	s.quotient = L.NewFunction(e.operation("__div"))
	s.sum = L.NewFunction(e.operation("__add"))
	s.difference = L.NewFunction(e.operation("__sub"))
	s.reversed = make(map[*lua.LFunction]*lua.LFunction)
	for _, op := range s.operators() { //tidy:unordered each is an entry of its own
		s.reversed[op] = reverse(L, op)
	}
	s.extend = L.NewFunction(e.extend)
	s.null = &lua.LUserData{Metatable: lua.LNil}
	s.names = L.CreateTable(0, 64)
	s.add(e, s.names, e.baseLibrary())
	for _, lib := range []struct {
		name  string
		funcs library
		also  map[string]lua.LValue
	}{
		{"string", e.stringLibrary(), nil},
		{"table", e.tableLibrary(), nil},
		{"math", e.mathLibrary(), mathConstants},
		{"coroutine", e.coroutineLibrary(), nil},
		{"bit", e.bitLibrary(), nil},
		{"redis", e.redisLibrary(), redisConstants},
		{"cjson", e.cjsonLibrary(), e.cjsonConstants()},
		{"cmsgpack", e.msgpackLibrary(), msgpackConstants},
		{"struct", e.structLibrary(), nil},
	} {
		t := L.CreateTable(0, len(lib.funcs)+len(lib.also))
		s.add(e, t, lib.funcs)
		s.addConstants(t, lib.also)
		s.names.RawSetString(lib.name, s.view(L, e, t))
	}
	s.strings = s.behind[s.names.RawGetString("string").(*lua.LTable)]
	s.strings.RawSetString("gfind", s.strings.RawGetString("gmatch"))
	s.names.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	for t := lua.LTNil; t <= lua.LTChannel; t++ {
		s.typeNames[t] = lua.LString(t.String())
	}
	s.stringMeta = s.view(L, e, field(L, "__index", s.names.RawGetString("string")))
	missing := L.NewTable()
	missing.RawSetString("__index", L.NewFunction(e.missingGlobal))
	s.names.Metatable = missing
	s.globalMeta = s.view(L, e, missing)
	s.globals = s.view(L, e, s.names)
	s.names.RawSetString("_G", s.globals)
	e.setMetatables(s.names.RawGetString("string").(*lua.LTable))
	s.openClosures()
	s.openScenes(e)
}

// add sets functions in a table, in the order of their names.
func (s *sandbox) add(e *Engine, t *lua.LTable, funcs library) {
	for _, name := range slices.Sorted(maps.Keys(funcs)) {
		t.RawSetString(name, e.main.NewFunction(funcs[name]))
	}
}

// addConstants sets values in a table, in the order of their names.
func (s *sandbox) addConstants(t *lua.LTable, values map[string]lua.LValue) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.RawSetString(name, values[name])
	}
}

// view returns an empty table that shows t and refuses to be changed. The
// functions of the base library look behind it.
func (s *sandbox) view(L *lua.LState, e *Engine, t *lua.LTable) *lua.LTable {
	v := L.CreateTable(0, 0)
	meta := L.CreateTable(0, 2)
	meta.RawSetString("__index", t)
	meta.RawSetString("__newindex", L.NewFunction(e.refuseWrite))
	v.Metatable = meta
	s.behind[v] = t
	return v
}

// function finds a global function by "name" or "library.name".
func (s *sandbox) function(name string) lua.LValue {
	lib, member, ok := strings.Cut(name, ".")
	if !ok {
		return s.names.RawGetString(name)
	}
	view, ok := s.names.RawGetString(lib).(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	t, ok := s.behind[view]
	if !ok {
		return lua.LNil
	}
	return t.RawGetString(member)
}

// readable is the table to read when a script names t.
func (s *sandbox) readable(t *lua.LTable) *lua.LTable {
	if t.Metatable == lua.LNil {
		return t
	}
	if behind, ok := s.behind[t]; ok {
		return behind
	}
	return t
}

// isView reports whether t must not be changed.
func (s *sandbox) isView(t *lua.LTable) bool { return s.readable(t) != t }

func (e *Engine) refuseWrite(L *lua.LState) int {
	e.fail(L, errReadOnlyTable)
	return 0
}

func (e *Engine) missingGlobal(L *lua.LState) int {
	e.fail(L, "Script attempted to access nonexistent global variable '%s'", tostring(L.Get(2)))
	return 0
}

// setTables fills the globals KEYS and ARGV.
func (s *sandbox) setTables(b *boxes, keys, argv [][]byte) {
	s.keys = s.fill(b, "KEYS", s.keys, keys)
	s.argv = s.fill(b, "ARGV", s.argv, argv)
}

func (s *sandbox) fill(b *boxes, name string, t *lua.LTable, values [][]byte) *lua.LTable {
	if t == nil || t.Len() > reusableTable {
		t = &lua.LTable{Metatable: lua.LNil}
		s.names.RawSetString(name, t)
	}
	for i, v := range values {
		t.RawSetInt(i+1, b.bytes(v))
	}
	for i := t.Len(); i > len(values); i-- {
		t.RawSetInt(i, lua.LNil)
	}
	return t
}

// dropTables forgets tables that a script may have changed.
func (s *sandbox) dropTables() { s.keys, s.argv = nil, nil }

// operators are the functions that take the place of operators, by the events of those.
func (s *sandbox) operators() map[string]*lua.LFunction {
	return map[string]*lua.LFunction{
		"__mod": s.modulo, "__pow": s.power, "__mul": s.product, "__div": s.quotient,
		"__add": s.sum, "__sub": s.difference,
	}
}
