package luaengine

import (
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// assign rewrites an assignment. gopher-lua puts a value into its variable as soon
// as it is computed, where the other values, and the rest of an "and" or "or", may
// still read what was there before: such assignments are taken apart.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	places := make([]ast.Expr, 0, 2*len(s.Lhs)) // never moves: the fast pass replaces elements
	names := make([]node, len(s.Lhs))
	for i := range s.Lhs {
		switch lhs := s.Lhs[i].(type) {
		case *ast.IdentExpr:
			if r.find(lhs.Value) == inGlobals {
				r.global(lhs.Value, lhs.Line())
			}
		case *ast.AttrGetExpr:
			names[i].a = r.describe(lhs.Object)
			object, key := &lhs.Object, &lhs.Key
			if later := s.Lhs[i+1:]; len(s.Lhs) > 1 {
				object, key = r.before(&places, object, later), r.before(&places, key, later)
			}
			// Not through expr as a whole: writing T[k] is no read of T.
			r.expr(object)
			r.held(object)
			r.expr(key)
		}
	}
	r.exprs(s.Rhs)
	for i, lhs := range s.Lhs {
		if id, ok := lhs.(*ast.IdentExpr); !ok || r.find(id.Value) == inGlobals {
			r.place(lhs, names[i])
		}
	}
	if len(s.Lhs) > 1 || isVariable(s.Lhs[0]) && (len(s.Rhs) > 1 || endsEarly(s.Rhs[0]) || r.clobbers(s)) {
		return inSteps(s, places)
	}
	return s
}

// held makes a literal whose field is set the result of a call: gopher-lua takes the
// number of the literal for that of a register, and sets the field of what is there.
func (r *rewriter) held(object *ast.Expr) {
	switch x := (*object).(type) {
	case *ast.NumberExpr, *ast.StringExpr:
		call := &ast.FuncCallExpr{Func: r.constant(r.e.sand.concat, x.Line()), Args: []ast.Expr{x}, AdjustRet: true}
		call.SetLine(x.Line())
		*object = call
	}
}

// clobbers tells the assignments to a parameter of a call that is adjusted to one
// value, as many operators have become: gopher-lua puts the called function into the
// last parameter, where the call's arguments may still read what that was.
func (r *rewriter) clobbers(s *ast.AssignStmt) bool {
	call, ok := s.Rhs[0].(*ast.FuncCallExpr)
	return ok && call.AdjustRet && r.level > 0 && r.find(s.Lhs[0].(*ast.IdentExpr).Value) == byLocal
}

func isVariable(x ast.Expr) bool {
	_, ok := x.(*ast.IdentExpr)
	return ok
}

// endsEarly tells the values that gopher-lua puts into their variable before all is
// done: an "and" or "or" may go on, and "(...)" empties the variables behind.
func endsEarly(x ast.Expr) bool {
	switch x.(type) {
	case *ast.LogicalOpExpr, *ast.Comma3Expr:
		return true
	}
	return false
}

// before has *x, the object or the key of one of several targets, computed before
// the values; it returns where the expression then is. Like Lua 5.1 it leaves a
// local variable alone that no later target sets.
// Source: Lua 5.1, check_conflict.
func (r *rewriter) before(places *[]ast.Expr, x *ast.Expr, later []ast.Expr) *ast.Expr {
	if isConstant(*x) {
		return x
	}
	if id, ok := (*x).(*ast.IdentExpr); ok && r.find(id.Value) == byLocal {
		sets := func(target ast.Expr) bool { t, ok := target.(*ast.IdentExpr); return ok && t.Value == id.Value }
		if !slices.ContainsFunc(later, sets) {
			return x
		}
	}
	*places = append(*places, *x)
	at := len(*places) - 1
	*x = numbered("place", at, (*x).Line())
	return &(*places)[at]
}

func isConstant(x ast.Expr) bool {
	switch x.(type) {
	case *ast.StringExpr, *ast.NumberExpr, *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr:
		return true
	}
	return false
}

// inSteps is an assignment by way of other variables: first come the places, then
// all values, and then the targets, the last one first, as in Lua.
func inSteps(s *ast.AssignStmt, places []ast.Expr) ast.Stmt {
	do := &ast.DoBlockStmt{}
	do.SetLine(s.Line())
	do.SetLastLine(s.LastLine())
	set := func(kind string, n int, list []ast.Expr) {
		local := &ast.LocalAssignStmt{Exprs: list}
		local.SetLine(s.Line())
		for i := range n {
			local.Names = append(local.Names, numbered(kind, i, 0).Value)
		}
		do.Stmts = append(do.Stmts, local)
	}
	if len(places) > 0 {
		set("place", len(places), places)
	}
	set("value", len(s.Lhs), s.Rhs)
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		one := &ast.AssignStmt{Lhs: s.Lhs[i : i+1], Rhs: []ast.Expr{numbered("value", i, s.Line())}}
		one.SetLine(s.Line())
		do.Stmts = append(do.Stmts, one)
	}
	return do
}

// numbered is a variable that no script can name.
func numbered(kind string, i, line int) *ast.IdentExpr {
	x := &ast.IdentExpr{Value: kind + " " + strconv.Itoa(i+1)}
	x.SetLine(line)
	return x
}
