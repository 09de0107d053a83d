package luaengine

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxString is the longest string that a script can make: beyond it the error
// of a Lua that is out of memory is raised.
const maxString = 512 << 20

// grow appends to a string that is being made.
func (e *Engine) grow(L *lua.LState, b *strings.Builder, s string) {
	if b.Len()+len(s) > maxString {
		e.failPlain(L, errMemory)
	}
	b.WriteString(s)
}

func (e *Engine) stringLibrary() library {
	return library{
		"byte":    e.stringByte,
		"char":    e.stringChar,
		"dump":    e.stringDump,
		"find":    func(L *lua.LState) int { return e.stringFind(L, true) },
		"format":  e.stringFormat,
		"gmatch":  e.stringGmatch,
		"gsub":    e.stringGsub,
		"len":     e.stringLen,
		"lower":   e.mapString(lowerASCII),
		"match":   func(L *lua.LState) int { return e.stringFind(L, false) },
		"rep":     e.stringRep,
		"reverse": e.mapString(reversed),
		"sub":     e.stringSub,
		"upper":   e.mapString(upperASCII),
	}
}

func (e *Engine) pushString(L *lua.LState, s string) int {
	if text := e.countString(len(s)); text != "" {
		e.kill(L, text)
	}
	L.Push(lua.LString(s))
	return 1
}

func (e *Engine) mapString(fn func(string) string) lua.LGFunction {
	return func(L *lua.LState) int { return e.pushString(L, fn(e.checkString(L, 1))) }
}

// lowerASCII changes the letters that C knows, not those of Unicode.
func lowerASCII(s string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return 'A' <= c && c <= 'Z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func upperASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - ('a' - 'A')
		}
	}
	return string(b)
}

func reversed(s string) string {
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return string(b)
}

// position turns an index of Lua, from 1 or negative from the end, into one
// from 1; before the start is 0.
func position(i, length int) int {
	if i < 0 {
		i += length + 1
	}
	return max(i, 0)
}

func (e *Engine) stringByte(L *lua.LState) int {
	s := e.checkString(L, 1)
	first := position(e.optInteger(L, 2, 1), len(s))
	last := min(position(e.optInteger(L, 3, first), len(s)), len(s))
	first = max(first, 1)
	n := last - first + 1
	if n <= 0 {
		return 0
	}
	e.checkStack(L, n, "string slice too long")
	for i := first; i <= last; i++ {
		L.Push(e.numbers[s[i-1]])
	}
	return n
}

func (e *Engine) stringChar(L *lua.LState) int {
	b := make([]byte, L.GetTop())
	for i := range b {
		c := e.checkInt(L, i+1)
		if c < 0 || c > 255 {
			e.argError(L, i+1, "invalid value")
		}
		b[i] = byte(c)
	}
	return e.pushString(L, string(b))
}

// stringDump gives out how the bytecode of Lua 5.1 begins, and nothing of it: no
// script can load any.
func (e *Engine) stringDump(L *lua.LState) int {
	if e.checkFunction(L, 1).IsG {
		e.fail(L, "unable to dump given function")
	}
	return e.pushString(L, "\x1bLuaQ")
}

func (e *Engine) stringLen(L *lua.LState) int {
	L.Push(e.number(int64(len(e.checkString(L, 1)))))
	return 1
}

func (e *Engine) stringRep(L *lua.LState) int {
	s, n := e.checkString(L, 1), e.checkInt(L, 2)
	if n <= 0 || s == "" {
		return e.pushString(L, "")
	}
	if n > maxString/len(s) {
		e.failPlain(L, errMemory)
	}
	return e.pushString(L, strings.Repeat(s, n))
}

func (e *Engine) stringSub(L *lua.LState) int {
	s := e.checkString(L, 1)
	first := max(position(e.checkInteger(L, 2), len(s)), 1)
	last := min(position(e.optInteger(L, 3, -1), len(s)), len(s))
	if first > last {
		return e.pushString(L, "")
	}
	return e.pushString(L, s[first-1:last])
}

func (e *Engine) newMatcher(L *lua.LState, text, pattern string) *matcher {
	return &matcher{
		text: text, pattern: cString(pattern),
		pause: func() { e.checkLimit(L) },
		fail:  func(fault string) { e.fail(L, "%s", fault) },
	}
}

// search matches at the first place from s on that it can, and returns where
// the match begins and ends, or -1.
func (m *matcher) search(s int) (start, end int) {
	p := 0
	anchored := strings.HasPrefix(m.pattern, "^")
	if anchored {
		p = 1
	}
	for ; s <= len(m.text); s++ {
		m.captures = 0
		if end := m.match(s, p); end >= 0 {
			return s, end
		}
		if anchored {
			break
		}
	}
	return -1, -1
}

// hasSpecials reports whether a pattern is more than a text to search for.
func hasSpecials(pattern string) bool {
	return strings.ContainsAny(cString(pattern), "^$*+?.([%-")
}

// stringFind is string.find, or string.match.
func (e *Engine) stringFind(L *lua.LState, find bool) int {
	text, pattern := e.checkString(L, 1), e.checkString(L, 2)
	init := min(max(position(e.optInteger(L, 3, 1), len(text))-1, 0), len(text))
	if find && (lua.LVAsBool(L.Get(4)) || !hasSpecials(pattern)) {
		at := strings.Index(text[init:], pattern)
		if at < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(init + at + 1))
		L.Push(lua.LNumber(init + at + len(pattern)))
		return 2
	}
	m := e.newMatcher(L, text, pattern)
	start, end := m.search(init)
	switch {
	case end < 0:
		L.Push(lua.LNil)
		return 1
	case find:
		L.Push(lua.LNumber(start + 1))
		L.Push(lua.LNumber(end))
		return 2 + e.pushCaptures(L, m, start, end, false)
	}
	return e.pushCaptures(L, m, start, end, true)
}

// pushCaptures pushes what was captured; the whole match if asked for and
// there are no captures.
func (e *Engine) pushCaptures(L *lua.LState, m *matcher, start, end int, whole bool) int {
	if m.captures == 0 && whole {
		return e.pushString(L, m.text[start:end])
	}
	for i := range m.captures {
		L.Push(m.value(i))
	}
	return m.captures
}

// value is a capture as a Lua value.
func (m *matcher) value(i int) lua.LValue {
	c := m.capture[i]
	switch c.length {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureOpen:
		m.fail("unfinished capture")
	}
	return lua.LString(m.text[c.start : c.start+c.length])
}

func (e *Engine) stringGmatch(L *lua.LState) int {
	text, pattern := e.checkString(L, 1), e.checkString(L, 2)
	at := 0
	L.Push(e.main.NewFunction(func(L *lua.LState) int {
		m := e.newMatcher(L, text, pattern)
		for ; at <= len(text); at++ {
			m.captures = 0
			end := m.match(at, 0)
			if end < 0 {
				continue
			}
			start := at
			if at = end; end == start {
				at++
			}
			return e.pushCaptures(L, m, start, end, true)
		}
		return 0
	}))
	return 1
}

func (e *Engine) stringGsub(L *lua.LState) int {
	text, pattern := e.checkString(L, 1), e.checkString(L, 2)
	with := L.Get(3)
	limit := e.optInt(L, 4, math.MaxInt32)
	switch with.(type) {
	case lua.LNumber, lua.LString, *lua.LTable, *lua.LFunction:
	default:
		e.argError(L, 3, "string/function/table expected")
	}
	anchored := strings.HasPrefix(pattern, "^")
	pattern = strings.TrimPrefix(pattern, "^")
	var b strings.Builder
	m := e.newMatcher(L, text, pattern)
	n, s := 0, 0
	for n < limit {
		m.captures = 0
		end := m.match(s, 0)
		if end >= 0 {
			n++
			e.grow(L, &b, e.replacement(L, m, with, s, end))
		}
		switch {
		case end > s:
			s = end
		case s < len(text):
			b.WriteByte(text[s])
			s++
		default:
			s++
		}
		if s > len(text) || anchored {
			break
		}
	}
	if s < len(text) {
		e.grow(L, &b, text[s:])
	}
	e.pushString(L, b.String())
	L.Push(lua.LNumber(n))
	return 2
}

// replacement is what gsub puts in the place of one match.
func (e *Engine) replacement(L *lua.LState, m *matcher, with lua.LValue, start, end int) string {
	var v lua.LValue
	switch with := with.(type) {
	case *lua.LTable:
		v = L.GetTable(with, m.first(start, end))
	case *lua.LFunction:
		L.Push(with)
		n := e.pushCaptures(L, m, start, end, true)
		L.Call(n, 1)
		v = L.Get(-1)
		L.Pop(1)
	default:
		return e.expand(L, m, tostring(with), start, end)
	}
	if lua.LVIsFalse(v) {
		return m.text[start:end]
	}
	if !isText(v) {
		e.fail(L, "invalid replacement value (a %s)", typeName(v))
	}
	return tostring(v)
}

// first is the first capture, or the whole match if there is none.
func (m *matcher) first(start, end int) lua.LValue {
	if m.captures == 0 {
		return lua.LString(m.text[start:end])
	}
	return m.value(0)
}

// expand replaces %0 to %9 in a replacement text.
func (e *Engine) expand(L *lua.LState, m *matcher, with string, start, end int) string {
	if !strings.Contains(with, "%") {
		return with
	}
	m.count(len(with) / readPerStep)
	var b strings.Builder
	for i := 0; i < len(with); i++ {
		if with[i] != '%' {
			b.WriteByte(with[i])
			continue
		}
		var c byte // a % at the end takes the zero byte that ends C's strings
		if i++; i < len(with) {
			c = with[i]
		}
		switch {
		case c == '0', c == '1' && m.captures == 0:
			e.grow(L, &b, m.text[start:end])
		case '1' <= c && c <= '9':
			if int(c-'1') >= m.captures {
				m.fail("invalid capture index")
			}
			e.grow(L, &b, tostring(m.value(int(c-'1'))))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
