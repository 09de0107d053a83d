package luaengine

import lua "github.com/yuin/gopher-lua"

// coroutineLibrary is Lua's, over gopher-lua's threads.
func (e *Engine) coroutineLibrary() library {
	lua.OpenCoroutine(e.main)
	theirs := e.main.Get(-1).(*lua.LTable)
	e.main.Pop(1)
	create := theirs.RawGetString("create").(*lua.LFunction).GFunction
	resume := theirs.RawGetString("resume").(*lua.LFunction).GFunction
	return library{
		"create": func(L *lua.LState) int {
			e.checkLuaFunction(L)
			return create(L)
		},
		"resume": func(L *lua.LState) int {
			if _, ok := L.Get(1).(*lua.LState); !ok {
				e.argError(L, 1, "coroutine expected")
			}
			return e.resume(L, resume)
		},
		"running": func(L *lua.LState) int {
			if thread := e.coroutine(L); thread == e.thread {
				L.Push(lua.LNil)
			} else {
				L.Push(thread)
			}
			return 1
		},
		"status": func(L *lua.LState) int {
			thread, ok := L.Get(1).(*lua.LState)
			if !ok {
				e.argError(L, 1, "coroutine expected")
			}
			L.Push(lua.LString(e.status(L, thread)))
			return 1
		},
		"wrap": func(L *lua.LState) int {
			e.checkLuaFunction(L)
			create(L)
			L.Push(e.wrapped(L.Get(-1), resume))
			return 1
		},
		"yield": e.yield,
	}
}

func (e *Engine) checkLuaFunction(L *lua.LState) {
	if fn, ok := L.Get(1).(*lua.LFunction); !ok || fn.IsG {
		e.argError(L, 1, "Lua function expected")
	}
}

// status is that of a thread, asked by L.
func (e *Engine) status(L, thread *lua.LState) string {
	running := e.coroutine(L)
	switch {
	case thread.Dead:
		return "dead"
	case thread == running:
		return "running"
	}
	for running.Parent != nil {
		if running = e.coroutine(running.Parent); running == thread {
			return "normal"
		}
	}
	return "suspended"
}

// resume continues the thread that is the first argument. It leaves true and
// the results, or false and the error value, and returns their number.
func (e *Engine) resume(L *lua.LState, resume lua.LGFunction) int {
	thread := L.Get(1).(*lua.LState)
	status := e.status(L, thread)
	depth, calls := e.run.depth, e.calls(L)
	switch {
	case status != "suspended":
		return failedResume(L, lua.LString("cannot resume "+status+" coroutine"))
	case calls+1 >= maxNesting: // the script counts
		thread.Dead = thread.Dead || innermostFrame(thread) == nil // Lua forgets the function
		return failedResume(L, lua.LString("C stack overflow"))
	}
	if caller := innermostFrame(thread); caller != nil {
		if results, _ := caller.calling(); results >= 0 {
			L.SetTop(1 + results) // gopher-lua takes as many as there are for what yield returns
		}
	} else if _, left := thread.GetStack(-1); !left {
		// It has ended with "return yield()", after which gopher-lua has nothing to continue.
		thread.Dead = true
		L.Replace(1, lua.LTrue)
		return L.GetTop()
	}
	e.run.depth = calls + 1
	n := resume(L)
	e.run.depth = depth
	if e.run.killed.text != "" {
		panic(e.run.killed)
	}
	if n > 0 && L.Get(-n) == lua.LFalse {
		return failedResume(L, e.unwrap(L.Get(-n+1)).value)
	}
	return n
}

func failedResume(L *lua.LState, v lua.LValue) int {
	L.Push(lua.LFalse)
	L.Push(v)
	return 2
}

// wrapped is the function of coroutine.wrap.
func (e *Engine) wrapped(thread lua.LValue, resume lua.LGFunction) *lua.LFunction {
	return e.main.NewFunction(func(L *lua.LState) int {
		L.Insert(thread, 1)
		n := e.resume(L, resume)
		if L.Get(-n) == lua.LTrue {
			return n - 1
		}
		v := L.Get(-1)
		if isText(v) {
			v = lua.LString(e.prefix(L, 1) + tostring(v))
		}
		e.raise(L, v)
		return 0
	})
}

// yield suspends the running coroutine. Like Lua 5.1 it cannot do so through a
// function that is not written in Lua, nor through a metamethod or the function of a for.
func (e *Engine) yield(L *lua.LState) int {
	if L.Parent == nil || callsFromC(L) > 0 {
		e.failPlain(L, errYield)
	}
	return -1
}
