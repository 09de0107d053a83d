package luaengine

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"minikv/internal/resp"
)

// Step says where a script that runs in steps is: before a statement.
type Step struct {
	Line   int        // of the statement, from 1
	Locals []Variable // that the statement can see, outermost first
}

// Variable is a local variable.
type Variable struct {
	Name  string
	Value string // as Lua writes it; large ones are cut
}

// maxShown is how many variables a step tells, and how many elements of a table.
const maxShown = 50

// stepCall is the statement step("a", a, "b", b, …) with the variables in scope.
// gopher-lua has no debug hook, so a run in steps executes its own compilation
// of the script.
func (r *rewriter) stepCall(line int) ast.Stmt {
	statement := r.callOf(r.e.sand.step, line)
	call := statement.(*ast.FuncCallStmt).Expr.(*ast.FuncCallExpr)
	for i, v := range r.locals {
		if strings.ContainsAny(v.name, " (") || r.shadowed(i) || len(call.Args) >= 2*maxShown {
			continue // the rewriter's own, or out of sight
		}
		name, value := &ast.StringExpr{Value: v.name}, &ast.IdentExpr{Value: v.name}
		name.SetLine(line)
		value.SetLine(line)
		call.Args = append(call.Args, name, value)
	}
	return statement
}

// shadowed reports whether a later variable hides local number at.
func (r *rewriter) shadowed(at int) bool {
	for _, later := range r.locals[at+1:] {
		if later.name == r.locals[at].name {
			return true
		}
	}
	return false
}

// stepHere is called before each statement of a script that is run in steps.
func (e *Engine) stepHere(L *lua.LState) int {
	f, ok := e.frame(L, 1)
	if !ok || e.run.step == nil {
		return 0
	}
	s := Step{Line: f.place().line}
	for i := 1; i < L.GetTop(); i += 2 {
		s.Locals = append(s.Locals, Variable{L.CheckString(i), describe(L.Get(i+1), 0)})
	}
	e.run.step(s)
	return 0
}

// describe is a value as Lua would write it, inside so many tables.
func describe(v lua.LValue, depth int) string {
	switch v := v.(type) {
	case lua.LString:
		const enough = 100
		if len(v) > enough {
			return resp.Quote(string(v[:enough])) + "…"
		}
		return resp.Quote(string(v))
	case lua.LNumber:
		return numberText(float64(v))
	case *lua.LTable:
		if depth > 2 {
			return "{…}"
		}
		return describeTable(v, depth)
	case *lua.LFunction:
		return "function"
	}
	return v.String()
}

func describeTable(t *lua.LTable, depth int) string {
	var parts []string
	listed := t.Len()
	for i := 1; i <= min(listed, maxShown); i++ {
		parts = append(parts, describe(t.RawGetInt(i), depth+1))
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil && len(parts) < maxShown; k, v = t.Next(k) {
		if n, ok := k.(lua.LNumber); ok && n >= 1 && int(n) <= listed && n == lua.LNumber(int(n)) {
			continue
		}
		name := describe(k, depth+1)
		if s, ok := k.(lua.LString); ok && isName(string(s)) {
			name = string(s)
		} else {
			name = "[" + name + "]"
		}
		parts = append(parts, name+" = "+describe(v, depth+1))
	}
	if len(parts) == maxShown {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// isName reports whether s can stand as a name in Lua.
func isName(s string) bool {
	if s == "" || strconv.Itoa(int(s[0]-'0')) == s[:1] {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}
