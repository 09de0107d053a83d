package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// A script of plain statements, as the scripts of locks are, is compiled a
// second time: from the tree that both passes have rewritten into Go closures,
// which run without gopher-lua's machine. One decision is made for the whole
// script: if anything in it is unknown to the closures, gopher-lua runs it all.

// expression computes one value.
type expression func(a *activation) (lua.LValue, *failure)

// condition computes whether an expression is true.
type condition func(a *activation) (bool, *failure)

// statement executes one statement or a list of them.
type statement func(a *activation) (outcome, *failure)

// outcome says how a statement has ended.
type outcome uint8

const (
	goesOn outcome = iota
	breaks
	returns // with activation.result
)

// program is a script as closures.
type program struct {
	body  statement
	slots int // for variables
}

// activation is one run of a program.
type activation struct {
	e       *Engine
	lists   [2][][]byte  // KEYS and ARGV, by keyWord and argvWord
	slots   []lua.LValue // the local variables
	stack   []lua.LValue // operands of the expressions being computed
	reply   resp.Value   // of the latest redis.call
	result  lua.LValue   // of the script
	direct  *resp.Value  // the reply, which some return statements set themselves, and then
	replied bool         // say so
	own     resp.Value   // the reply of Run
	listed  []resp.Value // room for the elements of a reply
	tables  tables
}

// closures compiles the rewritten statements of a chunk; nil if gopher-lua has
// to run it.
func (r *rewriter) closures(stmts []ast.Stmt) *program {
	if r.e.noClosures || !r.chunk.tame || r.dots {
		return nil
	}
	c := &compiler{r: r}
	body := c.block(stmts)
	if c.outside {
		return nil
	}
	return &program{body, c.slots}
}

// runProgram runs the closures of a script that has been set, with its host and
// its arguments. What only gopher-lua's machine looks at is left as its last run
// has left it.
func (e *Engine) runProgram(p *program, reply *resp.Value) {
	r, a := &e.run, &e.activation
	r.proto, r.ticks = 2, 0
	r.args, r.digits = r.args[:0], r.digits[:0]
	a.e, a.result = e, lua.LNil
	a.direct, a.replied = reply, false
	if cap(a.slots) < p.slots {
		a.slots = make([]lua.LValue, p.slots)
	}
	a.slots = a.slots[:p.slots]
	_, fault := p.body(a)
	switch {
	case fault != nil:
		*reply = e.uncaught(fault)
	case !a.replied:
		e.setReply(reply, a.result)
	}
	a.forget()
	r.forget()
}

// setReply is reply that sets what it would return.
func (e *Engine) setReply(reply *resp.Value, v lua.LValue) {
	switch v := v.(type) {
	case *lua.LNilType:
		reply.SetNil()
	case lua.LNumber:
		reply.SetInt(toInteger(float64(v)))
	case *lua.LTable:
		if isShortList(v) {
			e.activation.listReply(reply, v)
		} else {
			*reply = e.reply(v)
		}
	default:
		*reply = e.reply(v)
	}
}

// forget drops the values of the run.
func (a *activation) forget() {
	for i := range a.slots {
		a.slots[i] = lua.LNil // a few, which to clear costs a call of the runtime
	}
	if len(a.stack) > 0 {
		clear(a.stack)
		a.stack = a.stack[:0]
	}
	a.lists[keyWord], a.lists[argvWord], a.result, a.direct = nil, nil, nil, nil
	if a.tables.used > 0 {
		a.tables.reset()
	}
}

// given is KEYS or ARGV.
func (a *activation) given(keys bool) [][]byte {
	if keys {
		return a.lists[keyWord]
	}
	return a.lists[argvWord]
}

// word is one of KEYS or ARGV; false beyond its end, and for no index.
func (a *activation) word(p param) ([]byte, bool) {
	list := a.given(p.keys)
	if at := p.index - 1; uint(at) < uint(len(list)) {
		return list[at], true
	}
	return nil, false
}
