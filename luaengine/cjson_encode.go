package luaengine

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// cjsonLibrary is the global cjson, whose settings the node keeps.
func (e *Engine) cjsonLibrary() library {
	return e.jsonFunctions(func() *jsonSettings { return e.run.host.State().settings() })
}

func (e *Engine) cjsonConstants() map[string]lua.LValue {
	return map[string]lua.LValue{
		"_NAME":    lua.LString("cjson"),
		"_VERSION": lua.LString("2.1.0"),
		"null":     e.sand.null,
	}
}

func (e *Engine) jsonEncode(L *lua.LState, s *jsonSettings) int {
	if L.GetTop() != 1 {
		e.argError(L, 1, "expected 1 argument")
	}
	enc := jsonEncoder{e: e, L: L, set: s, stack: 1}
	enc.value(L.Get(1), 0)
	return e.pushString(L, enc.out.String())
}

type jsonEncoder struct {
	e   *Engine
	L   *lua.LState
	set *jsonSettings
	out strings.Builder
	// stack is how many values lua-cjson would have on its stack: its argument, and for each table that
	// it is in a value, for an object a key as well. This ends what holds itself, whatever the depth allowed.
	stack int
}

// Values that lua-cjson has on its stack while it is in an array, or in an object.
const (
	jsonArraySlots  = 1
	jsonObjectSlots = 2
)

func (j *jsonEncoder) fail(kind lua.LValue, why string) {
	j.e.fail(j.L, "Cannot serialise %s: %s", typeName(kind), why)
}

func (j *jsonEncoder) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		j.text(string(v))
	case lua.LNumber:
		j.number(v)
	case lua.LBool:
		j.word(v.String())
	case *lua.LTable:
		j.table(j.e.sand.readable(v), depth+1)
	default:
		if v != lua.LNil && v != lua.LValue(j.e.sand.null) {
			j.fail(v, "type not supported")
		}
		j.word("null")
	}
}

// word writes a text that stands for a value.
func (j *jsonEncoder) word(s string) {
	j.room(len(s))
	j.out.WriteString(s)
}

func (j *jsonEncoder) number(n lua.LNumber) {
	f := float64(n)
	switch invalid := math.IsNaN(f) || math.IsInf(f, 0); {
	case invalid && j.set.encodeInvalid == jsonInvalidNull:
		j.word("null")
	case math.IsNaN(f) && j.set.encodeInvalid == jsonInvalidOn:
		j.word("nan")
	case invalid && j.set.encodeInvalid != jsonInvalidOn:
		j.fail(n, "must not be NaN or Inf")
	default:
		var digits [32]byte
		text := formatNumber(digits[:0], f, j.set.precision)
		j.room(len(text))
		j.out.Write(text)
	}
}

// room ends the script if n bytes more are too many.
func (j *jsonEncoder) room(n int) {
	if j.out.Len()+n > maxString {
		j.e.failPlain(j.L, errMemory)
	}
}

// text writes a string; bytes above 127 stay as they are.
func (j *jsonEncoder) text(s string) {
	j.room(len(s))
	j.out.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '/':
			j.out.WriteByte('\\')
			j.out.WriteByte(c)
		case c >= '\b' && c <= '\r' && c != '\v':
			j.out.WriteByte('\\')
			j.out.WriteByte("btn.fr"[c-'\b'])
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&j.out, `\u%04x`, c)
		default:
			j.out.WriteByte(c)
		}
	}
	j.out.WriteByte('"')
}

// table writes an array if all keys are positive integers, else an object.
func (j *jsonEncoder) table(t *lua.LTable, depth int) {
	if depth > j.set.encodeDepth || j.stack+jsonObjectSlots+1 > maxCStack { // one for the text of an error
		j.e.fail(j.L, "Cannot serialise, excessive nesting (%d)", depth)
	}
	j.room(0) // few tables that hold each other twice make a text of any length
	j.e.tick(j.L)
	if n := j.arrayLength(t); n > 0 {
		j.stack += jsonArraySlots
		j.out.WriteByte('[')
		for i := 1; i <= n; i++ {
			if i > 1 {
				j.out.WriteByte(',')
			}
			if i%elementsPerTick == 0 { // there may be billions that are nil
				j.e.tick(j.L)
			}
			j.value(element(t, i), depth)
		}
		j.out.WriteByte(']')
		j.stack -= jsonArraySlots
		return
	}
	j.stack += jsonObjectSlots
	j.out.WriteByte('{')
	first := true
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if !first {
			j.out.WriteByte(',')
		}
		first = false
		switch k := k.(type) {
		case lua.LString:
			j.text(string(k))
		case lua.LNumber:
			j.out.WriteByte('"')
			j.number(k)
			j.out.WriteByte('"')
		default:
			j.fail(k, "table key must be a number or string")
		}
		j.out.WriteByte(':')
		j.value(v, depth)
	}
	j.out.WriteByte('}')
	j.stack -= jsonObjectSlots
}

// arrayLength is the greatest index of a table whose keys are all indexes, or
// 0. Too many holes are an error, or make an object of it.
func (j *jsonEncoder) arrayLength(t *lua.LTable) int {
	items, greatest := 0, 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || float64(n) != math.Floor(float64(n)) || n > math.MaxInt32 {
			return 0
		}
		items++
		greatest = max(greatest, int(n))
	}
	ratio := j.set.sparseRatio
	if ratio > 0 && greatest > items*ratio && greatest > j.set.sparseSafe {
		if !j.set.sparseConvert {
			j.fail(t, "excessively sparse array")
		}
		return 0
	}
	return greatest
}
