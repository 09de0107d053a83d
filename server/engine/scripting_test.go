package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScriptCacheIsTheNodesOwn(t *testing.T) {
	f := newFixture(t, withLua)
	other := newFixture(t, func(cfg *Config) { cfg.Lua = f.node.cfg.Lua })
	s, o := f.session(), other.session()
	const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	f.expect(s,
		"EVALSHA "+sha+" 0", "(error) NOSCRIPT No matching script. Please use EVAL.",
		`SCRIPT LOAD "return 1"`, `"`+sha+`"`,
		"EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0", "(integer) 1",
		"SCRIPT EXISTS "+sha+" x", "1) (integer) 1\n2) (integer) 0")
	other.expect(o, "EVALSHA "+sha+" 0", "(error) NOSCRIPT No matching script. Please use EVAL.")
	f.expect(s, "SCRIPT FLUSH SYNC", "OK", "EVALSHA "+sha+" 0", "(error) NOSCRIPT No matching script. Please use EVAL.",
		"SCRIPT KILL", "(error) NOTBUSY No scripts in execution right now.")
}

// A run must not depend on the memory in use: what the garbage collector tells is always the same.
func TestTheGarbageCollectorTellsTheSame(t *testing.T) {
	f := newFixture(t, withLua)
	for range 2 {
		f.expect(f.session(), `EVAL "return {tostring(collectgarbage('count')),gcinfo(),collectgarbage('step')}" 0`,
			"1) \"36.5\"\n2) (integer) 36\n3) (nil)")
	}
}

// math.random runs on until a restart, cjson's settings last until SCRIPT FLUSH.
func TestWhatScriptsLeaveToTheNext(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	const random, digits = `EVAL "return tostring(math.random())" 0`, `EVAL "return cjson.encode(1/3)" 0`
	f.expect(s, random, `"0.39646477363839"`, random, `"0.84048536971234"`,
		`EVAL "return cjson.encode_number_precision(3)" 0`, "(integer) 3", digits, `"0.333"`,
		"SCRIPT FLUSH", "OK", digits, `"0.33333333333333"`, random, `"0.35333609737146"`)
	f.node.Restart(true)
	f.expect(f.session(), random, `"0.39646477363839"`)
}

func TestScriptsAreRefusedCallByCall(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	for _, c := range []struct{ call, want string }{
		{"'nosuch'", "ERR Unknown Redis command called from script"},
		{"'client','nosuch'", "ERR Unknown Redis command called from script"},
		{"'client'", "ERR Wrong number of args calling Redis command from script"},
		{"'get'", "ERR Wrong number of args calling Redis command from script"},
		{"'multi'", "ERR This Redis command is not allowed from script"},
		{"'wait','0','0'", "ERR This Redis command is not allowed from script"},
		{"'config','get','port'", "ERR This Redis command is not allowed from script"},
		{"'readonly'", "ERR This instance has cluster support disabled"},
	} {
		f.expect(s, `EVAL "return redis.pcall(`+c.call+`)" 0`, "(error) "+c.want)
	}
	f.expect(s, `EVAL_RO "return redis.pcall('set','a','b')" 0`,
		"(error) ERR Write commands are not allowed from read-only scripts.",
		"EVAL \"#!lua flags=no-writes\\nreturn redis.pcall('set','a','b')\" 0",
		"(error) ERR Write commands are not allowed from read-only scripts.",
		"EVAL_RO \"#!lua\\nreturn 1\" 0", "(error) ERR Can not execute a script with write flag using *_ro command.")
}

func TestAFailedScriptLeavesWhatItWrote(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	require.Contains(t, f.do(s, `EVAL "redis.call('set','a','1') redis.call('hget','a','b')" 0`), "WRONGTYPE")
	f.expect(s, "GET a", `"1"`)
}

// No script runs inside another, also where DEBUG lets scripts call everything:
// redis-server 7.0.15 ends at an assertion there.
func TestNoScriptInAScript(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.node.conf.scriptsCallAll = true
	for _, call := range []string{
		"'EVAL', 'return 1', 0", "'EVALSHA', 'f', 0", "'EVAL_RO', 'return 1', 0", "'FCALL', 'f', 0",
	} {
		require.Contains(t, f.do(s, `EVAL "return redis.call(`+call+`)" 0`), errScriptDenied[4:])
	}
}

func TestScriptSelectsForItselfOnly(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.expect(s, `EVAL "redis.call('select',3) redis.call('set','a','1')" 0`, "(nil)",
		"GET a", "(nil)", "SELECT 3", "OK", "GET a", `"1"`)
}

// Whoever has called a command that writes cannot be killed, whether it has changed
// something or not, and as a script or as a function; the rest only as what it is.
// The replies are those of redis-server 7.0.15 in the same situation.
func TestWhatCanBeKilled(t *testing.T) {
	const (
		unkillable = "(error) " + errUnkillable
		busy       = "(error) " + errBusy
		busyFCall  = "(error) " + errBusyFunction
	)
	for _, c := range []struct{ call, function, script string }{
		{"", busy, "OK"},
		{"redis.call('GET','a')", busy, "OK"},
		{"redis.pcall('SET','a')", busy, "OK"},
		{"redis.call('SET','a','1')", unkillable, unkillable},
		{"redis.call('DEL','none')", unkillable, unkillable},
	} {
		f := newFixture(t, withLua)
		s, other := f.session(), f.session()
		f.do(s, `FUNCTION LOAD "#!lua name=l\nredis.register_function('f',function() `+c.call+` local i=0 `+
			`while i<5000 do i=i+1 end end)"`)
		asked := 0
		f.node.cfg.Limit = func() string {
			if asked++; asked == 1 {
				f.expect(other, "FUNCTION STATS", busy, "FUNCTION KILL", c.function, "SCRIPT KILL", c.script)
			}
			return ""
		}
		f.do(s, `EVAL "`+c.call+` local i=0 while i<5000 do i=i+1 end" 0`)
		require.NotZero(t, asked)
		asked = 0
		swapped := map[string]string{busy: busyFCall, unkillable: unkillable}
		f.node.cfg.Limit = func() string {
			if asked++; asked == 1 {
				require.Contains(t, f.do(other, "FUNCTION STATS"), "duration_ms")
				f.expect(other, "SCRIPT KILL", swapped[c.function], "FUNCTION KILL", c.script)
			}
			return ""
		}
		f.do(s, "FCALL f 0")
		require.NotZero(t, asked)
	}
}

// Which keys are expired is decided at the script's start; TIME, PTTL and
// PEXPIRE follow the running clock.
func TestExpiryIsFrozenInScripts(t *testing.T) {
	f := newFixture(t, withLua)
	f.node.cfg.Limit = func() string { f.clock.advance(time.Second); return "" }
	s := f.session()
	f.do(s, "SET a 1 PX 500")
	const loop = "for i=1,700 do end "
	f.expect(s, `EVAL "local t=redis.call('time')[1] `+loop+`return {redis.call('get','a'),redis.call('time')[1]-t}" 0`,
		"1) \"1\"\n2) (integer) 1",
		"GET a", "(nil)")
}

func TestWriteScriptsOnAReplica(t *testing.T) {
	f := newFixture(t, withLua)
	s := f.session()
	f.node.BecomeReplica("m", 1)
	f.expect(s,
		`EVAL "return redis.pcall('set','a','b')" 0`, "(error) READONLY You can't write against a read only replica.",
		`EVAL "return redis.call('get','a')" 0`, "(nil)",
		"EVAL \"#!lua\\nreturn 1\" 0", "(error) READONLY You can't write against a read only replica.",
		"CONFIG SET replica-read-only no", "OK",
		"EVAL \"#!lua\\nreturn redis.call('set','a','b')\" 0", "OK")
}

func TestNumberOfKeys(t *testing.T) {
	f := newFixture(t, withLua)
	f.expect(f.session(),
		`EVAL "return 1" -1`, "(error) ERR Number of keys can't be negative",
		`EVAL "return 1" x`, "(error) ERR value is not an integer or out of range",
		`EVAL "return 1" 2 a`, "(error) ERR Number of keys can't be greater than number of args",
		`EVAL "return 1"`, "(error) ERR wrong number of arguments for 'eval' command")
}

// A client that the shell lets in while a script runs is told BUSY, and can kill it.
func TestKillingAScript(t *testing.T) {
	f := newFixture(t, withLua)
	s, other := f.session(), f.session()
	asked := 0
	f.node.cfg.Limit = func() string {
		asked++
		f.expect(other, "GET a", "(error) "+errBusy, "CLIENT ID", "(error) "+errBusy, "SCRIPT KILL", "OK")
		return ""
	}
	require.Contains(t, f.do(s, `EVAL "while true do end" 0`), "killed by user")
	require.Equal(t, 1, asked)
	f.expect(other, "GET a", "(nil)")
}

// BUSY is what is said last: whatever else refuses a command comes first, as redis-server
// 7.0.15 was asked.
func TestBusyIsSaidLast(t *testing.T) {
	f := newFixture(t, withLua)
	s, other, subscriber, monitor := f.session(), f.session(), f.session(), f.session()
	f.do(subscriber, "SUBSCRIBE a")
	f.do(monitor, "MONITOR")
	f.node.BecomeReplica("127.0.0.1", 7000)
	f.node.SetMasterLink(LinkConnected)
	f.node.cfg.Limit = func() string {
		f.expect(other,
			"SET a 1", "(error) READONLY You can't write against a read only replica.",
			"PUBLISH a 1", "(error) "+errBusy,
			"GET a", "(error) "+errBusy)
		f.expect(subscriber, "GET a", "(error) ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "+
			"PING / QUIT / RESET are allowed in this context")
		require.Contains(t, f.do(monitor, "GET a"), errBusy)
		f.do(other, "SCRIPT KILL")
		return ""
	}
	require.Contains(t, f.do(s, `EVAL "while true do end" 0`), "killed by user")
}
