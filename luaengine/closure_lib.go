package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// builtin is a library function, or an operator that the mending pass has made
// a call of, with as many arguments as closures know.
type builtin struct {
	least, most int
	build       func(args []expression, at *site) expression
	number      func(args []numeric, at *site) numeric // instead of build: the result is mostly a number
}

// procedure compiles a call of a library function as a statement.
type procedure func(c *compiler, call *ast.FuncCallExpr) statement

// manyArguments is more than a call can have.
const manyArguments = 1 << 16

// openClosures notes the functions that closures know.
func (s *sandbox) openClosures() {
	named := func(name string) *lua.LFunction { return s.function(name).(*lua.LFunction) }
	s.ipairs, s.unpack = named("ipairs"), named("unpack")
	s.errorReply, s.statusReply = named("redis.error_reply"), named("redis.status_reply")
	s.commandOf[named("redis.call")] = &command{handle: NoCommand}
	s.commandOf[named("redis.pcall")] = &command{handle: NoCommand, protect: true}
	s.tonumber = named("tonumber")
	s.builtins = map[*lua.LFunction]builtin{
		s.concat:                    {least: 2, most: manyArguments, build: concatenation},
		s.tonumber:                  {least: 1, most: 1, number: toNumberCall},
		named("tostring"):           {least: 1, most: 1, build: toStringCall},
		named("type"):               {least: 1, most: 1, build: typeCall},
		named("math.max"):           {least: 1, most: manyArguments, number: maxCall},
		named("redis.error_reply"):  {least: 1, most: 1, build: replyCall("err")},
		named("redis.status_reply"): {least: 1, most: 1, build: replyCall("ok")},
	}
	for event, op := range s.operators() { //tidy:unordered each is an entry of its own
		s.builtins[op] = builtin{least: 2, most: 2, number: operation(event)}
		s.builtins[s.reversed[op]] = builtin{least: 2, most: 2, number: reversedOperation(event)}
	}
	s.procedures = map[*lua.LFunction]procedure{
		named("table.insert"): (*compiler).insert,
		named("assert"):       (*compiler).assert,
	}
}

// operands computes arguments onto the stack. done takes them off.
func (a *activation) operands(args []expression) ([]lua.LValue, *failure) {
	mark := len(a.stack)
	for _, arg := range args {
		v, fault := arg(a)
		if fault != nil {
			return nil, fault
		}
		a.stack = append(a.stack, v)
	}
	return a.stack[mark:], nil
}

func (a *activation) done(values []lua.LValue) {
	clear(values)
	a.stack = a.stack[:len(a.stack)-len(values)]
}

// concatenation is a chain of the operator "..".
func concatenation(args []expression, at *site) expression {
	return func(a *activation) (lua.LValue, *failure) {
		values, fault := a.operands(args)
		if fault != nil {
			return nil, fault
		}
		if i := notText(values); i >= 0 {
			return nil, at.typeError("concatenate", at.chain[i], values[i])
		}
		text, ok := a.e.run.joined(values)
		if !ok {
			return nil, at.raise(lua.LString(errMemory))
		}
		if s, isLong := text.(lua.LString); isLong {
			if why := a.e.countString(len(s)); why != "" {
				return nil, at.raise(field(a.e.main, "err", lua.LString(why)))
			}
		}
		a.done(values)
		return text, nil
	}
}

// notText finds the operand that a chain of ".." fails at, -1 if it does not.
// Lua goes from the right, two at a time, and blames the left one of two.
func notText(values []lua.LValue) int {
	for i := len(values) - 1; i >= 0; i-- {
		if isText(values[i]) {
			continue
		}
		if i == len(values)-1 && !isText(values[i-1]) {
			return i - 1
		}
		return i
	}
	return -1
}

func toStringCall(args []expression, _ *site) expression {
	value := args[0]
	return func(a *activation) (lua.LValue, *failure) {
		v, fault := value(a)
		if fault != nil {
			return nil, fault
		}
		if !isText(v) {
			return lua.LString(tostring(v)), nil
		}
		text, _ := a.e.run.joined([]lua.LValue{v})
		return text, nil
	}
}

func typeCall(args []expression, _ *site) expression {
	value := args[0]
	return func(a *activation) (lua.LValue, *failure) {
		v, fault := value(a)
		if fault != nil {
			return nil, fault
		}
		return a.e.sand.typeNames[v.Type()], nil
	}
}

// replyCall is redis.error_reply or redis.status_reply.
func replyCall(field string) func(args []expression, at *site) expression {
	return func(args []expression, _ *site) expression {
		value := args[0]
		return func(a *activation) (lua.LValue, *failure) {
			v, fault := value(a)
			if fault != nil {
				return nil, fault
			}
			return replyTable(a.e.main, field, v), nil
		}
	}
}

// insert is table.insert(table, value).
func (c *compiler) insert(call *ast.FuncCallExpr) statement {
	if len(call.Args) != 2 {
		c.refuse()
		return nil
	}
	table, value, at := c.expression(call.Args[0]), c.expression(call.Args[1]), c.site(call)
	return func(a *activation) (outcome, *failure) {
		o, v, fault := a.both(table, value)
		if fault != nil {
			return goesOn, fault
		}
		t, ok := o.(*lua.LTable)
		if !ok {
			return goesOn, at.typeArg(1, "table", o)
		}
		t.RawSetInt(length(t)+1, v)
		return goesOn, nil
	}
}

// assert is assert(value) or assert(value, text).
func (c *compiler) assert(call *ast.FuncCallExpr) statement {
	if len(call.Args) < 1 || len(call.Args) > 2 {
		c.refuse()
		return nil
	}
	args, at := c.expressions(call.Args), c.site(call)
	return func(a *activation) (outcome, *failure) {
		values, fault := a.operands(args)
		if fault != nil {
			return goesOn, fault
		}
		if !truth(values[0]) {
			return goesOn, assertion(values, at)
		}
		a.done(values)
		return goesOn, nil
	}
}

// assertion is the failure of assert with the given arguments.
func assertion(values []lua.LValue, at *site) *failure {
	if len(values) < 2 || isNil(values[1]) {
		return at.fail(errAssertion)
	}
	if !isText(values[1]) {
		return at.typeArg(2, "string", values[1])
	}
	return at.fail("%s", tostring(values[1]))
}
