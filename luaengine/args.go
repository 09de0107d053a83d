package luaengine

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// argError raises "bad argument #n to 'name' (what)", the name being the one
// by which the script called the function.
// Source: Lua 5.1, luaL_argerror.
func (e *Engine) argError(L *lua.LState, n int, what string) {
	name := "?"
	if f, ok := e.frame(L, 1); ok {
		callee := f.node().a
		if callee.kind == byMethod {
			if n--; n == 0 {
				e.fail(L, "calling '%s' on bad self (%s)", callee.name, what)
			}
		}
		if callee.kind != byNothing {
			name = callee.name
		}
	}
	e.fail(L, "bad argument #%d to '%s' (%s)", n, name, what)
}

// typeArg raises the error of an argument of the wrong type.
func (e *Engine) typeArg(L *lua.LState, n int, want string) {
	got := "no value"
	if n <= L.GetTop() {
		got = typeName(L.Get(n))
	}
	e.argError(L, n, fmt.Sprintf("%s expected, got %s", want, got))
}

func (e *Engine) checkAny(L *lua.LState, n int) lua.LValue {
	if n > L.GetTop() {
		e.argError(L, n, "value expected")
	}
	return L.Get(n)
}

func (e *Engine) checkTable(L *lua.LState, n int) *lua.LTable {
	t, ok := L.Get(n).(*lua.LTable)
	if !ok {
		e.typeArg(L, n, "table")
	}
	return t
}

// checkWritable is a table argument that the function will change.
func (e *Engine) checkWritable(L *lua.LState, n int) *lua.LTable {
	t := e.checkTable(L, n)
	if e.sand.isView(t) {
		e.failPlain(L, errReadOnlyTable)
	}
	return t
}

func (e *Engine) checkFunction(L *lua.LState, n int) *lua.LFunction {
	fn, ok := L.Get(n).(*lua.LFunction)
	if !ok {
		e.typeArg(L, n, "function")
	}
	return fn
}

func (e *Engine) checkNumber(L *lua.LState, n int) float64 {
	if v, ok := L.Get(n).(lua.LNumber); ok {
		return float64(v)
	}
	f, ok := toNumber(L.Get(n))
	if !ok {
		e.typeArg(L, n, "number")
	}
	return f
}

// checkInteger is an integer argument of 64 bits; fractions are cut off.
func (e *Engine) checkInteger(L *lua.LState, n int) int { return int(toInteger(e.checkNumber(L, n))) }

func (e *Engine) optInteger(L *lua.LState, n, other int) int {
	if L.Get(n) == lua.LNil {
		return other
	}
	return e.checkInteger(L, n)
}

// checkInt is an integer argument of which 32 bits count, as in most functions
// of Lua's own libraries.
// Source: Lua 5.1, luaL_checkint.
func (e *Engine) checkInt(L *lua.LState, n int) int { return toInt(e.checkNumber(L, n)) }

func toInt(f float64) int { return int(int32(toInteger(f))) }

func (e *Engine) optInt(L *lua.LState, n, other int) int {
	if L.Get(n) == lua.LNil {
		return other
	}
	return e.checkInt(L, n)
}

func (e *Engine) checkString(L *lua.LState, n int) string {
	switch v := L.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return numberText(float64(v))
	}
	e.typeArg(L, n, "string")
	return ""
}

func (e *Engine) optString(L *lua.LState, n int, other string) string {
	if L.Get(n) == lua.LNil {
		return other
	}
	return e.checkString(L, n)
}
