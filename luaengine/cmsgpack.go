package luaengine

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	lua "github.com/yuin/gopher-lua"
)

const (
	// msgpackDepth is how deep packed tables may nest; deeper ones become nil.
	msgpackDepth = 16
	// maxCStack is how many values a C function of Lua may have on its stack.
	maxCStack = 8000
)

// Texts of lua-cmsgpack.
const (
	errMissingBytes = "Missing bytes in input."
	errBadFormat    = "Bad data format in input."
	errManyValues   = "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)"
	errDeepArray    = "stack overflow (in function mp_decode_to_lua_array)"
)

// msgpackLibrary is lua-cmsgpack 0.4.0, in which pack writes any number of
// values one after the other and the others read them.
func (e *Engine) msgpackLibrary() library {
	return library{
		"pack":         e.msgpackPack,
		"unpack":       func(L *lua.LState) int { return e.msgpackUnpack(L, 0, 0) },
		"unpack_one":   func(L *lua.LState) int { return e.msgpackUnpack(L, 1, e.optInteger(L, 2, 0)) },
		"unpack_limit": func(L *lua.LState) int { return e.msgpackUnpack(L, e.checkInteger(L, 2), e.optInteger(L, 3, 0)) },
	}
}

var msgpackConstants = map[string]lua.LValue{
	"_NAME":        lua.LString("cmsgpack"),
	"_VERSION":     lua.LString("lua-cmsgpack 0.4.0"),
	"_COPYRIGHT":   lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"),
	"_DESCRIPTION": lua.LString("MessagePack C implementation for Lua"),
}

func (e *Engine) msgpackPack(L *lua.LState) int {
	if L.GetTop() == 0 {
		e.argError(L, 0, "MessagePack pack needs input.")
	}
	if 2*L.GetTop() > maxUnpack { // there is room for a copy of all
		e.argError(L, 0, "Too many arguments for MessagePack pack.")
	}
	var out packed
	p := packer{e, L, msgpack.NewEncoder(&out)}
	for i := 1; i <= L.GetTop(); i++ {
		if err := p.value(L.Get(i), 0); err != nil {
			e.failPlain(L, err.Error())
		}
	}
	return e.pushString(L, out.text.String())
}

// packed takes what is packed, up to the length of the longest string.
type packed struct{ text strings.Builder }

// Write appends b; the one error is that there is no room.
func (p *packed) Write(b []byte) (int, error) {
	if p.text.Len()+len(b) > maxString {
		return 0, errors.New(errMemory)
	}
	return p.text.Write(b)
}

type packer struct {
	e   *Engine
	L   *lua.LState
	enc *msgpack.Encoder
}

// value writes v; what MessagePack has no form for is written as nil.
func (p packer) value(v lua.LValue, depth int) error {
	switch v := v.(type) {
	case lua.LString:
		return p.enc.EncodeString(string(v))
	case lua.LNumber:
		return p.number(float64(v))
	case lua.LBool:
		return p.enc.EncodeBool(bool(v))
	case *lua.LTable:
		if depth < msgpackDepth {
			return p.table(p.e.sand.readable(v), depth+1)
		}
	}
	return p.enc.EncodeNil()
}

// number writes the shortest form that keeps the value.
func (p packer) number(f float64) error {
	switch {
	case f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64:
		return p.enc.EncodeInt(int64(f))
	case f == float64(float32(f)):
		return p.enc.EncodeFloat32(float32(f))
	}
	return p.enc.EncodeFloat64(f)
}

// table writes a table with the keys 1 to n, and no other, as an array.
func (p packer) table(t *lua.LTable, depth int) error {
	p.e.tick(p.L)
	items, isArray := 0, true
	greatest := lua.LNumber(0)
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n, ok := k.(lua.LNumber)
		isArray = isArray && ok && n > 0 && float64(n) == math.Floor(float64(n))
		items++
		greatest = max(greatest, n)
	}
	if isArray && greatest == lua.LNumber(items) {
		return p.array(t, items, depth)
	}
	if err := p.enc.EncodeMapLen(items); err != nil {
		return err
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if err := errors.Join(p.value(k, depth), p.value(v, depth)); err != nil {
			return err
		}
	}
	return nil
}

func (p packer) array(t *lua.LTable, items, depth int) error {
	if err := p.enc.EncodeArrayLen(items); err != nil {
		return err
	}
	for i := 1; i <= items; i++ {
		if i%elementsPerTick == 0 {
			p.e.tick(p.L)
		}
		if err := p.value(element(t, i), depth); err != nil {
			return err
		}
	}
	return nil
}

// msgpackUnpack reads up to limit values from an offset of its text, counted
// from 0. The offset of what follows, -1 at the end, comes before the values,
// unless limit and offset are 0: then all values are read.
func (e *Engine) msgpackUnpack(L *lua.LState, limit, offset int) int {
	text := e.checkString(L, 1)
	e.countReading(L, len(text))
	if offset < 0 || limit < 0 {
		e.fail(L, "Invalid request to unpack with offset of %d and limit of %d.", int32(offset), len(text))
	}
	if offset > len(text) {
		e.fail(L, "Start offset %d greater than input length %d.", int32(offset), len(text))
	}
	all := limit == 0 && offset == 0
	data := strings.NewReader(text[offset:])
	u := unpacker{e, L, msgpack.NewDecoder(data), 1}
	var values []lua.LValue
	for data.Len() > 0 && (all || len(values) < limit) {
		values = append(values, u.value())
		u.stack++
	}
	results := len(values)
	if !all {
		next := len(text) - data.Len()
		if data.Len() == 0 {
			next = -1
		}
		L.Push(lua.LNumber(next))
		results++
	}
	for _, v := range values {
		L.Push(v)
	}
	return results
}

type unpacker struct {
	e     *Engine
	L     *lua.LState
	dec   *msgpack.Decoder
	stack int // values that lua-cmsgpack would have on its stack
}

// need raises an error if n more values do not fit the stack.
func (u *unpacker) need(n int, text string) {
	if u.stack+n > maxCStack {
		u.e.fail(u.L, "%s", text)
	}
}

// check raises the error that reading has ended with.
func (u *unpacker) check(err error) {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		u.e.fail(u.L, errMissingBytes)
	case err != nil:
		u.e.fail(u.L, errBadFormat)
	}
}

// value reads a value. Unsigned integers of 64 bits are taken as signed ones.
func (u *unpacker) value() lua.LValue {
	u.need(1, errManyValues)
	code, err := u.dec.PeekCode()
	u.check(err)
	switch {
	case code == msgpcode.Nil:
		u.check(u.dec.DecodeNil())
		return lua.LNil
	case code == msgpcode.True || code == msgpcode.False:
		b, err := u.dec.DecodeBool()
		u.check(err)
		return lua.LBool(b)
	case code == msgpcode.Float || code == msgpcode.Double:
		f, err := u.dec.DecodeFloat64()
		u.check(err)
		return lua.LNumber(f)
	case msgpcode.IsString(code):
		s, err := u.dec.DecodeString()
		u.check(err)
		return lua.LString(s)
	case msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32:
		return u.array()
	case msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32:
		return u.table()
	}
	n, err := u.dec.DecodeInt64()
	u.check(err)
	return lua.LNumber(n)
}

func (u *unpacker) array() lua.LValue {
	n, err := u.dec.DecodeArrayLen()
	u.check(err)
	u.need(2, errDeepArray)
	t := u.L.CreateTable(0, 0)
	u.stack += 2
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, u.value())
	}
	u.stack -= 2
	return t
}

func (u *unpacker) table() lua.LValue {
	n, err := u.dec.DecodeMapLen()
	u.check(err)
	t := u.L.CreateTable(0, 0)
	for range n {
		u.stack++
		key := u.value()
		u.stack++
		v := u.value()
		u.stack -= 2
		u.e.checkKey(u.L, key)
		u.e.setCounted(u.L, t, key, v)
	}
	return t
}
