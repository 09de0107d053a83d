package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

func (c *compiler) expressions(list []ast.Expr) []expression {
	out := make([]expression, len(list))
	for i, x := range list {
		out[i] = c.expression(x)
	}
	return out
}

func (c *compiler) expression(x ast.Expr) expression {
	switch x := x.(type) {
	case *ast.NilExpr:
		return constant(lua.LNil)
	case *ast.TrueExpr:
		return constant(lua.LTrue)
	case *ast.FalseExpr:
		return constant(lua.LFalse)
	case *ast.StringExpr:
		return constant(lua.LString(x.Value))
	case *ast.NumberExpr:
		return constant(literalNumber(x))
	case *ast.IdentExpr:
		return c.variable(x)
	case *ast.AttrGetExpr:
		return c.element(x)
	case *ast.TableExpr:
		return c.table(x)
	case *ast.FuncCallExpr:
		return c.call(x)
	case *ast.LogicalOpExpr:
		return c.logical(x)
	case *ast.RelationalOpExpr, *ast.UnaryNotOpExpr:
		return boolean(c.condition(x))
	case *ast.ArithmeticOpExpr:
		return boxed(c.arithmetic(x))
	case *ast.UnaryMinusOpExpr:
		return c.minus(x)
	case *ast.UnaryLenOpExpr:
		return c.length(x)
	}
	c.refuse()
	return nil
}

func constant(v lua.LValue) expression {
	return func(*activation) (lua.LValue, *failure) { return v, nil }
}

// literalNumber is a number as decimal has spelled it.
func literalNumber(x *ast.NumberExpr) lua.LNumber {
	f, _ := parseNumber(x.Value)
	return lua.LNumber(f)
}

func (c *compiler) variable(x *ast.IdentExpr) expression {
	if p, ok := c.parameter(x); ok {
		return func(a *activation) (lua.LValue, *failure) {
			if word, ok := a.word(p); ok {
				return a.e.run.boxes.bytes(word), nil
			}
			return lua.LNil, nil
		}
	}
	v := c.find(x.Value)
	if v == nil || v.fn != nil {
		c.refuse()
		return nil
	}
	slot := v.slot
	return func(a *activation) (lua.LValue, *failure) { return a.slots[slot], nil }
}

// element is object[key].
func (c *compiler) element(x *ast.AttrGetExpr) expression {
	if keys, ok := c.argumentTable(x.Object); ok {
		return c.argument(keys, x.Key)
	}
	object, key, at := c.expression(x.Object), c.numeric(x.Key), c.site(x)
	inTable, isTable := c.place(x)
	return func(a *activation) (lua.LValue, *failure) {
		if isTable {
			if t, i := inTable.find(a); i > 0 {
				return t.RawGetInt(i), nil
			}
		}
		o, fault := object(a)
		if fault != nil {
			return nil, fault
		}
		n, k, fault := key(a)
		if fault != nil {
			return nil, fault
		}
		switch t := o.(type) {
		case *lua.LTable:
			if i := whole(n); i > 0 && i < longestArray && k == nil {
				return t.RawGetInt(i), nil
			}
			return t.RawGet(a.boxedNumber(n, k)), nil
		case lua.LString:
			return a.e.sand.strings.RawGet(a.boxedNumber(n, k)), nil
		}
		return nil, at.typeError("index", at.a, o)
	}
}

// argument is KEYS[key] or ARGV[key].
func (c *compiler) argument(keys bool, key ast.Expr) expression {
	at := c.index(key)
	l, isLinear := c.linear(key)
	return func(a *activation) (lua.LValue, *failure) {
		if isLinear {
			if i, ok := l.at(a); ok {
				if list := a.given(keys); uint(i-1) < uint(len(list)) {
					return a.e.run.boxes.bytes(list[i-1]), nil
				}
			}
		}
		i, fault := at(a)
		if fault != nil {
			return nil, fault
		}
		return array{words: a.given(keys)}.at(a, i), nil
	}
}

// both computes two operands.
func (a *activation) both(left, right expression) (l, r lua.LValue, fault *failure) {
	if l, fault = left(a); fault == nil {
		r, fault = right(a)
	}
	return l, r, fault
}

// tablePlace is variable[variable], of which the first is mostly a table and the
// second an index.
type tablePlace struct{ table, index int }

func (c *compiler) place(x *ast.AttrGetExpr) (tablePlace, bool) {
	table, ok := c.local(x.Object)
	index, isVariable := c.local(x.Key)
	return tablePlace{table, index}, ok && isVariable
}

// find is the table and the index; 0 if they are something else.
func (p tablePlace) find(a *activation) (*lua.LTable, int) {
	t, ok := a.slots[p.table].(*lua.LTable)
	n, isNumber := a.slots[p.index].(lua.LNumber)
	if i := whole(float64(n)); ok && isNumber && i > 0 && i < longestArray {
		return t, i
	}
	return nil, 0
}

// setIndex is object[key] = value.
func (c *compiler) setIndex(x *ast.AttrGetExpr, right ast.Expr) statement {
	object, key, at := c.expression(x.Object), c.numeric(x.Key), c.site(x)
	value := c.expression(right)
	inTable, isTable := c.place(x)
	return func(a *activation) (outcome, *failure) {
		if isTable {
			if t, i := inTable.find(a); i > 0 {
				v, fault := value(a)
				if fault == nil {
					fault = a.setElement(t, i, v, at)
				}
				return goesOn, fault
			}
		}
		o, fault := object(a)
		if fault != nil {
			return goesOn, fault
		}
		n, k, fault := key(a)
		if fault != nil {
			return goesOn, fault
		}
		v, fault := value(a)
		if fault != nil {
			return goesOn, fault
		}
		t, ok := o.(*lua.LTable)
		if !ok {
			return goesOn, at.typeError("index", at.a, o)
		}
		if i := whole(n); i > 0 && i < longestArray && k == nil {
			return goesOn, a.setElement(t, i, v, at)
		}
		k = a.boxedNumber(n, k)
		if bad := badKey(k); bad != "" {
			return goesOn, at.fail("%s", bad)
		}
		t.RawSet(k, v)
		return goesOn, nil
	}
}

// setElement is t[i] = v of an index.
func (a *activation) setElement(t *lua.LTable, i int, v lua.LValue, at *site) *failure {
	if why := a.e.countFilling(t, i); why != "" {
		return at.raise(field(a.e.main, "err", lua.LString(why)))
	}
	t.RawSetInt(i, v)
	return nil
}

// table is a constructor: {a, b} or {key = a}.
func (c *compiler) table(x *ast.TableExpr) expression {
	var keys []string
	values := make([]expression, len(x.Fields))
	for i, f := range x.Fields {
		values[i] = c.expression(f.Value)
		if name, ok := f.Key.(*ast.StringExpr); ok {
			keys = append(keys, name.Value)
		} else if f.Key != nil {
			c.refuse()
		}
	}
	if keys == nil && len(values) <= maxElements {
		return sequence(values)
	}
	if len(keys) < len(values) {
		c.refuse()
	}
	return record(keys, values)
}

func sequence(values []expression) expression {
	return func(a *activation) (lua.LValue, *failure) {
		t := a.tables.make(a.e.main, len(values))
		for i, value := range values {
			v, fault := value(a)
			if fault != nil {
				return nil, fault
			}
			t.RawSetInt(i+1, v)
		}
		return t, nil
	}
}

func record(keys []string, values []expression) expression {
	return func(a *activation) (lua.LValue, *failure) {
		t := a.e.main.CreateTable(0, len(keys))
		for i, value := range values {
			v, fault := value(a)
			if fault != nil {
				return nil, fault
			}
			t.RawSetString(keys[i], v)
		}
		return t, nil
	}
}

// logical is "and" or "or", whose value is that of an operand.
func (c *compiler) logical(x *ast.LogicalOpExpr) expression {
	or := x.Operator == "or"
	if choice, ok := x.Lhs.(*ast.LogicalOpExpr); ok && or && choice.Operator == "and" && alwaysTrue(choice.Rhs) {
		if number, ok := x.Rhs.(*ast.NumberExpr); ok {
			if other, ok := choice.Rhs.(*ast.NumberExpr); ok {
				return chooseConstant(c.condition(choice.Lhs), literalNumber(other), literalNumber(number))
			}
		}
		return choose(c.condition(choice.Lhs), c.expression(choice.Rhs), c.expression(x.Rhs))
	}
	left, right := c.expression(x.Lhs), c.expression(x.Rhs)
	return func(a *activation) (lua.LValue, *failure) {
		v, fault := left(a)
		if fault != nil || truth(v) == or {
			return v, fault
		}
		return right(a)
	}
}

// alwaysTrue tells constants that are neither false nor nil.
func alwaysTrue(x ast.Expr) bool {
	switch x.(type) {
	case *ast.NumberExpr, *ast.StringExpr, *ast.TrueExpr:
		return true
	}
	return false
}

// chooseConstant is "test and yes or no" of two constants, yes being true.
func chooseConstant(test condition, yes, no lua.LValue) expression {
	return func(a *activation) (lua.LValue, *failure) {
		chosen, fault := test(a)
		switch {
		case fault != nil:
			return nil, fault
		case chosen:
			return yes, nil
		}
		return no, nil
	}
}

// choose is "test and yes or no" of which yes is true.
func choose(test condition, yes, no expression) expression {
	return func(a *activation) (lua.LValue, *failure) {
		chosen, fault := test(a)
		switch {
		case fault != nil:
			return nil, fault
		case chosen:
			return yes(a)
		}
		return no(a)
	}
}
