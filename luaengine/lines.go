package luaengine

import "github.com/yuin/gopher-lua/ast"

// Where an instruction fails is, in Lua, the line of the token behind which its compiler
// wrote it: for a field that is read, that of the token which has the compiler fetch
// it. gopher-lua's tree has the lines where expressions begin, and strings of several
// lines end. So recognise notes a line for each name, field, index, call and operator,
// in the order in which they end, and the tree is given these.
// Source: Lua 5.1, luaK_code, luaK_fixline.

// note adds the line of what has just been read.
func (g *grammar) note(line int) { g.lines = append(g.lines, line) }

// fetchable notes a name, a field or an index, which settle gives its line.
func (g *grammar) fetchable() {
	g.note(g.ended)
	g.unsettled = len(g.lines)
}

// settle has Lua's compiler fetch the variable or field that an expression is.
func (g *grammar) settle() {
	if g.unsettled > 0 {
		g.lines[g.unsettled-1] = g.ended
	}
	g.unsettled = 0
}

// liner gives a tree the lines that were noted.
type liner struct{ lines []int }

// take gives x, or if that is nil nothing, the next line.
func (l *liner) take(x ast.PositionHolder) {
	if len(l.lines) == 0 {
		return
	}
	if x != nil {
		x.SetLine(l.lines[0])
	}
	l.lines = l.lines[1:]
}

func (l *liner) stmts(list []ast.Stmt) {
	for _, s := range list {
		l.stmt(s)
	}
}

func (l *liner) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		l.exprs(s.Lhs)
		l.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		l.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		l.expr(s.Expr)
	case *ast.DoBlockStmt:
		l.stmts(s.Stmts)
	case *ast.WhileStmt:
		l.expr(s.Condition)
		l.stmts(s.Stmts)
	case *ast.RepeatStmt:
		l.stmts(s.Stmts)
		l.expr(s.Condition)
	case *ast.IfStmt:
		l.expr(s.Condition)
		l.stmts(s.Then)
		l.stmts(s.Else)
	case *ast.NumberForStmt:
		l.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		line := s.Line()
		l.take(s)
		s.SetLastLine(s.Line()) // of what fails if the bounds are no numbers
		s.SetLine(line)
		l.stmts(s.Stmts)
	case *ast.GenericForStmt:
		l.take(s)
		l.exprs(s.Exprs)
		l.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		l.exprs([]ast.Expr{s.Name.Func, s.Name.Receiver})
		if s.Name.Func == nil {
			l.take(nil)
		}
		l.stmts(s.Func.Stmts)
	case *ast.ReturnStmt:
		l.exprs(s.Exprs)
	}
}

func (l *liner) exprs(list []ast.Expr) {
	for _, x := range list {
		l.expr(x)
	}
}

func (l *liner) expr(x ast.Expr) {
	var parts [2]ast.Expr
	switch x := x.(type) {
	case *ast.IdentExpr:
	case *ast.AttrGetExpr:
		parts = [...]ast.Expr{x.Object, x.Key}
	case *ast.FuncCallExpr:
		l.exprs([]ast.Expr{x.Func, x.Receiver})
		l.exprs(x.Args)
	case *ast.LogicalOpExpr:
		parts = [...]ast.Expr{x.Lhs, x.Rhs}
	case *ast.RelationalOpExpr:
		parts = [...]ast.Expr{x.Lhs, x.Rhs}
	case *ast.StringConcatOpExpr:
		parts = [...]ast.Expr{x.Lhs, x.Rhs}
	case *ast.ArithmeticOpExpr:
		parts = [...]ast.Expr{x.Lhs, x.Rhs}
	case *ast.UnaryMinusOpExpr:
		parts[0] = x.Expr
	case *ast.UnaryNotOpExpr:
		parts[0] = x.Expr
	case *ast.UnaryLenOpExpr:
		parts[0] = x.Expr
	case *ast.TableExpr:
		for _, f := range x.Fields {
			l.exprs([]ast.Expr{f.Key, f.Value})
		}
		return
	case *ast.FunctionExpr:
		l.stmts(x.Stmts)
		return
	default:
		return
	}
	l.exprs(parts[:])
	l.take(x)
}
