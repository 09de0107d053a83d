package luaengine

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

var (
	tableKeys   = tableMember("keys", []lua.LValue(nil))
	tablePlaces = tableMember("k2i", map[lua.LValue]int(nil))
)

// keysOf are the keys of t that are no indices, in the order in which they came.
// Those that have gone keep their places.
func keysOf(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), tableKeys))
}

// placesOf says where among the keys of t each one stands.
func placesOf(t *lua.LTable) map[lua.LValue]int {
	return *(*map[lua.LValue]int)(unsafe.Add(unsafe.Pointer(t), tablePlaces))
}

// after returns the key behind this one, and its value; nil begins and ends a
// traversal. A key that the traversal has removed is still known, one that the
// table never had is not. The order is that of gopher-lua's Next, which takes
// an unknown key for the first.
// Source: Lua 5.1, luaH_next.
func after(t *lua.LTable, key lua.LValue) (next, value lua.LValue, known bool) {
	place := 0
	if index := indexOf(key); index > 0 || isNil(key) {
		elements := *elementsOf(t)
		if index > len(elements) {
			return lua.LNil, lua.LNil, false
		}
		for ; index < len(elements); index++ {
			if v := elements[index]; !isNil(v) {
				return lua.LNumber(index + 1), v, true
			}
		}
	} else if place, known = placesOf(t)[key]; !known {
		return lua.LNil, lua.LNil, false
	} else {
		place++
	}
	for keys := keysOf(t); place < len(keys); place++ {
		key := keys[place]
		if s, ok := key.(lua.LString); ok {
			value = t.RawGetString(string(s))
		} else {
			value = t.RawGetH(key)
		}
		if !isNil(value) {
			return key, value, true
		}
	}
	return lua.LNil, lua.LNil, true
}

// indexOf is the index that a key is, or 0.
func indexOf(key lua.LValue) int {
	n, ok := key.(lua.LNumber)
	if index := int(n); ok && n >= 1 && n < lua.LNumber(lua.MaxArrayIndex) && lua.LNumber(index) == n {
		return index
	}
	return 0
}
