package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// index computes an index of KEYS or ARGV; 0 if the value is none.
type index func(a *activation) (int, *failure)

// index compiles an index. Those that scripts have in loops, such as 2 * i - 1,
// need no Lua value.
func (c *compiler) index(x ast.Expr) index {
	value := c.expression(x)
	l, isLinear := c.linear(x)
	return func(a *activation) (int, *failure) {
		if isLinear {
			if i, ok := l.at(a); ok {
				return i, nil
			}
		}
		v, fault := value(a)
		n, ok := v.(lua.LNumber)
		if fault != nil || !ok {
			return 0, fault
		}
		return whole(float64(n)), nil
	}
}

// whole is f if that is an index, else 0.
func whole(f float64) int {
	if i := int(f); float64(i) == f {
		return i
	}
	return 0
}

// linear is factor * variable + term, of whole numbers.
type linear struct{ slot, factor, term int }

// smallFactor is what the factor and the term of a linear stay below, so that its
// values of small numbers are exact.
const smallFactor = 1 << 20

// at is the value as an index; false if the variable is no small whole number.
func (l *linear) at(a *activation) (int, bool) {
	n, ok := a.slots[l.slot].(lua.LNumber)
	i := int(int32(n))
	return l.factor*i + l.term, ok && lua.LNumber(i) == n
}

// linear tells such expressions from others.
func (c *compiler) linear(x ast.Expr) (l linear, ok bool) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		if v := c.find(x.Value); v != nil && v.fn == nil {
			return linear{v.slot, 1, 0}, true
		}
	case *ast.FuncCallExpr:
		if c.constantFunction(x.Func) != c.r.e.sand.product {
			return l, false
		}
		if factor, isNumber := x.Args[0].(*ast.NumberExpr); isNumber {
			l, ok = c.linear(x.Args[1])
			isVariable := l.factor == 1 && l.term == 0
			l.factor = whole(float64(literalNumber(factor)))
			return l, ok && isVariable && l.isSmall()
		}
	case *ast.ArithmeticOpExpr:
		term, isNumber := x.Rhs.(*ast.NumberExpr)
		if l, ok = c.linear(x.Lhs); !ok || !isNumber || l.term != 0 {
			return l, false
		}
		l.term = whole(float64(literalNumber(term)))
		isWhole := l.term != 0
		if x.Operator == "-" {
			l.term = -l.term
		}
		return l, isWhole && l.isSmall() && (x.Operator == "+" || x.Operator == "-")
	}
	return l, false
}

// isSmall reports whether the factor, which is not 0, and the term are small.
func (l linear) isSmall() bool {
	return l.factor != 0 && max(l.factor, -l.factor, l.term, -l.term) < smallFactor
}
