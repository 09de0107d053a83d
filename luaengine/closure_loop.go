package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Every loop body begins with the tick that the mending pass has put there.

func (c *compiler) while(s *ast.WhileStmt) statement {
	test, body := c.condition(s.Condition), c.block(s.Stmts)
	return func(a *activation) (outcome, *failure) {
		for {
			yes, fault := test(a)
			if fault != nil || !yes {
				return goesOn, fault
			}
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
		}
	}
}

// repeat is a loop whose condition sees the variables of its body.
func (c *compiler) repeat(s *ast.RepeatStmt) statement {
	var test condition
	body := c.scoped(func() statement {
		body := c.sequence(s.Stmts)
		test = c.condition(s.Condition)
		return body
	})
	return func(a *activation) (outcome, *failure) {
		for {
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
			if yes, fault := test(a); fault != nil || yes {
				return goesOn, fault
			}
		}
	}
}

// loopBody compiles a body whose loop sets variables, from the slot c.next on.
func (c *compiler) loopBody(stmts []ast.Stmt, names ...string) statement {
	return c.scoped(func() statement {
		c.declare(names...)
		return c.sequence(stmts)
	})
}

// afterLoop is how a loop ends whose body has ended so: a break is done with.
func afterLoop(end outcome) outcome {
	if end == breaks {
		return goesOn
	}
	return end
}

// numberFor is a loop over numbers. The mending pass has seen to it that the
// bounds are numbers.
func (c *compiler) numberFor(s *ast.NumberForStmt) statement {
	bounds := c.expressions([]ast.Expr{s.Init, s.Limit, s.Step})
	slot := c.next
	body := c.loopBody(s.Stmts, s.Name)
	return func(a *activation) (outcome, *failure) {
		var numbers [3]float64
		for i, bound := range bounds {
			v, fault := bound(a)
			if fault != nil {
				return goesOn, fault
			}
			numbers[i] = float64(v.(lua.LNumber))
		}
		limit, step := numbers[1], numbers[2]
		// As Lua does it, which matters for numbers beyond 2^53.
		i := numbers[0] - step
		for {
			i += step
			if !(step > 0 && i <= limit || step <= 0 && i >= limit) {
				return goesOn, nil
			}
			a.slots[slot] = a.e.float(i)
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
		}
	}
}

// coerceBounds computes the bounds of a numeric for into three variables.
func (c *compiler) coerceBounds(s *ast.LocalAssignStmt, call *ast.FuncCallExpr) statement {
	bounds := c.expressions(call.Args)
	first, at := c.declare(s.Names...), c.site(call)
	return func(a *activation) (outcome, *failure) {
		for i, bound := range bounds {
			v, fault := bound(a)
			if fault != nil {
				return goesOn, fault
			}
			a.slots[first+i] = v
		}
		for i := range bounds {
			f, ok := toNumber(a.slots[first+i])
			if !ok {
				return goesOn, at.fail(errForBound, forBoundNames[i])
			}
			a.slots[first+i] = a.e.float(f)
		}
		return goesOn, nil
	}
}

// genericFor is a loop over ipairs.
func (c *compiler) genericFor(s *ast.GenericForStmt) statement {
	var call *ast.FuncCallExpr
	if len(s.Exprs) == 1 {
		call = c.callTo(c.r.e.sand.ipairs, s.Exprs[0])
	}
	if call == nil || len(call.Args) != 1 {
		c.refuse()
		return nil
	}
	listed, at := c.array(call.Args[0]), c.site(call)
	first := c.next
	body := c.loopBody(s.Stmts, s.Names...)
	names := len(s.Names)
	return func(a *activation) (outcome, *failure) {
		list, fault := listed(a)
		if fault == nil {
			fault = list.check(at)
		}
		if fault != nil {
			return goesOn, fault
		}
		for i := 1; ; i++ {
			v := list.at(a, i)
			if v == lua.LNil {
				return goesOn, nil
			}
			a.slots[first] = a.e.number(int64(i))
			for k := 1; k < names; k++ {
				a.slots[first+k], v = v, lua.LNil
			}
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
		}
	}
}

// tick counts a turn of a loop and ends the script if its host says so.
func (c *compiler) tick(call *ast.FuncCallExpr) statement {
	at := c.site(call)
	return func(a *activation) (outcome, *failure) {
		if text := a.e.countTick(); text != "" {
			return goesOn, at.raise(errorTable(a.e.main, text))
		}
		return goesOn, nil
	}
}
