package luaengine

import (
	"sort"

	lua "github.com/yuin/gopher-lua"
)

// guest is a thread on which a protected call of another thread, its host, runs. An
// error makes gopher-lua detach functions from the variables of all that is being
// executed on its thread, which goes on with other ones if a pcall further in
// catches the error; so nothing but what the error ends is on a guest.
type guest struct{ thread, host *lua.LState }

// protected calls the function below the topmost nargs values and leaves its
// results, or returns what it raised. The call that reaches the limit fails. Those
// beyond it do not: a resume, or what handles that error, may lead there.
// Source: Lua 5.1, luaD_call.
func (e *Engine) protected(L *lua.LState, nargs int) *failure {
	depth, calls := e.run.depth, e.calls(L)
	nesting, beyond := calls+2, depth+1 >= maxNesting // the script and the call itself count
	switch {
	case nesting >= maxHandling:
		L.Pop(1 + nargs)
		return &failure{lua.LString("error in error handling"), noPlace}
	case nesting >= maxNesting && !beyond:
		L.Pop(1 + nargs)
		return &failure{lua.LString("C stack overflow"), noPlace}
	}
	e.run.depth = calls + 1
	thread := e.enterGuest(L)
	L.XMoveTo(thread, 1+nargs)
	err := thread.PCall(nargs, lua.MultRet, nil)
	e.run.depth = depth
	if e.run.killed.text != "" {
		panic(e.run.killed)
	}
	var f *failure
	if err != nil {
		f = e.caught(L, err, 1)
	} else {
		thread.XMoveTo(L, thread.GetTop())
	}
	e.leaveGuest()
	return f
}

// enterGuest returns a thread for a protected call of host.
func (e *Engine) enterGuest(host *lua.LState) *lua.LState {
	var thread *lua.LState
	if last := len(e.spare) - 1; last >= 0 {
		thread, e.spare = e.spare[last], e.spare[:last]
	} else {
		thread, _ = e.main.NewThread()
	}
	e.run.guests = append(e.run.guests, guest{thread, host})
	return thread
}

// leaveGuest ends the latest protected call, whose thread is used again. One that
// ends the whole run does not come here.
func (e *Engine) leaveGuest() {
	last := len(e.run.guests) - 1
	e.spare = append(e.spare, e.run.guests[last].thread)
	e.run.guests = e.run.guests[:last]
}

// hostOf is the thread whose protected call runs on L, nil if none does.
func (e *Engine) hostOf(L *lua.LState) *lua.LState {
	for i := len(e.run.guests) - 1; i >= 0; i-- {
		if g := e.run.guests[i]; g.thread == L {
			return g.host
		}
	}
	return nil
}

// coroutine is the thread that a script knows L as.
func (e *Engine) coroutine(L *lua.LState) *lua.LState {
	for host := L; host != nil; host = e.hostOf(L) {
		L = host
	}
	return L
}

// levels is how many functions are being executed on L.
func levels(L *lua.LState) int {
	return sort.Search(2*maxCalls, func(level int) bool { _, ok := L.GetStack(level); return !ok })
}
