package luaengine

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// gopher-lua's own texts for operations on values of the wrong type name
// neither the variable nor, at times, the type. So every type but table gets a
// metatable whose functions see the operands, and raise what Lua 5.1 would.

// arithmetic are the events of the arithmetic operators.
var arithmetic = map[string]func(a, b float64) float64{
	"__add": func(a, b float64) float64 { return a + b },
	"__sub": func(a, b float64) float64 { return a - b },
	"__mul": func(a, b float64) float64 { return a * b },
	"__div": func(a, b float64) float64 { return a / b },
	"__mod": luaMod,
	"__pow": luaPow,
}

// setMetatables gives the basic types their metatables; strings index their
// library.
func (e *Engine) setMetatables(library *lua.LTable) {
	L := e.main
	texts := e.operators()
	texts.RawSetString("__index", library)
	L.SetMetatable(lua.LString(""), texts)
	others := e.operators()
	others.RawSetString("__index", L.NewFunction(e.indexError))
	others.RawSetString("__len", L.NewFunction(e.lengthError))
	for _, v := range []lua.LValue{lua.LNil, lua.LFalse, lua.LNumber(0), e.sand.tick, L, e.sand.null} {
		L.SetMetatable(v, others)
	}
}

// operators is a metatable of all that no type but table can do.
func (e *Engine) operators() *lua.LTable {
	t := e.main.NewTable()
	for event, op := range arithmetic { //tidy:unordered fills a table by key
		t.RawSetString(event, e.main.NewFunction(func(L *lua.LState) int { return e.arith(L, event, op) }))
	}
	for event, fn := range map[string]lua.LGFunction{ //tidy:unordered fills a table by key
		"__unm":      e.negate,
		"__lt":       e.compareError,
		"__le":       e.compareError,
		"__newindex": e.indexError,
		"__call":     e.callError,
	} {
		t.RawSetString(event, e.main.NewFunction(fn))
	}
	return t
}

// here is the place of the instruction that called a metamethod.
func (e *Engine) here(L *lua.LState) node {
	f, ok := e.frame(L, 1)
	if !ok {
		return node{}
	}
	return f.node()
}

// typeError raises the error about operand o, whose value is v.
func (e *Engine) typeError(L *lua.LState, what string, o operand, v lua.LValue) int {
	e.fail(L, "%s", operandText(what, o, typeName(v)))
	return 0
}

func (e *Engine) indexError(L *lua.LState) int {
	n := e.here(L)
	o := n.a
	if o.kind == byMethod {
		o = n.b
	}
	return e.typeError(L, "index", o, L.Get(1))
}

func (e *Engine) callError(L *lua.LState) int {
	return e.typeError(L, "call", e.here(L).a, L.Get(1))
}

func (e *Engine) lengthError(L *lua.LState) int {
	return e.typeError(L, "get length of", e.here(L).a, L.Get(1))
}

// arith is an arithmetic operator on operands of which one is no number: texts
// that are numbers count. gopher-lua asks the left operand's metatable first,
// so a right operand with the metamethod is seen to here.
func (e *Engine) arith(L *lua.LState, event string, op func(a, b float64) float64) int {
	if right, ok := L.Get(2).(*lua.LTable); ok {
		if own := L.GetMetaField(right, event); own != lua.LNil {
			L.Insert(own, 1)
			L.Call(2, 1)
			return 1
		}
	}
	a, okA := toNumber(L.Get(1))
	b, okB := toNumber(L.Get(2))
	n := e.here(L)
	switch {
	case !okA:
		return e.typeError(L, "perform arithmetic on", n.a, L.Get(1))
	case !okB:
		return e.typeError(L, "perform arithmetic on", n.b, L.Get(2))
	}
	L.Push(lua.LNumber(op(a, b)))
	return 1
}

// operation is the operator of an event, as a function.
func (e *Engine) operation(event string) lua.LGFunction {
	op := arithmetic[event]
	return func(L *lua.LState) int {
		if a, ok := L.Get(1).(lua.LNumber); ok {
			if b, ok := L.Get(2).(lua.LNumber); ok {
				return e.pushFloat(L, op(float64(a), float64(b)))
			}
		}
		if left, ok := L.Get(1).(*lua.LTable); ok {
			if own := L.GetMetaField(left, event); own != lua.LNil {
				L.Insert(own, 1)
				L.Call(2, 1)
				return 1
			}
		}
		return e.arith(L, event, op)
	}
}

// reverse is a function of two arguments with the second one first.
func reverse(L *lua.LState, fn *lua.LFunction) *lua.LFunction {
	return L.NewFunction(func(L *lua.LState) int {
		L.Insert(L.Get(2), 1)
		L.SetTop(2)
		return fn.GFunction(L)
	})
}

func (e *Engine) negate(L *lua.LState) int {
	f, ok := toNumber(L.Get(1))
	if !ok {
		return e.typeError(L, "perform arithmetic on", e.here(L).a, L.Get(1))
	}
	L.Push(lua.LNumber(-f))
	return 1
}

// concat is the operator .. on all operands of a chain, from the right.
// Source: Lua 5.1, luaV_concat.
func (e *Engine) concat(L *lua.LState) int {
	i := L.GetTop()
	right := L.Get(i)
	for i > 1 {
		if !isText(right) || !isText(L.Get(i-1)) {
			i--
			right = e.concatTwo(L, L.Get(i), right, i)
			continue
		}
		first := i - 1
		for first > 1 && isText(L.Get(first-1)) {
			first--
		}
		var b strings.Builder
		for ; first < i; first++ {
			e.grow(L, &b, tostring(L.Get(first)))
		}
		e.grow(L, &b, tostring(right))
		for i > 1 && isText(L.Get(i-1)) {
			i--
		}
		if text := e.countString(b.Len()); text != "" {
			e.kill(L, text)
		}
		right = lua.LString(b.String())
	}
	L.Push(right)
	return 1
}

// concatTwo calls the metamethod of one of two operands, the left one being
// the i-th of its chain.
func (e *Engine) concatTwo(L *lua.LState, left, right lua.LValue, i int) lua.LValue {
	event := lua.LNil
	for _, v := range []lua.LValue{left, right} {
		if t, ok := v.(*lua.LTable); ok && event == lua.LNil {
			event = L.GetMetaField(t, "__concat")
		}
	}
	if event == lua.LNil {
		chain := e.here(L).chain
		if isText(left) {
			return lua.LNumber(e.typeError(L, "concatenate", chain[i], right))
		}
		return lua.LNumber(e.typeError(L, "concatenate", chain[i-1], left))
	}
	L.Push(event)
	L.Push(left)
	L.Push(right)
	L.Call(2, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

// compareError is an order of two values of one type that has none.
// Source: Lua 5.1, luaG_ordererror.
func (e *Engine) compareError(L *lua.LState) int {
	e.fail(L, "attempt to compare two %s values", typeName(L.Get(1)))
	return 0
}
