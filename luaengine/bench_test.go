package luaengine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// The steps of Redisson's reentrant lock, in our own words.
const (
	acquireScript = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`

	releaseScript = `
local seen = redis.call('get', KEYS[3])
if seen ~= false then
  return tonumber(seen)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[4])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[4])
return 1`
)

// lockHost answers the lock scripts' commands as if one client took and gave
// back one lock for ever, so that a benchmark measures scripts alone.
type lockHost struct {
	calls int
	state State
}

func (h *lockHost) Call(cmd Handle, args [][]byte, _ int, reply *resp.Value) {
	*reply = h.answer(cmd, args)
}

func (h *lockHost) answer(cmd Handle, args [][]byte) resp.Value {
	h.calls++
	switch fakeCommands[cmd].name {
	case "get":
		return resp.Null
	case "hincrby":
		return resp.Int(int64(len(args[3]) - 1 - 1 + 1 - 1 + 1))
	case "hexists":
		return resp.One
	}
	return resp.Zero
}
func (h *lockHost) Limit() string                       { return "" }
func (h *lockHost) State() *State                       { return &h.state }
func (h *lockHost) Mono() time.Duration                 { return 0 }
func (h *lockHost) Log(int, string)                     {}
func (h *lockHost) SetRepl(int)                         {}
func (h *lockHost) CheckACL([][]byte) (may, known bool) { return true, true }

func words(list ...string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// stages are the ways to run a script, by the switches of an engine.
var stages = []struct {
	name           string
	fast, closures bool
}{{"closures", true, true}, {"fast", true, false}, {"off", false, false}}

func (h *lockHost) engine(fast, closures bool) *Engine {
	e := New(fakeResolve)
	e.SetFastPass(fast)
	e.SetClosures(closures)
	return e
}

func BenchmarkLockPair(b *testing.B) {
	for _, stage := range stages {
		b.Run("stage="+stage.name, func(b *testing.B) {
			h := &lockHost{}
			e := h.engine(stage.fast, stage.closures)
			acquire, err := e.Compile(acquireScript)
			require.NoError(b, err)
			release, err := e.Compile(releaseScript)
			require.NoError(b, err)
			keys := words("lock", "channel", "latch")
			args1 := words("30000", "owner:1")
			args2 := words("0", "30000", "owner:1", "16000")
			b.ReportAllocs()
			for b.Loop() {
				e.Run(acquire, h, keys[:1], args1, RunOptions{})
				e.Run(release, h, keys, args2, RunOptions{})
			}
		})
	}
}

// anyHost knows every command, and answers by the kind of reply it has.
type anyHost struct {
	lockHost
	names     []string
	calls     []recordedCall
	recording bool // calls
}

type recordedCall struct {
	cmd  Handle
	args [][]byte
}

func (h *anyHost) resolve(name string) Handle {
	for i, known := range h.names {
		if known == name {
			return Handle(i)
		}
	}
	h.names = append(h.names, strings.Clone(name))
	return Handle(len(h.names) - 1)
}

var (
	someText = resp.Str("3")
	someList = resp.List(resp.Str("a"), resp.Str("2"))
)

func (h *anyHost) Call(cmd Handle, args [][]byte, _ int, reply *resp.Value) {
	*reply = h.answer(cmd, args)
}

func (h *anyHost) answer(cmd Handle, args [][]byte) resp.Value {
	if h.recording {
		call := recordedCall{cmd: cmd}
		for _, a := range args {
			call.args = append(call.args, append([]byte(nil), a...))
		}
		h.calls = append(h.calls, call)
	}
	switch h.names[cmd] {
	case "get", "lindex", "lpop":
		return resp.Null
	case "hget", "zscore":
		return someText
	case "hkeys", "hgetall", "lrange", "zrange", "zrangebyscore":
		return someList
	}
	return resp.One
}

// BenchmarkLockScripts is each script of the lock client, and the calls that it
// makes of its host alone.
func BenchmarkLockScripts(b *testing.B) {
	keys := words("lock", "channel", "latch", "k4", "k5", "k6")
	argv := words("1", "30000", "3", "4", "publish", "6", "7", "8")
	for _, path := range scriptFiles(b) {
		text, err := os.ReadFile(path)
		require.NoError(b, err)
		h := &anyHost{recording: true}
		e := New(h.resolve)
		s, err := e.Compile(string(text))
		require.NoError(b, err)
		e.Run(s, h, keys, argv, RunOptions{})
		h.recording = false
		b.Run(filepath.Base(path)+"/script", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Run(s, h, keys, argv, RunOptions{})
			}
			b.ReportMetric(float64(len(h.calls)), "calls")
		})
		b.Run(filepath.Base(path)+"/host", func(b *testing.B) {
			var reply resp.Value
			for b.Loop() {
				for _, c := range h.calls {
					h.Call(c.cmd, c.args, 2, &reply)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	e := New(fakeResolve)
	b.ReportAllocs()
	for b.Loop() {
		clear(e.scripts)
		_, err := e.Compile(releaseScript)
		require.NoError(b, err)
	}
}

func BenchmarkFailedScript(b *testing.B) {
	e := New(fakeResolve)
	s, err := e.Compile("return redis.call('get')")
	require.NoError(b, err)
	h := newFakeHost()
	b.ReportAllocs()
	for b.Loop() {
		e.Run(s, h, nil, nil, RunOptions{})
	}
}
