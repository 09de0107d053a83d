package server_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const busyReply = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"

// startScript starts a script on a connection of its own, and returns when it has
// run for busy-reply-threshold.
func startScript(t *testing.T, address, script string) (runner, other *client) {
	t.Helper()
	runner, other = dial(t, address), dial(t, address)
	runner.send("EVAL \"" + script + "\" 0\r\n")
	for other.ask("PING") != busyReply {
	}
	return runner, other
}

// The replies, here and below, are those of redis-server 7.0.15 in the same situation.
func TestBusy(t *testing.T) {
	_, address := start(t, "busy-reply-threshold", "50")
	queueing := dial(t, address)
	queueing.do("MULTI", "+OK\r\n")
	queueing.do("SET q 1", "+QUEUED\r\n")
	runner, other := startScript(t, address, " while true do end")
	other.do("PING", busyReply)
	other.do("SET k v", busyReply)
	other.do("MULTI", "+OK\r\n")
	other.do("GET k", busyReply)
	other.do("EXEC", "-EXECABORT Transaction discarded because of: "+busyReply[1:])
	other.do("DISCARD", "-ERR DISCARD without MULTI\r\n")
	other.do("NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n")
	other.do("GET", "-ERR wrong number of arguments for 'get' command\r\n")
	other.do("SCRIPT FLUSH", busyReply)
	other.do("FUNCTION STATS", busyReply)
	other.do("FUNCTION KILL", busyReply)
	other.do("SHUTDOWN", busyReply)
	other.do("SHUTDOWN NOW", busyReply)
	queueing.do("EXEC", "-EXECABORT Transaction discarded because of: "+busyReply[1:])
	newcomer := dial(t, address)
	newcomer.do("CLIENT ID", busyReply)
	newcomer.do("RESET", "+RESET\r\n")
	newcomer.do("QUIT", "+OK\r\n")
	newcomer.expectClosed()
	other.do("SCRIPT KILL", "+OK\r\n")
	runner.expect("-ERR Script killed by user with SCRIPT KILL... " +
		"script: 196c57086c5c875804c22d0b6495b0347dab4514, on @user_script:1.\r\n")
	runner.do("PING", "+PONG\r\n")
	other.do("PING", "+PONG\r\n")
	other.do("SCRIPT KILL", "-NOTBUSY No scripts in execution right now.\r\n")
	other.do("EXISTS q k", ":0\r\n")
}

// Who was answered in the turn in which a script began need not wait for its end. What is
// sent while the first script runs makes one turn.
func TestRepliesBeforeABusyScript(t *testing.T) {
	_, address := start(t, "busy-reply-threshold", "500")
	sleeper, early, runner := dial(t, address), dial(t, address), dial(t, address)
	early.do("PING", "+PONG\r\n")
	runner.do("PING", "+PONG\r\n")
	sleeper.send("EVAL \"local function now() local t = redis.call('TIME') return t[1]*1e6+t[2] end " +
		"local begun = now() while now() < begun + 300000 do end return 'slept'\" 0\r\n")
	time.Sleep(100 * time.Millisecond)
	early.send("PING\r\n")
	time.Sleep(50 * time.Millisecond)
	runner.send("EVAL \"while true do end\" 0\r\n")
	sleeper.expect("$5\r\nslept\r\n")
	early.expect("+PONG\r\n")
	early.do("SCRIPT KILL", "+OK\r\n")
}

// A script is killed on the line of Lua's jump back to the beginning of the loop. (Where others of
// the loop's instructions are on other lines, redis-server names now one and now another.)
func TestWhereAScriptIsKilled(t *testing.T) {
	_, address := start(t, "busy-reply-threshold", "50")
	for _, c := range []struct{ script, line string }{
		{`while true do\nend`, "1"},
		{`while\ntrue do end`, "2"},
		{`local i=0\nwhile true do\n i=i+1\nend`, "3"},
		{`while true do\nlocal a=1\n\n end`, "2"},
		{`repeat\nuntil false`, "2"},
		{`for i=1,1e12 do\n\nend`, "1"},
	} {
		runner, other := startScript(t, address, c.script)
		other.do("SCRIPT KILL", "+OK\r\n")
		require.Contains(t, runner.until("\r\n"), "on @user_script:"+c.line+".", c.script)
	}
}

// A script that has written cannot be killed, even by a pcall around its loop.
func TestUnkillable(t *testing.T) {
	s, address := start(t, "busy-reply-threshold", "50")
	runner, other := startScript(t, address, "redis.call('SET','x','1') while true do pcall(function() end) end")
	other.do("SCRIPT KILL", "-UNKILLABLE Sorry the script already executed write commands against the dataset. "+
		"You can either wait the script termination or kill the server in a hard way "+
		"using the SHUTDOWN NOSAVE command.\r\n")
	other.send("SHUTDOWN NOSAVE\r\n")
	select {
	case <-s.ShutdownRequested():
	case <-time.After(5 * time.Second):
		t.Fatal("SHUTDOWN NOSAVE was not obeyed")
	}
	s.Close()
	runner.expectClosed()
	other.expectClosed()
}

// Below the threshold others just wait.
func TestShortScriptsAreNotBusy(t *testing.T) {
	_, address := start(t)
	runner, other := dial(t, address), dial(t, address)
	runner.send("EVAL 'local s = 0 for i = 1, 200000 do s = s + i end return 1' 0\r\n")
	other.do("PING", "+PONG\r\n")
	runner.expect(":1\r\n")
}

// A script that builds more than there is memory for is ended before the process dies.
func TestScriptsMemoryIsBounded(t *testing.T) {
	_, address := start(t)
	c := dial(t, address)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(m.HeapAlloc)*2 + 256<<20))
	c.do("EVAL \"local t = {} for i = 1, 10000 do t[i] = string.rep('x', 100000) .. i end\" 0", // 1 GB
		"-OOM not enough memory for the script script: "+
			"5c32608287b457761e571ce61c47ac29762f7693, on @user_script:1.\r\n")
	c.do("PING", "+PONG\r\n")
}
