package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// loopTick is the tick that the mending pass has put before all else in the body
// of a loop. The loop counts it itself.
type loopTick struct{ at *site }

// loopTick takes the tick from a body.
func (c *compiler) loopTick(stmts []ast.Stmt) (loopTick, []ast.Stmt) {
	first := stmts[0].(*ast.FuncCallStmt)
	return loopTick{c.site(first.Expr)}, stmts[1:]
}

// count counts the tick and ends the script if its host says so.
func (t loopTick) count(a *activation) *failure {
	if a.e.run.ticks++; uint(a.e.run.ticks)%ticksPerCheck == 0 {
		return t.ask(a)
	}
	return nil
}

func (t loopTick) ask(a *activation) *failure {
	if text := a.e.run.host.Limit(); text != "" {
		return t.at.raise(field(a.e.main, "err", lua.LString(text)))
	}
	return nil
}

func (c *compiler) while(s *ast.WhileStmt) statement {
	test := c.condition(s.Condition)
	tick, stmts := c.loopTick(s.Stmts)
	body := c.block(stmts)
	return func(a *activation) (outcome, *failure) {
		for {
			yes, fault := test(a)
			if fault != nil || !yes {
				return goesOn, fault
			}
			if fault := tick.count(a); fault != nil {
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
	tick, stmts := c.loopTick(s.Stmts)
	body := c.scoped(func() statement {
		body := c.sequence(stmts)
		test = c.condition(s.Condition)
		return body
	})
	return func(a *activation) (outcome, *failure) {
		for {
			if fault := tick.count(a); fault != nil {
				return goesOn, fault
			}
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

// numberFor is a loop over numbers, from, to and by these bounds.
func (c *compiler) numberFor(s *ast.NumberForStmt, bounds []ast.Expr, at *site) statement {
	first, last, step := c.bound(bounds[0]), c.bound(bounds[1]), c.bound(bounds[2])
	computedStep := step.compute
	slot := c.next
	tick, stmts := c.loopTick(s.Stmts)
	body := c.loopBody(stmts, s.Name)
	return func(a *activation) (outcome, *failure) {
		i, limit, step := first.constant, last.constant, step.constant
		var v1, v2, v3 lua.LValue
		var fault *failure
		if first.compute != nil {
			if i, v1, fault = first.compute(a); fault != nil {
				return goesOn, fault
			}
		}
		if last.compute != nil {
			if limit, v2, fault = last.compute(a); fault != nil {
				return goesOn, fault
			}
		}
		if computedStep != nil {
			if step, v3, fault = computedStep(a); fault != nil {
				return goesOn, fault
			}
		}
		if v1 != nil || v2 != nil || v3 != nil {
			n, fault := coerce([3]float64{i, limit, step}, [3]lua.LValue{v1, v2, v3}, at)
			if fault != nil {
				return goesOn, fault
			}
			i, limit, step = n[0], n[1], n[2]
		}
		// As Lua does it, which matters for numbers beyond 2^53.
		for i -= step; ; {
			i += step
			if !(step > 0 && i <= limit || step <= 0 && i >= limit) {
				return goesOn, nil
			}
			a.slots[slot] = a.e.float(i)
			if fault := tick.count(a); fault != nil {
				return goesOn, fault
			}
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
		}
	}
}

// bound is a bound of a loop: a constant, if compute is nil.
type bound struct {
	constant float64
	compute  numeric
}

func (c *compiler) bound(x ast.Expr) bound {
	switch x := x.(type) {
	case *ast.NumberExpr:
		return bound{constant: float64(literalNumber(x))}
	case *ast.UnaryMinusOpExpr:
		if n, ok := c.negative(x); ok {
			return bound{constant: float64(n)}
		}
	}
	return bound{compute: c.numeric(x)}
}

// coerce makes numbers of the bounds that are none, which stand in values. All
// have been computed before one is found to be no number.
func coerce(numbers [3]float64, values [3]lua.LValue, at *site) ([3]float64, *failure) {
	for i, v := range values {
		if v == nil {
			continue
		}
		f, ok := toNumber(v)
		if !ok {
			return numbers, at.fail(errForBound, forBoundNames[i])
		}
		numbers[i] = f
	}
	return numbers, nil
}

// coercedFor is the block that the mending pass has made of a loop whose bounds
// may be no numbers; nil if a block is none.
func (c *compiler) coercedFor(s *ast.DoBlockStmt) statement {
	if len(s.Stmts) != 2 {
		return nil
	}
	assign, ok := s.Stmts[0].(*ast.LocalAssignStmt)
	if !ok || len(assign.Exprs) != 1 {
		return nil
	}
	call := c.callTo(c.r.e.sand.forBounds, assign.Exprs[0])
	loop, ok := s.Stmts[1].(*ast.NumberForStmt)
	if call == nil || !ok {
		return nil
	}
	return c.numberFor(loop, call.Args, c.site(call))
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
	tick, stmts := c.loopTick(s.Stmts)
	body := c.loopBody(stmts, s.Names...)
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
			if isNil(v) {
				return goesOn, nil
			}
			a.slots[first] = a.e.number(int64(i))
			for k := 1; k < names; k++ {
				a.slots[first+k], v = v, lua.LNil
			}
			if fault := tick.count(a); fault != nil {
				return goesOn, fault
			}
			if end, fault := body(a); end != goesOn || fault != nil {
				return afterLoop(end), fault
			}
		}
	}
}

// tick is the tick of a function.
func (c *compiler) tick(call *ast.FuncCallExpr) statement {
	tick := loopTick{c.site(call)}
	return func(a *activation) (outcome, *failure) { return goesOn, tick.count(a) }
}
