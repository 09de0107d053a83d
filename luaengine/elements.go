package luaengine

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// element is t[i] without metamethods. LTable.RawGetInt knows the array alone, which
// ends below longestArray; LTable.RawSetInt puts each index where it belongs.
func element(t *lua.LTable, i int) lua.LValue {
	if 0 < i && i < longestArray {
		return t.RawGetInt(i)
	}
	return t.RawGet(lua.LNumber(i))
}

// length is the length of a list for the functions of the libraries, which also count
// what is behind a full array. The operator # does not.
// Source: Lua 5.1, ltable.c, unbound_search.
func length(t *lua.LTable) int {
	known, beyond := t.Len(), longestArray
	if known < longestArray-1 {
		return known
	}
	for ; !isNil(element(t, beyond)); beyond *= 2 {
		if known = beyond; beyond > math.MaxInt32 {
			return known
		}
	}
	for beyond-known > 1 {
		if middle := (known + beyond) / 2; isNil(element(t, middle)) {
			beyond = middle
		} else {
			known = middle
		}
	}
	return known
}
