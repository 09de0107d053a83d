package luaengine

import lua "github.com/yuin/gopher-lua"

// ticksPerCheck is how many loop turns and function calls pass between two
// questions to Host.Limit.
const ticksPerCheck = 4096

// tick is called by every loop and function body.
func (e *Engine) tick(L *lua.LState) int {
	e.run.ticks++
	if e.run.ticks%ticksPerCheck == 0 {
		e.checkLimit(L)
	}
	return 0
}

// checkLimit ends the script if its host says so. The error passes every
// pcall, as a killed script does in Redis.
func (e *Engine) checkLimit(L *lua.LState) {
	if text := e.run.host.Limit(); text != "" {
		e.run.killed = killed{text, e.current(L)}
		panic(e.run.killed)
	}
}

// killed is the panic of a script that its host has ended.
type killed struct {
	text string
	at   place
}
