package luaengine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// maxRow is how many operators, indexes and calls may follow each other, foldedRow
// how many of them one search for constants may pass, and signedRow how many sums
// may be calls: each takes one of gopher-lua's registers.
const (
	maxRow    = 10_000
	foldedRow = 128
	signedRow = 64
)

// maxForks is how many forks one function may have: gopher-lua numbers up to four
// targets of jumps for each, in 17 bits.
const maxForks = 1<<15 - 8

// placeholder begins the string constants that patch turns into functions and tables.
// A literal of the script that begins so is taken apart.
const placeholder = "\x00fn:"

// rewriter is the walk over one chunk's syntax tree that both passes share: it
// mends the tree as it goes, and notes what the fast pass may replace.
type rewriter struct {
	e      *Engine
	chunk  *chunk
	steps  bool
	locals []local      // visible here, innermost last
	level  int          // functions entered
	row    int          // expressions entered by their left ends
	forks  int          // in this function, where one of two ways is taken
	dots   bool         // the main function uses "..."
	fns    []lua.LValue // functions and tables
	fast   candidates

	calls bool // the chunk may have functions of its own

	spilled *spilled // nil: the chunk is not long

	functions, breaks int // that have been met
}

// local is a name in scope; level says which function declared it.
type local struct {
	name  string
	level int
}

// syntaxFault is the panic of a chunk that is too large for gopher-lua's compiler.
type syntaxFault struct {
	line int
	text string
}

// main rewrites a chunk. The result is a chunk that returns one function, the
// script, whose parameters are chunk.params.
func (r *rewriter) main(stmts []ast.Stmt, fast bool) (out []ast.Stmt, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			fault, ok := cause.(syntaxFault)
			if !ok {
				panic(cause)
			}
			err = fmt.Errorf("%d: %s", fault.line, fault.text)
		}
	}()
	stmts = r.block(stmts)
	r.fast.judge(r.chunk)
	if fast {
		r.applyFast()
		if r.spilled == nil {
			r.chunk.program = r.closures(stmts)
		}
	}
	fn := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: r.dots}, Stmts: stmts}
	for _, p := range r.chunk.params {
		fn.ParList.Names = append(fn.ParList.Names, p.name())
	}
	if n := len(stmts); n > 0 {
		fn.SetLastLine(stmts[n-1].Line())
	}
	return []ast.Stmt{&ast.ReturnStmt{Exprs: []ast.Expr{fn}}}, nil
}

// name is how the parameter is called in the tree: no identifier of a script
// can be spelled so.
func (p param) name() string {
	if p.keys {
		return "KEYS[" + strconv.Itoa(p.index) + "]"
	}
	return "ARGV[" + strconv.Itoa(p.index) + "]"
}

// constant is an expression whose value is fn, a function or a table.
func (r *rewriter) constant(fn lua.LValue, line int) ast.Expr {
	at := len(r.fns)
	for i, known := range r.fns {
		if known == fn {
			at = i
		}
	}
	if at == len(r.fns) {
		r.fns = append(r.fns, fn)
	}
	c := &ast.StringExpr{Value: placeholder + strconv.Itoa(at)}
	c.SetLine(line)
	return c
}

// patch puts the values where constant has left placeholders.
func (r *rewriter) patch(proto *lua.FunctionProto) {
	for i, v := range proto.Constants {
		if s, ok := v.(lua.LString); ok && strings.HasPrefix(string(s), placeholder) {
			at, err := strconv.Atoi(string(s)[len(placeholder):])
			if err == nil {
				proto.Constants[i] = r.fns[at]
			}
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		r.patch(inner)
	}
	clip(proto)
}

// clip frees the room that the compiler made for more: 18 KB in each function.
func clip(proto *lua.FunctionProto) {
	proto.Code, proto.DbgSourcePositions = slices.Clone(proto.Code), slices.Clone(proto.DbgSourcePositions)
	proto.DbgCalls, proto.DbgLocals = slices.Clone(proto.DbgCalls), slices.Clone(proto.DbgLocals)
	proto.Constants, proto.DbgUpvalues = slices.Clone(proto.Constants), slices.Clone(proto.DbgUpvalues)
	proto.FunctionPrototypes = slices.Clone(proto.FunctionPrototypes)
}

// block rewrites statements that have a scope of their own.
func (r *rewriter) block(stmts []ast.Stmt) []ast.Stmt {
	mark := len(r.locals)
	out := r.stmts(stmts)
	r.locals = r.locals[:mark]
	return out
}

func (r *rewriter) stmts(stmts []ast.Stmt) []ast.Stmt {
	out := stmts
	if r.steps {
		out = make([]ast.Stmt, 0, 2*len(stmts))
	}
	for i, s := range stmts {
		if r.steps {
			out = append(out, r.stepCall(s.Line()))
			out = append(out, r.stmt(s))
			continue
		}
		out[i] = r.stmt(s)
	}
	return out
}

// callOf is the statement fn().
func (r *rewriter) callOf(fn *lua.LFunction, line int) ast.Stmt {
	call := &ast.FuncCallExpr{Func: r.constant(fn, line)}
	call.SetLine(line)
	s := &ast.FuncCallStmt{Expr: call}
	s.SetLine(line)
	return s
}

// lastLine is the line of the last statement; of none it is before.
func lastLine(stmts []ast.Stmt, before int) int {
	if len(stmts) == 0 {
		return before
	}
	return stmts[len(stmts)-1].Line()
}

// loop rewrites the body of a loop in a scope that already holds its
// variables. turn is the line of Lua's jump back, on which a script that does
// little else in the loop is killed.
func (r *rewriter) loop(body []ast.Stmt, line, turn int) []ast.Stmt {
	r.fork(line)
	functions, breaks := r.functions, r.breaks
	body = r.stmts(body)
	if r.functions > functions && r.breaks > breaks {
		body = append(captured(line), body...)
	}
	return append([]ast.Stmt{r.callOf(r.e.sand.tick, turn)}, body...)
}

// captured is a variable that a function refers to, which is never made. With one in
// a loop, gopher-lua has "break" detach functions from all variables of the loop;
// else from none of those that blocks inside of it have.
func captured(line int) []ast.Stmt {
	const name = "(captured)"
	read := &ast.ReturnStmt{Exprs: []ast.Expr{&ast.IdentExpr{Value: name}}}
	fn := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: []ast.Stmt{read}}
	fn.SetLastLine(line)
	never := &ast.IfStmt{Condition: &ast.FalseExpr{}, Then: []ast.Stmt{
		&ast.LocalAssignStmt{Names: []string{"(never)"}, Exprs: []ast.Expr{fn}},
	}}
	return []ast.Stmt{&ast.LocalAssignStmt{Names: []string{name}}, never}
}

// fork counts a place where one of two ways is taken.
func (r *rewriter) fork(line int) {
	if r.forks++; r.forks > maxForks {
		panic(syntaxFault{line, "control structure too long"})
	}
}

func (r *rewriter) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.localAssign(s)
	case *ast.FuncCallStmt:
		r.expr(&s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		r.expr(&s.Condition)
		mark := len(r.locals)
		s.Stmts = r.loop(s.Stmts, s.Line(), lastLine(s.Stmts, s.Condition.Line()))
		r.locals = r.locals[:mark]
	case *ast.RepeatStmt:
		mark := len(r.locals)
		s.Stmts = r.loop(s.Stmts, s.Line(), s.Condition.Line())
		r.expr(&s.Condition)
		r.locals = r.locals[:mark]
	case *ast.IfStmt:
		r.ifStmt(s)
	case *ast.NumberForStmt:
		return r.numberFor(s)
	case *ast.GenericForStmt:
		return r.genericFor(s)
	case *ast.FuncDefStmt:
		r.funcDef(s)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	case *ast.BreakStmt:
		r.breaks++
	}
	return s
}

func (r *rewriter) localAssign(s *ast.LocalAssignStmt) {
	if len(s.Exprs) == 1 && len(s.Names) == 1 {
		fn, ok := s.Exprs[0].(*ast.FunctionExpr)
		if ok && s.LastLine() != 0 {
			r.declare(s.Names[0]) // local function: visible in its own body
			r.function(fn, false)
			return
		} else if ok {
			// With a second expression gopher-lua does not take it for "local function".
			none := &ast.NilExpr{}
			none.SetLine(s.Line())
			s.Exprs = append(s.Exprs, none)
		}
	}
	r.exprs(s.Exprs)
	r.declare(s.Names...)
}

func (r *rewriter) ifStmt(s *ast.IfStmt) {
	r.fork(s.Line())
	r.expr(&s.Condition)
	s.Then = r.block(s.Then)
	if len(s.Else) == 1 {
		if elseif, ok := s.Else[0].(*ast.IfStmt); ok {
			r.ifStmt(elseif) // no syntax level of its own
			return
		}
	}
	s.Else = r.block(s.Else)
}

// forNames are the bounds of a numeric for after coercion.
var forNames = []string{"for 1", "for 2", "for 3"}

// numberFor lets the bounds be coerced as Lua 5.1 does, by a call of the
// sandbox, unless they are plainly numbers.
func (r *rewriter) numberFor(s *ast.NumberForStmt) ast.Stmt {
	if s.Step == nil {
		s.Step = &ast.NumberExpr{Value: "1"}
		s.Step.SetLine(s.Line())
	}
	bounds := &ast.FuncCallExpr{Args: []ast.Expr{one(s.Init), one(s.Limit), one(s.Step)}}
	plain := surelyNumber(s.Init) && surelyNumber(s.Limit) && surelyNumber(s.Step)
	if plain {
		r.expr(&s.Init)
		r.expr(&s.Limit)
		r.expr(&s.Step)
	} else {
		bounds.SetLine(s.LastLine())
		r.exprs(bounds.Args)
	}
	mark := len(r.locals)
	r.declare(s.Name)
	s.Stmts = r.loop(s.Stmts, s.Line(), s.Line())
	r.locals = r.locals[:mark]
	if plain {
		return s
	}
	return r.coerced(s, bounds)
}

// coerced is a block that computes the bounds and then runs the loop.
func (r *rewriter) coerced(s *ast.NumberForStmt, bounds *ast.FuncCallExpr) ast.Stmt {
	bounds.Func = r.constant(r.e.sand.forBounds, bounds.Line())
	for i, bound := range []*ast.Expr{&s.Init, &s.Limit, &s.Step} {
		*bound = &ast.IdentExpr{Value: forNames[i]}
		(*bound).SetLine(s.Line())
	}
	return behind(&ast.LocalAssignStmt{Names: forNames, Exprs: []ast.Expr{bounds}}, s)
}

// behind is a block in which a loop follows what it needs.
func behind(assign, loop ast.Stmt) ast.Stmt {
	assign.SetLine(loop.Line())
	do := &ast.DoBlockStmt{Stmts: []ast.Stmt{assign, loop}}
	do.SetLine(loop.Line())
	do.SetLastLine(loop.LastLine())
	return do
}

func surelyNumber(e ast.Expr) bool {
	switch e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr:
		return true
	}
	return false
}

// one adjusts an expression to one value, as parentheses do.
func one(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}

// genericFor gives most loops three names: gopher-lua sets as many of a loop's
// three hidden variables as it has names, and leaves the others as they were.
func (r *rewriter) genericFor(s *ast.GenericForStmt) ast.Stmt {
	if call, ok := s.Exprs[0].(*ast.FuncCallExpr); ok && len(s.Exprs) == 1 && len(call.Args) == 1 {
		if r.calleeName(call.Func) == "ipairs" {
			r.harmless(call.Args[0])
		}
	}
	plain := !slices.ContainsFunc(s.Exprs, misread)
	r.exprs(s.Exprs)
	ahead := &ast.LocalAssignStmt{Names: forNames, Exprs: s.Exprs}
	if !plain {
		s.Exprs = nil
		for _, name := range forNames {
			s.Exprs = append(s.Exprs, &ast.IdentExpr{Value: name})
			s.Exprs[len(s.Exprs)-1].SetLine(s.Line())
		}
	}
	mark := len(r.locals)
	r.declare(s.Names...)
	if call, ok := s.Exprs[0].(*ast.FuncCallExpr); !ok || call.AdjustRet || len(s.Exprs) > 1 {
		for len(s.Names) < 3 {
			s.Names = append(s.Names, "(for unused)")
		}
	}
	s.Stmts = r.loop(s.Stmts, s.Line(), s.Line())
	r.locals = r.locals[:mark]
	if plain {
		return s
	}
	return behind(ahead, s)
}

// misread tells the values of a generic for in which gopher-lua may choose the wrong
// side of an "and" or "or", or look for a field in its own name where that is one of
// a call's result: they are computed ahead of the loop.
func misread(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.LogicalOpExpr:
		return true
	case *ast.FuncCallExpr:
		return x.Func != nil && misread(x.Func) || x.Receiver != nil && misread(x.Receiver)
	case *ast.AttrGetExpr:
		if _, field := x.Object.(*ast.AttrGetExpr); !field && !isVariable(x.Object) {
			return true
		}
		return misread(x.Object) || misread(x.Key)
	case *ast.UnaryMinusOpExpr:
		return misread(x.Expr)
	case *ast.UnaryLenOpExpr:
		return misread(x.Expr)
	case *ast.UnaryNotOpExpr:
		return misread(x.Expr)
	}
	return false
}

func (r *rewriter) funcDef(s *ast.FuncDefStmt) {
	if s.Name.Func == nil {
		r.expr(&s.Name.Receiver)
		r.named(s.Name.Method, s.Line())
		r.function(s.Func, true)
		return
	}
	switch name := s.Name.Func.(type) {
	case *ast.IdentExpr:
		if r.find(name.Value) == inGlobals {
			r.global(name.Value, name.Line())
		}
	case *ast.AttrGetExpr:
		r.expr(&name.Object)
		r.expr(&name.Key)
		r.place(name, node{a: r.describe(name.Object)})
	}
	r.function(s.Func, false)
}

func (r *rewriter) function(f *ast.FunctionExpr, method bool) {
	mark, dots, forks := len(r.locals), r.dots, r.forks
	r.forks = 0
	r.level++
	r.functions++
	if method {
		r.declare("self")
	}
	r.declare(f.ParList.Names...)
	if f.ParList.HasVargs {
		r.declare("arg")
	}
	f.Stmts = append([]ast.Stmt{r.callOf(r.e.sand.tick, f.Line())}, r.stmts(f.Stmts)...)
	r.level--
	r.locals, r.dots, r.forks = r.locals[:mark], dots, forks
}

func (r *rewriter) declare(names ...string) {
	for _, name := range names {
		r.locals = append(r.locals, local{name, r.level})
	}
}
