package luaengine

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (e *Engine) tableLibrary() library {
	return library{
		"concat":   e.tableConcat,
		"foreach":  e.tableForeach,
		"foreachi": e.tableForeachI,
		"getn":     e.tableGetN,
		"insert":   e.tableInsert,
		"maxn":     e.tableMaxN,
		"remove":   e.tableRemove,
		"setn":     e.tableSetN,
		"sort":     e.tableSort,
	}
}

func (e *Engine) tableConcat(L *lua.LState) int {
	sep := e.optString(L, 2, "") // in front of the table, as Lua has it
	t := e.sand.readable(e.checkTable(L, 1))
	i := e.optInt(L, 3, 1)
	last := length(t)
	if L.Get(4) != lua.LNil {
		last = e.checkInt(L, 4)
	}
	var b strings.Builder
	for ; i <= last; i++ {
		v := element(t, i)
		if !isText(v) {
			e.fail(L, "invalid value (%s) at index %d in table for 'concat'", typeName(v), i)
		}
		e.grow(L, &b, tostring(v))
		if i < last {
			e.grow(L, &b, sep)
		}
	}
	return e.pushString(L, b.String())
}

// tableForeach calls a function for each entry until it returns a value.
func (e *Engine) tableForeach(L *lua.LState) int {
	t := e.sand.readable(e.checkTable(L, 1))
	fn := e.checkFunction(L, 2)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if e.callBack(L, fn, k, v) {
			return 1
		}
	}
	return 0
}

func (e *Engine) tableForeachI(L *lua.LState) int {
	t := e.sand.readable(e.checkTable(L, 1))
	fn := e.checkFunction(L, 2)
	for i, n := 1, length(t); i <= n; i++ {
		if e.callBack(L, fn, lua.LNumber(i), element(t, i)) {
			return 1
		}
	}
	return 0
}

// callBack leaves the function's result on the stack if it is not nil.
func (e *Engine) callBack(L *lua.LState, fn *lua.LFunction, k, v lua.LValue) bool {
	L.Push(fn)
	L.Push(k)
	L.Push(v)
	L.Call(2, 1)
	if L.Get(-1) != lua.LNil {
		return true
	}
	L.Pop(1)
	return false
}

func (e *Engine) tableGetN(L *lua.LState) int {
	L.Push(e.number(int64(length(e.sand.readable(e.checkTable(L, 1))))))
	return 1
}

func (e *Engine) tableSetN(L *lua.LState) int {
	e.checkTable(L, 1)
	e.fail(L, "'setn' is obsolete")
	return 0
}

func (e *Engine) tableInsert(L *lua.LState) int {
	t := e.checkTable(L, 1)
	end := length(t) + 1
	pos := end
	switch L.GetTop() {
	case 2:
	case 3:
		pos = e.checkInt(L, 2)
	default:
		e.fail(L, "wrong number of arguments to 'insert'")
	}
	t = e.checkWritable(L, 1)
	if pos < 1 {
		moveUp(t, pos, end)
	}
	for i := end; i > pos && pos >= 1; i-- {
		t.RawSetInt(i, element(t, i-1))
	}
	e.setCounted(L, t, lua.LNumber(pos), L.Get(L.GetTop()))
	return 0
}

// moveUp gives the values of the integer keys from pos to below end the next
// keys. There may be billions of such keys, few of which are in the table.
func moveUp(t *lua.LTable, pos, end int) {
	type moved struct {
		key   lua.LNumber
		value lua.LValue
	}
	var list []moved
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		n, ok := k.(lua.LNumber)
		if ok && n == lua.LNumber(math.Floor(float64(n))) && lua.LNumber(pos) <= n && n < lua.LNumber(end) {
			list = append(list, moved{n, v})
		}
	}
	for _, m := range list {
		t.RawSet(m.key, lua.LNil)
	}
	for _, m := range list {
		t.RawSet(m.key+1, m.value)
	}
}

func (e *Engine) tableMaxN(L *lua.LState) int {
	t := e.sand.readable(e.checkTable(L, 1))
	most := lua.LNumber(0)
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		if n, ok := k.(lua.LNumber); ok && n > most {
			most = n
		}
	}
	L.Push(most)
	return 1
}

func (e *Engine) tableRemove(L *lua.LState) int {
	t := e.checkTable(L, 1)
	n := length(t) // of the tables that scripts may not change all are empty lists
	pos := e.optInt(L, 2, n)
	if pos < 1 || pos > n {
		return 0
	}
	L.Push(element(t, pos))
	for ; pos < n; pos++ {
		t.RawSetInt(pos, element(t, pos+1))
	}
	t.RawSetInt(n, lua.LNil)
	return 1
}

func (e *Engine) tableSort(L *lua.LState) int {
	t := e.checkTable(L, 1) // one that scripts may not change is an empty list
	s := sorter{e: e, L: L, t: t}
	if L.Get(2) != lua.LNil {
		s.less = e.checkFunction(L, 2)
	}
	s.sort(1, length(t))
	return 0
}

// sorter is the quicksort of Lua 5.1: scripts see in which order it compares,
// and what an inconsistent comparison does.
// Source: Lua 5.1, ltablib.c, auxsort.
type sorter struct {
	e    *Engine
	L    *lua.LState
	t    *lua.LTable
	less *lua.LFunction
}

func (s *sorter) at(i int) lua.LValue { return element(s.t, i) }

func (s *sorter) swap(i, j int) {
	a, b := s.at(i), s.at(j)
	s.t.RawSetInt(i, b)
	s.t.RawSetInt(j, a)
}

func (s *sorter) before(a, b lua.LValue) bool {
	if s.less == nil {
		return s.e.lessThan(s.L, a, b)
	}
	s.L.Push(s.less)
	s.L.Push(a)
	s.L.Push(b)
	s.L.Call(2, 1)
	yes := lua.LVAsBool(s.L.Get(-1))
	s.L.Pop(1)
	return yes
}

func (s *sorter) sort(low, high int) {
	for low < high {
		if s.before(s.at(high), s.at(low)) {
			s.swap(low, high)
		}
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if s.before(s.at(middle), s.at(low)) {
			s.swap(middle, low)
		} else if s.before(s.at(high), s.at(middle)) {
			s.swap(middle, high)
		}
		if high-low == 2 {
			return
		}
		i := s.partition(low, high, middle)
		// The smaller part by recursion, the larger by this loop.
		if i-low < high-i {
			s.sort(low, i-1)
			low = i + 1
		} else {
			s.sort(i+1, high)
			high = i - 1
		}
	}
}

// partition puts the pivot where it belongs and returns that place.
func (s *sorter) partition(low, high, middle int) int {
	pivot := s.at(middle)
	s.swap(middle, high-1)
	i, j := low, high-1
	for {
		for i++; s.before(s.at(i), pivot); i++ {
			if i > high {
				s.e.fail(s.L, "invalid order function for sorting")
			}
		}
		for j--; s.before(pivot, s.at(j)); j-- {
			if j < low {
				s.e.fail(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		s.swap(i, j)
	}
	s.swap(high-1, i)
	return i
}

// lessThan is the operator < called from a library function, whose errors
// have no place.
func (e *Engine) lessThan(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			return x < y
		}
	case *lua.LTable:
		if y, ok := b.(*lua.LTable); ok && L.GetMetaField(x, "__lt") != lua.LNil &&
			L.GetMetaField(x, "__lt") == L.GetMetaField(y, "__lt") {
			return L.LessThan(x, y)
		}
	}
	e.failPlain(L, orderText(a, b))
	return false
}
