package luaengine

import (
	"fmt"
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// jsonSettings are the settings of one cjson table.
type jsonSettings struct {
	sparseConvert bool // write sparse arrays as objects
	sparseRatio   int  // an array is sparse if its greatest index exceeds that many times its items …
	sparseSafe    int  // … and this index; a ratio of 0 allows any
	encodeDepth   int
	decodeDepth   int
	precision     int // digits of a number
	encodeInvalid int // index into jsonInvalid
	decodeInvalid bool
	keepBuffer    bool
}

// The values that settings take by name; true and false mean the first two.
var (
	jsonSwitch  = []string{"off", "on"}
	jsonInvalid = []string{"off", "on", "null"}
)

const (
	jsonInvalidOn   = 1
	jsonInvalidNull = 2
	jsonMaxDigits   = 14
)

// newJSONSettings are cjson's own, as Redis builds it.
func newJSONSettings() *jsonSettings {
	return &jsonSettings{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: jsonMaxDigits,
		decodeInvalid: true, keepBuffer: true,
	}
}

// jsonNew is cjson.new: a cjson with settings of its own, which scripts may change.
func (e *Engine) jsonNew(L *lua.LState) int {
	own := newJSONSettings()
	t := L.NewTable()
	e.sand.add(e, t, e.jsonFunctions(func() *jsonSettings { return own }))
	e.sand.addConstants(t, e.cjsonConstants())
	L.Push(t)
	return 1
}

// jsonArguments refuses more arguments than a setting has; missing ones are nil.
func (e *Engine) jsonArguments(L *lua.LState, n int) {
	if L.GetTop() > n {
		e.argError(L, n+1, "found too many arguments")
	}
	L.SetTop(n)
}

// jsonInt is a setting that is an integer: argument n, if there is one, becomes
// its value. The value is pushed.
func (e *Engine) jsonInt(L *lua.LState, n int, setting *int, least, most int) {
	if L.Get(n) != lua.LNil {
		v := e.checkInt(L, n)
		if v < least || v > most {
			e.argError(L, 1, fmt.Sprintf("expected integer between %d and %d", least, most))
		}
		*setting = v
	}
	L.Push(lua.LNumber(*setting))
}

// jsonOption is argument n as the index of one of options; other if it is not given.
func (e *Engine) jsonOption(L *lua.LState, n int, options []string, other int) int {
	switch L.Get(n) {
	case lua.LNil:
		return other
	case lua.LTrue:
		return 1
	case lua.LFalse:
		return 0
	}
	name := cString(e.checkString(L, n))
	i := slices.Index(options, name)
	if i < 0 {
		e.argError(L, n, "invalid option '"+name+"'")
	}
	return i
}

// jsonBool is a setting that is on or off.
func (e *Engine) jsonBool(L *lua.LState, n int, setting *bool) {
	other := 0
	if *setting {
		other = 1
	}
	*setting = e.jsonOption(L, n, jsonSwitch, other) == 1
	L.Push(lua.LBool(*setting))
}

func (e *Engine) jsonSparse(L *lua.LState, s *jsonSettings) int {
	e.jsonArguments(L, 3)
	e.jsonBool(L, 1, &s.sparseConvert)
	e.jsonInt(L, 2, &s.sparseRatio, 0, math.MaxInt32)
	e.jsonInt(L, 3, &s.sparseSafe, 0, math.MaxInt32)
	return 3
}

func (e *Engine) jsonEncodeInvalid(L *lua.LState, s *jsonSettings) int {
	e.jsonArguments(L, 1)
	s.encodeInvalid = e.jsonOption(L, 1, jsonInvalid, s.encodeInvalid)
	if s.encodeInvalid == jsonInvalidNull {
		return e.pushString(L, jsonInvalid[jsonInvalidNull])
	}
	L.Push(lua.LBool(s.encodeInvalid == jsonInvalidOn))
	return 1
}

// jsonIntSetting is the function of a setting that is an integer from 1.
func (e *Engine) jsonIntSetting(
	settings func() *jsonSettings, field func(*jsonSettings) *int, most int,
) lua.LGFunction {
	return func(L *lua.LState) int {
		e.jsonArguments(L, 1)
		e.jsonInt(L, 1, field(settings()), 1, most)
		return 1
	}
}

func (e *Engine) jsonBoolSetting(settings func() *jsonSettings, field func(*jsonSettings) *bool) lua.LGFunction {
	return func(L *lua.LState) int {
		e.jsonArguments(L, 1)
		e.jsonBool(L, 1, field(settings()))
		return 1
	}
}

// jsonFunctions is lua-cjson 2.1.0 with the given settings.
func (e *Engine) jsonFunctions(settings func() *jsonSettings) library {
	return library{
		"new":    e.jsonNew,
		"encode": func(L *lua.LState) int { return e.jsonEncode(L, settings()) },
		"decode": func(L *lua.LState) int { return e.jsonDecode(L, settings()) },

		"encode_sparse_array":    func(L *lua.LState) int { return e.jsonSparse(L, settings()) },
		"encode_invalid_numbers": func(L *lua.LState) int { return e.jsonEncodeInvalid(L, settings()) },
		"encode_max_depth": e.jsonIntSetting(settings,
			func(s *jsonSettings) *int { return &s.encodeDepth }, math.MaxInt32),
		"decode_max_depth": e.jsonIntSetting(settings,
			func(s *jsonSettings) *int { return &s.decodeDepth }, math.MaxInt32),
		"encode_number_precision": e.jsonIntSetting(settings,
			func(s *jsonSettings) *int { return &s.precision }, jsonMaxDigits),
		"encode_keep_buffer": e.jsonBoolSetting(settings,
			func(s *jsonSettings) *bool { return &s.keepBuffer }),
		"decode_invalid_numbers": e.jsonBoolSetting(settings,
			func(s *jsonSettings) *bool { return &s.decodeInvalid }),
	}
}
