package luaengine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArgumentsAtHandAreInvisible: words that go to commands, and texts that are
// joined, without a Lua value in between.
func TestArgumentsAtHandAreInvisible(t *testing.T) {
	requireInvisible(t,
		"redis.call(ARGV[4] or 'echo', KEYS[1]) return redis.call('set', KEYS[1], ARGV[9] or 'none')",
		"redis.call('set', KEYS[1], ARGV[9] or '') return redis.call('get', KEYS[1])",
		"redis.call('set', KEYS[1], '') return redis.call('get', KEYS[1])",
		"return redis.call('set', KEYS[1], ARGV[9])", "return redis.pcall('set', KEYS[9], ARGV[1])",
		"return redis.call('del', (unpack(KEYS)))", "return redis.call('exists', unpack(KEYS), KEYS[1])",
		"return redis.call(ARGV[9], KEYS[1])", "return redis.call(ARGV[2], KEYS[1])",
		"local n = 7 redis.call('set', KEYS[1], n) return redis.call('get', KEYS[1])",
		"local n = -0.1 redis.call('set', KEYS[1], n) return redis.call('get', KEYS[1])",
		"assert(0) redis.call('set', KEYS[1], -0) return redis.call('get', KEYS[1])",
		"redis.pcall('echo', -0) return redis.call('echo', 1e300 % 1)", "return redis.call('echo', -0)",
		"local n = 1e17 redis.call('hset', KEYS[1], n, n) return redis.call('hgetall', KEYS[1])",
		"local n = 12 redis.call('set', n, redis.call('echo', n)) return redis.call('get', n)",
		"local v return redis.call('set', KEYS[1], v)", "local v = {} return redis.call('set', KEYS[1], v)",
		"local v = true return redis.pcall('set', KEYS[1], v)",
		"for i = 1, 4 do redis.pcall('set', KEYS[i], ARGV[i + 1]) end return 1",
		"for i = 0.5, 3 do redis.pcall('set', KEYS[2 * i], ARGV[i + 0.5]) end return 1",
		"for _, i in ipairs({1, '2', 1e10, -1, 1.5}) do redis.pcall('set', KEYS[i], ARGV[1]) end return 1",
		"local name = 'get' redis.call(name, KEYS[1]) name = 'echo' return redis.call(name, KEYS[1])",
		"for i = 1, 3 do redis.call(i == 2 and 'echo' or 'get', KEYS[1]) end return 1",
		"local a, b, c = 'x', 7, 1.5 return a .. b .. c .. KEYS[1] .. 'y' .. -1 .. 10 .. 0",
		"local a, b = 0, -0.0 return a .. ':' .. b .. ':' .. 1e15 .. ':' .. 0/0",
		"local a return 'x' .. a", "local a = {} return KEYS[1] .. a .. 'y'", "return KEYS[9] .. 'x'",
		"for i = 1, 5 do redis.call('echo', KEYS[i] .. '-' .. i) end return 1",
		"local a, b = nil, {} return a .. b .. 'x'", "local a, b = nil, {} return 'x' .. a .. b",
		"local a = tonumber('-0') return 'x' .. a",
		"local i = 1 return {KEYS[i + 2 - 1] or 'none', ARGV[i + 1 + 1] or 'none'}",
		"local i = 1 return {KEYS[2 * (i + 1)] or 'none', KEYS[i + 0.5] or 'none', KEYS[i + 0]}",
		"local t = 'x' for i = 1, 14 do t = t .. t end return #(t .. t .. 'y')",
		"local t = '' for i = 1, 300 do t = t .. i .. ',' end return t",
	)
}

// TestNumbersAtHandAreInvisible: numbers that closures compute without a Lua value.
func TestNumbersAtHandAreInvisible(t *testing.T) {
	requireInvisible(t,
		"return {tonumber(ARGV[1]), tonumber(ARGV[2]) or 'none', tonumber(ARGV[9]) or 'none', tonumber(ARGV[3])}",
		"return {tonumber(redis.call('get', KEYS[1]) or 3), tonumber(redis.call('echo', 'x') or 3) or 'none'}",
		"return {tonumber(redis.call('get', KEYS[1])) or 'none', tonumber(redis.call('echo', '0x10'))}",
		"return tonumber(redis.call('ping') or 3) or 'none'", "return tonumber(redis.call('nosuch') or 3)",
		"return tonumber(redis.pcall('nosuch') or 3) or 'none'", "return tonumber(redis.call('exists', KEYS[1]) or 3)",
		"local a, b, c, d = nil, false, '7', {} return {tonumber(a or 1), tonumber(b or 2), tonumber(c or 3), d}",
		"return {redis.call('exists', KEYS[1]) < tonumber(ARGV[1]), '5' < ARGV[1], ARGV[1] <= '5'}",
		"return redis.call('exists', KEYS[1]) < ARGV[1]", "return tonumber(ARGV[2]) > 1", "return KEYS[1] >= tonumber('x')",
		"return redis.call('get', KEYS[1]) > 1", "return redis.call('ping') <= 1", "return 1 < redis.call('nosuch')",
		"return redis.call('exists', KEYS[1]) + tonumber(ARGV[1]) * 2 - #ARGV",
		"return ARGV[1] + redis.call('get', KEYS[1])",
		"return {tostring(redis.call('exists', KEYS[1]) * -1), tostring(0 - tonumber('0')), tostring(-0.0 + '-0')}",
		"return {math.max(1, '7', tonumber(ARGV[1])), tostring(math.max(0/0, 1)), tostring(math.max(1, 0/0))}",
		"return {math.max(-3, -2), math.max(-2, '-3'), tostring(tonumber('-0') + '-0')}",
		"local a, b = 2, 2 return {a >= b, a <= b, a > b, a < b, '2' >= KEYS[1], KEYS[1] >= KEYS[1]}",
		"return math.max(1, {}, redis.call('nosuch'))", "return math.max(1, nil, 'x')",
		"local a = 1 return {a == 1 and 2 or 3, a == 2 and 2 or 3, a and 'x' or nil, a and nil or 'y'}",
		"local a, b = 1 return {a == 1 and b or 'y', a == 1 and a or 'y'}",
		"local a = 1 return (a == 2 and true or false) == false",
		"return redis.call('nosuch') == 1 and 2 or 3", "return redis.call('get', KEYS[1]) and 2 or redis.call('nosuch')",
		"local n = 0 for i = '1', tonumber(ARGV[1]), #KEYS / 2 do n = n + i end return tostring(n)",
		"for i = redis.call('get', KEYS[1]), {}, 1 do end", "for i = 1, {}, redis.call('nosuch') do end",
		"for i = 1, 2, 'x' do end",
		"local t, from = {}, 2^53 for i = 9007199254740994, 9007199254740996 do table.insert(t, i - from) "+
			"if #t > 4 then break end end return t",
		"local n = 0 for i = 3, 1, -1 do n = n * 10 + i i = 7 end return n", "for i = 1, 3, 0 do break end return 1",
		"local t, k = {}, 2 t[k] = 'two' t[1] = 'one' k = 1.5 t[k] = 'x' return {t[2], t[1], t[k], t['2'] == nil, t}",
		"local t, k = {}, 0/0 t[k] = 1", "local t, k = {} t[k] = 1", "local t, k = 'x', 1 t[k] = 2",
		"local t, k = {}, 2^21 t[k] = 1 return t[k]",
		"local t, k = 5, 1 return t[k]", "local t, k = 'x', 'len' return t[k] == string.len",
		"return 2^53 + 1", "return -1e300", "return tonumber('1e19')", "return 0/0",
		"return redis.call('exists', KEYS[1]), 2",
		"local a, b = 1.5, tonumber('0') return {tostring(-a), tostring(-b), tostring(-ARGV[3])}",
		"return {redis.call('get', KEYS[1]) == false, redis.call('get', KEYS[1]) ~= false, redis.call('get', KEYS[1]) == 1}",
	)
}

// TestStatementsAreInvisible: what a statement does beside its main purpose.
func TestStatementsAreInvisible(t *testing.T) {
	requireInvisible(t,
		"local a = 1 local a = a + 1 return a", "local a = 1 do local a = a end return a",
		"for i, v, w in ipairs({7}) do return {i, v, w == nil} end",
		"assert(false, nil)", "assert(nil)", "assert(false, {})", "assert(false, 7)",
		"local function f() local a = 1 redis.call('echo', a) end local b = 5 f() return b",
		"local a = 1 local function f(a) redis.call('echo', a) end f() return 1",
		"for i = 1, 2 do local a, b = i if i == 1 then b = 7 end redis.call('echo', tostring(b)) end return 1",
	)
}

// TestTextsThatFillARun: a text ends where the room of a run does, or near it.
func TestTextsThatFillARun(t *testing.T) {
	p := newPair()
	text := strings.Repeat("x", textPerRun-longestNumber)
	for more := range longestNumber + 2 {
		p.requireSame(t, "local n = -1.2345678901234e+100 local t = ARGV[1] .. n return {t, n .. KEYS[1]}", []string{"k1"},
			[]string{text + text[:more]})
	}
}

// TestLongTextsCount: who makes long texts is asked as soon as gopher-lua asks.
func TestLongTextsCount(t *testing.T) {
	newPair().requireSame(t, "local t = ARGV[1] for i = 1, 40 do local u = t .. t redis.call('echo', i) end return 1", nil,
		[]string{strings.Repeat("x", 1<<20)})
}

// TestUnpackAtItsLimit: as many words as unpack may give, and one more.
func TestUnpackAtItsLimit(t *testing.T) {
	p := newPair()
	for n := maxUnpack - 4; n <= maxUnpack; n++ {
		p.requireSame(t, fmt.Sprintf("return redis.pcall('del', unpack({}, 1, %d))", n), nil, nil)
		p.requireSame(t, fmt.Sprintf("return redis.pcall('del', unpack(KEYS, %d))", 2-n), []string{"k1"}, nil)
	}
}

// TestRepliesOutliveArguments: a reply does not refer to the arguments of its run.
func TestRepliesOutliveArguments(t *testing.T) {
	for _, script := range []string{
		"return KEYS[1]", "return {KEYS[1]}", "local t = {} t[1] = KEYS[1] return t", "return {{KEYS[1]}, x = 1}",
		"return redis.status_reply(KEYS[1])", "return redis.error_reply(KEYS[1])", "return {{err = KEYS[1]}}",
		"return {map = {[KEYS[1]] = 1}}", "return {big_number = KEYS[1]}", "error(KEYS[1])", "error({err = KEYS[1]})",
	} {
		for _, fast := range []bool{true, false} {
			e := New(fakeResolve)
			e.SetFastPass(fast)
			s, err := e.Compile(script)
			require.NoError(t, err)
			key := []byte("MY key")
			reply := e.Run(s, newFakeHost(), [][]byte{key}, nil, RunOptions{})
			before := fmt.Sprintf("%#v", reply)
			require.Contains(t, before, "MY key")
			copy(key, "no key")
			require.Equal(t, before, fmt.Sprintf("%#v", reply), script)
		}
	}
}

// requireInvisible runs scripts one after the other, twice, as gopher-lua does.
func requireInvisible(t *testing.T, scripts ...string) {
	t.Helper()
	p := newPair()
	for range 2 {
		for _, script := range scripts {
			p.requireSame(t, script, []string{"k1", "k2", "3"}, []string{"5", "a2", "1.5", "get"})
		}
	}
}
