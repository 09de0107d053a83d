package luaengine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepScripts have the shapes of what lock clients send, in our own words.
var stepScripts = []string{
	acquireScript,
	releaseScript,
	// A fair lock: who waits too long is taken out of the queue first.
	`while true do
  local first = redis.call('lindex', KEYS[2], 0)
  if first == false then break end
  local deadline = redis.call('zscore', KEYS[3], first)
  if deadline ~= false and tonumber(deadline) <= tonumber(ARGV[4]) then
    redis.call('zrem', KEYS[3], first)
    redis.call('lpop', KEYS[2])
  else
    break
  end
end
if redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  local waiting = redis.call('zrange', KEYS[3], 0, -1)
  for i = 1, #waiting, 1 do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiting[i])
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
local last, ttl = redis.call('lindex', KEYS[2], -1), nil
if last ~= false and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last) ~= false then
  ttl = tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[4])
else
  ttl = redis.call('pttl', KEYS[1])
end
local deadline = ttl + tonumber(ARGV[3]) + tonumber(ARGV[4])
if redis.call('zadd', KEYS[3], deadline, ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl`,
	// The release of a read lock: the longest of all holds decides.
	`local mode = redis.call('hget', KEYS[1], 'mode')
if (mode == false) then redis.call(ARGV[3], KEYS[2], ARGV[1]) return nil end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil; end;
local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if counter == 0 then redis.call('hdel', KEYS[1], ARGV[2]) end
redis.call('del', KEYS[3] .. ':' .. (counter + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  local most = -3
  local holders = redis.call('hkeys', KEYS[1])
  for n, key in ipairs(holders) do
    counter = tonumber(redis.call('hget', KEYS[1], key))
    if type(counter) == 'number' then
      for i = counter, 1, -1 do
        most = math.max(redis.call('pttl', KEYS[4] .. ':' .. key .. ':rwlock_timeout:' .. i), most)
      end
    end
  end
  if most > 0 then redis.call('pexpire', KEYS[1], most) return 0 end
  if mode == 'write' then return 0 end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
return 1`,
	// A renewal whose loop begins at a string.
	`local count = redis.call('hget', KEYS[1], ARGV[2])
if count then
  for i = count, 1, -1 do redis.call('pexpire', KEYS[2] .. ':' .. i, ARGV[1]) end
  return 1
end
return 0`,
	// Semaphores.
	`local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
  return redis.call('decrby', KEYS[1], ARGV[1])
end
return 0`,
	`local expired = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'limit', 0, ARGV[1])
if #expired > 0 then
  redis.call('zrem', KEYS[2], unpack(expired))
  local value = redis.call('incrby', KEYS[1], #expired)
  if tonumber(value) > 0 then redis.call(ARGV[5], KEYS[3], value) end
end
local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  for i = 6, #ARGV, 1 do redis.call('zadd', KEYS[2], ARGV[2], ARGV[i]) end
  return 'OK'
end
local next = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
if next[1] ~= nil and next[2] ~= ARGV[4] then return ':' .. tostring(next[2]) end
return nil`,
	`local value = redis.call('get', KEYS[1])
assert(value ~= false, 'no such queue')
if tonumber(value) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  redis.call('rpush', KEYS[2], unpack(ARGV, 2, #ARGV))
  return 1
end
return 0`,
	// A latch.
	`local value = redis.call('decr', KEYS[1])
if value <= 0 then redis.call('del', KEYS[1]) end
if value == 0 then redis.call('publish', KEYS[2], ARGV[1]) end`,
	// A lock that may not be taken twice.
	`if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then return redis.error_reply(ARGV[3]) end
return {ok = 'FREE'}`,
	// What a lock does at two places.
	`local seen = 0
local function wake()
  local head = redis.call('lindex', KEYS[2], 0)
  if head == false then return end
  seen = seen + 1
  redis.call(ARGV[1], KEYS[2] .. ':' .. head, seen)
end
wake()
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left > 0 then return left end
wake()
return seen`,
	// Many names in one call.
	`local result = {}
for i = 1, #KEYS, 1 do
  if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
    table.insert(result, 1)
  else
    table.insert(result, 0)
  end
end
return result`,
}

// lockScripts are those and the ones that lockclient sends.
func lockScripts(t testing.TB) []string {
	scripts := append([]string(nil), stepScripts...)
	for _, path := range scriptFiles(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		scripts = append(scripts, string(text))
	}
	return scripts
}

func scriptFiles(t testing.TB) []string {
	paths, err := filepath.Glob("../lockclient/scripts/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// TestLockScriptsAreClosures: gopher-lua runs none of them.
func TestLockScriptsAreClosures(t *testing.T) {
	e := New(fakeResolve)
	for _, script := range lockScripts(t) {
		s, err := e.Compile(script)
		require.NoError(t, err, script)
		require.NotNil(t, s.chunk.program, script)
	}
}

// TestClosuresAreInvisible: the same replies, calls and error texts as
// gopher-lua's, for every script of the other tests.
func TestClosuresAreInvisible(t *testing.T) {
	p := newPair()
	for _, script := range append(corpus(t), lockScripts(t)...) {
		p.requireSame(t, script, []string{"k1", "k2", "k3"}, []string{"5", "a2", "a3", "a4"})
	}
}

// TestShortcutsAreInvisible: what closures do without Lua values or with tables
// of an earlier run, in an order in which they meet what others have left.
func TestShortcutsAreInvisible(t *testing.T) {
	p := newPair()
	scripts := []string{
		"local t = {} t[5] = 'five' t[2] = 2 return {#t, t}",
		"local t = {} t[1] = 'a' return {#t, t[2] == nil, t[5] == nil, t}",
		"local t = {} t.name = 1 t[1] = 2 return t",
		"local t = {} t[1] = 1 return {#t, t.name == nil}",
		"local t = {} t.err = 'E text' return t",
		"local t = {} t[1] = 1 return t",
		"local t = {} for i = 1, 70 do t[i] = i end return #t",
		"local t = {} return {#t, t[70] == nil}",
		"local t = {} t[1] = 1 t[1] = nil t[3] = 3 return {#t, t}",
		"local t = {1, 2, 3} local u = {t, t, {4}} t[2] = nil return u",
		"local t = {} for i = 1, 20 do t[i] = {i, {i}} end return t",
		"return {}", "return {nil, 1}", "return {1, nil, 3}", "return {1.9, -1.9, true, false, '', KEYS[1]}",
		"return {{ok = 'fine'}, {err = 'E text'}, {1, {2}}}",
		"return {redis.call('get', KEYS[1]), redis.call('nosuch')}",
		"return redis.error_reply('MY text')", "return redis.error_reply('text')", "return redis.error_reply('-a\\r\\nb')",
		"return redis.error_reply(1)", "return redis.error_reply(nil)", "return redis.status_reply('fine\\nline')",
		"return redis.status_reply({})", "return (redis.error_reply('MY text'))",
		"local function f() return {1, 2} end f() return", "local function f() return redis.error_reply('E x') end f()",
		"local function f() return {1} end f() return {2, 3}",
		"local t = redis.call('hkeys', KEYS[1]) t[1] = 'mine' return t",
		"local t = redis.call('zrange', KEYS[1], 0, -1) return {t, redis.call('zrange', KEYS[1], 0, -1), #t}",
		"for i = 1, 3 do redis.call('get', KEYS[2 * i - 1]) end return 1",
		"for i = 1, 3 do redis.call('get', KEYS[i - 1]) end return 1",
		"local i = 1 return {KEYS[i], KEYS[i + 1], KEYS[2 * i], KEYS[2 * i + 1], ARGV[3 - i], ARGV[2 * (2 * i) - 3]}",
		"local i = '1' return {KEYS[i + 1], KEYS[2 * i] or 'none', KEYS[i] or 'none'}",
		"local i = 1.5 return {KEYS[i] or 'none', KEYS[2 * i], KEYS[i + 0.5], KEYS[i - 1e300] or 'none'}",
		"local i = {} return KEYS[i + 1]", "local i return KEYS[2 * i]", "local i return KEYS[i] or 'none'",
		"local i = 0/0 return {KEYS[i] or 'none', KEYS[i + 1] or 'none', KEYS[1/0] or 'none'}",
		"local a = redis.call('get', KEYS[1]) return {a == 1, a == false, a ~= false, a ~= 1, a == '1'}",
		"local a = nil return {a == 1, a == false, a ~= false}", "local a = '1' return {a == 1, a ~= 1, a == false}",
		"return {redis.call('hexists', KEYS[1], 'f') == 1, redis.call('ping') == 1, redis.call('ping') ~= false}",
		"return redis.call('nosuch') == 1", "return redis.call('nosuch') ~= false",
		"return redis.pcall('nosuch') == 1", "return redis.pcall('nosuch') ~= false",
		"local a = '5' return a > 3", "local a = '5' return 3 > a", "local a = {} return a <= 0", "local a return a >= 0",
		"local a = 5 return {a > 3, a >= 5, a < 5, a <= 5, a > 0/0, a < 0/0}",
		"return {tonumber('7'), tonumber('007'), tonumber('-7'), tonumber('-0'), tonumber('123456789012345')}",
		"return {tonumber('1234567890123456') == 1234567890123456, tonumber('') or 'none', tonumber('-') or 'none'}",
		"return {tonumber('+7'), tonumber(' 7 '), tonumber('7a') or 'none'}",
		"return {tostring(tonumber('-0')), 1 / tonumber('-0') < 0}",
		"return {tostring(-5), tostring(1e14), tostring(-1e14), tostring(99999999999999), tostring(0), tostring(-0.0)}",
		"for _, name in ipairs({'get', 'GET', 'ping', 'nosuch'}) do redis.pcall(name, KEYS[1]) end return 1",
		"for _, name in ipairs({'', 'get', ''}) do redis.pcall(name, KEYS[1]) end return 1",
	}
	for range 2 {
		for _, script := range scripts {
			p.requireSame(t, script, []string{"k1", "k2", "3"}, []string{"5", "a2", "1.5"})
		}
	}
}

// TestLongStrings: a string that would be too long ends the script as Lua does
// when there is no memory. The long argument is never read.
func TestLongStrings(t *testing.T) {
	long := make([]byte, maxString/2+1)
	for _, stage := range stages {
		e := New(fakeResolve)
		e.SetFastPass(stage.fast)
		e.SetClosures(stage.closures)
		s, err := e.Compile("local s = ARGV[1]\nreturn #(s .. s)")
		require.NoError(t, err)
		reply := e.Run(s, newFakeHost(), nil, [][]byte{long}, RunOptions{})
		require.Equal(t, "(error) ERR not enough memory script: SHA, on @user_script:2.", mask(show(reply, "")))
	}
}
