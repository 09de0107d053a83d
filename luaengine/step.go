package luaengine

import lua "github.com/yuin/gopher-lua"

// stepHere is called before each statement of a script that is run in steps.
// gopher-lua has no debug hook, so such a run executes its own compilation of
// the script.
func (e *Engine) stepHere(L *lua.LState) int {
	if f, ok := e.frame(L, 1); ok && e.run.step != nil {
		e.run.step(f.place().line)
	}
	return 0
}
