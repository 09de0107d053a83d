package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// localFunction is a "local function" without parameters, which the script
// only calls, and only as a statement. Nothing can see two activations of it,
// so its variables have slots of their own in the activation of the script.
type localFunction struct {
	body statement // nil while it is being compiled
}

// function compiles "local function name()".
func (c *compiler) function(name string, x *ast.FunctionExpr) statement {
	if len(x.ParList.Names) > 0 || x.ParList.HasVargs {
		c.refuse()
	}
	fn := &localFunction{}
	c.scope = append(c.scope, variable{name: name, slot: -1, fn: fn})
	fn.body = c.block(x.Stmts)
	c.next = c.slots // whoever calls it may use all slots before this one
	return func(*activation) (outcome, *failure) { return goesOn, nil }
}

// callFunction compiles a call of a local function; not of one that calls
// itself.
func (c *compiler) callFunction(name string, call *ast.FuncCallExpr) statement {
	v := c.find(name)
	if v == nil || v.fn == nil || v.fn.body == nil || len(call.Args) > 0 {
		c.refuse()
		return nil
	}
	body := v.fn.body
	return func(a *activation) (outcome, *failure) {
		_, fault := body(a)
		a.result, a.replied = lua.LNil, false
		return goesOn, fault
	}
}
