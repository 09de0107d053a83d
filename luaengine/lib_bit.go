package luaengine

import (
	"fmt"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// bitLibrary is BitOp, whose numbers are 32 bits with a sign.
// Source: bitop.luajit.org.
func (e *Engine) bitLibrary() library {
	shift := func(op func(x uint32, n uint) uint32) lua.LGFunction {
		return func(L *lua.LState) int {
			x := e.checkBits(L, 1)
			return pushBits(L, op(x, uint(e.checkBits(L, 2)&31)))
		}
	}
	fold := func(op func(a, b uint32) uint32) lua.LGFunction {
		return func(L *lua.LState) int {
			x := e.checkBits(L, 1)
			for i := L.GetTop(); i > 1; i-- { // as errors of several arguments show
				x = op(x, e.checkBits(L, i))
			}
			return pushBits(L, x)
		}
	}
	return library{
		"tobit":   func(L *lua.LState) int { return pushBits(L, e.checkBits(L, 1)) },
		"bnot":    func(L *lua.LState) int { return pushBits(L, ^e.checkBits(L, 1)) },
		"bswap":   func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(e.checkBits(L, 1))) },
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(x uint32, n uint) uint32 { return x << n }),
		"rshift":  shift(func(x uint32, n uint) uint32 { return x >> n }),
		"arshift": shift(func(x uint32, n uint) uint32 { return uint32(int32(x) >> n) }),
		"rol":     shift(func(x uint32, n uint) uint32 { return bits.RotateLeft32(x, int(n)) }),
		"ror":     shift(func(x uint32, n uint) uint32 { return bits.RotateLeft32(x, -int(n)) }),
		"tohex":   e.bitToHex,
	}
}

// checkBits is a number modulo 2^32; it is rounded to the nearest integer.
func (e *Engine) checkBits(L *lua.LState, n int) uint32 { return toBits(e.checkNumber(L, n)) }

func pushBits(L *lua.LState, x uint32) int {
	L.Push(lua.LNumber(int32(x)))
	return 1
}

// bitToHex prints as many digits as asked for, in upper case if the number of
// digits is negative.
func (e *Engine) bitToHex(L *lua.LState) int {
	x := e.checkBits(L, 1)
	digits, format := 8, "%0*x"
	if L.GetTop() > 1 {
		digits = int(int32(e.checkBits(L, 2)))
	}
	if digits < 0 {
		digits, format = -digits, "%0*X"
	}
	digits = min(digits, 8)
	if digits < 8 {
		x &= 1<<(4*digits) - 1
	}
	if digits == 0 {
		L.Push(lua.LString(""))
		return 1
	}
	L.Push(lua.LString(fmt.Sprintf(format, digits, x)))
	return 1
}
