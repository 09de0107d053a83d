package luaengine

import (
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

func (e *Engine) jsonDecode(L *lua.LState, s *jsonSettings) int {
	if L.GetTop() != 1 {
		e.argError(L, 1, "expected 1 argument")
	}
	text := e.checkString(L, 1)
	e.countReading(L, len(text))
	if len(text) > 1 && (text[0] == 0 || text[1] == 0) {
		e.fail(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	d := jsonDecoder{e: e, L: L, set: s, text: cString(text), stack: 1}
	v := d.value(d.next(), 0)
	if t := d.next(); t.kind != "T_END" {
		d.unexpected("the end", t)
	}
	L.Push(v)
	return 1
}

// jsonToken is one token: kind is cjson's name of it, which its errors show.
type jsonToken struct {
	kind string
	at   int
	v    lua.LValue
}

type jsonDecoder struct {
	e    *Engine
	L    *lua.LState
	set  *jsonSettings
	text string
	pos  int
	// stack is how many values lua-cjson would have on its stack, as in a jsonEncoder.
	stack int
}

func (d *jsonDecoder) unexpected(want string, t jsonToken) {
	d.e.fail(d.L, "Expected %s but found %s at character %d", want, t.kind, t.at+1)
}

var jsonMarks = map[byte]string{
	'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END", ',': "T_COMMA", ':': "T_COLON",
}

var jsonWords = []struct {
	text, kind string
	v          lua.LValue // nil: cjson.null
}{
	{"true", "T_BOOLEAN", lua.LTrue}, {"false", "T_BOOLEAN", lua.LFalse}, {"null", "T_NULL", nil},
}

func (d *jsonDecoder) next() jsonToken {
	for d.pos < len(d.text) && strings.IndexByte(" \t\n\r", d.text[d.pos]) >= 0 {
		d.pos++
	}
	at := d.pos
	if at == len(d.text) {
		return jsonToken{"T_END", at, lua.LNil}
	}
	c := d.text[at]
	if kind, ok := jsonMarks[c]; ok {
		d.pos++
		return jsonToken{kind, at, lua.LNil}
	}
	if c == '"' {
		return d.str(at)
	}
	if c == '-' || '0' <= c && c <= '9' {
		if !d.set.decodeInvalid && unusualNumber(d.text[at:]) {
			return jsonToken{"invalid number", at, lua.LNil}
		}
		return d.number(at)
	}
	for _, w := range jsonWords {
		if strings.HasPrefix(d.text[at:], w.text) {
			d.pos += len(w.text)
			if w.v == nil {
				return jsonToken{w.kind, at, d.e.sand.null}
			}
			return jsonToken{w.kind, at, w.v}
		}
	}
	if d.set.decodeInvalid && unusualNumber(d.text[at:]) {
		return d.number(at)
	}
	return jsonToken{"invalid token", at, lua.LNil}
}

// unusualNumber reports whether a token is one that C takes for a number and
// JSON does not.
func unusualNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if len(s) > 1 && s[0] == '0' {
		return s[1]|0x20 == 'x' || '0' <= s[1] && s[1] <= '9'
	}
	word := lowerASCII(s[:min(len(s), 3)])
	return word == "inf" || word == "nan"
}

func (d *jsonDecoder) number(at int) jsonToken {
	f, length := ScanNumber(d.text[at:])
	if length == 0 {
		return jsonToken{"invalid number", at, lua.LNil}
	}
	d.pos += length
	return jsonToken{"T_NUMBER", at, lua.LNumber(f)}
}

func (d *jsonDecoder) str(at int) jsonToken {
	var b strings.Builder
	for i := at + 1; i < len(d.text); i++ {
		switch c := d.text[i]; c {
		case '"':
			d.pos = i + 1
			return jsonToken{"T_STRING", at, lua.LString(b.String())}
		case '\\':
			n := d.escape(&b, i+1)
			if n == 0 {
				return jsonToken{d.badEscape(i + 1), i, lua.LNil}
			}
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return jsonToken{"unexpected end of string", len(d.text), lua.LNil}
}

// escape decodes what follows a backslash and returns its length, 0 if it is
// wrong.
func (d *jsonDecoder) escape(b *strings.Builder, i int) int {
	if i == len(d.text) {
		return 0
	}
	if at := strings.IndexByte(`"\/bfnrt`, d.text[i]); at >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[at])
		return 1
	}
	high, ok := d.unit(i)
	if !ok {
		return 0
	}
	if high < 0xD800 || high > 0xDFFF {
		b.WriteString(string(utf8.AppendRune(nil, high)))
		return 5
	}
	low, ok := rune(0), false
	if i+5 < len(d.text) && d.text[i+5] == '\\' {
		low, ok = d.unit(i + 6)
	}
	if !ok || high > 0xDBFF || low < 0xDC00 || low > 0xDFFF {
		return 0
	}
	b.WriteRune((high-0xD800)<<10 + (low - 0xDC00) + 0x10000)
	return 11
}

// badEscape is the kind of the token that an escape makes which is wrong.
func (d *jsonDecoder) badEscape(i int) string {
	if i < len(d.text) && d.text[i] == 'u' {
		return "invalid unicode escape code"
	}
	return "invalid escape code"
}

// unit reads "uXXXX".
func (d *jsonDecoder) unit(i int) (rune, bool) {
	if i+5 > len(d.text) || d.text[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[i+1:i+5], 16, 16)
	return rune(n), err == nil
}

func (d *jsonDecoder) value(t jsonToken, depth int) lua.LValue {
	d.e.tick(d.L)
	switch t.kind {
	case "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL":
		return t.v
	case "T_OBJ_BEGIN", "T_ARR_BEGIN":
		slots, read := jsonArraySlots, d.array
		if t.kind == "T_OBJ_BEGIN" {
			slots, read = jsonObjectSlots, d.object
		}
		if depth++; depth > d.set.decodeDepth || d.stack+slots+1 > maxCStack { // one for the table
			d.e.fail(d.L, "Found too many nested data structures (%d) at character %d", depth, t.at+1)
		}
		d.stack += slots
		v := read(depth)
		d.stack -= slots
		return v
	}
	d.unexpected("value", t)
	return lua.LNil
}

func (d *jsonDecoder) object(depth int) lua.LValue {
	t := d.L.CreateTable(0, 0)
	key := d.next()
	if key.kind == "T_OBJ_END" {
		return t
	}
	for {
		if key.kind != "T_STRING" {
			d.unexpected("object key string", key)
		}
		if colon := d.next(); colon.kind != "T_COLON" {
			d.unexpected("colon", colon)
		}
		t.RawSet(key.v, d.value(d.next(), depth))
		switch end := d.next(); end.kind {
		case "T_OBJ_END":
			return t
		case "T_COMMA":
		default:
			d.unexpected("comma or object end", end)
		}
		key = d.next()
	}
}

func (d *jsonDecoder) array(depth int) lua.LValue {
	t := d.L.CreateTable(0, 0)
	item := d.next()
	if item.kind == "T_ARR_END" {
		return t
	}
	for i := 1; ; i++ {
		t.RawSetInt(i, d.value(item, depth))
		switch end := d.next(); end.kind {
		case "T_ARR_END":
			return t
		case "T_COMMA":
		default:
			d.unexpected("comma or array end", end)
		}
		item = d.next()
	}
}
