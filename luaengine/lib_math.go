package luaengine

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"minikv/internal/precise"
)

// lrand48 is the generator behind math.random, which Redis brings along so that
// scripts see the same numbers everywhere. A node's numbers run on from script
// to script until it starts anew.
// Source: rand.c, redisLrand48.
type lrand48 struct {
	x uint64 // the state, as its difference (xor) to firstRandom
}

// firstRandom is the generator's state at the start of a server.
const firstRandom = 0x1234ABCD330E

// maxRandom is what lrand48's numbers are divided by.
const maxRandom = math.MaxInt32

func (r *lrand48) seed(n int32) { r.x = (uint64(uint32(n))<<16 | 0x330E) ^ firstRandom }

// next returns a number from 0 to below 1.
func (r *lrand48) next() float64 {
	x := ((r.x^firstRandom)*0x5DEECE66D + 0xB) & (1<<48 - 1)
	r.x = x ^ firstRandom
	return float64(x>>17%maxRandom) / maxRandom
}

var mathConstants = map[string]lua.LValue{
	"pi":   lua.LNumber(math.Pi),
	"huge": lua.LNumber(math.Inf(1)),
}

// mathOfOne are the functions of one number.
var mathOfOne = map[string]func(float64) float64{
	"acos": precise.Acos, "asin": precise.Asin, "atan": math.Atan, "ceil": math.Ceil,
	"cos": precise.Cos, "cosh": math.Cosh, "exp": precise.Exp, "floor": math.Floor, "log": precise.Log,
	"log10": precise.Log10, "sin": precise.Sin, "sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan,
	"tanh": math.Tanh,
	"deg":  func(x float64) float64 { return x / (math.Pi / 180) },
	"rad":  func(x float64) float64 { return x * (math.Pi / 180) },
}

// positiveNaN are the functions whose results have no sign when they are no
// number though the argument is one. C gives the others' one.
var positiveNaN = map[string]bool{"acos": true, "asin": true, "log10": true}

// signNaN gives a result that is no number the sign that C's functions do:
// that of the argument that is none, if there is one.
func signNaN(f float64, negative bool, args ...float64) float64 {
	if !math.IsNaN(f) {
		return f
	}
	for _, x := range args {
		if math.IsNaN(x) {
			return x
		}
	}
	if negative {
		return math.Float64frombits(plainNaN | 1<<63)
	}
	return math.Float64frombits(plainNaN)
}

// mathOfTwo are the functions of two numbers.
var mathOfTwo = map[string]func(x, y float64) float64{
	"atan2": ofTwo(math.Atan2), "fmod": ofTwo(math.Mod), "mod": ofTwo(math.Mod), "pow": luaPow,
}

func ofTwo(fn func(x, y float64) float64) func(x, y float64) float64 {
	return func(x, y float64) float64 { return signNaN(fn(x, y), true, x, y) }
}

func (e *Engine) mathLibrary() library {
	lib := library{
		"abs":        func(L *lua.LState) int { return e.pushFloat(L, math.Abs(e.checkNumber(L, 1))) },
		"frexp":      e.mathFrexp,
		"ldexp":      e.mathLdexp,
		"max":        func(L *lua.LState) int { return e.mathBest(L, func(a, b float64) bool { return a > b }) },
		"min":        func(L *lua.LState) int { return e.mathBest(L, func(a, b float64) bool { return a < b }) },
		"modf":       e.mathModf,
		"random":     e.mathRandom,
		"randomseed": e.mathRandomSeed,
	}
	for name, fn := range mathOfOne { //tidy:unordered fills a map by key
		lib[name] = func(L *lua.LState) int {
			x := e.checkNumber(L, 1)
			return e.pushFloat(L, signNaN(fn(x), !positiveNaN[name], x))
		}
	}
	for name, fn := range mathOfTwo { //tidy:unordered fills a map by key
		lib[name] = func(L *lua.LState) int {
			y := e.checkNumber(L, 2) // before the first one, as the compiled C does
			x := e.checkNumber(L, 1)
			return e.pushFloat(L, fn(x, y))
		}
	}
	return lib
}

func (e *Engine) pushFloat(L *lua.LState, f float64) int {
	L.Push(e.run.boxes.number(f))
	return 1
}

func (e *Engine) mathBest(L *lua.LState, better func(a, b float64) bool) int {
	best := e.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if f := e.checkNumber(L, i); better(f, best) {
			best = f
		}
	}
	return e.pushFloat(L, best)
}

func (e *Engine) mathFrexp(L *lua.LState) int {
	fraction, exponent := math.Frexp(e.checkNumber(L, 1))
	L.Push(lua.LNumber(fraction))
	L.Push(lua.LNumber(exponent))
	return 2
}

func (e *Engine) mathLdexp(L *lua.LState) int {
	exponent := e.checkInt(L, 2) // before the number, as the compiled C does
	return e.pushFloat(L, math.Ldexp(e.checkNumber(L, 1), exponent))
}

func (e *Engine) mathModf(L *lua.LState) int {
	x := e.checkNumber(L, 1)
	whole, fraction := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		fraction = x - whole
	}
	fraction = math.Copysign(fraction, x)
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(fraction))
	return 2
}

func (e *Engine) mathRandom(L *lua.LState) int {
	r := e.run.host.State().random.next()
	low, high := 1, 1
	switch L.GetTop() {
	case 0:
		return e.pushFloat(L, r)
	case 1:
		high = e.checkInt(L, 1)
	case 2:
		low, high = e.checkInt(L, 1), e.checkInt(L, 2)
	default:
		e.fail(L, "wrong number of arguments")
	}
	if low > high {
		e.argError(L, L.GetTop(), "interval is empty")
	}
	span := int32(high - low + 1) // negative if it is beyond C's int
	return e.pushFloat(L, math.Floor(r*float64(span))+float64(low))
}

func (e *Engine) mathRandomSeed(L *lua.LState) int {
	e.run.host.State().random.seed(int32(toInteger(e.checkNumber(L, 1))))
	return 0
}
