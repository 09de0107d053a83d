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
		return lua.LVAsBool(v), fault
	}
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
		if test := c.equalsConstant(x); test != nil {
			if x.Operator == "~=" {
				return not(test)
			}
			return test
		}
	}
	left, right, at := c.expression(x.Lhs), c.expression(x.Rhs), c.site(x)
	switch x.Operator {
	case "==":
		return equality(left, right)
	case "~=":
		return not(equality(left, right))
	}
	swapped, orEqual := x.Operator[0] == '>', len(x.Operator) == 2
	if number, ok := x.Rhs.(*ast.NumberExpr); ok {
		return orderedTo(left, literalNumber(number), swapped, orEqual, at)
	}
	return func(a *activation) (bool, *failure) {
		l, r, fault := a.both(left, right)
		if fault != nil {
			return false, fault
		}
		if swapped {
			l, r = r, l
		}
		return ordered(l, r, orEqual, at)
	}
}

// orderedTo compares a value with a constant number.
func orderedTo(left expression, n lua.LNumber, swapped, orEqual bool, at *site) condition {
	return func(a *activation) (bool, *failure) {
		v, fault := left(a)
		if fault != nil {
			return false, fault
		}
		m, ok := v.(lua.LNumber)
		switch {
		case !ok && swapped:
			return ordered(n, v, orEqual, at)
		case !ok:
			return ordered(v, n, orEqual, at)
		case swapped:
			return m > n || orEqual && m == n, nil
		}
		return m < n || orEqual && m == n, nil
	}
}

// equalsConstant compiles whether a value equals a constant number or false,
// which is what scripts mostly ask of a reply; nil for any other comparison.
func (c *compiler) equalsConstant(x *ast.RelationalOpExpr) condition {
	var n lua.LNumber
	var isNumber bool
	switch right := x.Rhs.(type) {
	case *ast.NumberExpr:
		n, isNumber = literalNumber(right), true
	case *ast.FalseExpr:
	default:
		return nil
	}
	call, isCall := x.Lhs.(*ast.FuncCallExpr)
	if isCall {
		if cmd := c.command(call); cmd != nil {
			return cmd.equals(n, isNumber)
		}
	}
	left := c.expression(x.Lhs)
	if isNumber {
		return func(a *activation) (bool, *failure) {
			v, fault := left(a)
			m, ok := v.(lua.LNumber)
			return fault == nil && ok && m == n, fault
		}
	}
	return func(a *activation) (bool, *failure) {
		v, fault := left(a)
		return fault == nil && v == lua.LFalse, fault
	}
}

// equals is whether the reply is the number n, or false, without a Lua value
// where the reply has the usual kinds.
func (k *commandCall) equals(n lua.LNumber, isNumber bool) condition {
	return func(a *activation) (bool, *failure) {
		if fault := k.run(a); fault != nil {
			return false, fault
		}
		switch {
		case a.reply.Kind == resp.Integer:
			return isNumber && lua.LNumber(a.reply.Int) == n, nil
		case a.reply.Kind == resp.Bulk, a.reply.Kind == resp.Nil && isNumber:
			return false, nil
		}
		v, fault := k.result(a)
		if isNumber {
			return fault == nil && equal(v, n), fault
		}
		return fault == nil && v == lua.LFalse, fault
	}
}

func equality(left, right expression) condition {
	return func(a *activation) (bool, *failure) {
		l, r, fault := a.both(left, right)
		return fault == nil && equal(l, r), fault
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

// operators are the arithmetic operators by the events of their metamethods;
// the mending pass has made calls of the others.
var operators = map[string]string{"+": "__add", "-": "__sub", "*": "__mul", "/": "__div"}

func (c *compiler) arithmetic(x *ast.ArithmeticOpExpr) expression {
	event, known := operators[x.Operator]
	if !known || numeral(x.Lhs) && numeral(x.Rhs) {
		c.refuse() // gopher-lua computes such constants itself
	}
	return calculation(arithmetic[event], c.expression(x.Lhs), c.expression(x.Rhs), c.site(x), true)
}

// numeral tells constant numbers.
func numeral(x ast.Expr) bool {
	if minus, ok := x.(*ast.UnaryMinusOpExpr); ok {
		x = minus.Expr
	}
	_, ok := x.(*ast.NumberExpr)
	return ok
}

// calculation applies op to two numbers; texts that are numbers count. Of two
// numbers proper, gopher-lua's machine computes a zero without its sign; what
// its metamethods and the sandbox compute has the sign.
func calculation(op func(a, b float64) float64, left, right expression, at *site, machine bool) expression {
	return func(a *activation) (lua.LValue, *failure) {
		l, r, fault := a.both(left, right)
		if fault != nil {
			return nil, fault
		}
		x, ok := toNumber(l)
		if !ok {
			return nil, at.typeError("perform arithmetic on", at.a, l)
		}
		y, ok := toNumber(r)
		if !ok {
			return nil, at.typeError("perform arithmetic on", at.b, r)
		}
		f := op(x, y)
		if f == 0 && machine && l.Type() == lua.LTNumber && r.Type() == lua.LTNumber {
			f = 0
		}
		return a.e.float(f), nil
	}
}

func (c *compiler) minus(x *ast.UnaryMinusOpExpr) expression {
	if number, ok := x.Expr.(*ast.NumberExpr); ok {
		n := literalNumber(number)
		if n == 0 {
			c.refuse() // whether gopher-lua keeps the sign depends on the other constants
		}
		return constant(-n)
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
