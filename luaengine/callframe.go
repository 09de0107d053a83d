package luaengine

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// callFrame is gopher-lua's, of one function that is being executed. It shows of one
// only the line; where a coroutine may yield, and how many values it then wants,
// the instruction says.
type callFrame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *callFrame // of what called it; nil: it is its thread's first
	Pc         int        // of the next instruction
	Base       int
	LocalBase  int
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

// currentFrame is where a lua.LState has its innermost frame: GetStack allocates.
var currentFrame = func() uintptr {
	member, ok := reflect.TypeFor[lua.LState]().FieldByName("currentFrame")
	if !ok || member.Type.Kind() != reflect.Pointer {
		panic("luaengine: gopher-lua's LState has no currentFrame")
	}
	ours, theirs := reflect.TypeFor[callFrame](), member.Type.Elem()
	for i := range max(ours.NumField(), theirs.NumField()) {
		a, b := ours.Field(i), theirs.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || a.Type.Kind() != b.Type.Kind() {
			panic("luaengine: gopher-lua's frames have no " + a.Name)
		}
	}
	return member.Offset
}()

// innermostFrame is that of the function that runs on L, or has yielded there; nil if
// none does.
func innermostFrame(L *lua.LState) *callFrame {
	return *(**callFrame)(unsafe.Add(unsafe.Pointer(L), currentFrame))
}

// calling reports whether a function written in Lua is at a call of another one, not at
// what calls a metamethod or the function of a for; and how many results it takes, -1
// being all.
func (f *callFrame) calling() (results int, is bool) {
	if f.Fn.IsG {
		return 0, false
	}
	instruction := f.Fn.Proto.Code[f.Pc-1]
	switch int(instruction >> 26) {
	case lua.OP_CALL:
		return int(instruction>>9&0x1ff) - 1, true
	case lua.OP_TAILCALL:
		return -1, true
	}
	return 0, false
}

// callsFromC is how many calls on L are made in any other way than by a call in Lua: from a
// function that is not written in it, or of a metamethod or the function of a for.
func callsFromC(L *lua.LState) (n int) {
	f := innermostFrame(L)
	if f == nil {
		return 0
	}
	for f = f.Parent; f != nil; f = f.Parent {
		if _, is := f.calling(); !is {
			n++
		}
	}
	return n
}

// calls is how many calls from C into Lua redis-server would be in, were L where it
// is: those up to its thread, and those on it.
func (e *Engine) calls(L *lua.LState) int { return e.run.depth + callsFromC(L) }
