package luaengine

import lua "github.com/yuin/gopher-lua"

func (e *Engine) borrow(open lua.LGFunction) library {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	open(L)
	t := L.Get(-1).(*lua.LTable)
	out := library{}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if fn, ok := v.(*lua.LFunction); ok {
			out[k.String()] = fn.GFunction
		}
	}
	return out
}
func (e *Engine) stringLibrary() library    { return e.borrow(lua.OpenString) }
func (e *Engine) tableLibrary() library     { return e.borrow(lua.OpenTable) }
func (e *Engine) mathLibrary() library      { return e.borrow(lua.OpenMath) }
func (e *Engine) coroutineLibrary() library { return e.borrow(lua.OpenCoroutine) }
func (e *Engine) bitLibrary() library       { return library{} }
