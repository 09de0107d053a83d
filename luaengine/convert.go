package luaengine

import (
	"strings"
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// maxReplyStack is how many values Redis can have on Lua's stack when it begins
// to convert a value. Each level of a reply leaves some there: an array one, a
// map three above a value and four above a key, a set three.
// Source: script_lua.c, luaReplyToRedisReply, where lua_checkstack fails.
const (
	maxReplyStack = 7994
	stackOfArray  = 1
	stackOfValue  = 3
	stackOfKey    = 4
)

// toLua converts the reply of a command. Under RESP2 the kinds of RESP3 take
// their RESP2 form first.
// Source: script_lua.c, redisProtocolToLuaType and its callbacks.
func (e *Engine) toLua(L *lua.LState, v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Integer:
		return e.number(v.Int)
	case resp.Bulk:
		return e.run.boxes.string(v.Str)
	case resp.Status:
		return field(L, "ok", lua.LString(v.Str))
	case resp.Error:
		return errorTable(L, v.Str)
	case resp.Array, resp.Push:
		return e.arrayToLua(L, v.List)
	case resp.Nil, resp.NilArray, resp.None:
		if e.run.proto == 3 {
			return lua.LNil
		}
		return lua.LFalse
	}
	if e.run.proto == 3 {
		return e.toLua3(L, v)
	}
	switch v.Kind {
	case resp.Bool:
		return e.number(v.Int)
	case resp.Double:
		return e.run.numberText(v.Float64())
	case resp.Map, resp.Set, resp.Attribute:
		return e.arrayToLua(L, v.List)
	}
	return e.run.boxes.string(v.Str) // BigNumber, Verbatim
}

// toLua3 converts the kinds that only RESP3 has.
func (e *Engine) toLua3(L *lua.LState, v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Bool:
		return lua.LBool(v.Int != 0)
	case resp.Double:
		return field(L, "double", lua.LNumber(v.Float64()))
	case resp.BigNumber:
		return field(L, "big_number", lua.LString(v.Str))
	case resp.Verbatim:
		t := L.CreateTable(0, 2)
		t.RawSetString("string", lua.LString(v.Str))
		t.RawSetString("format", lua.LString(v.Format()))
		return field(L, "verbatim_string", t)
	}
	t := L.CreateTable(0, len(v.List))
	if v.Kind == resp.Set {
		for _, member := range v.List {
			t.RawSet(e.toLua(L, member), lua.LTrue)
		}
		return field(L, "set", t)
	}
	for i := 0; i+1 < len(v.List); i += 2 {
		t.RawSet(e.toLua(L, v.List[i]), e.toLua(L, v.List[i+1]))
	}
	return field(L, "map", t)
}

func (e *Engine) arrayToLua(L *lua.LState, list []resp.Value) lua.LValue {
	t := L.CreateTable(len(list), 0)
	for i, v := range list {
		t.RawSetInt(i+1, e.toLua(L, v))
	}
	return t
}

func field(L *lua.LState, name string, v lua.LValue) *lua.LTable {
	t := L.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

// A reply takes at most maxReply bytes, of which each value in it takes replySize and
// its text. Redis makes one of any length: of thirty tables that hold each other twice
// it makes four gigabytes, for which we would need sixty.
const (
	maxReply  = 1 << 30
	replySize = int(unsafe.Sizeof(resp.Value{}))
)

// reply converts what a script has returned.
// Source: script_lua.c, luaReplyToRedisReply.
func (e *Engine) reply(v lua.LValue) resp.Value {
	e.run.replyLeft = e.maxReply
	reply := e.replyAt(v, 0)
	if e.run.replyLeft < 0 {
		return resp.Err(errLongReply)
	}
	return reply
}

// replyText is a text of the reply, which must not hold on to what the script has; once
// the reply is too long it is "".
func (e *Engine) replyText(v lua.LString) string {
	if e.run.replyLeft -= len(v); e.run.replyLeft < 0 {
		return ""
	}
	return strings.Clone(string(v))
}

// replyAt converts a value above stack others.
func (e *Engine) replyAt(v lua.LValue, stack int) resp.Value {
	if stack > maxReplyStack {
		return resp.Err(errLuaStack)
	}
	if e.run.replyLeft -= replySize; e.run.replyLeft < 0 {
		return resp.Null
	}
	switch v := v.(type) {
	case lua.LString:
		return resp.Str(e.replyText(v))
	case lua.LNumber:
		return resp.Int(toInteger(float64(v)))
	case lua.LBool:
		if e.run.proto == 3 {
			return resp.Flag(bool(v))
		}
		if v {
			return resp.One
		}
	case *lua.LTable:
		return e.tableReply(v, stack)
	}
	return resp.Null
}

// errorReply is the reply of an error with a text. Whether it is counted already is
// for the script to say, if the error is a table. Line breaks at its end are dropped.
// Source: script_lua.c, luaExtractErrorInformation; networking.c, addReplyErrorFormatInternal.
func errorReply(v lua.LValue, text string) resp.Value {
	reply := resp.Err(oneLine(strings.TrimRight(cString(text), "\r\n")))
	if t, ok := v.(*lua.LTable); ok && t.RawGetString(fieldCounted) == lua.LTrue {
		reply.Int = resp.Counted
	}
	return reply
}

// tableReply converts a table: by the one of these fields that it has, or as
// an array that ends before the first nil.
func (e *Engine) tableReply(t *lua.LTable, stack int) resp.Value {
	if s, ok := t.RawGetString("err").(lua.LString); ok {
		return errorReply(t, string(s))
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		return resp.Simple(oneLine(string(s)))
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		return resp.Float(float64(n))
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		return resp.Value{Kind: resp.Map, List: e.entries(m, stack)}
	}
	if m, ok := t.RawGetString("set").(*lua.LTable); ok {
		return resp.Value{Kind: resp.Set, List: e.members(m, stack)}
	}
	if s, ok := t.RawGetString("big_number").(lua.LString); ok {
		return resp.Value{Kind: resp.BigNumber, Str: unbroken(string(s))}
	}
	if m, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		s, okText := m.RawGetString("string").(lua.LString)
		format, okFormat := m.RawGetString("format").(lua.LString)
		if okText && okFormat {
			return resp.VerbatimText(cString(string(format)), e.replyText(s))
		}
	}
	list := make([]resp.Value, 0, min(t.Len(), 64)) // #t may count far beyond the first nil
	for i := 1; ; i++ {
		v := element(t, i)
		if v == lua.LNil || e.run.replyLeft < 0 {
			return resp.List(list...)
		}
		list = append(list, e.replyAt(v, stack+stackOfArray))
	}
}

// entries are the keys of a table, each followed by its value.
func (e *Engine) entries(t *lua.LTable, stack int) []resp.Value {
	list := []resp.Value{}
	for k, v := t.Next(lua.LNil); k != lua.LNil && e.run.replyLeft >= 0; k, v = t.Next(k) {
		list = append(list, e.replyAt(k, stack+stackOfKey), e.replyAt(v, stack+stackOfValue))
	}
	return list
}

// members are the keys of a table.
func (e *Engine) members(t *lua.LTable, stack int) []resp.Value {
	list := []resp.Value{}
	for k, _ := t.Next(lua.LNil); k != lua.LNil && e.run.replyLeft >= 0; k, _ = t.Next(k) {
		list = append(list, e.replyAt(k, stack+stackOfValue))
	}
	return list
}
