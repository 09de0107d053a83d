package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// array is an argument of which a function reads the elements: KEYS or ARGV, or
// any value, which should be a table.
type array struct {
	words [][]byte   // KEYS or ARGV
	value lua.LValue // nil: words is meant
}

// array compiles such an argument.
func (c *compiler) array(x ast.Expr) func(a *activation) (array, *failure) {
	if keys, ok := c.argumentTable(x); ok {
		return func(a *activation) (array, *failure) { return array{words: a.given(keys)}, nil }
	}
	value := c.expression(x)
	return func(a *activation) (array, *failure) {
		v, fault := value(a)
		return array{value: v}, fault
	}
}

// check is the failure of a function whose first argument is no table.
func (l array) check(at *site) *failure {
	if _, ok := l.value.(*lua.LTable); ok || l.value == nil {
		return nil
	}
	return at.typeArg(1, "table", l.value)
}

// at is the element of index i, from 1.
func (l array) at(a *activation, i int) lua.LValue {
	switch {
	case l.value != nil:
		return element(l.value.(*lua.LTable), i)
	case i < 1 || i > len(l.words):
		return lua.LNil
	}
	return a.e.run.boxes.bytes(l.words[i-1])
}

func (l array) length() int {
	if l.value != nil {
		return length(l.value.(*lua.LTable))
	}
	return len(l.words)
}

// unpack is unpack(array, first, last) as the last argument of redis.call.
func (c *compiler) unpack(call *ast.FuncCallExpr) pusher {
	if len(call.Args) == 0 || len(call.Args) > 3 {
		c.refuse()
		return nil
	}
	listed, at := c.array(call.Args[0]), c.site(call)
	bounds := c.expressions(call.Args[1:])
	return func(a *activation) (bool, *failure) {
		list, fault := listed(a)
		if fault != nil {
			return false, fault
		}
		values, fault := a.operands(bounds)
		if fault != nil {
			return false, fault
		}
		first, last, fault := unpackBounds(list, values, at)
		a.done(values)
		if fault != nil {
			return false, fault
		}
		good := true
		for i := first; i <= last; i++ {
			good = a.e.run.push(list.at(a, i)) && good
		}
		return good, nil
	}
}

// unpackBounds checks the arguments of unpack: the array and the bounds given.
func unpackBounds(list array, bounds []lua.LValue, at *site) (first, last int, fault *failure) {
	if fault := list.check(at); fault != nil {
		return 0, 0, fault
	}
	limits := [2]int{1, list.length()}
	for i, v := range bounds {
		if isNil(v) {
			continue
		}
		f, ok := toNumber(v)
		if !ok {
			return 0, 0, at.typeArg(i+2, "number", v)
		}
		limits[i] = toInt(f)
	}
	first, last = limits[0], limits[1]
	if tooMany(first, last, len(bounds)+1) {
		return 0, 0, at.fail(errUnpack)
	}
	return first, last, nil
}
