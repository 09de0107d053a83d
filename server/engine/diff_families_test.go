package engine

import (
	"math/rand"
	"strconv"
)

// familyWord fills in one word of the families' grammars.
func familyWord(random *rand.Rand, kind string) string {
	pick := func(choices ...string) string { return choices[random.Intn(len(choices))] }
	switch kind {
	case "I":
		return pick("1-1", "1-2", "2", "3-0", "3-7", "4-1", "5", "5-5", "6-*", "7-1", "8-3", "9-1", "9-*", "12-0", "0-1",
			"0", "0-0", "x", "1-x", "-", "18446744073709551615-18446744073709551615",
			`"1- 2"`, "+1-01")
	case "J":
		return pick("-", "+", "0", "2", "(2", "3-7", "(3-7", "5-5", "9", "(1-1", "(", "(-", "(0", "x",
			"(18446744073709551615-18446744073709551615")
	case "G":
		return pick("g", "g", "h", `""`)
	case "E":
		return pick(diffPayloads...)
	case "LO": // seldom one twice: Redis has no order among equal distances
		far := strconv.FormatFloat(random.Float64()*359.9-180, 'f', 6, 64)
		near := strconv.FormatFloat(random.Float64()*10+10, 'f', 6, 64)
		return pick(far, far, far, far, near, near, near, near, "181", "x")
	case "LA":
		far := strconv.FormatFloat(random.Float64()*170-85, 'f', 6, 64)
		near := strconv.FormatFloat(random.Float64()*10+35, 'f', 6, 64)
		return pick(far, far, far, far, near, near, near, near, "86", "x")
	case "RA":
		return pick("0", "1", "100", "1000", "200000", "5000000", "20000", "-1", "x", "1e9")
	case "UN":
		return pick("m", "km", "KM", "ft", "mi", "m", "furlong")
	case "A":
		return pick("hll1", "hll2", "hll3", "key1")
	case "Z":
		return strconv.Quote(pick(diffLibraries...))
	case "R":
		return strconv.Quote(randomRule(random, false))
	case "M":
		return pick("alice", "bob", "carol")
	}
	return channelWord(random, kind)
}

// diffLibraries are libraries, one with a fault.
var diffLibraries = []string{
	"#!lua name=lib1\nredis.register_function('f1',function(k,a) return redis.call('SET',k[1],a[1]) end)",
	"#!lua name=lib1\nlocal n=0 redis.register_function('f1',function(k,a) n=n+1 return {n,k[2],a[2]} end)",
	"#!lua name=lib2\nredis.register_function{function_name='f2',flags={'no-writes'}," +
		"callback=function(k,a) return redis.pcall('GET',k[1]) end}",
	"#!lua name=lib2\nredis.register_function{function_name='g1',description='d',callback=function(k) return {#k} end}",
	"#!lua name=lib2\nredis.register_function('f1',function(k,a) return a[1]+1 end)",
	"#!lua name=lib2\nredis.call('SET','x','y')",
}

// diffPayloads are DUMPs of redis-server 7.0.15, a value of each kind, and three that are none.
var diffPayloads = []string{
	`"\x00\x01x\n\x00\"\x80\x86_\xbd\xe8H\xd0"`,
	`"\x00\xc190\n\x00\x9d\x94\xea'\x93\xfc\b\xb9"`,
	`"\x00\xc3\t<\x01yy\xe0/\x00\x01yy\n\x00\xc3\x83\x15\x88\x97\\\x14f"`,
	`"\x12\x01\x02\x10\x10\x00\x00\x00\x03\x00\x01\x01\x83two\x04\x03\x01\xff\n\x00m7n^W\xfd\r\xdc"`,
	`"\x0b\x14\x04\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00p\x11\x01\x00\n\x00\x85\xd5` +
		`\xc1\x06[\x1d\xd0U"`,
	`"\x02\x01\x01x\n\x00\xff\xe8\x80\xbav\x0c/\t"`,
	`"\x10\x12\x12\x00\x00\x00\x04\x00\x81f\x02\x81v\x02\x81n\x02\x01\x01\xff\n\x00\xfc\xe4\b\xf1y\"\xe0\` +
		`x16"`,
	`"\x11\x14\x14\x00\x00\x00\x04\x00\x81a\x02\x01\x01\x81b\x02\x832.5\x04\xff\n\x00\xd4Ln\xa4\xf6D\xd9\` +
		`xd7"`,
	`"\x13\x01\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x1d\x1d\x00\x00\x00\n\` +
		`x00\x01\x01\x00\x01\x01\x01\x81f\x02\x00\x01\x02\x01\x00\x01\x00\x01\x81v\x02\x04\x01\xff\x01\x01\x0` +
		`1\x01\x01\x00\x00\x01\x00\n\x00\xffU\xabbj\xc05\xdb"`,
	`"\x05\x01\xc3\t@F\x01qq\xe09\x00\x01qq\x00\x00\x00\x00\x00\x00\xf0?\n\x00\xe8T\x9095e\x89\x9a"`,
	`"\x04\x01\x01f\xc3\t@F\x01ww\xe09\x00\x01ww\n\x00\"\xf2\xa4T\x89\x1bgT"`,
	`"x"`,
	`""`,
	`"\x00\x01x\n\x00\"\x80\x86_\xbd\xe8H\x\x00"`,
}
