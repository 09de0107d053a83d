package luaengine

import (
	"math"
	"strconv"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// smallNumbers is how many whole numbers from 0 are boxed once.
const smallNumbers = 1024

// boxes turns strings and numbers into Lua values without an allocation each.
// A Go interface points to its value; here it points into a slice that the next
// run uses again. That is sound because no Lua value outlives its run: globals,
// libraries and metatables are read-only, and a failed thread is dropped.
type boxes struct {
	strings []lua.LString
	numbers []lua.LNumber
}

// boxesPerRun is how many values of each kind a run boxes without allocating.
const boxesPerRun = 64

// iface is the layout of a Go interface value.
type iface struct {
	kind unsafe.Pointer
	data unsafe.Pointer
}

var (
	anyString = lua.LValue(lua.LString("s"))
	anyNumber = lua.LValue(lua.LNumber(math.Pi))
)

func newBoxes() boxes {
	return boxes{
		strings: make([]lua.LString, 0, boxesPerRun),
		numbers: make([]lua.LNumber, 0, boxesPerRun),
	}
}

func (b *boxes) reset() {
	for last := len(b.strings) - 1; last >= 0; last-- { // a few, which to clear costs a call of the runtime
		b.strings[last] = ""
		b.strings = b.strings[:last]
	}
	b.numbers = b.numbers[:0]
}

// bytes returns a view of s as a Lua string. The caller keeps s unchanged
// until the run has ended.
func (b *boxes) bytes(s []byte) lua.LValue { return b.string(textView(s)) }

func (b *boxes) string(s string) lua.LValue {
	if len(b.strings) == cap(b.strings) {
		return lua.LString(s)
	}
	b.strings = append(b.strings, lua.LString(s))
	v := anyString
	(*iface)(unsafe.Pointer(&v)).data = unsafe.Pointer(&b.strings[len(b.strings)-1])
	return v
}

func (b *boxes) number(f float64) lua.LValue {
	if len(b.numbers) == cap(b.numbers) {
		return lua.LNumber(f)
	}
	b.numbers = append(b.numbers, lua.LNumber(f))
	v := anyNumber
	(*iface)(unsafe.Pointer(&v)).data = unsafe.Pointer(&b.numbers[len(b.numbers)-1])
	return v
}

// smallTexts are the texts of the whole numbers that are boxed once.
var smallTexts = func() (texts [smallNumbers]string) {
	for i := range texts {
		texts[i] = strconv.Itoa(i)
	}
	return texts
}()

// smallText is the text of f if that is a small whole number, or "".
func smallText(f float64) string {
	if n := int64(f); uint64(n) < smallNumbers && math.Float64bits(float64(n)) == math.Float64bits(f) { // not -0
		return smallTexts[n]
	}
	return ""
}

// wordOf is a number as an argument of a command, valid until digits is cut.
func (r *run) wordOf(f float64) []byte {
	if text := smallText(f); text != "" {
		return view(text)
	}
	start := len(r.digits)
	r.digits = formatNumber(r.digits, f, 17)
	return r.digits[start:len(r.digits):len(r.digits)] // stays as it is if digits moves
}

// number returns an integer as a Lua value.
func (e *Engine) number(n int64) lua.LValue {
	if n >= 0 && n < smallNumbers {
		return e.numbers[n]
	}
	return e.run.boxes.number(float64(n))
}

// float returns any number as a Lua value.
func (e *Engine) float(f float64) lua.LValue {
	if n := int64(f); n > 0 && n < smallNumbers && float64(n) == f {
		return e.numbers[n]
	}
	return e.run.boxes.number(f)
}

// textPerRun is how many bytes a run concatenates without allocating.
const textPerRun = 4096

// joined is strings and numbers as one string, which lives until the run ends;
// false if it is too long.
func (r *run) joined(values []lua.LValue) (lua.LValue, bool) {
	size := 0
	for _, v := range values {
		if s, ok := v.(lua.LString); ok {
			size += len(s)
		} else {
			size += len("-1.2345678901234e+100")
		}
	}
	if size > maxString {
		return lua.LNil, false
	}
	out := r.text[len(r.text):]
	if size > cap(out) {
		out = make([]byte, 0, size)
	}
	for _, v := range values {
		switch v := v.(type) {
		case lua.LString:
			out = append(out, v...)
		case lua.LNumber:
			out = formatNumber(out, float64(v), 14)
		}
	}
	if n := len(r.text); size <= cap(r.text)-n {
		r.text = r.text[:n+len(out)]
	}
	return r.boxes.bytes(out), true
}

// numberText is a score of a sorted set as Lua sees it.
func (r *run) numberText(f float64) lua.LValue {
	const most = len("-1.2345678901234567e+308")
	if cap(r.text)-len(r.text) < most {
		return lua.LString(formatNumber(nil, f, 17))
	}
	start := len(r.text)
	r.text = formatNumber(r.text, f, 17)
	return r.boxes.bytes(r.text[start:])
}

// view returns the bytes of s, which the receiver must not change.
func view(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// textView returns the text of b, which nobody may change meanwhile.
func textView(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}
