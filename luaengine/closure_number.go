package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// numeric computes a value that is most likely a number, which then needs no
// Lua value: v is nil for a number, else f means nothing.
type numeric func(a *activation) (f float64, v lua.LValue, fault *failure)

// numeric compiles an expression for who wants a number.
func (c *compiler) numeric(x ast.Expr) numeric {
	switch x := x.(type) {
	case *ast.NumberExpr:
		n := float64(literalNumber(x))
		return func(*activation) (float64, lua.LValue, *failure) { return n, nil, nil }
	case *ast.IdentExpr:
		if slot, ok := c.local(x); ok {
			return func(a *activation) (float64, lua.LValue, *failure) { return plainNumber(a.slots[slot], nil) }
		}
	case *ast.ArithmeticOpExpr:
		return c.arithmetic(x)
	case *ast.FuncCallExpr:
		if cmd := c.command(x); cmd != nil {
			return cmd.number
		}
		if f, ok := c.builtin(x); ok && f.number != nil {
			return c.calculate(f, x)
		}
	case *ast.AttrGetExpr:
		if place, ok := c.place(x); ok {
			general := c.expression(x)
			return func(a *activation) (float64, lua.LValue, *failure) {
				if t, i := place.find(a); i > 0 {
					return plainNumber(t.RawGetInt(i), nil)
				}
				return plainNumber(general(a))
			}
		}
	case *ast.UnaryLenOpExpr:
		if keys, ok := c.argumentTable(x.Expr); ok {
			return func(a *activation) (float64, lua.LValue, *failure) { return float64(len(a.given(keys))), nil, nil }
		}
	}
	return unboxed(c.expression(x))
}

func (c *compiler) numerics(list []ast.Expr) []numeric {
	out := make([]numeric, len(list))
	for i, x := range list {
		out[i] = c.numeric(x)
	}
	return out
}

// unboxed is an expression for who wants a number.
func unboxed(value expression) numeric {
	return func(a *activation) (float64, lua.LValue, *failure) {
		return plainNumber(value(a))
	}
}

// plainNumber is a value without its box if it is a number.
func plainNumber(v lua.LValue, fault *failure) (float64, lua.LValue, *failure) {
	if n, ok := v.(lua.LNumber); ok && fault == nil {
		return float64(n), nil, nil
	}
	return 0, v, fault
}

// boxed is the Lua value of what compute computes.
func boxed(compute numeric) expression {
	return func(a *activation) (lua.LValue, *failure) {
		f, v, fault := compute(a)
		if v == nil && fault == nil {
			v = a.e.float(f)
		}
		return v, fault
	}
}

// boxedNumber is the Lua value of a result of numeric.
func (a *activation) boxedNumber(f float64, v lua.LValue) lua.LValue {
	if v == nil {
		return a.e.float(f)
	}
	return v
}

// number is the call for who wants a number.
func (k *commandCall) number(a *activation) (float64, lua.LValue, *failure) {
	if fault := k.run(a); fault != nil {
		return 0, nil, fault
	}
	if a.reply.Kind == resp.Integer {
		return float64(a.reply.Int), nil, nil
	}
	return plainNumber(k.result(a))
}

// calculate compiles a call of a function whose result is mostly a number.
func (c *compiler) calculate(f builtin, x *ast.FuncCallExpr) numeric {
	if c.constantFunction(x.Func) == c.r.e.sand.tonumber {
		if p, ok := c.parameter(x.Args[0]); ok {
			return numberOfWord(p)
		}
		if compute := c.simpleNumber(x.Args[0]); compute != nil {
			return compute
		}
	}
	return f.number(c.numerics(x.Args), c.site(x))
}

// numberOfWord is tonumber(KEYS[n]) or tonumber(ARGV[n]).
func numberOfWord(p param) numeric {
	return func(a *activation) (float64, lua.LValue, *failure) {
		word, ok := a.word(p)
		if !ok {
			return 0, lua.LNil, nil
		}
		if n, ok := plainInteger(textView(word)); ok {
			return float64(n), nil, nil
		}
		return numberIn(textView(word))
	}
}

// numberInReply is tonumber(call), with other in place of a null if there is one.
func numberInReply(k *commandCall, other *ast.NumberExpr) numeric {
	var n float64
	if other != nil {
		n = float64(literalNumber(other))
	}
	return func(a *activation) (float64, lua.LValue, *failure) {
		if fault := k.run(a); fault != nil {
			return 0, nil, fault
		}
		switch a.reply.Kind {
		case resp.Integer:
			return float64(a.reply.Int), nil, nil
		case resp.Bulk:
			return numberIn(a.reply.Str)
		case resp.Double:
			if f := a.reply.Float64(); f-f == 0 { // finite: its text is that of no other number
				return f, nil, nil
			}
		case resp.Nil:
			if other != nil {
				return n, nil, nil
			}
		}
		v, fault := k.result(a)
		if fault != nil {
			return 0, nil, fault
		}
		if other != nil && !truth(v) {
			return n, nil, nil
		}
		return numberOf(v)
	}
}

// numberInVariable is tonumber(variable), with other in place of nil and false if
// there is one.
func numberInVariable(slot int, other *ast.NumberExpr) numeric {
	if other == nil {
		return func(a *activation) (float64, lua.LValue, *failure) { return numberOf(a.slots[slot]) }
	}
	n := float64(literalNumber(other))
	return func(a *activation) (float64, lua.LValue, *failure) {
		v := a.slots[slot]
		if !truth(v) {
			return n, nil, nil
		}
		return numberOf(v)
	}
}

// simpleNumber compiles tonumber of a call or a variable x, or of "x or n"; nil if
// it is neither.
func (c *compiler) simpleNumber(x ast.Expr) numeric {
	var other *ast.NumberExpr
	if choice, ok := x.(*ast.LogicalOpExpr); ok && choice.Operator == "or" {
		if other, ok = choice.Rhs.(*ast.NumberExpr); !ok {
			return nil
		}
		x = choice.Lhs
	}
	if slot, ok := c.local(x); ok {
		return numberInVariable(slot, other)
	}
	if call, ok := x.(*ast.FuncCallExpr); ok {
		if cmd := c.command(call); cmd != nil {
			return numberInReply(cmd, other)
		}
	}
	return nil
}

// numberIn is the number that a text is, or nil.
func numberIn(text string) (float64, lua.LValue, *failure) {
	if f, ok := parseNumber(text); ok {
		return f, nil, nil
	}
	return 0, lua.LNil, nil
}

// numberOf is the number that a value is or whose text it is, or nil.
func numberOf(v lua.LValue) (float64, lua.LValue, *failure) {
	switch v := v.(type) {
	case lua.LString:
		return numberIn(string(v))
	case lua.LNumber:
		return float64(v), nil, nil
	}
	return 0, lua.LNil, nil
}

func toNumberCall(args []numeric, _ *site) numeric {
	value := args[0]
	return func(a *activation) (float64, lua.LValue, *failure) {
		f, v, fault := value(a)
		if v == nil || fault != nil {
			return f, nil, fault
		}
		return numberOf(v)
	}
}

func maxCall(args []numeric, at *site) numeric {
	return func(a *activation) (float64, lua.LValue, *failure) {
		var most float64
		var bad *failure // comes behind those of the other arguments
		for i, arg := range args {
			f, v, fault := arg(a)
			if fault != nil {
				return 0, nil, fault
			}
			if v != nil {
				n, ok := toNumber(v)
				if !ok && bad == nil {
					bad = at.typeArg(i+1, "number", v)
				}
				f = n
			}
			if i == 0 || f > most {
				most = f
			}
		}
		return most, nil, bad
	}
}

// events are the arithmetic operators' names as metamethods.
var events = map[string]string{"+": "__add", "-": "__sub", "*": "__mul", "/": "__div", "%": "__mod", "^": "__pow"}

func (c *compiler) arithmetic(x *ast.ArithmeticOpExpr) numeric {
	return calculation(arithmetic[events[x.Operator]], c.numeric(x.Lhs), c.numeric(x.Rhs), c.site(x))
}

// numeral tells constant numbers.
func numeral(x ast.Expr) bool {
	if minus, ok := x.(*ast.UnaryMinusOpExpr); ok {
		x = minus.Expr
	}
	_, ok := x.(*ast.NumberExpr)
	return ok
}

// operation compiles the operator of an event.
func operation(event string) func(args []numeric, at *site) numeric {
	return func(args []numeric, at *site) numeric {
		return calculation(arithmetic[event], args[0], args[1], at)
	}
}

// reversedOperation compiles the operator of an event whose right operand comes first.
func reversedOperation(event string) func(args []numeric, at *site) numeric {
	op := arithmetic[event]
	return func(args []numeric, at *site) numeric {
		right, left := args[0], args[1]
		return func(a *activation) (float64, lua.LValue, *failure) {
			y, r, fault := right(a)
			if fault != nil {
				return 0, nil, fault
			}
			x, l, fault := left(a)
			if fault != nil {
				return 0, nil, fault
			}
			if l == nil && r == nil {
				return op(x, y), nil, nil
			}
			return coerced(op, x, l, y, r, at)
		}
	}
}

// calculation compiles op of two numbers.
func calculation(op func(a, b float64) float64, left, right numeric, at *site) numeric {
	return func(a *activation) (float64, lua.LValue, *failure) {
		x, l, fault := left(a)
		if fault != nil {
			return 0, nil, fault
		}
		y, r, fault := right(a)
		if fault != nil {
			return 0, nil, fault
		}
		if l == nil && r == nil {
			return op(x, y), nil, nil
		}
		return coerced(op, x, l, y, r, at)
	}
}

// coerced applies op to two values of which not both are numbers: texts that are
// numbers count.
func coerced(
	op func(a, b float64) float64, x float64, l lua.LValue, y float64, r lua.LValue, at *site,
) (float64, lua.LValue, *failure) {
	x, fault := operandNumber(x, l, at, at.a)
	if fault == nil {
		y, fault = operandNumber(y, r, at, at.b)
	}
	if fault != nil {
		return 0, nil, fault
	}
	return op(x, y), nil, nil
}

// operandNumber is an operand of an arithmetic operator as a number.
func operandNumber(f float64, v lua.LValue, at *site, o operand) (float64, *failure) {
	if v == nil {
		return f, nil
	}
	f, ok := toNumber(v)
	if !ok {
		return 0, at.typeError("perform arithmetic on", o, v)
	}
	return f, nil
}
