package luaengine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pair is an engine and its oracle: gopher-lua with neither closures nor the
// fast pass.
type pair struct{ engine, oracle *Engine }

func newPair() pair {
	p := pair{New(fakeResolve), New(fakeResolve)}
	p.oracle.SetFastPass(false)
	return p
}

// requireSame: reply, what the host was asked, and error texts are the same, and
// the same when a script runs twice.
func (p pair) requireSame(t *testing.T, script string, keys, args []string) {
	t.Helper()
	got, want := newFakeHost(), newFakeHost()
	for range 2 {
		for _, h := range []*fakeHost{got, want} {
			h.trace, h.limit = true, "ERR Error running script: enough"
		}
		reply := fmt.Sprintf("%#v", runScript(p.engine, got, script, keys, args))
		requireAlike(t, []string{fmt.Sprintf("%#v", runScript(p.oracle, want, script, keys, args))}, []string{reply}, script)
		requireAlike(t, want.calls, got.calls, script)
		require.Equal(t, want.asked, got.asked, script)
	}
}

// requireAlike compares texts but for addresses and digests. To mask megabytes takes
// seconds, and most texts are the same without.
func requireAlike(t *testing.T, want, got []string, script string) {
	t.Helper()
	if !slices.Equal(want, got) {
		require.Equal(t, masked(want), masked(got), script)
	}
}

func masked(calls []string) []string {
	out := make([]string, len(calls))
	for i, c := range calls {
		out[i] = mask(c)
	}
	return out
}

// FuzzClosures runs generated programs, most of which closures know.
func FuzzClosures(f *testing.F) {
	for seed := range 400 {
		f.Add(noise(uint64(seed), 400))
	}
	p := newPair()
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := &generator{choices: choices}
		p.requireSame(t, g.program(), []string{"k1", "k2", "3"}, []string{"5", "a2", "1.5", "get", "0"})
	})
}

// noise is a reproducible series of choices.
func noise(seed uint64, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = byte(seed >> 56)
	}
	return out
}

// FuzzLockScripts runs lock scripts as the fuzzer changes them.
func FuzzLockScripts(f *testing.F) {
	for _, script := range append(corpus(f), lockScripts(f)...) {
		f.Add(script)
	}
	p := newPair()
	f.Fuzz(func(t *testing.T, script string) {
		if strings.Contains(script, "rep") && !strings.Contains(script, "repeat") {
			t.Skip("string.rep may ask for half a gigabyte, as in Redis")
		}
		p.requireSame(t, script, []string{"k1", "k2", "k3"}, []string{"5", "a2", "a3", "publish", "7"})
	})
}

// generator writes Lua. Each byte of choices is one decision; at their end it
// takes the first of every choice.
type generator struct {
	choices []byte
	out     strings.Builder
	locals  []string
	loops   int
	depth   int
	names   int
}

func (g *generator) pick(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := g.choices[0]
	g.choices = g.choices[1:]
	return int(c) % n
}

func (g *generator) oneOf(list ...string) string { return list[g.pick(len(list))] }

func (g *generator) program() string {
	g.block(6)
	fmt.Fprintf(&g.out, "return %s", g.expr(3))
	return g.out.String()
}

func (g *generator) block(most int) {
	mark := len(g.locals)
	for range 1 + g.pick(most) {
		g.statement()
	}
	g.locals = g.locals[:mark]
}

func (g *generator) nested() {
	g.depth++
	g.block(3)
	g.depth--
}

func (g *generator) looped() {
	g.loops++
	g.nested()
	g.loops--
}

func (g *generator) newLocal() string {
	g.names++
	name := fmt.Sprintf("v%d", g.names%7)
	return name
}

// statement writes one statement, with line feeds at times.
func (g *generator) statement() {
	defer g.out.WriteString(g.oneOf("\n", " ", "; "))
	kinds := 16
	if g.depth > 3 {
		kinds = 8
	}
	switch g.pick(kinds) {
	case 0, 1:
		name, value := g.newLocal(), g.expr(3)
		fmt.Fprintf(&g.out, "local %s = %s", name, value)
		g.locals = append(g.locals, name)
	case 2:
		fmt.Fprintf(&g.out, "%s", g.oneOf(g.command("redis.call"), g.command("redis.call"), "f()"))
	case 3:
		if len(g.locals) > 0 {
			name := g.oneOf(g.locals...)
			fmt.Fprintf(&g.out, "%s = %s", name, g.expr(3))
		}
	case 4:
		if len(g.locals) > 0 {
			fmt.Fprintf(&g.out, "%s[%s] = %s", g.oneOf(g.locals...), g.expr(1), g.expr(2))
		}
	case 5:
		fmt.Fprintf(&g.out, "table.insert(%s, %s)", g.expr(1), g.expr(2))
	case 6:
		a, b := g.newLocal(), g.newLocal()
		fmt.Fprintf(&g.out, "local %s, %s = %s", a, b, g.oneOf(g.expr(2), g.expr(2)+", "+g.expr(2), "1, 2, "+g.expr(1)))
		g.locals = append(g.locals, a, b)
	case 7:
		g.leave()
	case 8, 9:
		g.ifStatement()
	case 10:
		fmt.Fprintf(&g.out, "while %s do ", g.expr(2))
		g.looped()
		g.out.WriteString(g.oneOf(" break end", " end"))
	case 11:
		g.out.WriteString("repeat ")
		g.looped()
		fmt.Fprintf(&g.out, " until %s", g.expr(2))
	case 12, 13:
		g.numericFor()
	case 14:
		g.ipairsFor()
	case 15:
		g.out.WriteString(g.oneOf("do ", "local function f() "))
		g.nested()
		g.out.WriteString(" end")
	}
}

// leave writes a statement that may end a block or the script.
func (g *generator) leave() {
	switch {
	case g.depth > 0 && g.pick(3) == 0:
		fmt.Fprintf(&g.out, "do return %s end", g.oneOf("", g.expr(2), g.expr(1)+", "+g.expr(1)))
	case g.loops > 0 && g.pick(2) == 0:
		fmt.Fprintf(&g.out, "if %s then break end", g.expr(2))
	default:
		fmt.Fprintf(&g.out, "assert(%s)", g.oneOf(g.expr(2), g.expr(2)+", "+g.expr(1)))
	}
}

func (g *generator) ifStatement() {
	fmt.Fprintf(&g.out, "if %s then ", g.expr(3))
	g.nested()
	if g.pick(3) == 0 {
		fmt.Fprintf(&g.out, " elseif %s then ", g.expr(2))
		g.nested()
	}
	if g.pick(2) == 0 {
		g.out.WriteString(" else ")
		g.nested()
	}
	g.out.WriteString(" end")
}

func (g *generator) numericFor() {
	from := g.oneOf("1", "3", "'2'", "0.5", "1e16", "#KEYS", g.expr(1))
	to := g.oneOf("3", "#ARGV", "-1", "'4'", "1e16", g.expr(1))
	step := g.oneOf("", "", ", 1", ", -1", ", 0.5", ", 0", ", '2'", ", "+g.expr(1))
	name := g.newLocal()
	fmt.Fprintf(&g.out, "for %s = %s, %s%s do ", name, from, to, step)
	g.loopWith(name)
}

func (g *generator) ipairsFor() {
	i, v := g.newLocal(), g.newLocal()
	names := g.oneOf(i+", "+v, i, i+", "+v+", v9")
	fmt.Fprintf(&g.out, "for %s in ipairs(%s) do ", names, g.oneOf("KEYS", "{1, 'b', nil, 4}", "ARGV", g.expr(2)))
	g.loopWith(i)
}

func (g *generator) loopWith(name string) {
	g.locals = append(g.locals, name)
	g.looped()
	g.locals = g.locals[:len(g.locals)-1]
	g.out.WriteString(" end")
}

func (g *generator) expr(depth int) string {
	if depth == 0 || g.pick(4) == 0 {
		return g.leaf()
	}
	sub := func() string { return g.expr(depth - 1) }
	switch g.pick(20) {
	case 0, 1:
		return sub() + g.oneOf(" + ", " - ", " * ", " / ", " % ", "^") + sub()
	case 2, 3:
		return sub() + g.oneOf(" == ", " ~= ", " < ", " <= ", " > ", " >= ") + sub()
	case 4, 5:
		return sub() + g.oneOf(" and ", " or ") + sub()
	case 6:
		return g.oneOf("not ", "-", "#", "- ", "not not ") + sub()
	case 7:
		return sub() + g.oneOf(" .. ", " .. '-' .. ", "..\n") + sub()
	case 8:
		return "(" + sub() + ")"
	case 9:
		return "(" + sub() + ")" + g.oneOf(".x", ".err", ".ok", ".len", "[1]", "['x']", "["+sub()+"]")
	case 10:
		return g.oneOf("KEYS", "ARGV") + "[" + sub() + "]"
	case 11:
		return g.constructor(sub)
	case 12:
		return g.oneOf("tonumber", "tostring", "type", "redis.error_reply", "redis.status_reply") + "(" + sub() + ")"
	case 13:
		return "math.max(" + g.oneOf(sub(), sub()+", "+sub(), sub()+", "+sub()+", "+sub()) + ")"
	case 14, 15, 16:
		return g.command(g.oneOf("redis.call", "redis.pcall"))
	}
	return g.leaf()
}

func (g *generator) constructor(sub func() string) string {
	return g.oneOf("{}", "{"+sub()+"}", "{"+sub()+", "+sub()+", "+sub()+"}", "{x = "+sub()+", err = "+sub()+"}",
		"{ok = "+sub()+"}", "{"+sub()+", x = "+sub()+"}")
}

func (g *generator) leaf() string {
	if len(g.locals) > 0 && g.pick(2) == 0 {
		return g.oneOf(g.locals...)
	}
	return g.oneOf("1", "nil", "true", "false", "0", "-1", "2.5", "1e15", "1e14", "123456789012345678", "0x10", "0.1",
		"1e300", "1e308", "''", "'0'", "'10'", "'0x1F'", "'abc'", "' 7 '", "'1e3'", "'nan'", "'inf'", "'-0'", "'a\\0b'",
		"KEYS[1]", "KEYS[2]", "ARGV[1]", "ARGV[3]", "KEYS[9]", "ARGV[5]", "#KEYS", "#ARGV", "1023", "1024", "-2")
}

// command writes a call of redis with a name and too few, enough or too many
// arguments.
func (g *generator) command(fn string) string {
	words := []string{g.oneOf("'get'", "'set'", "'hget'", "'hset'", "'hincrby'", "'hgetall'", "'rpush'", "'lrange'",
		"'echo'", "'ping'", "'exists'", "'del'", "'PTTL'", "'nosuch'", "ARGV[4]", "KEYS[1]", "nil", "'verbatim'", g.expr(1))}
	for range g.pick(4) {
		words = append(words, g.expr(1))
	}
	if g.pick(6) == 0 {
		words = append(words, g.oneOf("unpack(KEYS)", "unpack(ARGV, 2)", "unpack(ARGV, "+g.expr(1)+", "+g.expr(1)+")",
			"unpack("+g.expr(1)+")"))
	}
	return fn + "(" + strings.Join(words, ", ") + ")"
}
