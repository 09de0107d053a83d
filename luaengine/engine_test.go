package luaengine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"minikv/internal/resp"
)

// oddScripts are at the edge of what the fast pass may touch.
var oddScripts = []string{
	acquireScript,
	releaseScript,
	"local KEYS = {'mine'} return KEYS[1]",
	"local k = KEYS k[1] = 'zz' return KEYS[1]",
	"table.remove(ARGV, 1) return ARGV[1]",
	"KEYS[1] = 'new' return redis.call('echo', KEYS[1])",
	"for i, k in ipairs(KEYS) do redis.call('rpush', 'l', i, k) end return redis.call('lrange', 'l', 0, -1)",
	"_G.KEYS[1] = 'x' return KEYS[1]",
	"rawset(KEYS, 1, 'raw') return KEYS[1]",
	"return loadstring('KEYS[1] = 5')() or KEYS[1]",
	"setmetatable(KEYS, {__index = function() return 'meta' end}) return KEYS[99]",
	"return {#KEYS, #ARGV, unpack(KEYS)}",
	"return {KEYS[0], KEYS[1.5], KEYS['1']}",
	"return tostring(KEYS[99]) .. tostring(ARGV[99])",
	"if ARGV[99] then return 1 elseif ARGV[1] then return 2 end",
	"return ARGV[99] or ARGV[1]",
	"return ARGV[1] and ARGV[2]",
	"return not ARGV[99]",
	"local t = {[ARGV[1]] = KEYS[1]} return t[ARGV[1]]",
	"local t = {a = 1} return t[ARGV[99] or 'a']",
	"local function f() return KEYS[1] .. ARGV[1] end return f()",
	"local function f(n) if n == 0 then return KEYS[2] end return f(n - 1) end return f(50)",
	"redis.call = 5",
	"redis = nil",
	"local redis = {call = function(...) return select('#', ...) end} return redis.call('get', 1, 2)",
	"local call = redis.call return call('echo', ARGV[1])",
	"local name = 'echo' return redis.call(name, ARGV[1])",
	"return redis.call('ECHO', ARGV[1])",
	"return redis.call('echo')",
	"return redis.call('echo', unpack(ARGV))",
	"return redis.call('nosuch', KEYS[1])",
	"return redis.pcall('get', {})",
	"return redis.pcall('hget', KEYS[1], 'f', 'g').err",
	"local ok, e = pcall(redis.call, 'get') return e",
	"local ok, e = pcall(function() return redis.call('get', nil) end) return e",
	"redis.call('set', 'a', 1)\nredis.call('hincrby', 'h', 'f', 'x')\nreturn 1",
	"\n\nreturn ARGV[1] + {}",
	"return ARGV[1].x.y",
	"return KEYS[1]()",
	"return KEYS[1]:upper()",
	"return KEYS[1]:nope()",
	"for i = ARGV[1], ARGV[1] + 2 do redis.call('rpush', 'l', i) end return redis.call('lrange', 'l', 0, -1)",
	"return tonumber(KEYS)",
	"return tonumber()",
	"local tonumber = tostring return tonumber(5)",
	"return math.floor('x')",
	"local s = 0 for i = 1, 10 do s = s + i end return s",
	"local a, v = 5, 3 v = (a or 1) and v return v",
	"local a, v, w = 5, 3, 4 v, w = (a or 1) and v, (a or 1) and w return {v, w}",
	"local a, v, w = 5, 3, 4 v, w = (a or 1) and v return {v, w == nil}",
	"local v = 3 v = ARGV[v - 3] and '10' and (v).len return tostring(v)",
	"return {unpack({}, -2^63, -2)}",
	"return redis.call('del', unpack({}, -2^63, -2))",
	"return redis.call('del', unpack({}, 1e308, -1))",
	"return '\\0fn:0'",
	"return ('\\0fn:0'):len()",
	"error({err = 'CODE text'})",
	"return select('#', ...)",
	"local a = function() return redis.call('echo', KEYS[1]) end return a()",
	"return redis.call('echo', KEYS[40])",
	manyLiterals(),
	manyLocals(190),
	manyLocals(199),
	deepUpvalues(),
}

// manyLiterals reads more literal keys than can become parameters.
func manyLiterals() string {
	var b strings.Builder
	for i := range maxParams + 20 {
		fmt.Fprintf(&b, "KEYS[%d] or ARGV[%d] or ", i+1, i+1)
	}
	return "return " + b.String() + "'none'"
}

// manyLocals leaves too few registers for parameters.
func manyLocals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "local v%d = %d ", i, i)
	}
	return b.String() + "return KEYS[1] .. ARGV[1]"
}

func deepUpvalues() string {
	return strings.Repeat("return (function() ", 20) + "return KEYS[1] .. ARGV[2]" + strings.Repeat(" end)()", 20)
}

// corpus is every script of the golden files and the odd ones.
func corpus(t testing.TB) []string {
	scripts := append([]string(nil), oddScripts...)
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, part := range strings.Split(string(text), "\neval\n")[1:] {
			script, _, _ := strings.Cut(part, "\n----")
			scripts = append(scripts, script)
		}
	}
	return scripts
}

// TestFastPassIsInvisible: replies, calls and error texts are the same with and
// without it, and the same when a script runs twice.
func TestFastPassIsInvisible(t *testing.T) {
	with, without := New(fakeResolve), New(fakeResolve)
	without.SetFastPass(false)
	for _, script := range corpus(t) {
		h1, h2 := newFakeHost(), newFakeHost()
		h1.trace, h2.trace = true, true
		for range 2 {
			keys, args := []string{"k1", "k2", "k3"}, []string{"5", "a2", "a3", "a4"}
			got := mask(show(runScript(with, h1, script, keys, args), ""))
			want := mask(show(runScript(without, h2, script, keys, args), ""))
			require.Equal(t, want, got, script)
			require.Equal(t, h2.calls, h1.calls, script)
		}
	}
}

// TestNothingOutlivesARun: keys and arguments are views of the caller's
// buffers, so no script may leave one where another finds it.
func TestNothingOutlivesARun(t *testing.T) {
	smugglers := []string{
		"leak = ARGV[1]", "_G.leak = ARGV[1]", "rawset(_G, 'leak', ARGV[1])", "string.leak = ARGV[1]",
		"redis.leak = ARGV[1]", "rawset(string, 'leak', ARGV[1])", "getmetatable('').leak = ARGV[1]",
		"getmetatable('').__index.leak = ARGV[1]", "rawset(getmetatable(''), 'leak', ARGV[1])",
		"KEYS.leak = ARGV[1]", "ARGV.leak = ARGV[1]", "setmetatable(KEYS, {__index = {leak = ARGV[1]}})",
		"setmetatable(_G, {__index = {leak = ARGV[1]}})", "table.insert(string, ARGV[1])",
		"loadstring('leak = ...')(ARGV[1])", "coroutine.wrap(function(v) leak = v end)(ARGV[1])",
		"getmetatable(_G).__index = function() return ARGV[1] end", "cjson.null.leak = ARGV[1]",
		"setmetatable(cjson, {leak = ARGV[1]})", "function string.leak() return ARGV[1] end",
		"table.sort(math, function() end)", "table.remove(redis)", "_VERSION = ARGV[1]",
	}
	const look = `
		local seen = {}
		local function search(t)
			if seen[t] then return end
			seen[t] = true
			for k, v in pairs(t) do
				if k == 'leak' or v == 'secret' then return 'found' end
				if type(v) == 'table' and search(v) then return 'found' end
			end
			local meta = getmetatable(t)
			if type(meta) == 'table' and search(meta) then return 'found' end
		end
		return search(_G) or search(getmetatable('')) or search(KEYS) or tostring(KEYS.leak or ('').leak)`
	e := New(fakeResolve)
	h := newFakeHost()
	for _, script := range smugglers {
		runScript(e, h, script, []string{"secret"}, []string{"secret"})
		require.Equal(t, `"nil"`, show(runScript(e, h, look, nil, nil), ""), script)
	}
}

// TestLimitEndsEveryScript: a host can end a script that catches every error.
func TestLimitEndsEveryScript(t *testing.T) {
	for _, script := range []string{
		"while true do end",
		"repeat until false",
		"for i = 1, 1e18 do end",
		"for k in function() return 1 end do end",
		"local function f() return f() end f()",
		"while true do pcall(function() while true do end end) end",
		"while true do local c = coroutine.wrap(function() while true do end end) pcall(c) end",
		"while true do xpcall(function() while true do end end, function() while true do end end) end",
		"loadstring('while true do end')()",
		"string.gsub(string.rep('a', 40), string.rep('a*', 30) .. 'b', '')",
		"string.find(string.rep('(', 2000), '%b()')",
		"string.find(string.rep('a', 1000), '[' .. string.rep('b', 1000) .. ']')",
		"string.find(string.rep('a', 1000), '[^' .. string.rep('b', 1000) .. 'a]')",
		"string.find(string.rep('a', 1000), '%f[' .. string.rep('b', 1000) .. ']')",
		"string.match(string.rep('a', 1000), '[' .. string.rep('b', 1000) .. 'a]*')",
		"string.gmatch(string.rep('a', 1000), '[' .. string.rep('b', 1000) .. ']')()",
		"string.gmatch(string.rep('a', 1e5), 'b')()",
		"string.find(string.rep('a', 1e4), '^(a*)%1b')",
		"string.gsub(string.rep('a', 1000), '(b*)', string.rep('%1', 1000))",
		"table.sort({1,2,3,4,5}, function(a, b) while true do end end)",
		"local t = {} for i = 1, 900 do t = {t, t} end cjson.encode(t)",
		"cjson.encode_sparse_array(true, 0, 0) cjson.encode({[2^31 - 1] = 1})",
		"local t = {} for i = 1, 200 do t[i] = i end for i = 1, 100 do cjson.encode(t) end",
		"local t = {} for i = 1, 200 do t[i] = i end for i = 1, 100 do cmsgpack.pack(t) end",
		"cjson.decode('[' .. string.rep('1,', 2e4) .. '1]')",
		"local s = string.format('%q', string.rep('1', 5e4)) for i = 1, 100 do cjson.decode(s) end",
		"local s = string.rep('1', 5e4) for i = 1, 100 do cmsgpack.unpack_one(s) end",
		"local t = {} t[1048575] = 1",
		"local t, n = {}, 1048575 t[n] = 1",
		"rawset({}, 1048575, 1)",
		"table.insert({}, 1048575, 1)",
		"cmsgpack.unpack('\\129\\206\\0\\15\\255\\255\\1')",
		"struct.pack(string.rep('x', 2e4))",
		"struct.size('i' .. string.rep('0', 2e4) .. '1')",
		"struct.unpack(string.rep(' ', 2e4), '')",
		"for i = 1, 100 do loadstring('return ' .. i) end",
		"local t = {} for i = 1, 15 do t = {t, t, t, t} end cmsgpack.pack(t)",
		"local t = {} for i = 1, 100 do t[i] = string.rep('x', 2^20) end",
		"local s = string.rep('x', 2^16) for i = 1, 11 do s = s .. s end",
		"local s, t = string.rep('x', 2^20), {} for i = 1, 100 do t[i] = table.concat({s, 'y'}) end",
		"local s, t = string.rep('x', 2^20), {} for i = 1, 100 do t[i] = string.gsub(s, '$', 'y') end",
	} {
		e := New(fakeResolve)
		h := newFakeHost()
		h.limit = "ERR Error running script: killed"
		got := show(runScript(e, h, script, nil, nil), "")
		require.Contains(t, got, "(error) ERR Error running script: killed script: ", script)
		require.Equal(t, "(integer) 1", show(runScript(e, h, "return 1", nil, nil), ""), "the engine lives on")
	}
}

// TestRepliesAreBounded: few tables that hold each other twice, and texts that are there
// once, make no reply that fills the memory.
func TestRepliesAreBounded(t *testing.T) {
	e := New(fakeResolve)
	e.maxReply = 1 << 20
	for _, script := range []string{
		"local t = {} for i = 1, 60 do t = {t, t} end return t",
		"local t = {} for i = 1, 60 do t = {map = {a = t, b = t}} end return t",
		"local t = {} for i = 1, 60 do t = {set = {[t] = 1, [{t}] = 1}} end return t",
		"local s, t = string.rep('x', 2^10), {} for i = 1, 2000 do t[i] = s end return t",
		"local s = string.rep('x', 2^18) return {s, s, s, s, s, s, s, s}",
		"local s, t = string.rep('x', 2^18), {} for i = 1, 8 do t[i] = s end return t",
	} {
		got := show(runScript(e, newFakeHost(), script, nil, nil), "")
		require.Equal(t, "(error) "+errLongReply, got)
	}
	require.Equal(t, "(integer) 1", show(runScript(e, newFakeHost(), "return 1", nil, nil), ""), "the engine lives on")
}

// TestPackedStringsAreBounded: what struct packs is no longer than other strings.
func TestPackedStringsAreBounded(t *testing.T) {
	e := New(fakeResolve)
	half := string(make([]byte, maxString/2))
	got := show(runScript(e, newFakeHost(), "return #struct.pack('xc0c0', ARGV[1], ARGV[1])", nil, []string{half}), "")
	require.Equal(t, "(error) ERR not enough memory script: SHA, on @user_script:1.", mask(got))
}

// TestEncodedTextIsBounded: each value counts, since a list may have billions that are nil.
func TestEncodedTextIsBounded(t *testing.T) {
	e := New(fakeResolve)
	e.start()
	enc := jsonEncoder{e: e, L: e.main, set: newFakeHost().State().settings(), stack: 1}
	enc.out.Grow(maxString)
	for chunk := strings.Repeat("x", 1<<20); enc.out.Len() < maxString-len(chunk); {
		enc.out.WriteString(chunk)
	}
	enc.out.WriteString(strings.Repeat("x", maxString-2-enc.out.Len()))
	for _, v := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(123), lua.LString("abc")} {
		require.Panics(t, func() { enc.value(v, 0) }, v)
	}
	enc.value(lua.LNumber(12), 0)
}

// TestLoadedTextIsBounded: pieces that are there once, given again and again, make no text
// that fills the memory.
func TestLoadedTextIsBounded(t *testing.T) {
	script := "local s = string.rep(' ', 2^27) local f, e = load(function() return s end) return e"
	require.Equal(t, `"not enough memory"`, show(runScript(New(fakeResolve), newFakeHost(), script, nil, nil), ""))
}

// TestSteps: a run in steps names each statement's line and replies the same.
func TestSteps(t *testing.T) {
	e := New(fakeResolve)
	s, err := e.Compile("local n = 0\nfor i = 1, 2 do\n  n = n + i\nend\nreturn n")
	require.NoError(t, err)
	var steps []string
	reply := e.Run(s, newFakeHost(), nil, nil, RunOptions{Step: func(s Step) { steps = append(steps, fmt.Sprint(s)) }})
	require.Equal(t, "(integer) 3", show(reply, ""))
	require.Equal(t, []string{"{1 []}", "{2 [{n 0}]}", "{3 [{n 0} {i 1}]}", "{3 [{n 1} {i 2}]}", "{5 [{n 3}]}"}, steps)
}

// TestStepShowsVariables: each visible variable once, the innermost of a name,
// as Lua writes its value.
func TestStepShowsVariables(t *testing.T) {
	e := New(fakeResolve)
	s, err := e.Compile("local a, b = 'x\\n', {1, 'two', {k = true}}\n" +
		"for i, v in ipairs({7}) do\n  local a = nil\n  a = v\nend\nreturn a")
	require.NoError(t, err)
	var steps []string
	e.Run(s, newFakeHost(), nil, nil, RunOptions{Step: func(s Step) { steps = append(steps, fmt.Sprint(s)) }})
	require.Equal(t, `{4 [{b {1, "two", {k = true}}} {i 1} {v 7} {a nil}]}`, steps[3])
	require.Equal(t, `{6 [{a "x\n"} {b {1, "two", {k = true}}}]}`, steps[4])
}

func TestHeader(t *testing.T) {
	e := New(fakeResolve)
	s, err := e.Compile("#!lua flags=no-writes,allow-stale\nreturn 1")
	require.NoError(t, err)
	require.Equal(t, Header{Present: true, Flags: NoWrites | AllowStale}, s.Header())
	require.Equal(t, "(integer) 1", show(e.Run(s, newFakeHost(), nil, nil, RunOptions{}), ""))
}

// TestLockPairDoesNotAllocate: the script layer adds nothing to what its host
// allocates.
func TestLockPairDoesNotAllocate(t *testing.T) {
	e := New(fakeResolve)
	acquire, err := e.Compile(acquireScript)
	require.NoError(t, err)
	release, err := e.Compile(releaseScript)
	require.NoError(t, err)
	keys, args1, args2 := words("lock", "ch", "latch"), words("30000", "o"), words("0", "30000", "o", "16000")
	h := &lockHost{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		e.Run(acquire, h, keys[:1], args1, RunOptions{})
		e.Run(release, h, keys, args2, RunOptions{})
	}))
}

// FuzzScript: no text makes the engine panic or hang.
func FuzzScript(f *testing.F) {
	for _, script := range corpus(f) {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if strings.Contains(script, "rep") {
			t.Skip("string.rep may ask for half a gigabyte, as in Redis")
		}
		h := newFakeHost()
		h.limit = "ERR too long"
		runScript(New(fakeResolve), h, script, []string{"k"}, []string{"1", "2"})
	})
}

// TestRandomOfAFreshServer: without a seed math.random draws what a redis-server
// just started draws (recorded). The sequence runs on from script to script, in
// each node for itself.
func TestRandomOfAFreshServer(t *testing.T) {
	e := New(fakeResolve)
	one, other := newFakeHost(), newFakeHost()
	for _, want := range []string{"0.39646477363839", "0.84048536971234", "0.35333609737146"} {
		for _, h := range []*fakeHost{one, other} {
			require.Equal(t, strconv.Quote(want), show(runScript(e, h, "return tostring(math.random())", nil, nil), ""))
		}
	}
	one.state.Flush()
	require.Equal(t, `"0.4465834"`, show(runScript(e, one, "return string.format('%.7f',math.random())", nil, nil), ""))
}

// TestSettingsOfJSON: what a script sets for the global cjson holds for the
// node's next scripts until SCRIPT FLUSH.
func TestSettingsOfJSON(t *testing.T) {
	e := New(fakeResolve)
	one, other := newFakeHost(), newFakeHost()
	eval := func(h *fakeHost, script string) string { return show(runScript(e, h, script, nil, nil), "") }
	require.Equal(t, "(integer) 3", eval(one, "return cjson.encode_number_precision(3)"))
	require.Equal(t, `"0.333"`, eval(one, "return cjson.encode(1/3)"))
	require.Equal(t, `"0.33333333333333"`, eval(one, "return cjson.new().encode(1/3)"))
	require.Equal(t, `"0.33333333333333"`, eval(other, "return cjson.encode(1/3)"))
	one.state.Flush()
	require.Equal(t, `"0.33333333333333"`, eval(one, "return cjson.encode(1/3)"))
}

// TestRepliesOfRESP3 compares with what redis-server 7.0.15 sent (recorded).
func TestRepliesOfRESP3(t *testing.T) {
	e, h := New(fakeResolve), newFakeHost()
	for script, want := range map[string]string{
		"return {verbatim_string={string='abc',format='txt'}}":      "=7\r\ntxt:abc\r\n",
		"return {verbatim_string={string='abc',format='markdown'}}": "=7\r\nmar:abc\r\n",
		"return {verbatim_string={string='a',format=''}}":           "=5\r\n   :a\r\n",
		"return {verbatim_string={string='abc'}}":                   "*0\r\n",
		"return {map={a=1}}":                                      "%1\r\n$1\r\na\r\n:1\r\n",
		"return {set={a=true}}":                                   "~1\r\n$1\r\na\r\n",
		"return {double=0/0}":                                     ",-nan\r\n",
		"return {big_number='12\\r\\n3'}":                         "(12  3\r\n",
		"return {big_number='1\\0002\\n'}":                        "(1\x002 \r\n",
		"return {verbatim_string={string='a\\0',format='t\\0x'}}": "=6\r\nt  :a\x00\r\n",
		"return {true,false,1,nil,2}":                             "*3\r\n:1\r\n_\r\n:1\r\n",
		"redis.setresp(3) return {true,false}":                    "*2\r\n#t\r\n#f\r\n",
	} {
		require.Equal(t, want, string(resp.Append(nil, runScript(e, h, script, nil, nil), 3)), script)
	}
	for script, levels := range map[string]int{ // tables that hold themselves
		"local t={} t[1]=t return t":        7995,
		"local t={} t.map={a=t} return t":   2665,
		"local t={} t.set={[t]=1} return t": 2665,
		"local t={} t.map={[t]=1} return t": 1999,
	} {
		reply := string(resp.Append(nil, runScript(e, h, script, nil, nil), 3))
		headers := strings.Count(reply, "*1\r\n") + strings.Count(reply, "%1\r\n") + strings.Count(reply, "~1\r\n")
		require.Equal(t, levels, headers, script)
		require.Contains(t, reply, "-ERR reached lua stack limit\r\n")
	}
}

// TestDeepErrorInGsub: an error that passes thousands of nested gsubs costs about what
// it costs in as many calls. When each gsub raised it anew, it took ten times as long.
func TestDeepErrorInGsub(t *testing.T) {
	e, h := New(fakeResolve), newFakeHost()
	best := func(script string) time.Duration {
		least := time.Hour
		for range 3 {
			start := time.Now()
			require.Contains(t, show(runScript(e, h, script, nil, nil), ""), "enough")
			least = min(least, time.Since(start))
		}
		return least
	}
	const script = "local n=0 local function f() n=n+1 if n>%d then error('enough') end %s end return {pcall(f)}"
	calls := best(fmt.Sprintf(script, 4000, "return (f())"))
	gsubs := best(fmt.Sprintf(script, 2000, "return (string.gsub('a','a',f))"))
	require.Less(t, gsubs, 5*calls)
}
