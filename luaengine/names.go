package luaengine

import (
	"github.com/yuin/gopher-lua/ast"
)

// operand says how an expression is called in an error text, such as
// "local 'x'".
type operand struct {
	kind byKind
	name string
}

type byKind uint8

const (
	byNothing byKind = iota
	byLocal
	byUpvalue
	byGlobal
	byField
	byMethod
	byConstant
)

var kindNames = [...]string{
	byLocal: "local", byUpvalue: "upvalue", byGlobal: "global", byField: "field", byMethod: "method",
}

// node is a place in a chunk that an error may name: its line and operands. A
// call has the callee in a, and in b the receiver of a method; an index has the
// object in a.
type node struct {
	line  int
	a, b  operand
	chain []operand // of a concatenation
}

// firstNode is the first number that is not a line but the index of a node:
// gopher-lua takes it for a line and hands it back when an instruction fails.
const firstNode = 1 << 24

// place makes gopher-lua report n for the instruction that x becomes.
func (r *rewriter) place(x ast.PositionHolder, n node) {
	n.line = x.Line()
	r.chunk.nodes = append(r.chunk.nodes, n)
	x.SetLine(firstNode + len(r.chunk.nodes) - 1)
}

// line is the real line of a number that gopher-lua has reported.
func (c *chunk) line(reported int) int {
	if reported < firstNode {
		return reported
	}
	return c.nodes[reported-firstNode].line
}

// node is the place of such a number.
func (c *chunk) node(reported int) node {
	if reported < firstNode {
		return node{line: reported}
	}
	return c.nodes[reported-firstNode]
}

// find says where a name in an expression is found.
func (r *rewriter) find(name string) byKind {
	for i := len(r.locals) - 1; i >= 0; i-- {
		if r.locals[i].name != name {
			continue
		}
		if r.locals[i].level == r.level {
			return byLocal
		}
		return byUpvalue
	}
	return inGlobals
}

const inGlobals = byGlobal

// describe names an expression as Lua 5.1 finds names: variables, and fields
// with a constant key.
func (r *rewriter) describe(e ast.Expr) operand {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return operand{r.find(e.Value), e.Value}
	case *ast.AttrGetExpr:
		if key, ok := e.Key.(*ast.StringExpr); ok {
			return operand{byField, key.Value}
		}
		return operand{byField, "?"}
	case *ast.StringExpr, *ast.NumberExpr:
		return operand{kind: byConstant}
	}
	return operand{}
}

// String is the operand as it stands in a text, with a space after it.
func (o operand) String() string {
	if o.kind == byNothing || o.kind == byConstant {
		return ""
	}
	return kindNames[o.kind] + " '" + o.name + "' "
}
