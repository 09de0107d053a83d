package server_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Input that has killed, hung or bloated other emulators of Redis, over a socket.
// Each has an end, within a time and a memory; what begins its reply is what
// redis-server begins it with, and the server goes on serving.
var killers = []struct {
	name  string
	send  string // in RESP or as lines
	reply string // how the reply begins, "" for none
}{
	{"a negative count of words", "*-10\r\n", ""},
	{"no words", "*0\r\n", ""},
	{"SETRANGE at the end of integers",
		"SETRANGE k 9223372036854775807 x\r\n", "-ERR string exceeds maximum allowed size"},
	{"SETRANGE behind 512 MiB", "SETRANGE k 536870912 x\r\n", "-ERR string exceeds maximum allowed size"},
	{"SETBIT at the end of integers",
		"SETBIT k 9223372036854775807 1\r\n", "-ERR bit offset is not an integer or out of range"},
	{"HRANDFIELD, the least count", "HRANDFIELD h -9223372036854775808\r\n", "-ERR value is out of range"},
	{"HRANDFIELD, a great count of pairs",
		"HRANDFIELD h -4611686018427387904 WITHVALUES\r\n", "-ERR value is out of range"},
	{"HRANDFIELD, nearly the least count", "HRANDFIELD h -9223372036854775807\r\n", "-ERR value is out of range"},
	{"SRANDMEMBER, the least count", "SRANDMEMBER s -9223372036854775808\r\n", "-ERR value is out of range"},
	{"SRANDMEMBER, nearly the least count", "SRANDMEMBER s -9223372036854775807\r\n", "-ERR value is out of range"},
	{"ZRANDMEMBER, nearly the least count", "ZRANDMEMBER z -9223372036854775807\r\n", "-ERR value is out of range"},
	{"LRANGE over all integers", "LRANGE l -9223372036854775808 9223372036854775807\r\n", "*0"},
	{"a table that contains itself", command("EVAL", "local t={} t[1]=t return t", "0"), "*1\r\n*1\r\n*1\r\n"},
	{"a map that contains itself", command("EVAL", "local t={} t.map=t redis.setresp(3) return t", "0"), "*2\r\n"},
	{"a table whose __index raises", command("EVAL",
		"return setmetatable({}, {__index=function() error('x') end})", "0"), "*0"},
	{"a deeply nested document", command("EVAL", "return #cjson.encode(cjson.decode(ARGV[1]))", "0",
		strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)), "-ERR"},
	{"a deeply nested table", command("EVAL",
		"local t={} for i=1,100000 do t={t} end return cjson.encode(t)", "0"), "-ERR"},
	{"a deeply nested reply", command("EVAL", "local t={} for i=1,100000 do t={t} end return t", "0"), "*1\r\n*1\r\n"},
	{"recursion without end", command("EVAL", "local function f() return 1+f() end return f()", "0"), "-ERR"},
	{"a string of ten gigabytes", command("EVAL", "return #string.rep('x', 1e10)", "0"), "-ERR"},
	{"msgpack that promises much",
		command("EVAL", "return cmsgpack.unpack(ARGV[1])", "0", "\xdd\xff\xff\xff\xff"), "-ERR"},
	{"a library without end", command("FUNCTION", "LOAD", "#!lua name=l\nwhile true do end"),
		"-ERR Error registering functions: ERR FUNCTION LOAD timeout"},
	{"a script without end", command("EVAL", "while true do end", "0"), "-ERR Script killed by user with SCRIPT KILL"},
	{"a payload that promises much",
		command("RESTORE", "r", "0", "\x12\x81\x7f\xff\xff\xff\xff\xff\xff\xff\n\x00abcdefgh"), "-ERR"},
	{"a pattern that backtracks", command("KEYS", strings.Repeat("*a", 64)+"b"), "*0"},
}

func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// The bounds of one of them. They are generous: the tests of a busy machine run
// under them as well.
const (
	killerTime  = 10 * time.Second
	killerBytes = 256 << 20
)

func TestKillers(t *testing.T) {
	_, address := start(t, "busy-reply-threshold", "50")
	c := dial(t, address)
	c.do("HSET h f v", ":1\r\n")
	c.do("SADD s m", ":1\r\n")
	c.do("ZADD z 1 m", ":1\r\n")
	c.do("SET "+strings.Repeat("a", 200)+" v", "+OK\r\n")
	for _, killer := range killers {
		t.Run(killer.name, func(t *testing.T) {
			debug.FreeOSMemory()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stop := make(chan struct{})
			if strings.Contains(killer.reply, "SCRIPT KILL") {
				killScripts(t, address, stop)
			}
			began := time.Now()
			c := dial(t, address)
			c.send(killer.send + "ECHO still-here\r\n")
			got := c.until("$10\r\nstill-here\r\n")
			taken := time.Since(began)
			close(stop)
			runtime.ReadMemStats(&after)
			require.True(t, strings.HasPrefix(got, killer.reply), "%.200q", got)
			require.Less(t, taken, killerTime)
			require.Less(t, int64(after.HeapSys)-int64(before.HeapSys), int64(killerBytes))
		})
	}
	t.Run("one byte at a time", func(t *testing.T) {
		slow := dial(t, address)
		for _, b := range []byte(command("SET", "slow", "value") + "GET slow\r\n") {
			slow.send(string(b))
			c.do("PING", "+PONG\r\n") // nobody waits for it
		}
		slow.expect("+OK\r\n$5\r\nvalue\r\n")
	})
}

// killScripts ends what runs for long, as somebody would who looks after a server.
func killScripts(t *testing.T, address string, stop chan struct{}) {
	c := dial(t, address)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				_, _ = c.socket.Write([]byte("SCRIPT KILL\r\n"))
			}
		}
	}()
}

// until reads up to text and returns what came before it.
func (c *client) until(text string) string {
	c.t.Helper()
	require.NoError(c.t, c.socket.SetReadDeadline(time.Now().Add(killerTime)))
	var got []byte
	for !bytes.HasSuffix(got, []byte(text)) {
		b, err := c.in.ReadByte()
		require.NoError(c.t, err, "%.200q", got)
		got = append(got, b)
	}
	return string(got[:len(got)-len(text)])
}
