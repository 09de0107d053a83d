package luaengine

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

func (r *rewriter) exprs(list []ast.Expr) {
	for i := range list {
		r.expr(&list[i])
	}
}

// expr rewrites the expression at slot.
func (r *rewriter) expr(slot *ast.Expr) {
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
			r.global(x.Value, line)
		}
	case *ast.AttrGetExpr:
		r.attrGet(slot, x)
	case *ast.TableExpr:
		r.table(slot, x)
	case *ast.FuncCallExpr:
		r.call(x)
	case *ast.LogicalOpExpr:
		r.fork(line)
		r.left(&x.Lhs)
		side := settled(x)
		if side != x.Rhs {
			r.expr(&x.Rhs)
		}
		if side != nil {
			*slot = side
			r.expr(slot)
		}
	case *ast.RelationalOpExpr:
		r.fork(line)
		r.operator(x, node{}, &x.Lhs, &x.Rhs)
	case *ast.StringConcatOpExpr:
		r.concat(slot, x)
	case *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		r.arithmetic(slot)
	case *ast.UnaryNotOpExpr:
		r.expr(&x.Expr)
	case *ast.UnaryLenOpExpr:
		r.harmless(x.Expr)
		r.operator(x, node{a: r.describe(x.Expr)}, &x.Expr)
	case *ast.FunctionExpr:
		r.function(x, false)
	}
}

// arithmetic rewrites an arithmetic operator.
func (r *rewriter) arithmetic(slot *ast.Expr) {
	f, ok := folded(*slot, foldedRow)
	if ok && !numeral(*slot) {
		*slot = literalOf(f, (*slot).Line())
		r.expr(slot)
		return
	}
	switch x := (*slot).(type) {
	case *ast.ArithmeticOpExpr:
		n := node{a: r.describe(x.Lhs), b: r.describe(x.Rhs)}
		if op := r.operationOf(x); op != nil {
			r.operation(slot, x, n, op)
			return
		}
		r.operator(x, n, &x.Lhs, &x.Rhs)
	case *ast.UnaryMinusOpExpr:
		r.operator(x, node{a: r.describe(x.Expr)}, &x.Expr)
	}
}

// settled is the side of an "and" or "or" that a constant on its left chooses, or nil:
// behind such a constant gopher-lua may jump to an instruction that it takes away.
// The right side is not rewritten yet: others keep the place of what is.
func settled(x *ast.LogicalOpExpr) ast.Expr {
	truth := true
	switch x.Lhs.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		truth = false
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
	default:
		return nil
	}
	if truth == (x.Operator == "or") {
		return x.Lhs
	}
	return one(x.Rhs)
}

// operator rewrites the operands and places the operator.
func (r *rewriter) operator(x ast.Expr, n node, operands ...*ast.Expr) {
	r.nested(operands...)
	r.place(x, n)
}

// operationOf is the function that takes the place of an operator, or nil.
// gopher-lua has another result of % for infinities and large quotients, other
// bits for what is no number, and loses the sign of a zero. Of sums in a row it looks
// for constants in all, each time it compiles one, which functions in between end.
func (r *rewriter) operationOf(x *ast.ArithmeticOpExpr) *lua.LFunction {
	s := &r.e.sand
	switch row := r.row % foldedRow; {
	case x.Operator != "+" && x.Operator != "-", row == foldedRow-1:
	case neverMinusZero(x), r.row >= signedRow:
		return nil
	}
	switch x.Operator {
	case "+":
		return s.sum
	case "-":
		return s.difference
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

// neverMinusZero tells a sum that is not of -0 and -0, and a difference that is not
// of -0 and 0: those of a literal and of a length.
func neverMinusZero(x *ast.ArithmeticOpExpr) bool {
	for _, operand := range []ast.Expr{x.Lhs, x.Rhs} {
		if numeral(operand) && !zero(operand) {
			return true
		}
	}
	_, first := x.Lhs.(*ast.UnaryLenOpExpr)
	_, second := x.Rhs.(*ast.UnaryLenOpExpr)
	return first || second && x.Operator == "+"
}

// folded is the number that an expression of literals alone is, of at most so many
// operations in a row: Lua's compiler computes it, unless it divides by zero or the
// result is no number. Of what it computes, zeros are not among the constants of
// the function, of which the first decides the sign of all.
// Source: Lua 5.1, constfolding.
func folded(x ast.Expr, row int) (f float64, ok bool) {
	switch x := x.(type) {
	case *ast.NumberExpr:
		return float64(literalNumber(x)), true
	case *ast.UnaryMinusOpExpr:
		if row > 0 {
			f, ok = folded(x.Expr, row-1)
		}
		return -f, ok
	case *ast.ArithmeticOpExpr:
		if row == 0 {
			return 0, false
		}
		right, okRight := folded(x.Rhs, row-1)
		if !okRight || right == 0 && (x.Operator == "/" || x.Operator == "%") {
			return 0, false
		}
		left, okLeft := folded(x.Lhs, row-1)
		f = arithmetic[events[x.Operator]](left, right)
		return f, okLeft && f == f
	}
	return 0, false
}

// literalOf is a number as an expression.
func literalOf(f float64, line int) ast.Expr {
	number := &ast.NumberExpr{Value: "1e999"} // infinite
	if abs := math.Abs(f); !math.IsInf(abs, 0) {
		number.Value = strconv.FormatFloat(abs, 'g', -1, 64)
	}
	number.SetLine(line)
	if !math.Signbit(f) {
		return number
	}
	minus := &ast.UnaryMinusOpExpr{Expr: number}
	minus.SetLine(line)
	return minus
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

// operation makes an operator a call of the sandbox. A zero on the left comes behind
// the right side: of 0 and -0 the first in a function stands for both.
// Source: Lua 5.1, codearith and addk.
func (r *rewriter) operation(slot *ast.Expr, x *ast.ArithmeticOpExpr, n node, op *lua.LFunction) {
	call := &ast.FuncCallExpr{AdjustRet: true, Args: []ast.Expr{one(x.Lhs), one(x.Rhs)}}
	left, right := &call.Args[0], &call.Args[1]
	if zero(x.Lhs) || r.readLast(x.Lhs, x.Rhs) {
		op = r.e.sand.reversed[op]
		*left, *right = *right, *left
		left, right = right, left
	}
	r.nested(left, right)
	call.Func = r.constant(op, x.Line())
	call.SetLine(x.Line())
	r.place(call, n)
	*slot = call
}

// readLast reports whether a left operand is a local variable that the right one may
// set, by a function that it calls: Lua's operators read such a variable last.
func (r *rewriter) readLast(left, right ast.Expr) bool {
	id, ok := left.(*ast.IdentExpr)
	if !ok || !r.calls || isConstant(right) || isVariable(right) {
		return false
	}
	return r.find(id.Value) == byLocal
}

// nested rewrites operands: Lua's parser bounds how deep the last one nests.
func (r *rewriter) nested(operands ...*ast.Expr) {
	for i, operand := range operands {
		if i < len(operands)-1 {
			r.left(operand)
			continue
		}
		r.expr(operand)
	}
}

// left rewrites the expression that another one begins with, of which gopher-lua's
// compiler must have enough stack for all.
func (r *rewriter) left(x *ast.Expr) {
	if r.row++; r.row > maxRow {
		panic(syntaxFault{(*x).Line(), "chunk has too many operators in a row"})
	}
	defer func() { r.row-- }()
	r.expr(x)
}

func (r *rewriter) attrGet(slot *ast.Expr, x *ast.AttrGetExpr) {
	n := node{a: r.describe(x.Object)}
	r.harmless(x.Object)
	if id, ok := x.Object.(*ast.IdentExpr); ok && r.find(id.Value) == inGlobals {
		r.fast.literal(slot, id.Value, x.Key)
	}
	r.left(&x.Object)
	r.expr(&x.Key)
	r.place(x, n)
}

func (r *rewriter) call(x *ast.FuncCallExpr) {
	var n node
	if x.Func != nil {
		n.a = r.describe(x.Func)
		r.callee(x, r.calleeName(x.Func))
		r.left(&x.Func)
	} else {
		n.a = operand{byMethod, x.Method}
		r.named(x.Method, x.Line())
		n.b = r.describe(x.Receiver)
		r.left(&x.Receiver)
	}
	r.place(x, n)
	r.exprs(x.Args)
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
func (r *rewriter) concat(slot *ast.Expr, x *ast.StringConcatOpExpr) {
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
	for i := range join.Args {
		n.chain = append(n.chain, r.describe(join.Args[i]))
		r.expr(&join.Args[i])
	}
	join.Func = r.constant(r.e.sand.concat, x.Line())
	join.SetLine(x.Line())
	r.place(join, n)
	*slot = join
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
