package luaengine

import (
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Limits of the struct library.
const (
	structMaxInt   = 32
	structMaxAlign = 8
)

// structLibrary packs numbers and strings into bytes.
// Source: lua_struct.c of Redis.
func (e *Engine) structLibrary() library {
	return library{"pack": e.structPack, "size": e.structSize, "unpack": e.structUnpack}
}

// structReader reads a format and keeps its settings.
type structReader struct {
	e      *Engine
	L      *lua.LState
	format string
	pos    int
	align  int
	order  binary.ByteOrder
}

// structItem is one item of a format: its letter, its size in bytes, and how
// many bytes of padding go before it.
type structItem struct {
	verb      byte
	size, pad int
}

func (e *Engine) newStructReader(L *lua.LState) *structReader {
	return &structReader{e: e, L: L, format: cString(e.checkString(L, 1)), align: 1, order: binary.LittleEndian}
}

// next returns the item after offset bytes of data; false at the end.
func (r *structReader) next(offset int) (structItem, bool) {
	for r.pos < len(r.format) {
		r.e.tick(r.L)
		c := r.format[r.pos]
		r.pos++
		switch c {
		case ' ':
		case '<':
			r.order = binary.LittleEndian
		case '>':
			r.order = binary.BigEndian
		case '!':
			r.align = r.number(structMaxAlign)
			if r.align == 0 || r.align&(r.align-1) != 0 {
				r.e.fail(r.L, "alignment %d is not a power of 2", r.align)
			}
		default:
			size := r.size(c)
			if !inClass(c, 'w') {
				r.invalid(c)
			}
			return structItem{c, size, r.padding(offset, c, size)}, true
		}
	}
	return structItem{}, false
}

func (r *structReader) number(other int) int {
	start, n := r.pos, 0
	for r.pos < len(r.format) && '0' <= r.format[r.pos] && r.format[r.pos] <= '9' {
		n = n*10 + int(r.format[r.pos]-'0')
		if n > math.MaxInt32 {
			r.e.fail(r.L, "integral size overflow")
		}
		r.e.tick(r.L)
		r.pos++
	}
	if r.pos == start {
		return other
	}
	return n
}

func (r *structReader) size(verb byte) int {
	switch verb {
	case 'b', 'B', 'x':
		return 1
	case 'h', 'H':
		return 2
	case 'f':
		return 4
	case 'l', 'L', 'T', 'd':
		return 8
	case 's':
		return 0
	case 'c':
		return r.number(1)
	case 'i', 'I':
		n := r.number(4)
		if n > structMaxInt {
			r.e.fail(r.L, "integral size %d is larger than limit of %d", n, structMaxInt)
		}
		return n
	}
	return 0
}

// invalid raises the error of a letter that is no option. struct.size takes it
// for one without a size.
func (r *structReader) invalid(verb byte) {
	r.e.argError(r.L, 1, "invalid format option '"+string([]byte{verb})+"'")
}

func isOption(verb byte) bool { return strings.IndexByte("bBhHlLTfdsciIx", verb) >= 0 }

func (r *structReader) padding(offset int, verb byte, size int) int {
	if size == 0 || verb == 'c' || verb == 'x' {
		return 0
	}
	size = min(size, r.align)
	return (size - offset&(size-1)) & (size - 1)
}

func (e *Engine) structSize(L *lua.LState) int {
	r := e.newStructReader(L)
	total := 0
	for {
		item, ok := r.next(total)
		if !ok {
			L.Push(lua.LNumber(total))
			return 1
		}
		switch {
		case item.verb == 's':
			e.argError(L, 1, "option 's' has no fixed size")
		case item.verb == 'c' && item.size == 0:
			e.argError(L, 1, "option 'c0' has no fixed size")
		}
		total += item.pad + item.size
	}
}

func (e *Engine) structPack(L *lua.LState) int {
	r := e.newStructReader(L)
	L.Push(lua.LNil) // the argument that is missing, as the library has it
	var out strings.Builder
	arg := 2
	for {
		item, ok := r.next(out.Len())
		if !ok {
			return e.pushString(L, out.String())
		}
		if !isOption(item.verb) {
			r.invalid(item.verb)
		}
		r.put(&out, 0, item.pad)
		if item.verb == 'x' {
			r.put(&out, 0, 1)
			continue
		}
		r.pack(&out, item, arg)
		arg++
	}
}

func (r *structReader) pack(out *strings.Builder, item structItem, arg int) {
	switch item.verb {
	case 's', 'c':
		s := r.e.checkString(r.L, arg)
		n := item.size
		if n == 0 {
			n = len(s)
		}
		if len(s) < n {
			r.e.argError(r.L, arg+1, "string too short") // as the library counts
		}
		r.e.grow(r.L, out, s[:n])
		if item.verb == 's' {
			r.put(out, 0, 1)
		}
		return
	case 'f':
		r.put(out, uint64(math.Float32bits(float32(r.e.checkNumber(r.L, arg)))), 4)
		return
	case 'd':
		r.put(out, math.Float64bits(r.e.checkNumber(r.L, arg)), 8)
		return
	}
	if f := r.e.checkNumber(r.L, arg); f < 0 {
		r.put(out, uint64(toInteger(f)), item.size)
	} else {
		r.put(out, toUnsigned(f), item.size)
	}
}

// put appends an integer of size bytes.
func (r *structReader) put(out *strings.Builder, n uint64, size int) {
	var buffer [structMaxInt]byte
	b := buffer[:size]
	for i := range b {
		b[i] = byte(n)
		n >>= 8
	}
	if r.order == binary.BigEndian {
		reverseBytes(b)
	}
	r.e.grow(r.L, out, string(b))
}

func reverseBytes(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func (e *Engine) structUnpack(L *lua.LState) int {
	r := e.newStructReader(L)
	data := e.checkString(L, 2)
	pos := e.optInteger(L, 3, 1) - 1
	if pos == -1 {
		e.argError(L, 3, "offset must be 1 or greater")
	}
	if outside := pos < 0 || pos > len(data); outside && r.format != "" {
		r.pos++
		r.size(r.format[0])
		e.argError(L, 2, "data string too short")
	}
	n := 0
	for {
		item, ok := r.next(pos)
		if !ok {
			L.Push(lua.LNumber(pos + 1))
			return n + 1
		}
		pos += item.pad
		if pos+item.size > len(data) {
			e.argError(L, 2, "data string too short")
		}
		e.checkStack(L, 2, "too many results") // the item and the next position
		if !isOption(item.verb) {
			r.invalid(item.verb)
		}
		switch item.verb {
		case 'x':
			pos++
			continue
		case 'c':
			if item.size == 0 {
				item.size = r.popSize(n, len(data)-pos)
				n--
			}
			e.pushString(L, data[pos:pos+item.size])
		case 's':
			end := strings.IndexByte(data[pos:], 0)
			if end < 0 {
				e.fail(L, "unfinished string in data")
			}
			e.pushString(L, data[pos:pos+end])
			item.size = end + 1
		default:
			L.Push(r.get(data[pos:pos+item.size], item.verb))
		}
		pos += item.size
		n++
	}
}

// popSize takes the size of a "c0" from the number unpacked before it.
func (r *structReader) popSize(n, room int) int {
	size, ok := r.L.Get(-1).(lua.LNumber)
	if n == 0 || !ok {
		r.e.fail(r.L, "format 'c0' needs a previous size")
	}
	r.L.Pop(1)
	bytes := toUnsigned(float64(size))
	if bytes > uint64(room) {
		r.e.argError(r.L, 2, "data string too short")
	}
	return int(bytes)
}

// get reads a number; an upper-case letter is one without a sign. The sign of one of none or
// more than eight bytes is where C on x86-64 shifts a bit by so many: by their remainder by 64.
func (r *structReader) get(data string, verb byte) lua.LValue {
	b := []byte(data)
	if r.order == binary.BigEndian {
		reverseBytes(b)
	}
	var n uint64
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	switch {
	case verb == 'f':
		return lua.LNumber(math.Float32frombits(uint32(n)))
	case verb == 'd':
		return lua.LNumber(math.Float64frombits(n))
	case verb < 'a':
		return lua.LNumber(n)
	}
	signs := ^uint64(0) << ((8*len(b) - 1) & 63)
	if n&signs != 0 {
		n |= signs
	}
	return lua.LNumber(int64(n))
}
