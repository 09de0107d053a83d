package luaengine

import lua "github.com/yuin/gopher-lua"

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
	strings := e.operators()
	strings.RawSetString("__index", library)
	L.SetMetatable(lua.LString(""), strings)
	others := e.operators()
	others.RawSetString("__index", L.NewFunction(e.indexError))
	others.RawSetString("__len", L.NewFunction(e.lengthError))
	for _, v := range []lua.LValue{lua.LNil, lua.LFalse, lua.LNumber(0), e.sand.tick, L} {
		L.SetMetatable(v, others)
	}
}

// operators is a metatable of all that no type but table can do.
func (e *Engine) operators() *lua.LTable {
	t := e.main.NewTable()
	for event, op := range arithmetic { //tidy:unordered fills a table by key
		t.RawSetString(event, e.main.NewFunction(func(L *lua.LState) int { return e.arith(L, op) }))
	}
	for event, fn := range map[string]lua.LGFunction{ //tidy:unordered fills a table by key
		"__unm":      e.negate,
		"__concat":   e.concatError,
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
// that are numbers count.
func (e *Engine) arith(L *lua.LState, op func(a, b float64) float64) int {
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

func (e *Engine) negate(L *lua.LState) int {
	f, ok := toNumber(L.Get(1))
	if !ok {
		return e.typeError(L, "perform arithmetic on", e.here(L).a, L.Get(1))
	}
	L.Push(lua.LNumber(-f))
	return 1
}

// concatError names the operand that is neither string nor number.
func (e *Engine) concatError(L *lua.LState) int {
	left, right := L.Get(1), L.Get(2)
	chain := e.here(L).chain
	if isText(left) {
		return e.typeError(L, "concatenate", lastOf(chain), right)
	}
	return e.typeError(L, "concatenate", leftOperand(chain), left)
}

// leftOperand guesses which operand but the last was the wrong one: the
// rightmost that is no constant.
func leftOperand(chain []operand) operand {
	for i := len(chain) - 2; i >= 0; i-- {
		if chain[i].kind != byConstant {
			return chain[i]
		}
	}
	return operand{}
}

// compareError is an order of two values of one type that has none.
// Source: Lua 5.1, luaG_ordererror.
func (e *Engine) compareError(L *lua.LState) int {
	e.fail(L, "attempt to compare two %s values", typeName(L.Get(1)))
	return 0
}
