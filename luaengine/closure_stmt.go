package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// block compiles statements that have a scope of their own.
func (c *compiler) block(stmts []ast.Stmt) statement {
	return c.scoped(func() statement { return c.sequence(stmts) })
}

// sequence compiles statements into the scope that is open.
func (c *compiler) sequence(stmts []ast.Stmt) statement {
	list := make([]statement, len(stmts))
	for i, s := range stmts {
		list[i] = c.statement(s)
	}
	switch len(list) {
	case 1:
		return list[0]
	case 2:
		return inTurn(list[0], list[1])
	}
	return func(a *activation) (outcome, *failure) {
		for _, s := range list {
			if end, fault := s(a); end != goesOn || fault != nil {
				return end, fault
			}
		}
		return goesOn, nil
	}
}

// inTurn is a sequence of two.
func inTurn(first, second statement) statement {
	return func(a *activation) (outcome, *failure) {
		if end, fault := first(a); end != goesOn || fault != nil {
			return end, fault
		}
		return second(a)
	}
}

func (c *compiler) statement(s ast.Stmt) statement {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return c.assign(s)
	case *ast.LocalAssignStmt:
		return c.localAssign(s)
	case *ast.FuncCallStmt:
		return c.callStatement(s)
	case *ast.DoBlockStmt:
		if loop := c.coercedFor(s); loop != nil {
			return loop
		}
		return c.block(s.Stmts)
	case *ast.IfStmt:
		return c.ifStatement(s)
	case *ast.WhileStmt:
		return c.while(s)
	case *ast.RepeatStmt:
		return c.repeat(s)
	case *ast.NumberForStmt:
		return c.numberFor(s, []ast.Expr{s.Init, s.Limit, s.Step}, c.site(s))
	case *ast.GenericForStmt:
		return c.genericFor(s)
	case *ast.ReturnStmt:
		return c.returnStatement(s)
	case *ast.BreakStmt:
		return func(*activation) (outcome, *failure) { return breaks, nil }
	}
	c.refuse()
	return nil
}

// assign is "variable = value" or "table[key] = value".
func (c *compiler) assign(s *ast.AssignStmt) statement {
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		switch left := s.Lhs[0].(type) {
		case *ast.IdentExpr:
			if v := c.find(left.Value); v != nil && v.fn == nil {
				return c.store(v.slot, s.Rhs[0])
			}
		case *ast.AttrGetExpr:
			return c.setIndex(left, s.Rhs[0])
		}
	}
	c.refuse()
	return nil
}

// store puts a value into a variable.
func (c *compiler) store(slot int, x ast.Expr) statement {
	if call, ok := x.(*ast.FuncCallExpr); ok {
		if cmd := c.command(call); cmd != nil {
			return func(a *activation) (outcome, *failure) {
				v, fault := cmd.value(a)
				a.slots[slot] = v
				return goesOn, fault
			}
		}
		if f, ok := c.builtin(call); ok && f.number != nil {
			compute := c.calculate(f, call)
			return func(a *activation) (outcome, *failure) {
				n, v, fault := compute(a)
				a.slots[slot] = a.boxedNumber(n, v)
				return goesOn, fault
			}
		}
	}
	value := c.expression(x)
	return func(a *activation) (outcome, *failure) {
		v, fault := value(a)
		a.slots[slot] = v
		return goesOn, fault
	}
}

func (c *compiler) localAssign(s *ast.LocalAssignStmt) statement {
	if len(s.Exprs) == 1 {
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			return c.function(s.Names[0], fn)
		}
	}
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		set := c.store(c.next, s.Exprs[0])
		c.declare(s.Names[0])
		return set
	}
	values := c.expressions(s.Exprs)
	first := c.declare(s.Names...)
	names := len(s.Names)
	return func(a *activation) (outcome, *failure) {
		for i, value := range values {
			v, fault := value(a)
			if fault != nil {
				return goesOn, fault
			}
			if i < names {
				a.slots[first+i] = v
			}
		}
		for i := len(values); i < names; i++ {
			a.slots[first+i] = lua.LNil
		}
		return goesOn, nil
	}
}

func (c *compiler) ifStatement(s *ast.IfStmt) statement {
	test := c.condition(s.Condition)
	then, otherwise := c.block(s.Then), c.block(s.Else)
	if len(s.Else) == 0 {
		return func(a *activation) (outcome, *failure) {
			yes, fault := test(a)
			if fault != nil || !yes {
				return goesOn, fault
			}
			return then(a)
		}
	}
	return func(a *activation) (outcome, *failure) {
		yes, fault := test(a)
		if fault != nil {
			return goesOn, fault
		}
		if yes {
			return then(a)
		}
		return otherwise(a)
	}
}

// returnStatement is "return a, b": the reply is made of the first value.
func (c *compiler) returnStatement(s *ast.ReturnStmt) statement {
	if len(s.Exprs) == 1 {
		switch x := s.Exprs[0].(type) {
		case *ast.TableExpr:
			if isList(x) {
				return c.returnList(x)
			}
		case *ast.FuncCallExpr:
			switch c.constantFunction(x.Func) {
			case c.r.e.sand.errorReply:
				return c.returnStatus("err", x)
			case c.r.e.sand.statusReply:
				return c.returnStatus("ok", x)
			}
		}
	}
	if len(s.Exprs) == 1 {
		return c.returnValue(s.Exprs[0])
	}
	values := c.expressions(s.Exprs)
	return func(a *activation) (outcome, *failure) {
		for i, value := range values {
			v, fault := value(a)
			if fault != nil {
				return goesOn, fault
			}
			if i == 0 {
				a.result = v
			}
		}
		return returns, nil
	}
}

// returnValue is "return a", of which a number is the reply at once.
func (c *compiler) returnValue(x ast.Expr) statement {
	switch x := x.(type) {
	case *ast.NumberExpr:
		n := toInteger(float64(literalNumber(x)))
		return func(a *activation) (outcome, *failure) {
			a.direct.SetInt(n)
			a.replied = true
			return returns, nil
		}
	case *ast.NilExpr:
		return func(a *activation) (outcome, *failure) {
			a.direct.SetNil()
			a.replied = true
			return returns, nil
		}
	}
	value := c.numeric(x)
	return func(a *activation) (outcome, *failure) {
		f, v, fault := value(a)
		switch {
		case fault != nil:
			return goesOn, fault
		case v != nil:
			a.result = v
		default:
			a.direct.SetInt(toInteger(f))
			a.replied = true
		}
		return returns, nil
	}
}

// isList reports whether a constructor has elements alone, few enough for sequence.
func isList(x *ast.TableExpr) bool {
	for _, f := range x.Fields {
		if f.Key != nil {
			return false
		}
	}
	return len(x.Fields) <= maxElements
}

// returnList is "return {a, b}": the reply is made without a table.
func (c *compiler) returnList(x *ast.TableExpr) statement {
	elements := make([]expression, len(x.Fields))
	for i, f := range x.Fields {
		elements[i] = c.expression(f.Value)
	}
	return func(a *activation) (outcome, *failure) {
		values, fault := a.operands(elements)
		if fault != nil {
			return goesOn, fault
		}
		a.beginList()
		for _, v := range values {
			if isNil(v) {
				break
			}
			a.addElement(v)
		}
		a.done(values)
		a.endList(a.direct)
		a.replied = true
		return returns, nil
	}
}

// returnStatus is "return redis.error_reply(text)" or "redis.status_reply": the
// reply is made without a table.
func (c *compiler) returnStatus(name string, x *ast.FuncCallExpr) statement {
	if len(x.Args) != 1 {
		c.refuse()
		return nil
	}
	value := c.expression(x.Args[0])
	return func(a *activation) (outcome, *failure) {
		v, fault := value(a)
		if fault != nil {
			return goesOn, fault
		}
		if field, text := replyText(name, v); field == "err" {
			*a.direct = resp.Err(oneLine(text))
		} else {
			*a.direct = resp.Simple(oneLine(text))
		}
		a.replied = true
		return returns, nil
	}
}
