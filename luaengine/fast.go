package luaengine

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// maxParams is how many literal KEYS[n] and ARGV[n] become parameters.
const maxParams = 32

// candidates are what the walk has noted for the fast pass.
type candidates struct {
	wild     bool // the script can reach its globals by other ways
	tables   int  // mentions of KEYS and ARGV
	reads    int  // those that only read an element or the length
	literals []literal
	calls    []call
}

// literal is a T[n] at slot.
type literal struct {
	slot *ast.Expr
	par  param
}

// call is a call of a global function by name.
type call struct {
	expr *ast.FuncCallExpr
	name string
}

// wildNames are the ways around the tree: with them a script can read or
// change what the tree does not show.
var wildNames = map[string]bool{
	"_G": true, "load": true, "loadstring": true, "getfenv": true, "setfenv": true, "rawset": true,
}

func (c *candidates) mention(name string) {
	switch {
	case wildNames[name]:
		c.wild = true
	case name == "KEYS" || name == "ARGV":
		c.tables++
	}
}

// harmless notes that e, if it is KEYS or ARGV, is only read here. The walk
// counts the mention itself.
func (r *rewriter) harmless(e ast.Expr) {
	id, ok := e.(*ast.IdentExpr)
	if ok && (id.Value == "KEYS" || id.Value == "ARGV") && r.find(id.Value) == inGlobals {
		r.fast.reads++
	}
}

// literal notes T[key] at slot.
func (c *candidates) literal(slot *ast.Expr, table string, key ast.Expr) {
	number, ok := key.(*ast.NumberExpr)
	if !ok || table != "KEYS" && table != "ARGV" {
		return
	}
	if n, err := strconv.Atoi(number.Value); err == nil && n >= 1 {
		c.literals = append(c.literals, literal{slot, param{table == "KEYS", n}})
	}
}

// callee notes a call of the global function name; "" is none.
func (r *rewriter) callee(x *ast.FuncCallExpr, name string) {
	if name == "" {
		return
	}
	r.fast.calls = append(r.fast.calls, call{x, name})
	if name == "unpack" && len(x.Args) > 0 {
		r.harmless(x.Args[0])
	}
}

// judge decides what the chunk does to KEYS and ARGV.
func (c *candidates) judge(ch *chunk) {
	ch.tame = !c.wild && c.reads == c.tables
	ch.tables = c.wild || c.tables > 0
}

// applyFast replaces calls of functions known by name, and the literals when
// nothing can change the tables that they read.
func (r *rewriter) applyFast() {
	c := &r.fast
	if c.wild {
		return
	}
	for _, known := range c.calls {
		r.direct(known)
	}
	if !r.chunk.tame || r.dots {
		return
	}
	replaced := 0
	for _, lit := range c.literals {
		if !r.addParam(lit.par) {
			continue
		}
		at := (*lit.slot).Line()
		*lit.slot = &ast.IdentExpr{Value: lit.par.name()}
		(*lit.slot).SetLine(at)
		replaced++
	}
	r.chunk.tables = replaced < c.tables
}

// addParam makes p a parameter of the script; false when there are too many.
func (r *rewriter) addParam(p param) bool {
	for _, have := range r.chunk.params {
		if have == p {
			return true
		}
	}
	if len(r.chunk.params) == maxParams {
		return false
	}
	r.chunk.params = append(r.chunk.params, p)
	return true
}

// direct makes a call of a global function a call of that function itself:
// nothing can have replaced it.
func (r *rewriter) direct(known call) {
	x := known.expr
	line := x.Func.Line()
	switch known.name {
	case "redis.call", "redis.pcall":
		if len(x.Args) == 0 {
			break
		}
		if name, ok := x.Args[0].(*ast.StringExpr); ok {
			x.Func = r.constant(r.e.command(name.Value, known.name == "redis.pcall"), line)
			x.Args = x.Args[1:]
			return
		}
	}
	if fn, ok := r.e.sand.function(known.name).(*lua.LFunction); ok {
		x.Func = r.constant(fn, line)
	}
}
