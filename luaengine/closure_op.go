package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// condition compiles an expression of which only the truth is asked.
func (c *compiler) condition(x ast.Expr) condition {
	switch x := x.(type) {
	case *ast.UnaryNotOpExpr:
		return not(c.condition(x.Expr))
	case *ast.LogicalOpExpr:
		return c.logicalCondition(x)
	case *ast.RelationalOpExpr:
		return c.relation(x)
	}
	value := c.expression(x)
	return func(a *activation) (bool, *failure) {
		v, fault := value(a)
		return truth(v), fault
	}
}

// truth reports whether a value is neither nil nor false. Like isFalse and isNil
// it looks at the type alone where it can: to compare values is a call.
func truth(v lua.LValue) bool { return !isNil(v) && !isFalse(v) }

func isFalse(v lua.LValue) bool {
	b, ok := v.(lua.LBool)
	return ok && !bool(b)
}

func isNil(v lua.LValue) bool {
	_, none := v.(*lua.LNilType)
	return none
}

// boolean is the value of a condition.
func boolean(test condition) expression {
	return func(a *activation) (lua.LValue, *failure) {
		yes, fault := test(a)
		if yes {
			return lua.LTrue, fault
		}
		return lua.LFalse, fault
	}
}

func not(test condition) condition {
	return func(a *activation) (bool, *failure) {
		yes, fault := test(a)
		return !yes, fault
	}
}

func (c *compiler) logicalCondition(x *ast.LogicalOpExpr) condition {
	left, right, or := c.condition(x.Lhs), c.condition(x.Rhs), x.Operator == "or"
	return func(a *activation) (bool, *failure) {
		yes, fault := left(a)
		if fault != nil || yes == or {
			return yes, fault
		}
		return right(a)
	}
}

func (c *compiler) relation(x *ast.RelationalOpExpr) condition {
	if x.Operator == "==" || x.Operator == "~=" {
		negate := x.Operator == "~="
		if test := c.equalsConstant(x, negate); test != nil {
			return test
		}
		return equality(c.expression(x.Lhs), c.expression(x.Rhs), negate)
	}
	swapped, orEqual := x.Operator[0] == '>', len(x.Operator) == 2
	left, right, at := c.numeric(x.Lhs), c.numeric(x.Rhs), c.site(x)
	if number, ok := x.Rhs.(*ast.NumberExpr); ok {
		return orderedTo(left, float64(literalNumber(number)), swapped, orEqual, at)
	}
	return func(a *activation) (bool, *failure) {
		l, lv, fault := left(a)
		if fault != nil {
			return false, fault
		}
		r, rv, fault := right(a)
		if fault != nil {
			return false, fault
		}
		if swapped {
			l, lv, r, rv = r, rv, l, lv
		}
		if lv == nil && rv == nil {
			return l < r || orEqual && l == r, nil
		}
		return ordered(a.boxedNumber(l, lv), a.boxedNumber(r, rv), orEqual, at)
	}
}

// orderedTo compares a value with a constant number.
func orderedTo(left numeric, n float64, swapped, orEqual bool, at *site) condition {
	return func(a *activation) (bool, *failure) {
		f, v, fault := left(a)
		switch {
		case fault != nil:
			return false, fault
		case v != nil && swapped:
			return ordered(lua.LNumber(n), v, orEqual, at)
		case v != nil:
			return ordered(v, lua.LNumber(n), orEqual, at)
		case swapped:
			return f > n || orEqual && f == n, nil
		}
		return f < n || orEqual && f == n, nil
	}
}

// equalsConstant compiles whether a value equals a constant number, text or false,
// which is what scripts mostly ask of a reply, or with negate whether it does
// not; nil for any other comparison.
func (c *compiler) equalsConstant(x *ast.RelationalOpExpr, negate bool) condition {
	var want lua.LValue
	switch right := x.Rhs.(type) {
	case *ast.NumberExpr:
		want = literalNumber(right)
	case *ast.StringExpr:
		want = lua.LString(right.Value)
	case *ast.FalseExpr:
		want = lua.LFalse
	default:
		return nil
	}
	if call, isCall := x.Lhs.(*ast.FuncCallExpr); isCall {
		if cmd := c.command(call); cmd != nil {
			return cmd.equals(want, negate)
		}
	}
	slot, isVariable := c.local(x.Lhs)
	switch want := want.(type) {
	case lua.LNumber:
		left, n := c.numeric(x.Lhs), float64(want)
		return func(a *activation) (bool, *failure) {
			f, v, fault := left(a)
			return (v == nil && f == n) != negate, fault
		}
	case lua.LString:
		if p, ok := c.parameter(x.Lhs); ok {
			return func(a *activation) (bool, *failure) {
				word, ok := a.word(p)
				return (ok && string(word) == string(want)) != negate, nil
			}
		}
		if isVariable {
			return func(a *activation) (bool, *failure) {
				text, ok := a.slots[slot].(lua.LString)
				return (ok && text == want) != negate, nil
			}
		}
	case lua.LBool:
		if isVariable {
			return func(a *activation) (bool, *failure) { return isFalse(a.slots[slot]) != negate, nil }
		}
	}
	return equality(c.expression(x.Lhs), constant(want), negate)
}

// equals is whether the reply is want, a number, a text or false, without a Lua
// value where the reply has the usual kinds; with negate, whether it is not.
func (k *commandCall) equals(want lua.LValue, negate bool) condition {
	n, isNumber := want.(lua.LNumber)
	text, isText := want.(lua.LString)
	return func(a *activation) (bool, *failure) {
		if fault := k.run(a); fault != nil {
			return false, fault
		}
		switch {
		case a.reply.Kind == resp.Integer:
			return (isNumber && lua.LNumber(a.reply.Int) == n) != negate, nil
		case a.reply.Kind == resp.Bulk:
			return (isText && a.reply.Str == string(text)) != negate, nil
		case a.reply.Kind == resp.Nil && (isNumber || isText):
			return negate, nil
		}
		v, fault := k.result(a)
		return (fault == nil && equal(v, want)) != negate, fault
	}
}

func equality(left, right expression, negate bool) condition {
	return func(a *activation) (bool, *failure) {
		l, r, fault := a.both(left, right)
		return (fault == nil && equal(l, r)) != negate, fault
	}
}

// equal is the operator == on values without metatables.
func equal(l, r lua.LValue) bool {
	switch l := l.(type) {
	case lua.LNumber:
		n, ok := r.(lua.LNumber)
		return ok && l == n
	case lua.LString:
		s, ok := r.(lua.LString)
		return ok && l == s
	}
	return l == r
}

// ordered is the operator < or <= on two numbers or two strings.
func ordered(l, r lua.LValue, orEqual bool, at *site) (bool, *failure) {
	switch l := l.(type) {
	case lua.LNumber:
		if n, ok := r.(lua.LNumber); ok {
			return l < n || orEqual && l == n, nil
		}
	case lua.LString:
		if s, ok := r.(lua.LString); ok {
			return l < s || orEqual && l == s, nil
		}
	}
	return false, at.fail("%s", orderText(l, r))
}

// negative is a literal with a minus. Closures know no -0: of the zeros of a function
// the first decides the sign of all.
// Source: Lua 5.1, addk.
func (c *compiler) negative(x *ast.UnaryMinusOpExpr) (lua.LNumber, bool) {
	number, ok := x.Expr.(*ast.NumberExpr)
	if !ok {
		return 0, false
	}
	n := literalNumber(number)
	if n == 0 {
		c.refuse()
	}
	return -n, true
}

func (c *compiler) minus(x *ast.UnaryMinusOpExpr) expression {
	if n, ok := c.negative(x); ok {
		return constant(n)
	}
	value, at := c.expression(x.Expr), c.site(x)
	return func(a *activation) (lua.LValue, *failure) {
		v, fault := value(a)
		if fault != nil {
			return nil, fault
		}
		f, ok := toNumber(v)
		if !ok {
			return nil, at.typeError("perform arithmetic on", at.a, v)
		}
		return a.e.float(-f), nil
	}
}

func (c *compiler) length(x *ast.UnaryLenOpExpr) expression {
	if keys, ok := c.argumentTable(x.Expr); ok {
		return func(a *activation) (lua.LValue, *failure) {
			return a.e.number(int64(len(a.given(keys)))), nil
		}
	}
	value, at := c.expression(x.Expr), c.site(x)
	return func(a *activation) (lua.LValue, *failure) {
		v, fault := value(a)
		if fault != nil {
			return nil, fault
		}
		switch v := v.(type) {
		case lua.LString:
			return a.e.number(int64(len(v))), nil
		case *lua.LTable:
			return a.e.number(int64(v.Len())), nil
		}
		return nil, at.typeError("get length of", at.a, v)
	}
}
