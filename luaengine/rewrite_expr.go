package luaengine

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// exprs rewrites a list of expressions and returns the last line they reach.
func (r *rewriter) exprs(list []ast.Expr) int {
	last := 0
	for i := range list {
		last = max(last, r.expr(&list[i]))
	}
	return last
}

// expr rewrites the expression at slot and returns the last line it reaches,
// which is where Lua 5.1 says that an operator failed.
func (r *rewriter) expr(slot *ast.Expr) int {
	line := (*slot).Line()
	switch x := (*slot).(type) {
	case *ast.NumberExpr:
		x.Value = decimal(x.Value, line)
		r.literal(slot)
	case *ast.StringExpr:
		if strings.HasPrefix(x.Value, placeholder) {
			*slot = apart(x)
		} else {
			r.literal(slot)
		}
	case *ast.Comma3Expr:
		r.dots = r.dots || r.level == 0
	case *ast.IdentExpr:
		if r.find(x.Value) == inGlobals {
			r.fast.mention(x.Value)
		}
	case *ast.AttrGetExpr:
		return r.attrGet(slot, x)
	case *ast.TableExpr:
		return r.table(slot, x)
	case *ast.FuncCallExpr:
		return r.call(x)
	case *ast.LogicalOpExpr:
		return r.nested(line, &x.Lhs, &x.Rhs)
	case *ast.RelationalOpExpr:
		return r.operator(x, node{}, &x.Lhs, &x.Rhs)
	case *ast.StringConcatOpExpr:
		return r.concat(slot, x)
	case *ast.ArithmeticOpExpr:
		n := node{a: r.describe(x.Lhs), b: r.describe(x.Rhs)}
		if op := r.e.sand.operationOf(x.Operator); op != nil && !folded(x) {
			return r.operation(slot, x, n, op)
		}
		return r.operator(x, n, &x.Lhs, &x.Rhs)
	case *ast.UnaryMinusOpExpr:
		return r.operator(x, node{a: r.describe(x.Expr)}, &x.Expr)
	case *ast.UnaryNotOpExpr:
		return r.nested(line, &x.Expr)
	case *ast.UnaryLenOpExpr:
		r.harmless(x.Expr)
		return r.operator(x, node{a: r.describe(x.Expr)}, &x.Expr)
	case *ast.FunctionExpr:
		r.function(x, false)
	}
	return line
}

// operator rewrites the operands and places the operator at their last line.
func (r *rewriter) operator(x ast.Expr, n node, operands ...*ast.Expr) int {
	line := r.nested(x.Line(), operands...)
	r.place(x, line, n)
	return line
}

// operationOf is the function that takes the place of an operator, or nil.
// gopher-lua has another result of % for infinities and large quotients, other
// bits for what is no number, and loses the sign of a zero.
func (s *sandbox) operationOf(operator string) *lua.LFunction {
	switch operator {
	case "%":
		return s.modulo
	case "^":
		return s.power
	case "*":
		return s.product
	case "/":
		return s.quotient
	}
	return nil
}

// folded tells a product or quotient of two literals, which the compiler
// computes, as Lua's does: whether a zero keeps its sign then depends on the
// other literals of the function. Lua leaves a division by zero to the machine.
func folded(x *ast.ArithmeticOpExpr) bool {
	if !numeral(x.Lhs) || !numeral(x.Rhs) {
		return false
	}
	return x.Operator == "*" || x.Operator == "/" && !zero(x.Rhs)
}

// zero tells a literal zero, with a sign or without.
func zero(x ast.Expr) bool {
	if minus, ok := x.(*ast.UnaryMinusOpExpr); ok {
		x = minus.Expr
	}
	number, ok := x.(*ast.NumberExpr)
	if !ok {
		return false
	}
	f, _ := parseNumber(number.Value)
	return f == 0
}

// operation makes an operator a call of the sandbox.
func (r *rewriter) operation(slot *ast.Expr, x *ast.ArithmeticOpExpr, n node, op *lua.LFunction) int {
	call := &ast.FuncCallExpr{AdjustRet: true, Args: []ast.Expr{one(x.Lhs), one(x.Rhs)}}
	line := r.nested(x.Line(), &call.Args[0], &call.Args[1])
	call.Func = r.constant(op, line)
	r.place(call, line, n)
	*slot = call
	return line
}

// nested rewrites operands. Only the last one counts as a syntax level, as in
// Lua, whose parser recurses on the right.
func (r *rewriter) nested(line int, operands ...*ast.Expr) int {
	for i, operand := range operands {
		if i < len(operands)-1 {
			line = max(line, r.expr(operand))
			continue
		}
		r.enter(line)
		line = max(line, r.expr(operand))
		r.leave()
	}
	return line
}

func (r *rewriter) attrGet(slot *ast.Expr, x *ast.AttrGetExpr) int {
	n := node{a: r.describe(x.Object)}
	r.harmless(x.Object)
	if id, ok := x.Object.(*ast.IdentExpr); ok && r.find(id.Value) == inGlobals {
		r.fast.literal(slot, id.Value, x.Key)
	}
	line := max(r.expr(&x.Object), r.nested(x.Line(), &x.Key))
	r.place(x, line, n)
	return line
}

// call rewrites a call; its line is that of the parenthesis, or near it.
func (r *rewriter) call(x *ast.FuncCallExpr) int {
	r.enter(x.Line())
	defer r.leave()
	var n node
	line := x.Line()
	if x.Func != nil {
		n.a = r.describe(x.Func)
		r.callee(x, r.calleeName(x.Func))
		line = max(line, r.expr(&x.Func))
	} else {
		n.a = operand{byMethod, x.Method}
		n.b = r.describe(x.Receiver)
		line = max(line, r.expr(&x.Receiver))
	}
	r.place(x, line, n)
	return max(line, r.exprs(x.Args))
}

// calleeName is "name" or "library.name" for a call of a global function.
func (r *rewriter) calleeName(fn ast.Expr) string {
	switch fn := fn.(type) {
	case *ast.IdentExpr:
		if r.find(fn.Value) == inGlobals {
			return fn.Value
		}
	case *ast.AttrGetExpr:
		object, ok := fn.Object.(*ast.IdentExpr)
		key, literal := fn.Key.(*ast.StringExpr)
		if ok && literal && r.find(object.Value) == inGlobals {
			return object.Value + "." + key.Value
		}
	}
	return ""
}

// concat makes a chain a..b..c a call of the sandbox, since gopher-lua writes
// numbers in its own way.
func (r *rewriter) concat(slot *ast.Expr, x *ast.StringConcatOpExpr) int {
	n := node{}
	join := &ast.FuncCallExpr{AdjustRet: true}
	for {
		join.Args = append(join.Args, one(x.Lhs))
		next, ok := x.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		x = next
	}
	join.Args = append(join.Args, one(x.Rhs))
	line, depth := x.Line(), r.depth
	for i := range join.Args {
		n.chain = append(n.chain, r.describe(join.Args[i]))
		line = max(line, r.expr(&join.Args[i]))
		r.enter(line)
	}
	r.depth = depth
	join.Func = r.constant(r.e.sand.concat, line)
	r.place(join, line, n)
	*slot = join
	return line
}

// decimal spells a number so that gopher-lua reads what Lua 5.1 would: it
// takes a leading zero for octal.
func decimal(text string, line int) string {
	f, ok := parseNumber(text)
	if !ok {
		panic(syntaxFault{line, "malformed number near '" + text + "'"})
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	if math.IsInf(f, 0) {
		return "inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// apart spells a string that looks like a placeholder as a concatenation.
func apart(x *ast.StringExpr) ast.Expr {
	head, tail := &ast.StringExpr{Value: x.Value[:1]}, &ast.StringExpr{Value: x.Value[1:]}
	whole := &ast.StringConcatOpExpr{Lhs: head, Rhs: tail}
	for _, e := range []ast.Expr{head, tail, whole} {
		e.SetLine(x.Line())
	}
	return whole
}
