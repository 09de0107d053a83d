package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// maxElements is how many elements gopher-lua's constructor sets at once. With
// more, or with keys among them, the order of its steps can be seen. It counts its
// steps to maxSteps, and then sets the first elements again.
const (
	maxElements = 50
	maxSteps    = 511
)

// table rewrites a constructor. A call behind a key is adjusted to one value, since
// gopher-lua takes all results of the last field's call for elements, key or not.
func (r *rewriter) table(slot *ast.Expr, x *ast.TableExpr) {
	elements := 0
	for _, f := range x.Fields {
		if f.Key == nil {
			elements++
		} else {
			r.expr(&f.Key)
			f.Value = one(f.Value)
		}
		r.expr(&f.Value)
	}
	n := len(x.Fields)
	if elements > maxSteps*maxElements ||
		elements >= maxElements && (elements < n || hasMany(x.Fields[n-1].Value)) {
		r.keyed(slot, x)
	}
}

// hasMany tells expressions of any number of values.
func hasMany(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.FuncCallExpr:
		return !x.AdjustRet
	case *ast.Comma3Expr:
		return !x.AdjustRet
	}
	return false
}

// keyed gives each element of a long constructor its key, and leaves the values of
// its last call, if it ends with one, to a function: where fields with keys, or such
// values, come behind a full set of maxElements, gopher-lua sets the first ones again.
func (r *rewriter) keyed(slot *ast.Expr, x *ast.TableExpr) {
	elements, last := 0, len(x.Fields)-1
	for i, f := range x.Fields {
		if f.Key == nil && (i < last || !hasMany(f.Value)) {
			elements++
			f.Key, f.Value = literalOf(float64(elements), x.Line()), one(f.Value)
			r.literal(&f.Key)
		}
	}
	if f := x.Fields[last]; f.Key == nil {
		x.Fields = x.Fields[:last]
		call := &ast.FuncCallExpr{
			Func:      r.constant(r.e.sand.extend, x.Line()),
			Args:      []ast.Expr{x, literalOf(float64(elements), x.Line()), f.Value},
			AdjustRet: true,
		}
		call.SetLine(x.Line())
		*slot = call
	}
}

// extend puts values behind the n elements of a table.
func (e *Engine) extend(L *lua.LState) int {
	t, n := L.Get(1).(*lua.LTable), int(L.Get(2).(lua.LNumber))
	for i := 3; i <= L.GetTop(); i++ {
		t.RawSetInt(n+i-2, L.Get(i))
	}
	L.Push(t)
	return 1
}
