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
	scope   []variable // visible here, innermost last
	next    int        // the first free slot
	slots   int        // most slots in use at once
	outside bool
}

// variable is a local variable or a local function.
type variable struct {
	name string
	slot int            // -1 for a function
	fn   *localFunction // nil for others
}

// declare gives variables their slots, of which it returns the first.
func (c *compiler) declare(names ...string) int {
	first := c.next
	for i, name := range names {
		c.scope = append(c.scope, variable{name: name, slot: first + i})
	}
	c.next += len(names)
	c.slots = max(c.slots, c.next)
	return first
}

// scoped compiles with variables that nobody sees later.
func (c *compiler) scoped(compile func() statement) statement {
	visible, next := len(c.scope), c.next
	s := compile()
	c.scope, c.next = c.scope[:visible], next
	return s
}

// find finds a variable; nil if there is no local one of that name.
func (c *compiler) find(name string) *variable {
	for i := len(c.scope) - 1; i >= 0; i-- {
		if c.scope[i].name == name {
			return &c.scope[i]
		}
	}
	return nil
}

// local is the slot of the local variable that x is.
func (c *compiler) local(x ast.Expr) (slot int, ok bool) {
	if id, isName := x.(*ast.IdentExpr); isName {
		if v := c.find(id.Value); v != nil && v.fn == nil {
			return v.slot, true
		}
	}
	return 0, false
}

// parameter is the literal KEYS[n] or ARGV[n] that x was before the fast pass.
func (c *compiler) parameter(x ast.Expr) (param, bool) {
	id, ok := x.(*ast.IdentExpr)
	if !ok {
		return param{}, false
	}
	for _, p := range c.r.chunk.params {
		if p.name() == id.Value {
			return p, true
		}
	}
	return param{}, false
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
	fn, _ := c.r.fns[i].(*lua.LFunction)
	return fn
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
	if !ok || c.find(id.Value) != nil {
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
	return s.raise(lua.LString(shortName(s.source, runtimeNameSize) + ":" + strconv.Itoa(s.line) + ": " + text))
}

// typeError is the failure about operand o, whose value is v.
func (s *site) typeError(what string, o operand, v lua.LValue) *failure {
	return s.fail("%s", operandText(what, o, typeName(v)))
}

// typeArg is the failure about the n-th argument, v, of a called function.
func (s *site) typeArg(n int, want string, v lua.LValue) *failure {
	return s.fail("bad argument #%d to '%s' (%s expected, got %s)", n, s.a.name, want, typeName(v))
}
