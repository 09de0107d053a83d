package luaengine

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// lrand48 is the generator behind math.random in Redis.
// Source: rand.c, redisLrand48.
type lrand48 struct{ x uint64 }

func (r *lrand48) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330E }

// next returns a number below 1<<31.
func (r *lrand48) next() int32 {
	r.x = (r.x*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(r.x >> 17)
}

var mathConstants = map[string]lua.LValue{
	"pi":   lua.LNumber(math.Pi),
	"huge": lua.LNumber(math.Inf(1)),
}
