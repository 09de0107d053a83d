package luaengine

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxUnpack is how many values the C stack of Lua 5.1 holds: LUAI_MAXCSTACK.
const maxUnpack = 8000

func (e *Engine) baseLibrary() library {
	return library{
		"__redis__err__handler": e.baseErrorHandler,
		"assert":                e.baseAssert,
		"collectgarbage":        e.baseCollectGarbage,
		"error":                 e.baseError,
		"gcinfo":                e.baseGCInfo,
		"getmetatable":          e.baseGetMetatable,
		"ipairs":                e.baseIpairs(),
		"load":                  e.baseLoad,
		"loadstring":            e.baseLoadString,
		"next":                  e.baseNext,
		"pairs":                 e.basePairs(),
		"pcall":                 e.basePcall,
		"rawequal":              e.baseRawEqual,
		"rawget":                e.baseRawGet,
		"rawset":                e.baseRawSet,
		"select":                e.baseSelect,
		"setmetatable":          e.baseSetMetatable,
		"tonumber":              e.baseToNumber,
		"tostring":              e.baseToString,
		"type":                  e.baseType,
		"unpack":                e.baseUnpack,
		"xpcall":                e.baseXpcall,
	}
}

func (e *Engine) baseAssert(L *lua.LState) int {
	if lua.LVIsFalse(e.checkAny(L, 1)) {
		e.fail(L, "%s", cString(e.optString(L, 2, errAssertion)))
	}
	return L.GetTop()
}

// baseErrorHandler is the function that Redis gives to lua_pcall; scripts can
// see it.
func (e *Engine) baseErrorHandler(L *lua.LState) int {
	v := L.Get(1)
	if _, ok := v.(*lua.LTable); !ok {
		v = field(L, "err", lua.LString("ERR "+tostring(v)))
	}
	L.Push(v)
	return 1
}

// What the garbage collector tells, always the same, as a run must not depend on the
// memory in use: about what the Lua of a redis-server has that was started just now.
const (
	collectorCount = 36.5  // KiB in use
	collectorPause = 200.0 // percent; setpause and setstepmul return what was set before
)

// baseCollectGarbage answers as if nothing was ever collected or set.
func (e *Engine) baseCollectGarbage(L *lua.LState) int {
	told := lua.LValue(lua.LNumber(0))
	switch option := e.optString(L, 1, "collect"); option {
	case "collect", "stop", "restart":
	case "count":
		told = lua.LNumber(collectorCount)
	case "step":
		told = lua.LFalse
	case "setpause", "setstepmul":
		told = lua.LNumber(collectorPause)
	default:
		e.argError(L, 1, fmt.Sprintf("invalid option '%s'", option))
	}
	e.optInt(L, 2, 0)
	L.Push(told)
	return 1
}

func (e *Engine) baseGCInfo(L *lua.LState) int {
	L.Push(lua.LNumber(math.Floor(collectorCount)))
	return 1
}

func (e *Engine) baseError(L *lua.LState) int {
	level := e.optInt(L, 2, 1)
	v := L.Get(1)
	if isText(v) && level > 0 {
		v = lua.LString(e.prefix(L, level) + tostring(v))
	}
	e.raise(L, v)
	return 0
}

func (e *Engine) baseGetMetatable(L *lua.LState) int {
	meta := lua.LValue(lua.LNil)
	switch v := e.checkAny(L, 1).(type) {
	case lua.LString:
		meta = e.sand.stringMeta
	case *lua.LTable:
		switch {
		case v == e.sand.globals:
			meta = e.sand.globalMeta
		case !e.sand.isView(v):
			meta = L.GetMetatable(v)
		}
	}
	L.Push(meta)
	return 1
}

func (e *Engine) baseSetMetatable(L *lua.LState) int {
	e.checkTable(L, 1)
	meta := L.Get(2)
	if _, ok := meta.(*lua.LTable); !ok && (meta != lua.LNil || L.GetTop() < 2) {
		e.argError(L, 2, "nil or table expected")
	}
	t := e.checkWritable(L, 1)
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		e.fail(L, "cannot change a protected metatable")
	}
	t.Metatable = meta
	L.SetTop(1)
	return 1
}

func (e *Engine) baseIpairs() lua.LGFunction {
	next := e.main.NewFunction(func(L *lua.LState) int {
		i := e.checkInt(L, 2) + 1 // before the table, as in Lua 5.1
		t := e.checkTable(L, 1)
		v := element(e.sand.readable(t), i)
		if v == lua.LNil {
			return 0
		}
		L.Push(e.number(int64(i)))
		L.Push(v)
		return 2
	})
	return func(L *lua.LState) int {
		t := e.checkTable(L, 1)
		L.Push(next)
		L.Push(t)
		L.Push(e.numbers[0])
		return 3
	}
}

func (e *Engine) basePairs() lua.LGFunction {
	next := e.main.NewFunction(e.baseNext)
	return func(L *lua.LState) int {
		t := e.checkTable(L, 1)
		L.Push(next)
		L.Push(t)
		L.Push(lua.LNil)
		return 3
	}
}

func (e *Engine) baseNext(L *lua.LState) int {
	t := e.sand.readable(e.checkTable(L, 1))
	key, value, known := after(t, L.Get(2))
	if !known {
		e.failPlain(L, "invalid key to 'next'")
	}
	L.Push(key)
	if key == lua.LNil {
		return 1
	}
	L.Push(value)
	return 2
}

// baseLoad gathers a chunk from a function, as Lua 5.1 does.
func (e *Engine) baseLoad(L *lua.LState) int {
	name := e.optString(L, 2, "=(load)") // before the function, as in Lua 5.1
	fn := e.checkFunction(L, 1)
	L.SetTop(0)
	var text strings.Builder
	for {
		L.Push(fn)
		if f := e.protected(L, 0); f != nil {
			return e.loadFailed(L, f.value)
		}
		piece := L.Get(1)
		L.SetTop(0)
		if piece == lua.LNil {
			break
		}
		if !isText(piece) {
			return e.loadFailed(L, lua.LString(e.prefix(L, 1)+"reader function must return a string"))
		}
		s := tostring(piece)
		if s == "" {
			break
		}
		if text.Len()+len(s) > maxString {
			L.Push(lua.LNil)
			L.Push(lua.LString(errMemory))
			return 2
		}
		text.WriteString(s)
	}
	return e.loadChunk(L, text.String(), name)
}

// loadFailed returns what load's function raised, as the error handler of the
// whole script has it unless a pcall or a coroutine is running.
func (e *Engine) loadFailed(L *lua.LState, v lua.LValue) int {
	if e.run.depth == 0 {
		L.Push(e.main.NewFunction(e.baseErrorHandler))
		L.Push(v)
		L.Call(1, 1)
		v = L.Get(-1)
	}
	L.Push(lua.LNil)
	L.Push(v)
	return 2
}

func (e *Engine) baseLoadString(L *lua.LState) int {
	text := e.checkString(L, 1)
	return e.loadChunk(L, text, e.optString(L, 2, text))
}

// loadChunk compiles a chunk that lives as long as the run.
func (e *Engine) loadChunk(L *lua.LState, text, name string) int {
	e.checkLimit(L) // a compilation may take as long as thousands of ticks
	c, err := e.compile(strings.Clone(text), strings.Clone(name), false, e.calls(L)+1)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	e.run.loaded = append(e.run.loaded, c)
	L.Push(c.fn)
	return 1
}

// basePcall is pcall as Redis has it: of an error that is a table, scripts get
// the text of its field err, or the table and the field.
// Source: script_lua.c, luaRedisPcall.
func (e *Engine) basePcall(L *lua.LState) int {
	fn := lua.LValue(lua.LTrue) // with no arguments, what Redis puts first is called
	if L.GetTop() > 0 {
		fn = L.Get(1)
	}
	if !callable(L, fn) {
		L.Push(lua.LFalse)
		return 1 + e.pushString(L, operandText("call", operand{}, typeName(fn)))
	}
	f := e.protected(L, L.GetTop()-1)
	if f == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.Push(lua.LFalse)
	t, ok := f.value.(*lua.LTable)
	if !ok {
		L.Push(f.value)
		return 2
	}
	text := L.GetField(t, "err") // which may be a metatable's
	if isText(text) {
		L.Push(text)
		return 2
	}
	L.Push(t)
	L.Push(text)
	return 3
}

// callable reports whether a value is a function, or a table that acts as one.
func callable(L *lua.LState, v lua.LValue) bool {
	if t, ok := v.(*lua.LTable); ok {
		return L.GetMetaField(t, "__call") != lua.LNil
	}
	return v.Type() == lua.LTFunction
}

func (e *Engine) baseXpcall(L *lua.LState) int {
	e.checkAny(L, 2)
	handler := L.Get(2)
	L.SetTop(1)
	var f *failure
	if fn := L.Get(1); callable(L, fn) {
		f = e.protected(L, 0)
	} else {
		L.SetTop(0)
		f = &failure{lua.LString(operandText("call", operand{}, typeName(fn))), noPlace}
	}
	if f == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.Push(lua.LFalse)
	depth := e.run.depth
	for handler.Type() == lua.LTFunction && e.calls(L)+2 < maxHandling {
		e.run.depth++ // what is raised is handled where it is, and so is what the handler raises
		L.Push(handler)
		L.Push(f.value)
		if f = e.protected(L, 1); f == nil {
			e.run.depth = depth
			L.SetTop(2) // one result of the handler
			return 2
		}
		L.SetTop(1)
	}
	e.run.depth = depth
	L.Push(lua.LString("error in error handling"))
	return 2
}

func (e *Engine) baseRawEqual(L *lua.LState) int {
	L.Push(lua.LBool(L.RawEqual(e.checkAny(L, 1), e.checkAny(L, 2))))
	return 1
}

func (e *Engine) baseRawGet(L *lua.LState) int {
	t := e.checkTable(L, 1)
	L.Push(e.sand.readable(t).RawGet(e.checkAny(L, 2)))
	return 1
}

func (e *Engine) baseRawSet(L *lua.LState) int {
	e.checkTable(L, 1)
	key, value := e.checkAny(L, 2), e.checkAny(L, 3)
	t := e.checkWritable(L, 1)
	e.checkKey(L, key)
	e.setCounted(L, t, key, value)
	L.SetTop(1)
	return 1
}

// checkKey raises the errors of keys that no table takes.
func (e *Engine) checkKey(L *lua.LState, key lua.LValue) {
	if bad := badKey(key); bad != "" {
		e.failPlain(L, bad)
	}
}

// badKey is why no table takes a key, or "".
func badKey(key lua.LValue) string {
	if key == lua.LNil {
		return "table index is nil"
	}
	if n, ok := key.(lua.LNumber); ok && n != n {
		return "table index is NaN"
	}
	return ""
}

func (e *Engine) baseSelect(L *lua.LState) int {
	top := L.GetTop()
	if s, ok := L.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		L.Push(e.number(int64(top - 1)))
		return 1
	}
	i := e.checkInt(L, 1)
	switch {
	case i < 0:
		i += top
	case i > top:
		i = top
	}
	if i < 1 {
		e.argError(L, 1, "index out of range")
	}
	return top - i
}

func (e *Engine) baseToNumber(L *lua.LState) int {
	base := e.optInt(L, 2, 10)
	if base == 10 {
		f, ok := toNumber(e.checkAny(L, 1))
		return pushNumber(L, f, ok)
	}
	s := e.checkString(L, 1)
	if base < 2 || base > 36 {
		e.argError(L, 2, "base out of range")
	}
	f, ok := parseBase(s, base)
	return pushNumber(L, f, ok)
}

func pushNumber(L *lua.LState, f float64, ok bool) int {
	if ok {
		L.Push(lua.LNumber(f))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func (e *Engine) baseToString(L *lua.LState) int {
	v := e.checkAny(L, 1)
	if t, ok := v.(*lua.LTable); ok && t.Metatable != lua.LNil {
		if fn := L.GetMetaField(t, "__tostring"); fn != lua.LNil {
			L.Push(fn)
			L.Push(t)
			L.Call(1, 1)
			return 1
		}
	}
	if s, ok := v.(lua.LString); ok {
		L.Push(s)
		return 1
	}
	L.Push(lua.LString(tostring(v)))
	return 1
}

// tostring is a value as text, without metamethods.
func tostring(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		return numberText(float64(v))
	case *lua.LUserData:
		return "userdata: (nil)" // scripts have no other than cjson.null
	}
	return v.String()
}

func (e *Engine) baseType(L *lua.LState) int {
	L.Push(e.sand.typeNames[e.checkAny(L, 1).Type()])
	return 1
}

func (e *Engine) baseUnpack(L *lua.LState) int {
	t := e.sand.readable(e.checkTable(L, 1))
	i := e.optInt(L, 2, 1)
	j := length(t)
	if L.Get(3) != lua.LNil {
		j = e.checkInt(L, 3)
	}
	if i > j {
		return 0
	}
	if tooMany(i, j, L.GetTop()) {
		e.fail(L, errUnpack)
	}
	for k := i; k <= j; k++ {
		L.Push(element(t, k))
	}
	return j - i + 1
}

// tooMany reports whether the results of unpack, from i to j, are more than the
// stack holds besides its arguments.
func tooMany(i, j, arguments int) bool {
	n := j - i + 1
	return i <= j && (n <= 0 || n > maxUnpack-arguments)
}

// checkStack fails if a function of Lua 5.1 could not push n values more.
func (e *Engine) checkStack(L *lua.LState, n int, what string) {
	if n > maxUnpack-L.GetTop() {
		e.fail(L, "stack overflow (%s)", what)
	}
}

// forBoundNames are what errors call the bounds of a numeric for.
var forBoundNames = [...]string{"initial value", "limit", "step"}

// forBounds coerces the bounds of a numeric for.
func (e *Engine) forBounds(L *lua.LState) int {
	for i, what := range forBoundNames {
		f, ok := toNumber(L.Get(i + 1))
		if !ok {
			e.fail(L, errForBound, what)
		}
		L.Push(lua.LNumber(f))
	}
	return 3
}
