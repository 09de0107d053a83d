package luaengine

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// ticksPerCheck is how many loop turns and function calls pass between two
// questions to Host.Limit.
const ticksPerCheck = 512

// tick is called by every loop and function body.
func (e *Engine) tick(L *lua.LState) int {
	if text := e.countTick(); text != "" {
		e.kill(L, text)
	}
	return 0
}

// countTick counts a tick and returns why the host ends the script, or "".
func (e *Engine) countTick() string {
	e.run.ticks++
	if e.run.ticks%ticksPerCheck == 0 {
		return e.run.host.Limit()
	}
	return ""
}

// Long strings count as ticks, so that few turns cannot fill the memory between two
// questions to Host.Limit: 8 MiB as many as pass between them.
const (
	weighedFrom  = 64 << 10
	bytesPerTick = 16 << 10
)

// countString counts a string of n bytes that was made, and returns why the host
// ends the script, or "".
func (e *Engine) countString(n int) string {
	if n < weighedFrom {
		return ""
	}
	before := e.run.ticks / ticksPerCheck
	e.run.ticks += n / bytesPerTick
	if e.run.ticks/ticksPerCheck != before {
		return e.run.host.Limit()
	}
	return ""
}

const elementBytes = int(unsafe.Sizeof(lua.LValue(nil)))

// countFilling counts the elements that an assignment to t[i] would put before i, as a
// string of their size, and returns why the host ends the script, or "". An assignment
// that gopher-lua itself carries out is not counted.
func (e *Engine) countFilling(t *lua.LTable, i int) string {
	if filled := i - len(*elementsOf(t)); filled >= weighedFrom/elementBytes && i < longestArray {
		return e.countString(filled * elementBytes)
	}
	return ""
}

// setCounted is t[key] = v, whose elements are counted.
func (e *Engine) setCounted(L *lua.LState, t *lua.LTable, key, v lua.LValue) {
	if text := e.countFilling(t, indexOf(key)); text != "" {
		e.kill(L, text)
	}
	t.RawSet(key, v)
}

// elementsPerTick is how many elements of a list a function passes for a tick.
const elementsPerTick = 64

// readPerTick is how many bytes a decoder reads for a tick.
const readPerTick = 16

// countReading counts a text of n bytes that a decoder is given, and ends the script if
// its host says so.
func (e *Engine) countReading(L *lua.LState, n int) {
	before := e.run.ticks / ticksPerCheck
	e.run.ticks += n / readPerTick
	if e.run.ticks/ticksPerCheck != before {
		e.checkLimit(L)
	}
}

// checkLimit ends the script if its host says so.
func (e *Engine) checkLimit(L *lua.LState) {
	if text := e.run.host.Limit(); text != "" {
		e.kill(L, text)
	}
}

// kill ends the script. The error passes every pcall; that of a script which is killed in
// Redis does so from the next line on.
func (e *Engine) kill(L *lua.LState, text string) {
	e.run.killed = killed{text, e.current(L)}
	panic(e.run.killed)
}

// killed is the panic of a script that its host has ended.
type killed struct {
	text string
	at   place
}

// longestArray bounds what an assignment to one integer key can cost: gopher-lua
// fills the array of a table up to that key, with 16 MiB for the last one. Greater keys are hashed, as most
// are in Lua 5.1; the operator # does not count them, length does.
const longestArray = 1 << 20

func init() { lua.MaxArrayIndex = longestArray }
