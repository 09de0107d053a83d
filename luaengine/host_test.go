package luaengine

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"minikv/internal/resp"
)

// fakeHost is a small node: enough commands for the scripts of these tests.
type fakeHost struct {
	strings map[string]string
	hashes  map[string]map[string]string
	lists   map[string][]string
	ttl     map[string]int64 // milliseconds; time stands still
	calls   []string         // what scripts have called, if trace
	trace   bool
	moved   int    // bytes, of which there may be mostMoved, if trace
	limit   string // what Limit answers
	asked   int    // how often Limit was
	logged  []string
	state   State
}

func newFakeHost() *fakeHost {
	return &fakeHost{
		strings: map[string]string{}, hashes: map[string]map[string]string{},
		lists: map[string][]string{}, ttl: map[string]int64{},
	}
}

// fakeCommand is one row of the fake command table. Arity counts the name, as
// in Redis.
type fakeCommand struct {
	name  string
	arity int
	run   func(h *fakeHost, args [][]byte) resp.Value
}

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

var fakeCommands = []fakeCommand{
	{"get", 2, func(h *fakeHost, a [][]byte) resp.Value {
		if h.hashes[string(a[1])] != nil {
			return resp.Err(wrongType)
		}
		if v, ok := h.strings[string(a[1])]; ok {
			return resp.Str(v)
		}
		return resp.Null
	}},
	{"set", -3, func(h *fakeHost, a [][]byte) resp.Value {
		h.strings[string(a[1])] = string(a[2])
		return resp.OK
	}},
	{"del", -2, func(h *fakeHost, a [][]byte) resp.Value {
		n := int64(0)
		for _, k := range a[1:] {
			if h.exists(string(k)) {
				n++
			}
			delete(h.strings, string(k))
			delete(h.hashes, string(k))
			delete(h.lists, string(k))
		}
		return resp.Int(n)
	}},
	{"exists", -2, func(h *fakeHost, a [][]byte) resp.Value {
		if h.exists(string(a[1])) {
			return resp.One
		}
		return resp.Zero
	}},
	{"hexists", 3, func(h *fakeHost, a [][]byte) resp.Value {
		if _, ok := h.hashes[string(a[1])][string(a[2])]; ok {
			return resp.One
		}
		return resp.Zero
	}},
	{"hget", 3, func(h *fakeHost, a [][]byte) resp.Value {
		if _, ok := h.strings[string(a[1])]; ok {
			return resp.Err(wrongType)
		}
		if v, ok := h.hashes[string(a[1])][string(a[2])]; ok {
			return resp.Str(v)
		}
		return resp.Null
	}},
	{"hset", -4, func(h *fakeHost, a [][]byte) resp.Value {
		t := h.hash(string(a[1]))
		for i := 2; i+1 < len(a); i += 2 {
			t[string(a[i])] = string(a[i+1])
		}
		return resp.Int(int64(len(a)-2) / 2)
	}},
	{"hincrby", 4, func(h *fakeHost, a [][]byte) resp.Value {
		t := h.hash(string(a[1]))
		old, _ := strconv.ParseInt(t[string(a[2])], 10, 64)
		by, err := strconv.ParseInt(string(a[3]), 10, 64)
		if err != nil {
			return resp.Err("ERR value is not an integer or out of range")
		}
		t[string(a[2])] = strconv.FormatInt(old+by, 10)
		return resp.Int(old + by)
	}},
	{"hgetall", 2, func(h *fakeHost, a [][]byte) resp.Value {
		var list []resp.Value
		for _, k := range sorted(h.hashes[string(a[1])]) {
			list = append(list, resp.Str(k), resp.Str(h.hashes[string(a[1])][k]))
		}
		return resp.Pairs(list...)
	}},
	{"rpush", -3, func(h *fakeHost, a [][]byte) resp.Value {
		for _, v := range a[2:] {
			h.lists[string(a[1])] = append(h.lists[string(a[1])], string(v))
		}
		return resp.Int(int64(len(h.lists[string(a[1])])))
	}},
	{"lrange", 4, func(h *fakeHost, a [][]byte) resp.Value {
		list := []resp.Value{}
		for _, v := range h.lists[string(a[1])] {
			list = append(list, resp.Str(v))
		}
		return resp.List(list...)
	}},
	{"pexpire", -3, func(h *fakeHost, a [][]byte) resp.Value {
		h.ttl[string(a[1])], _ = strconv.ParseInt(string(a[2]), 10, 64)
		return resp.One
	}},
	{"pttl", 2, func(h *fakeHost, a [][]byte) resp.Value {
		if ms, ok := h.ttl[string(a[1])]; ok && h.exists(string(a[1])) {
			return resp.Int(ms)
		}
		return resp.Int(-1)
	}},
	{"publish", 3, func(*fakeHost, [][]byte) resp.Value { return resp.Zero }},
	{"echo", 2, func(_ *fakeHost, a [][]byte) resp.Value { return resp.Str(string(a[1])) }},
	{"ping", -1, func(*fakeHost, [][]byte) resp.Value { return resp.Simple("PONG") }},
}

func (h *fakeHost) exists(key string) bool {
	_, s := h.strings[key]
	return s || h.hashes[key] != nil || h.lists[key] != nil
}

func (h *fakeHost) hash(key string) map[string]string {
	if h.hashes[key] == nil {
		h.hashes[key] = map[string]string{}
	}
	return h.hashes[key]
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func fakeResolve(name string) Handle {
	for i, c := range fakeCommands {
		if strings.EqualFold(c.name, name) {
			return Handle(i)
		}
	}
	return NoCommand
}

func (h *fakeHost) Call(cmd Handle, args [][]byte, proto int, reply *resp.Value) {
	*reply = h.answer(cmd, args, proto)
}

func (h *fakeHost) answer(cmd Handle, args [][]byte, proto int) resp.Value {
	if cmd == NoCommand {
		return resp.Err("ERR Unknown Redis command called from script")
	}
	c := fakeCommands[cmd]
	v := resp.Err("ERR Wrong number of args calling Redis command from script")
	for _, arg := range args {
		h.moved += len(arg)
	}
	if h.trace && h.moved > mostMoved {
		h.calls = append(h.calls, c.name+": too much")
		return resp.Err("OOM command not allowed when used memory > 'maxmemory'.")
	}
	if len(args) == c.arity || c.arity < 0 && len(args) >= -c.arity {
		v = c.run(h, args)
	}
	if h.trace {
		answer := fmt.Sprint(v)
		h.moved += len(answer)
		h.calls = append(h.calls, fmt.Sprintf("%q proto %d -> %s", args, proto, answer))
	}
	return v
}

// mostMoved is how many bytes scripts may send to commands and get from them: a loop
// that doubles a string would keep a test waiting for as long as it sends it.
const mostMoved = 8 << 20

func (h *fakeHost) Limit() string {
	h.asked++
	return h.limit
}
func (h *fakeHost) State() *State       { return &h.state }
func (h *fakeHost) Mono() time.Duration { return 1500 * time.Millisecond }
func (h *fakeHost) Log(level int, text string) {
	h.logged = append(h.logged, fmt.Sprintf("%d %s", level, text))
}
func (h *fakeHost) SetRepl(int) {}
func (h *fakeHost) CheckACL(args [][]byte) (may, known bool) {
	return true, string(args[0]) != "nosuch"
}
