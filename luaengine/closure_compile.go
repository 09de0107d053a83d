package luaengine

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// compiler makes closures of one chunk. What it does not know sets outside;
// the closures it has made until then are of no use.
type compiler struct {
	r       *rewriter
	names   []string // variables in scope; the index is the slot
	slots   int      // most slots in use at once
	outside bool
}

// declare gives variables their slots, of which it returns the first.
func (c *compiler) declare(names ...string) int {
	first := len(c.names)
	c.names = append(c.names, names...)
	c.slots = max(c.slots, len(c.names))
	return first
}

// slot finds a variable; -1 if there is no local one of that name.
func (c *compiler) slot(name string) int {
	for i := len(c.names) - 1; i >= 0; i-- {
		if c.names[i] == name {
			return i
		}
	}
	return -1
}

// refuse gives the script to gopher-lua.
func (c *compiler) refuse() { c.outside = true }

// constantFunction is the function that the rewriter has put in place of an
// expression; nil if it has not.
func (c *compiler) constantFunction(x ast.Expr) *lua.LFunction {
	s, ok := x.(*ast.StringExpr)
	if !ok {
		return nil
	}
	number, ok := strings.CutPrefix(s.Value, placeholder)
	if !ok {
		return nil
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		return nil
	}
	return c.r.fns[i]
}

// callTo is the call that x is, if it calls fn.
func (c *compiler) callTo(fn *lua.LFunction, x ast.Expr) *ast.FuncCallExpr {
	call, ok := x.(*ast.FuncCallExpr)
	if !ok || c.constantFunction(call.Func) != fn {
		return nil
	}
	return call
}

// argumentTable tells the tables KEYS and ARGV, which have no variable here.
func (c *compiler) argumentTable(x ast.Expr) (keys, ok bool) {
	id, ok := x.(*ast.IdentExpr)
	if !ok || c.slot(id.Value) >= 0 {
		return false, false
	}
	return id.Value == "KEYS", id.Value == "KEYS" || id.Value == "ARGV"
}

// site is a place of the script at which an operation may fail, with the names
// of its operands.
type site struct {
	node
	source string
}

// site is what the rewriter has noted under the line of an expression.
func (c *compiler) site(x ast.PositionHolder) *site {
	return &site{c.r.chunk.node(x.Line()), c.r.chunk.name}
}

// raise fails with a Lua value.
func (s *site) raise(v lua.LValue) *failure { return &failure{v, place{s.source, s.line}} }

// fail fails with a text that begins with the place, as Engine.fail does.
func (s *site) fail(format string, args ...any) *failure {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return s.raise(lua.LString(shortName(s.source) + ":" + strconv.Itoa(s.line) + ": " + text))
}

// typeError is the failure about operand o, whose value is v.
func (s *site) typeError(what string, o operand, v lua.LValue) *failure {
	return s.fail("%s", operandText(what, o, typeName(v)))
}

// typeArg is the failure about the n-th argument, v, of a called function.
func (s *site) typeArg(n int, want string, v lua.LValue) *failure {
	return s.fail("bad argument #%d to '%s' (%s expected, got %s)", n, s.a.name, want, typeName(v))
}
