package luaengine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// Texts of Redis 7.0.15 and Lua 5.1.
const (
	errReadOnlyTable = "Attempt to modify a readonly table"
	errLuaStack      = "ERR reached lua stack limit"
	errMemory        = "not enough memory"
	errLongReply     = "ERR not enough memory for the reply"
	errAssertion     = "assertion failed!"
	errUnpack        = "too many results to unpack"
	errForBound      = "'for' %s must be a number"
	errYield         = "attempt to yield across metamethod/C-call boundary"
)

// failure is a raised Lua value with the place of the innermost Lua function
// at that moment, which an uncaught error's text ends with. It travels as the
// value of a userdata, so that whatever else gopher-lua raises is known to be
// a text of its own.
type failure struct {
	value lua.LValue
	place place
}

// place is a line of a chunk.
type place struct {
	source string // as Lua has it: "@user_script"
	line   int
}

// noPlace is the place of errors raised with no Lua function around.
var noPlace = place{"=[C]", -1}

// frame is a Lua function that is being executed.
type frame struct {
	chunk    *chunk
	fn       *lua.LFunction
	reported int // the line as gopher-lua has it
}

func (f frame) place() place { return place{f.chunk.name, f.chunk.line(f.reported)} }
func (f frame) node() node   { return f.chunk.node(f.reported) }

// frame returns the function at a level of the stack, 0 being the one that
// runs; false if it is not written in Lua.
func (e *Engine) frame(L *lua.LState, level int) (frame, bool) {
	dbg, ok := L.GetStack(level)
	if !ok {
		if host := e.hostOf(L); host != nil {
			return e.frame(host, level-levels(L))
		}
		return frame{}, false
	}
	fn, err := L.GetInfo("fSl", dbg, nil)
	f, isFunction := fn.(*lua.LFunction)
	if err != nil || !isFunction || f.IsG {
		return frame{}, false
	}
	c := e.chunkOf(dbg.Source)
	return frame{c, f, dbg.CurrentLine}, c != nil
}

// chunkOf finds a chunk of this run by the name gopher-lua knows.
func (e *Engine) chunkOf(id string) *chunk {
	if s := e.run.script; s != nil {
		if s.chunk.id == id {
			return s.chunk
		}
		if s.steps != nil && s.steps.id == id {
			return s.steps
		}
	}
	for _, c := range e.run.loaded {
		if c.id == id {
			return c
		}
	}
	return nil
}

// raise ends the running function with an error value.
func (e *Engine) raise(L *lua.LState, v lua.LValue) {
	L.Error(&lua.LUserData{Value: &failure{v, e.current(L)}}, 0)
}

// current is the place of the Lua function that runs or has called what runs.
func (e *Engine) current(L *lua.LState) place {
	for level := 0; level < 2; level++ {
		if f, ok := e.frame(L, level); ok {
			return f.place()
		}
	}
	return noPlace
}

// fail raises a text that begins with the place of the caller, if that is a
// Lua function.
// Source: Lua 5.1, luaL_error.
func (e *Engine) fail(L *lua.LState, format string, args ...any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	e.raise(L, lua.LString(e.prefix(L, 1)+text))
}

// failPlain raises a text with no place.
func (e *Engine) failPlain(L *lua.LState, text string) { e.raise(L, lua.LString(text)) }

// prefix is "name:line: " of the function at a level, or empty.
// Source: Lua 5.1, luaL_where.
func (e *Engine) prefix(L *lua.LState, level int) string {
	f, ok := e.frame(L, level)
	if !ok {
		return ""
	}
	p := f.place()
	return shortName(p.source, runtimeNameSize) + ":" + strconv.Itoa(p.line) + ": "
}

// caught turns what a protected call has recovered into the raised value. L's
// function at the given level is the nearest to the fault that is still known.
func (e *Engine) caught(L *lua.LState, err error, level int) *failure {
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return e.goError(L, err.Error(), level)
	}
	if api.Type == lua.ApiErrorPanic {
		return e.goError(L, tostring(api.Object), level)
	}
	return e.unwrap(api.Object)
}

// goError is a panic of gopher-lua itself: its call stack is full.
func (e *Engine) goError(L *lua.LState, text string, level int) *failure {
	at := noPlace
	if f, ok := e.frame(L, level); ok {
		at = f.place()
	}
	return &failure{lua.LString(e.prefix(L, level) + machineText(text, node{})), at}
}

// unwrap returns a raised value; a text that gopher-lua raised is given its
// place and Lua 5.1's words.
func (e *Engine) unwrap(v lua.LValue) *failure {
	switch v := v.(type) {
	case *lua.LUserData:
		if f, ok := v.Value.(*failure); ok {
			return f
		}
	case lua.LString:
		return e.machineError(string(v))
	}
	return &failure{v, noPlace}
}

// machineError reads "chunk:line: text" as gopher-lua's machine raises it.
func (e *Engine) machineError(text string) *failure {
	id, rest, ok1 := strings.Cut(text, ":")
	number, message, ok2 := strings.Cut(rest, ":")
	reported, err := strconv.Atoi(number)
	c := e.chunkOf(id)
	if !ok1 || !ok2 || err != nil || c == nil {
		return &failure{lua.LString(machineText(text, node{})), noPlace}
	}
	at := place{c.name, c.line(reported)}
	message = machineText(strings.TrimPrefix(message, " "), c.node(reported))
	whole := shortName(at.source, runtimeNameSize) + ":" + strconv.Itoa(at.line) + ": " + message
	return &failure{lua.LString(whole), at}
}

// machineText translates the few errors that no metatable of the sandbox sees:
// those about tables without metamethods, and exhausted stacks.
func machineText(text string, n node) string {
	switch {
	case strings.Contains(text, "overflow"):
		return "stack overflow"
	case text == "attempt to call a non-function object":
		return operandText("call", n.a, "table")
	case text == "__unm undefined":
		return operandText("perform arithmetic on", n.a, "table")
	case strings.HasPrefix(text, "cannot perform"):
		return operandText("perform arithmetic on", n.a, "table")
	case text == "attempt to compare table with table":
		return "attempt to compare two table values"
	case text == "attempt to compare thread with string": // as orderText has it
		return "attempt to compare two thread values"
	case text == "attempt to compare string with thread":
		return "attempt to compare two string values"
	case text == "too many recursions in gettable":
		return "loop in gettable"
	case text == "too many recursions in settable":
		return "loop in settable"
	}
	return text
}

// operandText is "attempt to index local 'x' (a nil value)", or without a name
// "attempt to index a nil value".
// Source: Lua 5.1, luaG_typeerror.
func operandText(what string, o operand, kind string) string {
	if name := o.String(); name != "" {
		return "attempt to " + what + " " + name + "(a " + kind + " value)"
	}
	return "attempt to " + what + " a " + kind + " value"
}

// orderText is the error of comparing two values that have no order.
// Source: Lua 5.1, luaG_ordererror.
func orderText(a, b lua.LValue) string {
	const told = 2 // Lua compares the third letters only: thread and string are one to it
	if typeName(a)[told] == typeName(b)[told] {
		return "attempt to compare two " + typeName(a) + " values"
	}
	return "attempt to compare " + typeName(a) + " with " + typeName(b)
}

// failed is the reply of a script that has ended by a panic.
func (e *Engine) failed(L *lua.LState, cause any) resp.Value {
	var f *failure
	switch cause := cause.(type) {
	case killed:
		if e.loading != nil {
			return resp.Err(oneLine(e.notLoaded(cause.text)))
		}
		return resp.Err(oneLine(e.located(cause.text, cause.at)))
	case error:
		f = e.caught(L, cause, 0)
	case string:
		f = e.goError(L, cause, 0)
	default:
		panic(cause)
	}
	return e.uncaught(f)
}

// uncaught is the reply of an error that no pcall caught.
func (e *Engine) uncaught(f *failure) resp.Value { return errorReply(f.value, e.uncaughtText(f)) }

// uncaughtText is its text.
// Source: eval.c, the error handler of scripts; script_lua.c, luaCallFunction.
func (e *Engine) uncaughtText(f *failure) string {
	text := "ERR " + tostring(f.value)
	if t, ok := f.value.(*lua.LTable); ok {
		text = tostring(t.RawGetString("err"))
	}
	if e.loading != nil {
		return e.notLoaded(cString(text))
	}
	return e.located(cString(text), f.place)
}

// notLoaded is the text of an error that ended the loading of a library.
func (e *Engine) notLoaded(text string) string {
	e.loading.library.failed = true
	return "ERR Error registering functions: " + text
}

// located is an error's text with the script and the place where it ended.
func (e *Engine) located(text string, at place) string {
	if at == noPlace && e.run.script.function != nil {
		return text
	}
	return fmt.Sprintf("%s script: %s, on %s:%d.", text, e.run.script.sha, at.source, at.line)
}

// cString is what C's functions see of a string: it ends at a zero byte.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// oneLine keeps an error or status within its line of the protocol.
func oneLine(s string) string { return unbroken(cString(s)) }

// unbroken has blanks for line breaks.
func unbroken(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return strings.Clone(s)
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}
