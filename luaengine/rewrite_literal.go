package luaengine

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// gopher-lua's compiler compares each literal of a function with all before it: 40,000
// take ten seconds, and no script can be interrupted while it is compiled. So of a chunk
// of manyBytes or more only maxLiterals stay where they are; the others are read from
// tables of tables of tables, of literalRow each. Names of globals and methods cannot be
// read from anywhere: there may be maxNames, where Lua has room for 262,144.
const (
	manyBytes   = 32 << 10
	maxLiterals = 64
	literalRow  = 128
	maxNames    = 16 << 10
)

// spilled are the literals of a long chunk.
type spilled struct {
	e     *Engine
	met   int // with those that stay
	rows  *lua.LTable
	at    map[lua.LValue]int
	names map[string]bool // that stay
}

func (e *Engine) newSpilled() *spilled {
	return &spilled{e: e, rows: e.main.NewTable(), at: map[lua.LValue]int{}, names: map[string]bool{}}
}

// global notes the mention of a global.
func (r *rewriter) global(name string, line int) {
	r.fast.mention(name)
	r.named(name, line)
}

// named counts a name that stays where it is.
func (r *rewriter) named(name string, line int) {
	if r.spilled == nil {
		return
	}
	if r.spilled.names[name] = true; len(r.spilled.names) > maxNames {
		panic(syntaxFault{line, "constant table overflow"})
	}
}

// literal puts a literal of a long chunk into a table.
func (r *rewriter) literal(slot *ast.Expr) {
	s, line := r.spilled, (*slot).Line()
	if s == nil {
		return
	}
	if s.met++; s.met <= maxLiterals {
		return
	}
	x := r.constant(s.rows, line)
	for _, i := range s.place(valueOf(*slot)) {
		get := &ast.AttrGetExpr{Object: x, Key: literalOf(float64(i), line)}
		get.SetLine(line)
		x = get
	}
	*slot = x
}

// place is where a value is, put there when it is first met: the keys in each of
// the tables.
func (s *spilled) place(v lua.LValue) [3]int {
	at, known := s.at[v]
	if !known {
		at = len(s.at)
		s.at[v] = at
	}
	keys := [3]int{at/(literalRow*literalRow) + 1, at/literalRow%literalRow + 1, at%literalRow + 1}
	if known {
		return keys
	}
	row := s.rows
	for _, key := range keys[:2] {
		inner, ok := row.RawGetInt(key).(*lua.LTable)
		if !ok {
			inner = s.e.main.NewTable()
			row.RawSetInt(key, inner)
		}
		row = inner
	}
	row.RawSetInt(keys[2], v)
	return keys
}

// valueOf is the value of a literal.
func valueOf(x ast.Expr) lua.LValue {
	if number, ok := x.(*ast.NumberExpr); ok {
		f, _ := parseNumber(number.Value)
		return lua.LNumber(f)
	}
	return lua.LString(x.(*ast.StringExpr).Value)
}
