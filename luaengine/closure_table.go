package luaengine

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// tables are those that closures have made, which the next run uses again: no
// value outlives its run. A table that is used again has room for more elements,
// which no script can see.
type tables struct {
	kept []*lua.LTable
	used int // of the running script
}

const (
	keptTables  = 8  // beyond these, tables are made anew
	keptElement = 64 // what a table that is kept has room for at most
)

// make returns an empty table for about n elements.
func (t *tables) make(L *lua.LState, n int) *lua.LTable {
	if t.used < len(t.kept) {
		t.used++
		return t.kept[t.used-1]
	}
	table := L.CreateTable(n, 0)
	if t.used < keptTables {
		t.kept = append(t.kept, table)
		t.used++
	}
	return table
}

// reset empties what the run has used.
func (t *tables) reset() {
	for i := t.used - 1; i >= 0; i-- {
		if table := t.kept[i]; isShortList(table) {
			elements := elementsOf(table)
			for at := range *elements {
				(*elements)[at] = lua.LNil // a few, which to clear costs a call of the runtime
			}
			*elements = (*elements)[:0]
			continue
		}
		last := len(t.kept) - 1
		t.kept[i] = t.kept[last]
		t.kept[last] = nil
		t.kept = t.kept[:last]
	}
	t.used = 0
}

// Where gopher-lua's table has its elements.
var tableArray = tableMember("array", []lua.LValue(nil))

// tableMember is where gopher-lua's table has a member, which is of like's type.
func tableMember(name string, like any) uintptr {
	member, ok := reflect.TypeFor[lua.LTable]().FieldByName(name)
	if !ok || member.Type != reflect.TypeOf(like) {
		panic("luaengine: gopher-lua's table has no " + name)
	}
	return member.Offset
}

// elementsOf is the list of what t has under 1, 2, …, with room behind it.
func elementsOf(t *lua.LTable) *[]lua.LValue {
	return (*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), tableArray))
}

// isShortList reports whether t never had a key that is no index.
func isShortList(t *lua.LTable) bool {
	_, plain := t.Metatable.(*lua.LNilType)
	return keysOf(t) == nil && cap(*elementsOf(t)) <= keptElement && plain
}

// listReply is the reply of a short list, up to the first nil.
func (a *activation) listReply(reply *resp.Value, t *lua.LTable) {
	a.beginList()
	for _, v := range *elementsOf(t) {
		if isNil(v) {
			break
		}
		a.addElement(v)
	}
	a.endList(reply)
}

// beginList begins a reply that is a list, to which addElement adds.
func (a *activation) beginList() {
	a.listed = a.listed[:0]
	a.e.run.replyLeft = a.e.maxReply
}

// endList makes what was listed the reply.
func (a *activation) endList(reply *resp.Value) {
	if a.e.run.replyLeft < 0 {
		*reply = resp.Err(errLongReply)
		return
	}
	reply.SetList(a.listed)
}

// addElement adds the reply of v to listed.
func (a *activation) addElement(v lua.LValue) {
	if n := len(a.listed); n < cap(a.listed) {
		a.listed = a.listed[:n+1]
	} else {
		a.listed = append(a.listed, resp.Value{})
	}
	element := &a.listed[len(a.listed)-1] // may hold what it has held before
	switch v := v.(type) {
	case lua.LNumber:
		element.SetInt(toInteger(float64(v)))
	case lua.LString:
		element.SetStr(a.e.replyText(v))
	default:
		*element = a.e.replyAt(v, stackOfArray)
	}
}

// list is the reply of a command as a table.
func (a *activation) list(values []resp.Value) lua.LValue {
	if len(values) > keptElement {
		return a.e.arrayToLua(a.e.main, values)
	}
	t := a.tables.make(a.e.main, len(values))
	elements := elementsOf(t)
	for i := range values {
		if v := &values[i]; v.Kind == resp.Bulk {
			*elements = append(*elements, a.e.run.boxes.string(v.Str))
		} else {
			*elements = append(*elements, a.e.toLua(a.e.main, *v))
		}
	}
	return t
}
