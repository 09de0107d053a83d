package luaengine

import (
	"math"
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
	clear(b.strings)
	b.strings, b.numbers = b.strings[:0], b.numbers[:0]
}

// bytes returns a view of s as a Lua string. The caller keeps s unchanged
// until the run has ended.
func (b *boxes) bytes(s []byte) lua.LValue {
	return b.string(unsafe.String(unsafe.SliceData(s), len(s)))
}

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

// number returns an integer as a Lua value.
func (e *Engine) number(n int64) lua.LValue {
	if n >= 0 && n < smallNumbers {
		return e.numbers[n]
	}
	return e.run.boxes.number(float64(n))
}

// view returns the bytes of s, which the receiver must not change.
func view(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
